// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Brings the library into a process, as gpumon-user does, and may be killed in the middle.
 *
 *	attach PID [TIMES [KILL_AT]]
 *
 * Prints "attached", "refused: REASON", or "calls N": how many calls of ptrace() one attachment makes.
 * KILL_AT: the process that traces ends by SIGKILL instead of that call.
 * FORGET_INTERRUPT in the environment: the first PTRACE_INTERRUPT of each attachment has no effect, as kernels
 * do where the signal of a timer is on its way to the thread just then.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "record/attach.h"

static long kill_at = -1;
static long *calls;

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);

long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
	static bool is_forgotten; /* The process that traces is another one for each attachment. */

	if ((*calls)++ == kill_at)
		kill(getpid(), SIGKILL);
	if (request == PTRACE_INTERRUPT && !is_forgotten && getenv("FORGET_INTERRUPT")) {
		is_forgotten = true;
		return 0;
	}
	return __real_ptrace(request, pid, address, data);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	long times = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	struct gpumon_attach attach;
	struct gpumon_error err;

	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (argc > 3)
		kill_at = strtol(argv[3], NULL, 10);
	for (long i = 0; i < times; i++) {
		*calls = 0;
		if (gpumon_attach_begin(&attach, "", pid, &err) ||
		    gpumon_attach_end(&attach, true, &err)) {
			printf("refused: %s\n", err.message);
			return 1;
		}
	}
	printf("attached\ncalls %ld\n", *calls);
	return 0;
}
