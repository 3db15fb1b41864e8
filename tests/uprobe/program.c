// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program of known calls: threads that launch by known paths, and an account
 * of it on standard output, as JSON. It is linked with stand-ins, or loads
 * them when it runs.
 *
 * usage: program THREADS ROUNDS [go=FILE] [load=LIBRARY:FUNCTION] [reload=N] [pause=US] [warm=FILE] [until=FILE]
 *                [time=N] [stay=FILE] [leader-exits] [exec] [vfork]
 *   go=      waits for the file before it begins; prints a line with its pid before
 *   load=    calls that function, of a library loaded after go=, instead of the usual ones
 *   reload=  loads and unloads it so often, ROUNDS calls each time
 *   pause=   between rounds
 *   warm=    waits for the file after the first round, in which all that the program does is done once
 *   until=   goes on after the rounds until the file is there
 *   time=    makes so many calls by each of a few paths, and prints what the quickest took
 *   stay=    waits for that file at the end, in cudaDeviceSynchronize's place
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

#define CALLED(X)                      \
	X(cudaLaunchKernel)            \
	X(__cudaLaunchKernel)          \
	X(cudaLaunchKernel_ptsz)       \
	X(__cudaLaunchKernel_ptsz)     \
	X(cudaLaunchKernelExC)         \
	X(cudaLaunchCooperativeKernel) \
	X(cudaGraphLaunch)             \
	X(cudaMemcpyAsync)             \
	X(cudaMemsetAsync)             \
	X(cudaMemcpy)                  \
	X(cudaStreamSynchronize)       \
	X(cudaDeviceSynchronize)       \
	X(cudaNotKnownToAnybody)       \
	X(cuLaunchKernel)              \
	X(cuMemcpyHtoD_v2)             \
	X(hipLaunchKernel)             \
	X(hipModuleLaunchKernel)       \
	X(hipStreamSynchronize)        \
	X(zeCommandListAppendLaunchKernel)

#define NUMBER(name) CALL_##name,
enum called {
	CALLED(NUMBER) CALLS
};

#ifndef NO_LIBRARIES
#define ADDRESS(name) [CALL_##name] = name,
static void (*const functions[CALLS])(void) = { CALLED(ADDRESS) };
#else
static void (*const functions[CALLS])(void);
#endif
#define NAME(name) [CALL_##name] = #name,
static const char *const names[CALLS] = { CALLED(NAME) };

struct worker {
	pthread_t thread;
	long tid;
	unsigned long count[CALLS];
	unsigned long loaded;
};

static unsigned long rounds;
static unsigned int pause_us;
static const char *warm_file, *until_file;
static void (*loaded)(void);

/* Keep a value alive, whatever the compiler could remove. */
static inline void keep(void *what)
{
	__asm__ volatile("" : : "r"(what) : "memory");
}

static __attribute__((noinline)) void finally_call(struct worker *worker, enum called call)
{
	if (loaded) {
		worker->loaded++;
		loaded();
	} else {
		worker->count[call]++;
		functions[call]();
	}
	keep(worker);
}

/* Each path has its own functions, none of which ends with a jump. */
static __attribute__((noinline)) void forward_inner(struct worker *worker, enum called call)
{
	char room[24] = { 0 };

	keep(room);
	finally_call(worker, call);
	keep(room);
}

static __attribute__((noinline)) void forward_outer(struct worker *worker, enum called call)
{
	char room[400] = { 0 };

	keep(room);
	forward_inner(worker, call);
	keep(room);
}

static __attribute__((noinline)) void backward_inner(struct worker *worker, enum called call)
{
	char room[8] = { 0 };

	keep(room);
	finally_call(worker, call);
	keep(room);
}

static __attribute__((noinline)) void backward_middle(struct worker *worker, enum called call)
{
	char room[3000] = { 0 };

	keep(room);
	backward_inner(worker, call);
	keep(room);
}

static __attribute__((noinline)) void backward_outer(struct worker *worker, enum called call)
{
	char room[56] = { 0 };

	keep(room);
	backward_middle(worker, call);
	keep(room);
}

/*
 * The room is not written: the return addresses of the call before, which was made from less depth,
 * remain in it.
 */
static __attribute__((noinline)) void hollow(struct worker *worker, enum called call)
{
	char room[1500];

	keep(room);
	finally_call(worker, call);
	keep(room);
}

