// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/folder.h"
#include "remove.h"
#include "temporary.h"

/*
 * A process that waits for our end and then removes the capture. It ignores signals and has a
 * session of its own, so that Ctrl-C does not reach it.
 */
static _Noreturn void run_keeper(const char *path, int end)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte;

	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	dup2(end, 3);
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	close_range(4, ~0U, 0);
	while (read(3, &byte, 1) < 0 && errno == EINTR)
		;
	gpumon_remove_capture(path);
	_exit(0);
}

static void start_keeper(struct gpumon_temporary *temporary)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	/* Flush first, or the child could write the same buffered text again. */
	fflush(NULL);
	temporary->keeper = fork();
	if (!temporary->keeper) {
		close(ends[1]);
		run_keeper(temporary->path, ends[0]);
	}
	close(ends[0]);
	if (temporary->keeper < 0) {
		temporary->keeper = 0;
		close(ends[1]);
		return;
	}
	temporary->pipe = ends[1];
}

int gpumon_temporary_make(struct gpumon_temporary *temporary, struct gpumon_error *err)
{
	const char *parent = getenv("TMPDIR");

	const char *name, *problem;
	int folder;

	memset(temporary, 0, sizeof(*temporary));
	temporary->pipe = -1;
	snprintf(temporary->path, sizeof(temporary->path), "%s/gpumon-XXXXXX",
		 parent && *parent ? parent : "/tmp");
	folder = gpumon_folder_of(temporary->path, &name);
	problem = folder < 0 ? NULL : gpumon_folder_problem(folder);
	if (folder >= 0)
		close(folder);
	if (problem) {
		gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_IO,
			"no directory for the capture (%s): %s, say where with -o DIR, or by TMPDIR",
			temporary->path, problem);
		temporary->path[0] = '\0';
		return -1;
	}
	if (!mkdtemp(temporary->path)) {
		gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
			"no directory for the capture (%s): %s, say where with -o DIR, or by TMPDIR",
			temporary->path, strerror(errno));
		temporary->path[0] = '\0';
		return -1;
	}
	start_keeper(temporary);
	return 0;
}

void gpumon_temporary_remove(struct gpumon_temporary *temporary)
{
	if (!temporary->path[0])
		return;
	if (temporary->pipe >= 0)
		close(temporary->pipe);
	while (temporary->keeper && waitpid(temporary->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	/* The keeper could not be started, or was killed. */
	gpumon_remove_capture(temporary->path);
	temporary->path[0] = '\0';
}
