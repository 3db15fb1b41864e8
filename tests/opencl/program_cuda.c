// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* CUDA beside OpenCL: a stand-in of tests/inject that has no header here. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "of_library.h"
#include "program.h"

static int (*launch_cuda)(const char *name, unsigned int, unsigned int, unsigned int, unsigned int,
			  unsigned int, unsigned int, unsigned int, void *, void **, void **);
static void (*wait_for_cuda)(void *stream);

void begin_cuda(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int) = library ? (int (*)(unsigned int))dlsym(library, "cuInit") :
					      NULL;

	launch_cuda = library ? (__typeof__(launch_cuda))dlsym(library, "cuLaunchKernel") : NULL;
	wait_for_cuda = library ? (void (*)(void *))dlsym(library, "mock_wait") : NULL;
	if (!launch_cuda || !wait_for_cuda || !init || init(0)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

/* In turn, so that the ids of both are the same. */
void mode_both(long number)
{
	if (!launch_cuda)
		begin_cuda();
	for (long i = 0; i < number; i++) {
		launch_empty(queue);
		NEED(launch_cuda("of_cuda", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	}
	NEED(clFinish(queue));
	wait_for_cuda(NULL);
	printf("did clEnqueueNDRangeKernel %ld 0\ncuda %ld\n", number, number);
}

/*
 * Where a thread is held in the loader: the library's when a capture begins, until CUDA is being
 * initialised, and this one there, until the library's has gone on.
 */
static _Atomic enum hold {
	FREE,
	LIBRARY_WANTED,
	LIBRARY_HELD,
	CUDA_HELD,
} held;
static __thread bool is_in_cuda;

/* How often the library's thread has looked there, from when that is asked for. */
static _Atomic unsigned int looks;
static _Atomic bool counts_looks;

static void be_held(void)
{
	static unsigned int calls;

	if (is_in_cuda && held == LIBRARY_HELD) {
		held = CUDA_HELD;
		while (held == CUDA_HELD)
			usleep(1000);
		return;
	}
	if (is_in_cuda || !is_of_library())
		return;
	if (held == LIBRARY_WANTED)
		held = LIBRARY_HELD;
	/* Looks at new libraries, which it does when the capture has begun. */
	else if (held == CUDA_HELD && ++calls == 8)
		held = FREE;
	while (held == LIBRARY_HELD)
		usleep(1000);
}

/* Also used by the library, and by a sanitizer before it can check anything. */
__attribute__((no_sanitize("address", "undefined", "thread"))) int
dl_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
	static __typeof__(&dl_iterate_phdr) next;

	/* Once: dlsym() waits for a library that is being loaded, and this function does not. */
	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (held != FREE)
		be_held();
	if (counts_looks)
		looks += is_of_library();
	return next(callback, data);
}

/* The test starts a recorder, whose capture the library begins. */
static void wait_until_library_is_held(_Atomic enum hold *where)
{
	*where = LIBRARY_WANTED;
	puts("ready");
	fflush(stdout);
	while (*where == LIBRARY_WANTED)
		usleep(1000);
}

/* A recorder comes when CUDA is about to be initialised. Then as until-killed. */
void mode_cuda_while_attached(long number)
{
	wait_until_library_is_held(&held);
	is_in_cuda = true;
	begin_cuda();
	is_in_cuda = false;
	mode_until_killed(number);
}

/* The same amid the begin of a capture: the library asks for the name of the host. */
static _Atomic enum hold held_in_uname;

int uname(struct utsname *name)
{
	if (held_in_uname == LIBRARY_WANTED && gettid() != getpid()) {
		held_in_uname = LIBRARY_HELD;
		while (held_in_uname == LIBRARY_HELD)
			usleep(1000);
	}
	return (int)syscall(SYS_uname, name);
}

/* CUDA is initialised meanwhile. Then launches of both until it is killed. */
void mode_cuda_amid_attach(long number)
{
	wait_until_library_is_held(&held_in_uname);
	begin_cuda();
	held_in_uname = FREE;
	for (;;) {
		launch_empty(queue);
		NEED(launch_cuda("of_cuda", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		NEED(clFinish(queue));
		usleep((useconds_t)number);
	}
}

void mode_cuda_first(long number)
{
	mode_both(number);
}

/* OpenCL is only used in a child, where CUDA does not work. */
void mode_child_of_cuda(long number)
{
	pid_t child;
	int status;

	begin_cuda();
	child = fork();
	if (!child) {
		begin();
		mode_exit(number);
	}
	waitpid(child, &status, 0);
	for (long i = 0; i < number; i++)
		NEED(launch_cuda("of_cuda", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	printf("child %d\n", WEXITSTATUS(status));
}

/* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: on in a capture, and off once its end has begun. */
#define KERNELS 10

static bool is_recorded(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	bool (*is_on)(int) = cupti ? (bool (*)(int))dlsym(cupti, "mock_kind_enabled") : NULL;

	return is_on && is_on(KERNELS);
}

static _Atomic bool is_constructed;

static void *launch_until_killed(void *argument)
{
	while (!is_constructed)
		usleep(1000);
	for (;;) {
		launch_cuda("of_cuda", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		usleep(1000);
	}
	return argument;
}

/* Called with the loader's lock, by a library that is being loaded. */
void in_constructor(void);

void in_constructor(void)
{
	is_constructed = true;
	held_in_uname = FREE;
	while (is_recorded())
		usleep(1000);
	begin();
}

/*
 * A library that is being loaded initialises OpenCL, where a capture of CUDA ends. It does so after
 * some launches.
 */
void mode_opencl_amid_end(long number)
{
	pthread_t thread;

	alarm((unsigned int)number);
	begin_cuda();
	pthread_create(&thread, NULL, launch_until_killed, NULL);
	puts("ready");
	fflush(stdout);
	while (!is_recorded())
		usleep(1000);
	/* It has asked for the functions that it needs in the capture, for which it takes the loader's lock. */
	counts_looks = true;
	while (looks < 8)
		usleep(1000);
	if (dlopen(getenv("OPENCL_TEST_LIBRARY"), RTLD_NOW))
		puts("through");
	fflush(stdout);
	pthread_join(thread, NULL);
}

static void *begin_cuda_apart(void *argument)
{
	begin_cuda();
	return argument;
}

/* The same where another thread initialises CUDA. */
void mode_opencl_amid_cuda(long number)
{
	pthread_t thread;

	alarm(60);
	held_in_uname = LIBRARY_WANTED;
	pthread_create(&thread, NULL, begin_cuda_apart, NULL);
	while (held_in_uname == LIBRARY_WANTED)
		usleep(1000);
	if (!dlopen(getenv("OPENCL_TEST_LIBRARY"), RTLD_NOW))
		exit(1);
	pthread_join(thread, NULL);
	mode_both(number);
}