static __attribute__((noinline)) void deep(struct worker *worker, enum called call,
					   unsigned int more)
{
	if (more)
		deep(worker, call, more - 1);
	else
		finally_call(worker, call);
	keep(worker);
}

static __attribute__((noinline)) void one_round(struct worker *worker, unsigned long round)
{
	static const enum called forward[] = {
		CALL_cudaLaunchKernel,	    CALL_cudaLaunchKernel, CALL_cudaLaunchKernel,
		CALL___cudaLaunchKernel,    CALL_cudaMemcpyAsync,  CALL_cudaLaunchKernelExC,
		CALL_cudaMemsetAsync,	    CALL_cuLaunchKernel,   CALL___cudaLaunchKernel_ptsz,
		CALL_cudaLaunchKernel_ptsz,
	};
	static const enum called backward[] = {
		CALL_cudaLaunchKernel,	    CALL_cudaGraphLaunch,
		CALL_cudaStreamSynchronize, CALL_cudaMemcpy,
		CALL_cuMemcpyHtoD_v2,	    CALL_cudaLaunchCooperativeKernel,
		CALL_hipLaunchKernel,	    CALL_hipModuleLaunchKernel,
		CALL_hipStreamSynchronize,  CALL_zeCommandListAppendLaunchKernel,
		CALL_cudaNotKnownToAnybody, CALL_cudaDeviceSynchronize,
	};

	for (unsigned int i = 0; i < sizeof(forward) / sizeof(forward[0]); i++)
		forward_outer(worker, forward[i]);
	if (round % 8 == 4)
		hollow(worker, CALL_cudaLaunchKernel);
	if (round % 8 == 0)
		for (unsigned int i = 0; i < sizeof(backward) / sizeof(backward[0]); i++)
			backward_outer(worker, backward[i]);
	if (round % 64 == 0)
		deep(worker, CALL_cudaLaunchKernel, 40);
	if (pause_us)
		usleep(pause_us);
}

/* Behind work(): what follows is other code. The compiler keeps this order. */
static void wait_for(const char *file);

static void *work(void *data)
{
	struct worker *worker = data;

	worker->tid = syscall(SYS_gettid);
	for (unsigned long i = 0; i < rounds || (until_file && access(until_file, F_OK)); i++) {
		one_round(worker, i);
		/* All rounds must call from the same address, whatever a compiler prefers. */
		__asm__ volatile("" : "+r"(i));
		if (!i && warm_file)
			wait_for(warm_file);
	}
	return NULL;
}

static void wait_for(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
}

static void print_account(const struct worker *workers, unsigned int count, const char *function)
{
	const struct {
		const char *name;
		void *address;
	} places[] = {
		{ "finally_call", finally_call },
		{ "forward_inner", forward_inner },
		{ "forward_outer", forward_outer },
		{ "backward_inner", backward_inner },
		{ "backward_middle", backward_middle },
		{ "backward_outer", backward_outer },
		{ "hollow", hollow },
		{ "deep", deep },
		{ "one_round", one_round },
		{ "work", work },
		{ "-", wait_for },
	};

	printf("{\"pid\":%d,\"threads\":{", (int)getpid());
	for (unsigned int i = 0; i < count; i++) {
		const char *comma = "";

		printf("%s\"%ld\":{", i ? "," : "", workers[i].tid);
		for (unsigned int j = 0; j < CALLS; j++) {
			if (!workers[i].count[j])
				continue;
			printf("%s\"%s\":%lu", comma, names[j], workers[i].count[j]);
			comma = ",";
		}
		if (workers[i].loaded)
			printf("%s\"%s\":%lu", comma, function, workers[i].loaded);
		printf("}");
	}
	printf("},\"places\":{");
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		printf("%s\"%s\":%lu", i ? "," : "", places[i].name,
		       (unsigned long)places[i].address);
	printf("}}\n");
	fflush(stdout);
}

static void run(struct worker *workers, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	for (unsigned int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
}

static unsigned long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)now.tv_sec * 1000000000ul + (unsigned long)now.tv_nsec;
}

