// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "attach_library.h"
#include "attach_remote.h"
#include "attach_seccomp.h"
#include "attach_target.h"
#include "lib/files.h"
#include "lib/launch.h"
#include "lib/memory.h"
#include "lib/wait.h"

/* How long it is tried to find a thread that can be used, and all of it. */
#define FIND_NS	 5000000000ull
#define WHOLE_NS 30000000000ull
#define AGAIN_NS 20000000

/* Threads that are looked at in a round. */
#define THREADS_MAX 256

/* Clock of clock_nanosleep() with a point in time. */
#define ABSOLUTE 1

/**
 * struct candidate - a thread that may be stopped
 * @tid: thread
 * @rank: those with a lower one are better
 */
struct candidate {
	pid_t tid;
	unsigned int rank;
};

/* What the child sends: the error, with a code of 0 where there is none. */
struct outcome {
	struct gpumon_error error;
};

/* --- which thread */

/*
 * Calls that the kernel makes again where no signal has come, with the time that is left, if any; first those
 * that have none.
 */
static unsigned int rank_of_call(unsigned long call, const unsigned long *arguments)
{
	switch (call) {
#ifdef __x86_64__
	case SYS_futex:
		/* An operation that waits, and no relative time. */
		return (arguments[1] & 0x7f) == 0 && arguments[3] ? 2 : 0;
	case SYS_poll:
		return (int)arguments[2] < 0 ? 0 : 2;
	case SYS_ppoll:
		return arguments[2] ? 3 : 0;
	case SYS_select:
	case SYS_pselect6:
		return arguments[4] ? 3 : 0;
	case SYS_clock_nanosleep:
		return arguments[1] == ABSOLUTE ? 0 : 2;
	case SYS_nanosleep:
		return 2;
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
		return 0;
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return 3;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return 4;
	/* One of the above that was interrupted before: only the kernel knows which, and the time that is left. */
	case SYS_restart_syscall:
		return 5;
#endif
	default:
		(void)arguments;
		return UINT_MAX;
	}
}

/* UINT_MAX: it is not to be stopped. */
static unsigned int rank_thread(const char *root, pid_t pid, pid_t tid)
{
	unsigned long call, arguments[6];
	char path[96], text[512];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (!gpumon_read_short(root, path, text, sizeof(text)))
		return UINT_MAX;
	end = strrchr(text, ')');
	if (!end || end[1] != ' ' || (end[2] != 'S' && end[2] != 'R'))
		return UINT_MAX;
	/* The library's own, from an attachment before. */
	if (strstr(text, "(gpumon) "))
		return UINT_MAX;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	if (!gpumon_read_short(root, path, text, sizeof(text)))
		return UINT_MAX;
	if (!strncmp(text, "running", 7))
		return 1;
	if (sscanf(text, "%lu %lx %lx %lx %lx %lx %lx", &call, &arguments[0], &arguments[1],
		   &arguments[2], &arguments[3], &arguments[4], &arguments[5]) != 7)
		return UINT_MAX;
	return rank_of_call(call, arguments);
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static size_t list_candidates(const char *root, pid_t pid, struct candidate *candidates)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	size_t count = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)pid);
	tasks = opendir(path);
	while (tasks && count < THREADS_MAX && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		unsigned int rank = tid > 0 ? rank_thread(root, pid, tid) : UINT_MAX;

		if (rank != UINT_MAX)
			candidates[count++] = (struct candidate){ tid, rank };
	}
	if (tasks)
		closedir(tasks);
	qsort(candidates, count, sizeof(*candidates), compare_candidates);
	return count;
}

/* --- in the child */

/**
 * struct attempt - one way in
 * @library: path of the library here
 * @in_memory: the process gets a copy of it
 * @memory: address of what was mapped in the process; 0: nothing
 */
struct attempt {
	struct gpumon_attach_target *target;
	const char *library;
	bool in_memory;
	uint64_t memory;
};

static int impossible(const struct attempt *attempt, int sys, struct gpumon_error *err,
		      const char *why)
{
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, sys, GPUMON_ERROR_UNSUPPORTED,
				"the library cannot be brought into process %d: %s",
				(int)attempt->target->pid, why);
}

#ifdef __x86_64__
/* Memory of the process alone, at @at unless that is 0. */
static long map_remote(struct gpumon_remote *remote, uint64_t at, uint64_t size, int protection)
{
	const uint64_t words[6] = { at,
				    size,
				    (uint64_t)protection,
				    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0),
				    (uint64_t)-1,
				    0 };

	return gpumon_remote_call(remote, SYS_mmap, words);
}
#endif

