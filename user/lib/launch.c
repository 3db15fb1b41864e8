// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "privileges.h"
#include "files.h"
#include "wait.h"
#include "launch.h"

#define LIBRARY "libgpumon-inject.so"

/* The Makefile's LIBDIR as seen from BINDIR, so that both can be moved together. */
#ifndef GPUMON_LIBDIR
#define GPUMON_LIBDIR "../lib"
#endif

/* Signals that a user or a terminal may send us. */
static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

/*
 * If SIGCHLD were ignored, we could not read the program's status. A closed pipe or a file at its
 * size limit is reported where we write.
 */
static const struct {
	int number;
	void (*handler)(int number);
} changed[GPUMON_LAUNCH_ACTIONS] = {
	{ SIGCHLD, SIG_DFL },
	{ SIGPIPE, SIG_IGN },
	{ SIGXFSZ, SIG_IGN },
};

static int check_library(const char *path, struct gpumon_error *err)
{
	struct stat status;

	if (stat(path, &status))
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -errno,
					GPUMON_ERROR_UNSUPPORTED, "the injection library %s: %s",
					path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -EINVAL,
					GPUMON_ERROR_UNSUPPORTED,
					"the injection library %s is no file", path);
	if (status.st_mode & 0002)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"the injection library %s can be written by everybody, it is not loaded: chmod o-w it",
			path);
	return 0;
}

int gpumon_launch_find_library(char path[PATH_MAX], struct gpumon_error *err)
{
	static const char *const folders[] = {
		"../inject", /* in the sources */
		GPUMON_LIBDIR,
		"../lib",
		"../lib/gpumon",
		"../lib64",
#ifdef GPUMON_MULTIARCH
		"../lib/" GPUMON_MULTIARCH,
#endif
		".",
	};
	const char *wanted = getenv("GPUMON_INJECT");
	char program[PATH_MAX], candidate[PATH_MAX + 64];
	char *slash;
	ssize_t n;

	if (wanted && *wanted) {
		if (check_library(wanted, err))
			return -1;
		if (!realpath(wanted, path))
			return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -errno,
						GPUMON_ERROR_UNSUPPORTED,
						"the injection library %s: %s", wanted,
						strerror(errno));
		return 0;
	}
	n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	slash = strrchr(program, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/" LIBRARY, program, folders[i]);
		if (realpath(candidate, path))
			return check_library(path, err);
	}
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_UNSUPPORTED,
				LIBRARY " is not beside this program (%s/../inject, " GPUMON_LIBDIR
					"): make inject, or say where with GPUMON_INJECT=PATH",
				program);
}

/* Of a container, or of another pid namespace: orphans are our children. */
static bool is_first_process(void)
{
	return getpid() == 1;
}

int gpumon_launch_prepare(struct gpumon_launch *launch, struct gpumon_error *err)
{
	struct sigaction action = { 0 };
	struct rlimit files;
	sigset_t mask;

	memset(launch, 0, sizeof(*launch));
	launch->pidfd = -1;
	sigemptyset(&action.sa_mask);
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&mask, passed_on[i]);
	if (is_first_process())
		sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &launch->original);
	for (size_t i = 0; i < GPUMON_LAUNCH_ACTIONS; i++) {
		action.sa_handler = changed[i].handler;
		sigaction(changed[i].number, &action, &launch->actions[i]);
	}
	launch->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (launch->signals < 0)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"signalfd: %s", strerror(errno));

	/* Each recorded process needs a few descriptors. */
	if (!getrlimit(RLIMIT_NOFILE, &launch->files)) {
		files = launch->files;
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return 0;
}

static void restore_actions(const struct gpumon_launch *launch)
{
	for (size_t i = 0; i < GPUMON_LAUNCH_ACTIONS; i++)
		sigaction(changed[i].number, &launch->actions[i], NULL);
}

/* In the child: undo every change but the environment. */
static void exec_program(const struct gpumon_launch *launch, char *const *argv,
			 const char *const *environment, int tell)
{
	int error;

	for (; *environment; environment++)
		if (putenv((char *)*environment))
			goto fail;
	if (launch->files.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &launch->files);
	restore_actions(launch);
	gpumon_signals_give_back();
	sigprocmask(SIG_SETMASK, &launch->original, NULL);
	gpumon_privileges_give_back();
	execvp(argv[0], argv);
fail:
	error = errno;
	(void)!write(tell, &error, sizeof(error));
	_exit(127);
}

/* ENOENT for a script that exists means that its interpreter is missing. */
static const char *missing_program_text(const char *program)
{
	return !access(program, F_OK) && strchr(program, '/') ?
		       "the interpreter that it names was not found" :
		       "program not found";
}

int gpumon_launch_start(struct gpumon_launch *launch, char *const *argv,
			const char *const *environment, struct gpumon_error *err)
{
	int tell[2], error = 0;
	ssize_t n;

	if (pipe2(tell, O_CLOEXEC))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"pipe: %s%s", strerror(errno),
					errno == EMFILE ? " (ulimit -n)" : "");
	/* Flush first, or the child could write the same buffered text again. */
	fflush(NULL);
	launch->pid = fork();
	if (!launch->pid)
		exec_program(launch, argv, environment, tell[1]);
	error = errno;
	close(tell[1]);
	if (launch->pid < 0) {
		close(tell[0]);
		launch->pid = 0;
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
					"%s: fork: %s", argv[0], strerror(error));
	}
	/* exec() closes the pipe, so the read ends without data once the program runs. */
	do
		n = read(tell[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(tell[0]);
	if (n == (ssize_t)sizeof(error)) {
		while (waitpid(launch->pid, &launch->status, 0) < 0 && errno == EINTR)
			;
		launch->pid = 0;
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO, "%s: %s", argv[0],
			error == ENOENT ? missing_program_text(argv[0]) : strerror(error));
	}
	launch->pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
	return 0;
}