/* Measured in batches, some of which are undisturbed. */
static __attribute__((noinline)) unsigned long quickest(struct worker *worker, enum called call,
							unsigned int more, unsigned long calls)
{
	unsigned long best = ~0ul;

	for (unsigned long i = 0; i < calls; i += 16) {
		unsigned long start = now_ns(), took;

		for (unsigned int j = 0; j < 16; j++)
			deep(worker, call, more);
		took = now_ns() - start;
		if (took < best)
			best = took;
	}
	return best / 16;
}

static void print_times(struct worker *worker, unsigned long calls)
{
	static const unsigned int depths[] = { 0, 10, 30 };

	printf("{\"calls\":%lu", calls);
	for (unsigned int i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		quickest(worker, CALL_cudaLaunchKernel, depths[i], 32);
		/* Wait until everything seen for the first time has been learnt. */
		usleep(300000);
		printf(",\"runtime_%u_ns\":%lu", depths[i],
		       quickest(worker, CALL_cudaLaunchKernel, depths[i], calls));
		printf(",\"driver_%u_ns\":%lu", depths[i],
		       quickest(worker, CALL_cuLaunchKernel, depths[i], calls));
	}
	printf("}\n");
	fflush(stdout);
}

struct plan {
	unsigned int count;
	unsigned long time;
	const char *go, *library, *function, *stay;
	unsigned int reload;
	bool exec, vfork;
	char **argv;
};

static void *main_thread(void *data)
{
	const struct plan *plan = data;
	struct worker *workers = calloc(plan->count, sizeof(*workers));

	if (plan->go)
		wait_for(plan->go);
	if (plan->time) {
		print_times(workers, plan->time);
		exit(0);
	}
	if (plan->vfork) {
		/* A child that shares the memory makes a call, which is not the program's. */
		pid_t child = vfork();

		if (!child) {
			functions[CALL_cudaLaunchKernel]();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	for (unsigned int i = 0; i < (plan->reload ? plan->reload : 1); i++) {
		void *library = NULL;

		if (plan->library) {
			library = dlopen(plan->library, RTLD_NOW);
			loaded = library ? (void (*)(void))dlsym(library, plan->function) : NULL;
			if (!loaded) {
				fprintf(stderr, "%s\n", dlerror());
				exit(1);
			}
			/* A library that was just loaded has no probes yet. */
			usleep(plan->reload ? 0 : 500000);
		}
		run(workers, plan->count);
		if (plan->reload)
			dlclose(library);
	}
	print_account(workers, plan->count, plan->function);
	if (plan->stay)
		wait_for(plan->stay);
	if (plan->exec) {
		plan->argv[1] = "1";
		plan->argv[2] = "3";
		plan->argv[3] = NULL;
		execv("/proc/self/exe", plan->argv);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	/* Not on the stack, which is gone after leader-exits. */
	static struct plan plan = { .count = 1 };
	bool leader_exits = false;
	pthread_t thread;

	if (argc < 3)
		return 2;
	plan.argv = argv;
	plan.count = (unsigned int)atoi(argv[1]);
	rounds = strtoul(argv[2], NULL, 0);
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!strncmp(argv[i], "go=", 3)) {
			plan.go = value + 1;
		} else if (!strncmp(argv[i], "load=", 5)) {
			plan.library = strtok(value + 1, ":");
			plan.function = strtok(NULL, ":");
		} else if (!strncmp(argv[i], "reload=", 7)) {
			plan.reload = (unsigned int)atoi(value + 1);
		} else if (!strncmp(argv[i], "pause=", 6)) {
			pause_us = (unsigned int)atoi(value + 1);
		} else if (!strncmp(argv[i], "warm=", 5)) {
			warm_file = value + 1;
		} else if (!strncmp(argv[i], "until=", 6)) {
			until_file = value + 1;
		} else if (!strncmp(argv[i], "time=", 5)) {
			plan.time = strtoul(value + 1, NULL, 0);
		} else if (!strncmp(argv[i], "stay=", 5)) {
			plan.stay = value + 1;
		} else if (!strcmp(argv[i], "leader-exits")) {
			leader_exits = true;
		} else if (!strcmp(argv[i], "exec")) {
			plan.exec = true;
		} else if (!strcmp(argv[i], "vfork")) {
			plan.vfork = true;
		} else {
			return 2;
		}
	}
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	if (!leader_exits)
		return main_thread(&plan) != NULL;
	if (pthread_create(&thread, NULL, main_thread, &plan))
		abort();
	pthread_exit(NULL);
}