static void unmap_remote(struct attempt *attempt, struct gpumon_remote *remote)
{
	const uint64_t words[6] = { attempt->memory, GPUMON_REMOTE_SIZE };

	(void)gpumon_remote_call(remote, SYS_munmap, words);
}

static int map_memory(struct attempt *attempt, struct gpumon_remote *remote,
		      struct gpumon_error *err)
{
#ifdef __x86_64__
	long at = map_remote(remote, 0, GPUMON_REMOTE_SIZE, PROT_READ | PROT_WRITE);
	long code;
	char why[160];

	if (at < 0 && at > -4096) {
		snprintf(why, sizeof(why), "it gets no memory (%s: ulimit -v, or its cgroup)",
			 strerror((int)-at));
		return impossible(attempt, (int)at, err, why);
	}
	attempt->memory = (uint64_t)at;
	/* Not mapped as writable: a process may have forbidden itself to turn data into code. */
	code = map_remote(remote, attempt->memory + GPUMON_REMOTE_CODE, GPUMON_REMOTE_PAGE,
			  PROT_READ | PROT_EXEC);
	if (code < 0 && code > -4096) {
		unmap_remote(attempt, remote);
		snprintf(why, sizeof(why),
			 "it may not map memory with code (%s): SELinux, or another rule",
			 strerror((int)-code));
		return impossible(attempt, (int)code, err, why);
	}
	return 0;
#else
	(void)remote;
	return impossible(attempt, -ENOSYS, err, "not on this kind of processor");
#endif
}

static int start_thread(struct attempt *attempt, struct gpumon_remote *remote,
			struct gpumon_error *err)
{
	const struct gpumon_attach_target *target = attempt->target;
	struct gpumon_remote_arguments arguments;
	char why[256];
	int ret;

	if (map_memory(attempt, remote, err))
		return -1;
	gpumon_attach_arguments(target, attempt->memory, attempt->library, attempt->in_memory,
				&arguments);
	if (!gpumon_remote_write(remote->pid, attempt->memory, &arguments, sizeof(arguments)))
		return impossible(attempt, -errno, err, "its memory cannot be written");
	ret = gpumon_remote_start(remote, attempt->memory, attempt->memory + GPUMON_REMOTE_CODE,
				  attempt->memory, target->pthread_create,
				  attempt->memory +
					  offsetof(struct gpumon_remote_arguments, thread));
	if (!ret)
		return 0;
	if (ret > 0) {
		unmap_remote(attempt, remote);
		snprintf(why, sizeof(why), "it can make no thread: %s (ulimit -u, or its cgroup)",
			 strerror(ret));
		return impossible(attempt, -ret, err, why);
	}
	return impossible(attempt, ret, err,
			  ret == -ETIMEDOUT ?
				  "it did not make a thread in time. It goes on by itself" :
				  "its thread was lost meanwhile");
}

/**
 * try_thread - use one thread, if it is at a place where that is possible
 * @attempt: way in
 * @tid: thread
 * @where: out: why not
 * @err: out
 *
 * Return: 0; 1 if it is not possible with this thread now; -1 with @err.
 */
static int try_thread(struct attempt *attempt, pid_t tid, const char **where,
		      struct gpumon_error *err)
{
	struct gpumon_remote remote = { .pid = attempt->target->pid, .tid = tid };
	static char text[256];
	int ret = gpumon_remote_stop(&remote);

	if (ret == -EPERM)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, ret, GPUMON_ERROR_PERMISSION,
			"the library cannot be brought into process %d: ptrace is not permitted: be its user or root (CAP_SYS_PTRACE); a security module may forbid it, too",
			(int)attempt->target->pid);
	if (ret == -ETIMEDOUT)
		return impossible(
			attempt, ret, err,
			"one of its threads does not stop: it waits for a device, or gets no processor. It goes on by itself");
	if (ret) {
		*where = ret == -EAGAIN ? "stopped by a signal" : "at its end";
		return 1;
	}
	*where = gpumon_attach_judge(attempt->target, &remote);
	if (*where) {
		gpumon_remote_resume(&remote);
		return 1;
	}
	if (!gpumon_seccomp_allows(&remote, text, sizeof(text))) {
		gpumon_remote_resume(&remote);
		return impossible(attempt, -EPERM, err, text);
	}
	if (gpumon_remote_save(&remote, &attempt->target->code)) {
		gpumon_remote_resume(&remote);
		*where = "without readable registers";
		return 1;
	}
	ret = start_thread(attempt, &remote, err);
	gpumon_remote_resume(&remote);
	return ret;
}

