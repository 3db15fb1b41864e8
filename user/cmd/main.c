// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "commands.h"
#include "lib/format.h"
#include "lib/privileges.h"
#include "lib/wait.h"

/*
 * If we were started without standard input or output, one of our files would get that descriptor,
 * and our output would be written into it. Reads and writes still fail as if it was closed, and
 * O_CLOEXEC closes it for the programs that we start.
 */
static void keep_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	struct gpumon_context context = {
		.out = stdout,
		.err = stderr,
		.root = "",
	};
	int status;

	gpumon_signals_start();
	gpumon_term_start();
	keep_standard_files();
	gpumon_privileges_start();
	status = gpumon_run(&context, argc, argv);

	/* A full disk or a closed pipe only shows up here. Lost output is a failure. */
	if (fflush(stdout) || ferror(stdout)) {
		if (status == GPUMON_EXIT_OK) {
			fprintf(stderr, "gpumon-user: standard output: %s\n", strerror(errno));
			status = GPUMON_EXIT_FAILED;
		}
	}
	return status;
}
