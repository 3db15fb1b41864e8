// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Threads that end within a call, and calls that come within another one. */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "program.h"

/* The last launch is cancelled where the driver sleeps (MOCK_LAUNCH_US). */
static void *run_cancelled_thread(void *argument)
{
	for (unsigned int i = 0; i < *(unsigned int *)argument; i++)
		launch_here("kernel_a", NULL);
	pthread_cancel(pthread_self());
	launch_here("never", NULL);
	return NULL;
}

void run_cancelled(unsigned int threads, unsigned int count)
{
	pthread_t thread;

	launch_here("kernel_a", NULL);
	for (unsigned int i = 0; i < threads; i++) {
		pthread_create(&thread, NULL, run_cancelled_thread, &count);
		pthread_join(thread, NULL);
	}
	launch_here("kernel_a", NULL);
}

/* The system call, as of a library for sandboxes: the C library's handlers do not run. */
bool run_clone(unsigned int count)
{
	const dim3 none = { 0, 0, 0 };
	int status = 1;
	pid_t pid;

	launch_here("kernel_a", NULL);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		/* These fail before the stand-in takes a lock. */
		for (unsigned int i = 0; i < count; i++)
			cudaLaunchKernel("never", none, none, NULL, 0, NULL);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static void launch_in_handler(int number)
{
	(void)number;
	launch_here("of_handler", NULL);
}

void run_handler(unsigned int count)
{
	signal(SIGUSR1, launch_in_handler);
	for (unsigned int i = 0; i < count; i++)
		launch_here("kernel_a", NULL);
	raise(SIGUSR1);
}

static __thread bool cancels_itself;

/* The library looks for other libraries: at that moment the thread is cancelled. */
BEFORE_SANITIZER void cancel_in_library(void)
{
	if (!cancels_itself)
		return;
	cancels_itself = false;
	pthread_cancel(pthread_self());
}

static void *initialize_cancelled(void *argument)
{
	cancels_itself = true;
	cuInit(0);
	pthread_testcancel();
	return argument;
}

bool run_cancelled_init(unsigned int count)
{
	void *result = &result;
	pthread_t thread;

	pthread_create(&thread, NULL, initialize_cancelled, NULL);
	pthread_join(thread, &result);
	for (unsigned int i = 0; i < count; i++)
		launch_here("kernel_a", NULL);
	return result == PTHREAD_CANCELED;
}