static int use_some_thread(struct attempt *attempt, struct gpumon_error *err)
{
	const struct gpumon_attach_target *target = attempt->target;
	uint64_t until = gpumon_monotonic_ns() + FIND_NS;
	const struct timespec pause = { 0, AGAIN_NS };
	struct candidate candidates[THREADS_MAX];
	const char *where = "in a system call that must not be interrupted";
	char why[256];

	do {
		size_t count = list_candidates(target->root, target->pid, candidates);

		if (kill(target->pid, 0) && errno == ESRCH)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
						"process %d ended before the library was in it",
						(int)target->pid);
		for (size_t i = 0; i < count; i++) {
			int ret = try_thread(attempt, candidates[i].tid, &where, err);

			if (ret <= 0)
				return ret;
		}
		(void)nanosleep(&pause, NULL);
	} while (gpumon_monotonic_ns() < until);
	snprintf(
		why, sizeof(why),
		"none of its threads was at a place where it can be used within %d s; the last one was %s",
		(int)(FIND_NS / 1000000000), where);
	return impossible(attempt, -EAGAIN, err, why);
}

static int try_way(struct attempt *attempt, struct gpumon_error *err)
{
	if (use_some_thread(attempt, err))
		return -1;
	return gpumon_attach_talk(attempt->target, attempt->memory, attempt->library, err);
}

static int attach_in_child(const char *root, pid_t pid, struct gpumon_error *err)
{
	struct gpumon_attach_target target = { .pid = pid, .root = root };
	struct attempt attempt = { .target = &target };
	char library[PATH_MAX];
	int ret;

	if (gpumon_launch_find_library(library, err) || gpumon_attach_target_read(&target, err))
		return -1;
	attempt.library = library;
	attempt.in_memory = !gpumon_attach_sees(root, pid, library);
	ret = try_way(&attempt, err);
	/* Such as a folder that its user may not enter, or from which nothing may be executed. */
	if (ret == 1 && !attempt.in_memory) {
		attempt.in_memory = true;
		ret = try_way(&attempt, err);
	}
	gpumon_attach_target_free(&target);
	return ret ? -1 : 0;
}

/* --- for the recorder */

int gpumon_attach_begin(struct gpumon_attach *attach, const char *root, pid_t pid,
			struct gpumon_error *err)
{
	struct outcome outcome = { 0 };
	int fds[2];

	*attach = (struct gpumon_attach){ .pid = pid, .child = -1, .result = -1 };
	if (pipe2(fds, O_CLOEXEC))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"pipe: %s", strerror(errno));
	fflush(NULL);
	/*
	 * A process of its own: where a thread does not stop in time, only the end of the tracer lets go of it.
	 * If this program is killed, the child ends what it has begun.
	 */
	attach->child = fork();
	if (attach->child < 0) {
		int error = errno;

		close(fds[0]);
		close(fds[1]);
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
					"fork: %s", strerror(error));
	}
	if (!attach->child) {
		signal(SIGPIPE, SIG_IGN);
		close(fds[0]);
		(void)attach_in_child(root, pid, &outcome.error);
		(void)!write(fds[1], &outcome, sizeof(outcome));
		_exit(0);
	}
	close(fds[1]);
	attach->result = fds[0];
	attach->until_ns = gpumon_monotonic_ns() + WHOLE_NS;
	return 0;
}

int gpumon_attach_end(struct gpumon_attach *attach, bool wait, struct gpumon_error *err)
{
	struct pollfd fds = { .fd = attach->result, .events = POLLIN };
	struct outcome outcome;
	ssize_t got;

	for (;;) {
		uint64_t now = gpumon_monotonic_ns();
		int left = attach->until_ns > now ? (int)((attach->until_ns - now) / 1000000) + 1 :
						    0;
		int ready = poll(&fds, 1, wait ? left : 0);

		if (ready > 0)
			break;
		if (ready < 0 && errno == EINTR)
			continue;
		if (gpumon_monotonic_ns() < attach->until_ns)
			return 1;
		/* Killed: what it has begun in the process comes to its end there. */
		(void)kill(attach->child, SIGKILL);
		break;
	}
	got = read(attach->result, &outcome, sizeof(outcome));
	close(attach->result);
	(void)waitpid(attach->child, NULL, 0);
	attach->result = attach->child = -1;
	if (got != (ssize_t)sizeof(outcome))
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ETIMEDOUT,
					GPUMON_ERROR_UNSUPPORTED,
					"the library was not brought into process %d in time",
					(int)attach->pid);
	if (!outcome.error.code)
		return 0;
	*err = outcome.error;
	return -1;
}
