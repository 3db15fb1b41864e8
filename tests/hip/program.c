// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program that uses HIP, with its kernels registered as a compiler has it done. "did NAME COUNT BYTES"
 * are the calls that succeeded, "failed NAME COUNT" those that did not.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../opencl/held.h"
#include "hip.h"

#define THREADS 8
#define BYTES	1024u

#define STACK_BYTES (1u << 20)

static const struct {
	const char *name;
} names[] = {
	{ "hipLaunchKernel" },
	{ "hipLaunchCooperativeKernel" },
	{ "hipModuleLaunchKernel" },
	{ "hipExtModuleLaunchKernel" },
	{ "hipMemcpy" },
	{ "hipMemcpyAsync" },
	{ "hipMemset" },
	{ "hipMemsetAsync" },
	{ "hipGraphLaunch" },
};

#define NAMES (sizeof(names) / sizeof(names[0]))

static struct {
	unsigned long good, bad, bytes;
} counts[NAMES];

/* The addresses of these are the program's names of kernels. */
static char add_stub, scale_stub;
static void *stream, *function;
static char memory[BYTES];
static const struct size grid = { 7, 2, 1 }, block = { 32, 3, 1 };

static __attribute__((constructor)) void register_kernels(void)
{
	static const char binary[64];
	void **modules = __hipRegisterFatBinary(binary);

	__hipRegisterFunction(modules, &add_stub, "_Z3addPf", "_Z3addPf", ~0u, NULL, NULL, NULL,
			      NULL, NULL);
	__hipRegisterFunction(modules, &scale_stub, "_Z5scalePf", "_Z5scalePf", ~0u, NULL, NULL,
			      NULL, NULL, NULL);
}

static void account(const char *name, int result, size_t bytes)
{
	size_t i;

	for (i = 0; i < NAMES; i++) {
		if (strcmp(names[i].name, name))
			continue;
		__atomic_fetch_add(result ? &counts[i].bad : &counts[i].good, 1, __ATOMIC_RELAXED);
		if (!result)
			__atomic_fetch_add(&counts[i].bytes, bytes, __ATOMIC_RELAXED);
	}
}

#define CALL(name, bytes, ...) account(#name, name(__VA_ARGS__), bytes)

static __attribute__((noinline)) void launch_add(void *on)
{
	CALL(hipLaunchKernel, 0, &add_stub, grid, block, NULL, 0, on);
}

static __attribute__((noinline)) void every_call(void)
{
	launch_add(NULL);
	CALL(hipLaunchCooperativeKernel, 0, &scale_stub, grid, block, NULL, 0, stream);
	CALL(hipModuleLaunchKernel, 0, function, 7, 2, 1, 32, 3, 1, 0, stream, NULL, NULL);
	if (hipExtModuleLaunchKernel)
		CALL(hipExtModuleLaunchKernel, 0, function, 224, 6, 1, 32, 3, 1, 0, stream, NULL,
		     NULL, NULL, NULL, 0);
	CALL(hipMemcpy, BYTES, memory, memory, BYTES, TO_DEVICE);
	CALL(hipMemcpyAsync, BYTES / 2, memory, memory, BYTES / 2, FROM_DEVICE, stream);
	CALL(hipMemset, BYTES, memory, 3, BYTES);
	CALL(hipMemsetAsync, BYTES / 4, memory, 3, BYTES / 4, stream);
	hipStreamSynchronize(stream);
}

static __attribute__((noinline)) void mode_calls(int count)
{
	while (count--)
		every_call();
	hipDeviceSynchronize();
}

static void *launch_many(void *argument)
{
	int count = *(const int *)argument;

	while (count--)
		launch_add(NULL);
	return NULL;
}

static void mode_threads(int count)
{
	pthread_t threads[THREADS];
	size_t i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_many, &count);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	hipDeviceSynchronize();
}

/* Two launches go into a graph, which is launched; a third does not. */
static void mode_graph(int count)
{
	void *graph = NULL, *executable = NULL;

	hipStreamBeginCapture(stream, 0);
	hipLaunchKernel(&add_stub, grid, block, NULL, 0, stream);
	hipLaunchKernel(&scale_stub, grid, block, NULL, 0, stream);
	launch_add(NULL);
	hipStreamEndCapture(stream, &graph);
	hipGraphInstantiate(&executable, graph, NULL, NULL, 0);
	while (count--)
		CALL(hipGraphLaunch, 0, executable, stream);
	hipDeviceSynchronize();
}

/* What a program that looks at its errors sees. A kernel that there is not makes a launch fail. */
static void mode_errors(int count)
{
	int (*newer)(void) = __extension__(void *) dlsym(RTLD_DEFAULT, "hipExtGetLastError");
	int result, i;

	for (i = 0; i < count; i++) {
		result = hipLaunchKernel(memory, grid, block, NULL, 0, NULL);
		printf("launch %d last %d ", result,
		       newer && i % 2 ? newer() : hipPeekAtLastError());
		launch_add(NULL);
		printf("after a good one %d ", hipPeekAtLastError());
		hipMemcpy(NULL, NULL, 4, TO_DEVICE);
		printf("copy %d ", hipGetLastError());
		printf("then %d\n", newer ? newer() : hipGetLastError());
	}
	hipDeviceSynchronize();
}

static void mode_fork(int count)
{
	pid_t child;

	mode_calls(count);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	mode_calls(count);
}

static void get_count(void)
{
	int devices;

	hipGetDeviceCount(&devices);
}

