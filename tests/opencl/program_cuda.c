// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* CUDA beside OpenCL: a stand-in of tests/inject that has no header here. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void be_held(void)
{
	static unsigned int calls;
	char name[16 + 1] = "";

	if (is_in_cuda && held == LIBRARY_HELD) {
		held = CUDA_HELD;
		while (held == CUDA_HELD)
			usleep(1000);
		return;
	}
	prctl(PR_GET_NAME, name);
	if (is_in_cuda || strcmp(name, "gpumon") != 0)
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
	__typeof__(&dl_iterate_phdr) next =
		(__typeof__(&dl_iterate_phdr))dlsym(RTLD_NEXT, "dl_iterate_phdr");

	if (held != FREE)
		be_held();
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
