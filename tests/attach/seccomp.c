// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program that uses CUDA and has a sandbox: seccomp ACTION CALL. It forbids the system call with that number,
 * by ending the process (kill) or by an error (errno). "ready PID", then it runs until SIGTERM.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cuda.h>

static void *wait_forever(void *argument)
{
	(void)argument;
	(void)poll(NULL, 0, -1);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int action = argc > 1 && !strcmp(argv[1], "kill") ? SECCOMP_RET_KILL_PROCESS :
								     SECCOMP_RET_ERRNO | EPERM;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)atoi(argc > 2 ? argv[2] : "0"), 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	pthread_t thread;

	if (cuInit(0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	pthread_create(&thread, NULL, wait_forever, NULL);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		cuLaunchKernel((CUfunction)(void *)"kernel", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		usleep(1000);
	}
}
