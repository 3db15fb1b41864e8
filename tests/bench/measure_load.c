// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Measures loading and unloading a module, and starting and ending a program. Each prints the
 * elapsed nanoseconds, including waits. QEMU's plugin counts the instructions.
 */
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "measure.h"

static uint64_t began;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void begin(void)
{
	MARK(MARKER_OPEN);
	began = now_ns();
	MARK(MARKER_BEGIN);
}

static void end(void)
{
	uint64_t ns;

	MARK(MARKER_END);
	ns = now_ns() - began;
	MARK(MARKER_CLOSE);
	printf("%llu\n", (unsigned long long)ns);
}

void measure_load(const char *file, const char *parameters)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	long ret;

	if (fd < 0)
		error(1, errno, "%s", file);
	arm();
	/* Exclude reading the file from the measurement. */
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED))
		error(1, errno, "%s", file);
	begin();
	ret = syscall(SYS_finit_module, fd, parameters, 0);
	end();
	if (ret)
		error(1, errno, "cannot load %s", file);
	close(fd);
}

void measure_unload(const char *module)
{
	long ret;

	arm();
	begin();
	ret = syscall(SYS_delete_module, module, O_NONBLOCK);
	end();
	if (ret)
		error(1, errno, "cannot unload %s", module);
}

/* Until it prints the text; then from a signal to its end. */
void measure_start(const char *text, char **program)
{
	static char said[65536];
	size_t length = 0;
	int pipes[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(pipes))
		error(1, errno, "pipe");
	arm();
	begin();
	pid = fork();
	if (pid < 0)
		error(1, errno, "fork");
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(pipes[1], STDERR_FILENO) < 0)
			_exit(126);
		close(pipes[0]);
		close(pipes[1]);
		execv(program[0], program);
		_exit(127);
	}
	close(pipes[1]);
	while (!strstr(said, text)) {
		n = read(pipes[0], said + length, sizeof(said) - 1 - length);
		if (n <= 0)
			error(1, 0, "%s did not say %s: %s", program[0], text, said);
		length += n;
	}
	end();
	begin();
	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid)
		error(1, errno, "wait");
	end();
}