static void *call_first(void *argument)
{
	is_held_in_loader = true;
	get_count();
	return argument;
}

/* A child of fork calls HIP, in the first call of which another thread of its parent is. */
static void mode_fork_in_first_call(void)
{
	fork_while_held(call_first, get_count);
}

static void mode_kill(int count)
{
	while (count--)
		launch_add(NULL);
	fflush(NULL);
	raise(SIGKILL);
}

/* Has waited, and ends at once. */
static void mode_ends(int count)
{
	for (int i = 0; i < count; i++)
		launch_add(NULL);
	hipDeviceSynchronize();
	printf("did hipLaunchKernel %d 0\n", count);
	fflush(NULL);
	_exit(0);
}

/* Until the library has measured one of so many kernels, for 60 s at most; says how many kernels that were. */
static void mode_measured(int count)
{
	unsigned long (*measured)(void) = __extension__(void *)
		dlsym(RTLD_DEFAULT, "hip_test_measured");
	struct timespec begin, now;
	unsigned long launched = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		launch_add(NULL);
		hipDeviceSynchronize();
		launched++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((!measured() || measured() * (unsigned long)count > launched) &&
		 now.tv_sec - begin.tv_sec < 60);
	printf("launched %lu\n", launched);
}

static jmp_buf place;

static void leave(void)
{
	longjmp(place, 1);
}

/* Is called within the next call. */
static void within(void (*body)(void))
{
	void (*next_has)(void (*)(void)) = __extension__(void *)
		dlsym(RTLD_DEFAULT, "hip_test_within");

	next_has(body);
}

/* Further down the stack than all that a call has there, which is overwritten. */
static __attribute__((noinline)) void deeper(void (*body)(void))
{
	char room[8192];

	memset(room, 1, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	body();
	__asm__ volatile("" ::"r"(room) : "memory");
}

static void fill_memory(void)
{
	hipMemset(memory, 3, BYTES);
}

static void fill_memory_deeper(void)
{
	deeper(fill_memory);
}

static __attribute__((noinline)) void leave_one(void (*call)(void))
{
	within(leave);
	if (!setjmp(place))
		call();
}

static void leave_and_call(int number)
{
	(void)number;
	leave_one(fill_memory);
	every_call();
}

/* Returns the signal stack that was there before. */
static stack_t have_signal(void (*handler)(int number), void *stack)
{
	const stack_t alternate = { .ss_sp = stack, .ss_size = STACK_BYTES };
	const struct sigaction action = { .sa_handler = handler,
					  .sa_flags = SA_ONSTACK | SA_NODEFER };
	stack_t before;

	sigaltstack(&alternate, &before);
	sigaction(SIGUSR1, &action, NULL);
	return before;
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static void fill_memory_at_signal(int number)
{
	(void)number;
	fill_memory();
}

/*
 * Five calls are left. Those that follow are where it was, above, below, where it was on another stack, and on
 * the thread's own stack after one on another.
 */
static void mode_left(int count)
{
	void *stack = malloc(STACK_BYTES);

	while (count--) {
		have_signal(leave_and_call, stack);
		leave_and_call(0);
		leave_one(fill_memory_deeper);
		every_call();
		leave_one(fill_memory);
		deeper(every_call);
		raise_signal();
		have_signal(fill_memory_at_signal, stack);
		leave_one(raise_signal);
		every_call();
	}
	hipDeviceSynchronize();
}

static void *call_nested(void *above)
{
	/* A sanitizer frees the one that it finds at the end of the thread. */
	const stack_t before = have_signal(fill_memory_at_signal, above);

	within(fill_memory_deeper);
	launch_add(NULL);
	within(raise_signal);
	launch_add(NULL);
	sigaltstack(&before, NULL);
	return NULL;
}

/* Calls within another one, on its stack and on one that is above it. */
static void mode_nested(int count)
{
	char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stacks, STACK_BYTES);
	while (count--) {
		pthread_create(&thread, &attributes, call_nested, stacks + STACK_BYTES);
		pthread_join(thread, NULL);
	}
	hipDeviceSynchronize();
}

static void mode_until_killed(int count)
{
	(void)count;
	puts("ready");
	fflush(stdout);
	for (;;) {
		launch_add(NULL);
		hipDeviceSynchronize();
	}
}

static const struct {
	const char *name;
	void (*run)(int count);
} modes[] = {
	{ "calls", mode_calls },
	{ "threads", mode_threads },
	{ "graph", mode_graph },
	{ "fork", mode_fork },
	{ "errors", mode_errors },
	{ "kill", mode_kill },
	{ "ends", mode_ends },
	{ "measured", mode_measured },
	{ "until-killed", mode_until_killed },
	{ "left", mode_left },
	{ "nested", mode_nested },
};

int main(int argc, char **argv)
{
	int devices = 0;
	size_t i;

	if (argc > 1 && strcmp(argv[1], "fork-in-first-call") == 0) {
		mode_fork_in_first_call();
		return 0;
	}
	hipGetDeviceCount(&devices);
	hipStreamCreate(&stream);
	hipModuleGetFunction(&function, NULL, "_Z6modulePf");
	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			modes[i].run(argc > 2 ? atoi(argv[2]) : 1);
	for (i = 0; i < NAMES; i++) {
		if (counts[i].good)
			printf("did %s %lu %lu\n", names[i].name, counts[i].good, counts[i].bytes);
		if (counts[i].bad)
			printf("failed %s %lu\n", names[i].name, counts[i].bad);
	}
	return 0;
}
