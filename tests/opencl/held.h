/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A thread that is held within the library, while its process forks. For one program: it defines
 * dl_iterate_phdr(), which the program has to export.
 */
#ifndef GPUMON_TESTS_OPENCL_HELD_H
#define GPUMON_TESTS_OPENCL_HELD_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "of_library.h"

/* ThreadSanitizer calls such functions before it is ready for what it adds to others. */
#define BEFORE_SANITIZER __attribute__((no_sanitize_thread))

/* Of the thread: it is held where the library looks at what is loaded. */
static __thread bool is_held_in_loader;
static _Atomic bool is_held, hold = true;

/* So is the library's own thread. */
static _Atomic bool holds_library;

static void hold_here(void)
{
	while (hold) {
		is_held = true;
		usleep(1000);
	}
}

BEFORE_SANITIZER int
dl_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
	__typeof__(&dl_iterate_phdr) next =
		(__typeof__(&dl_iterate_phdr))dlsym(RTLD_NEXT, "dl_iterate_phdr");

	if (is_held_in_loader || (holds_library && is_of_library()))
		hold_here();
	return next(callback, data);
}

/*
 * While a thread of @held is held, a child calls @in_child: it prints 7 where the child has come back
 * within 60 s.
 */
static void fork_while_held(void *(*held)(void *), void (*in_child)(void))
{
	pthread_t thread;
	int status;
	pid_t child;

	pthread_create(&thread, NULL, held, NULL);
	while (!is_held)
		usleep(1000);
	/* A fork waits for the library's own thread, which may wait for the one that is held. */
	setenv("MOCK_IMPATIENT", "1", 1);
	child = fork();
	if (!child) {
		alarm(60);
		hold = false;
		in_child();
		_exit(7);
	}
	unsetenv("MOCK_IMPATIENT");
	waitpid(child, &status, 0);
	hold = false;
	pthread_join(thread, NULL);
	printf("child %d\n", WEXITSTATUS(status));
}

#endif /* GPUMON_TESTS_OPENCL_HELD_H */
