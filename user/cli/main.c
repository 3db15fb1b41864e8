// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <locale.h>

#include "commands.h"
#include "base/privileges.h"

int main(int argc, char **argv)
{
	struct gpumon_context context = {
		.out = stdout,
		.err = stderr,
		.root = "",
	};
	int status;

	/*
	 * For the widths of characters in tables. Numbers stay as in C, since programs read them.
	 */
	setlocale(LC_CTYPE, "");

	gpumon_privileges_start();
	status = gpumon_run(&context, argc, argv);

	/* A full disk or a closed pipe only shows up here. Lost output is a failure. */
	if (fflush(stdout) || ferror(stdout)) {
		if (status == GPUMON_EXIT_OK) {
			perror("gpumon-user: standard output");
			status = GPUMON_EXIT_FAILED;
		}
	}
	return status;
}
