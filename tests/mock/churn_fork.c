// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * churn_fork PROCESSES JOBS: runs short-lived processes one after the other. Each of them queues
 * some jobs on the rings of churn_gpu.ko.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "/sys/kernel/debug/churn_gpu/command"

int main(int argc, char **argv)
{
	long processes = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	char line[64];
	int fd, len, status;
	pid_t pid;

	if (argc != 3 || processes < 1) {
		fprintf(stderr, "usage: churn_fork PROCESSES JOBS\n");
		return 2;
	}
	len = snprintf(line, sizeof(line), "here jobs=%s", argv[2]);
	fd = open(COMMAND, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "churn_fork: " COMMAND ": %s\n", strerror(errno));
		return 1;
	}
	while (processes--) {
		pid = fork();
		if (!pid)
			_exit(write(fd, line, len) != len);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "churn_fork: a process failed, %ld were to come\n",
				processes);
			return 1;
		}
	}
	return 0;
}