/* Children that run no other program are waited for where they were started. */
static bool runs_us(pid_t pid)
{
	char path[64], ours[64] = "", its[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	return gpumon_read_short("", path, its, sizeof(its)) &&
	       gpumon_read_short("", "/proc/self/comm", ours, sizeof(ours)) && !strcmp(its, ours);
}

static void reap_orphans(const struct gpumon_launch *launch)
{
	siginfo_t info = { 0 };

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
	       info.si_pid != launch->pid && !runs_us(info.si_pid)) {
		(void)waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* Scripts start background jobs with SIGINT ignored, and end us with it nevertheless. */
static bool ends_us(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGQUIT ||
	       (number == SIGHUP && !is_ignored(SIGHUP));
}

/* Whether a process has said what it does with a signal: it catches it, or keeps it for later. */
static bool expects(pid_t pid, int number)
{
	static const char *const masks[] = { "\nSigBlk:", "\nSigCgt:" };
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!gpumon_read_short("", path, text, sizeof(text)))
		return false;
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		const char *line = strstr(text, masks[i]);

		if (line && strtoull(line + strlen(masks[i]), NULL, 16) >> (number - 1) & 1)
			return true;
	}
	return false;
}

void gpumon_launch_signal(struct gpumon_launch *launch, bool *ended)
{
	struct signalfd_siginfo info;

	while (read(launch->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;
		bool by_terminal = info.ssi_code == SI_KERNEL;

		if (number == SIGCHLD) {
			reap_orphans(launch);
			continue;
		}
		if (number == SIGUSR1 && launch->take_usr1) {
			launch->usr1 = true;
			continue;
		}
		/* That may have been meant for another recorder, and would end most programs. */
		if (number == SIGUSR1 && launch->pid && !expects(launch->pid, number))
			continue;
		if (launch->pid && !by_terminal && info.ssi_pid != (uint32_t)launch->pid)
			kill(launch->pid, number);
		if (!launch->pid && ends_us(number))
			*ended = true;
	}
}

int gpumon_launch_wait(struct gpumon_launch *launch)
{
	pid_t pid;

	do
		pid = waitpid(launch->pid, &launch->status, WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (!pid)
		return -1;
	launch->pid = 0;
	if (launch->pidfd >= 0)
		close(launch->pidfd);
	launch->pidfd = -1;
	return 0;
}

void gpumon_launch_end(struct gpumon_launch *launch)
{
	struct signalfd_siginfo info;

	/* Discard late signals, which would otherwise be delivered once they are unblocked. */
	while (read(launch->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	if (launch->signals >= 0)
		close(launch->signals);
	launch->signals = -1;
	sigprocmask(SIG_SETMASK, &launch->original, NULL);
	restore_actions(launch);
	if (launch->files.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &launch->files);
}

int gpumon_launch_exit_status(const struct gpumon_launch *launch)
{
	if (WIFSIGNALED(launch->status))
		return 128 + WTERMSIG(launch->status);
	return WEXITSTATUS(launch->status);
}

bool gpumon_launch_find_program(const char *program, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");
	struct stat status;

	if (strchr(program, '/') || !folders)
		folders = "";
	for (;;) {
		size_t length = strcspn(folders, ":");

		/* An empty entry in PATH means the current folder. */
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folders, length ? "/" : "",
			 program);
		if (!access(path, X_OK) && !stat(path, &status) && S_ISREG(status.st_mode))
			return true;
		if (!folders[length])
			return false;
		folders += length + 1;
	}
}

bool gpumon_launch_privileged(const char *program)
{
	char path[PATH_MAX];
	struct stat status;

	if (!gpumon_launch_find_program(program, path) || stat(path, &status))
		return false;
	return ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
	       ((status.st_mode & S_ISGID) && status.st_gid != getegid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

/* How an ELF file begins. */
union start {
	char bytes[4096];
	Elf64_Ehdr header;
};

/* Returns how much was read; 0: it is no program of that class, ELFCLASS64 or ELFCLASS32. */
static size_t read_start(const char *program, unsigned char class, union start *file)
{
	char path[PATH_MAX];
	ssize_t length = -1;
	int fd = -1;

	memset(file, 0, sizeof(*file));
	if (gpumon_launch_find_program(program, path))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		length = read(fd, file, sizeof(*file));
		close(fd);
	}
	return length < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(file->bytes, ELFMAG, SELFMAG) != 0 ||
			       file->bytes[EI_CLASS] != class ?
		       0 :
		       (size_t)length;
}

bool gpumon_launch_is_of_32_bits(const char *program)
{
	union start file;

	return read_start(program, ELFCLASS32, &file) != 0;
}

bool gpumon_launch_is_static(const char *program)
{
	union start file;
	const Elf64_Ehdr *header = &file.header;
	size_t length = read_start(program, ELFCLASS64, &file);

	if (length < sizeof(*header) || header->e_phentsize != sizeof(Elf64_Phdr) ||
	    header->e_phoff > sizeof(file) ||
	    header->e_phoff + (size_t)header->e_phnum * sizeof(Elf64_Phdr) > length)
		return false;
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, file.bytes + header->e_phoff + i * sizeof(segment),
		       sizeof(segment));
		if (segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}
