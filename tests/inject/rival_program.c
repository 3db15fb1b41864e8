// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program with a profiler of its own, which it uses in the second third of its launches.
 * rival_program COUNT HOW LIBRARY before|after: with the library loaded before or after the first
 * launches. Prints what cuptiSubscribe() returned, how many launches its profiler saw, whether
 * CUPTI had its clock, and how many kernels it saw, if it counts them. HOW: once; until: it tries until it can
 * have CUPTI, and waits until gpumon has it again; first: it begins before CUDA does; stays: it does not end.
 * PACE_MS: between two launches.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void pause_ms(unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000l };

	nanosleep(&pause, NULL);
}

static void launch(unsigned int count)
{
	const dim3 one = { 1, 1, 1 };
	const char *pace = getenv("PACE_MS");

	while (count-- > 0) {
		cudaLaunchKernel((const void *)launch, one, one, NULL, 0, NULL);
		if (pace)
			pause_ms((unsigned int)atoi(pace));
	}
	cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 4 ? (unsigned int)atoi(argv[1]) : 0;
	bool until, is_first, is_early, (*is_on)(CUpti_ActivityKind);
	unsigned int (*end)(void), (*kernels)(void), calls;
	int (*begin)(bool), result = -1;
	bool (*has_clock)(void), its_clock;
	void *rival = NULL, *cupti;

	if (argc < 5)
		return 2;
	until = !strcmp(argv[2], "until");
	is_first = !strcmp(argv[2], "first");
	is_early = !strcmp(argv[4], "before");
	if (is_early)
		rival = dlopen(argv[3], RTLD_NOW);
	begin = rival ? (int (*)(bool))dlsym(rival, "rival_begin") : NULL;
	if (begin && is_first)
		result = begin(false);
	launch(count);
	if (!is_early)
		rival = dlopen(argv[3], RTLD_NOW);
	if (!rival)
		return 2;
	begin = (int (*)(bool))dlsym(rival, "rival_begin");
	has_clock = (bool (*)(void))dlsym(rival, "rival_has_clock");
	end = (unsigned int (*)(void))dlsym(rival, "rival_end");
	kernels = (unsigned int (*)(void))dlsym(rival, "rival_kernels");
	/* gpumon looks at new libraries now and then. Before that it cannot keep its clock. */
	for (int i = 0; !is_first && (result = begin(is_early)) && until && i < 3000; i++)
		pause_ms(10);
	launch(count);
	its_clock = has_clock();
	calls = result || !strcmp(argv[2], "stays") ? 0 : end();
	printf("%d %u %d", result, calls, its_clock);
	if (kernels)
		printf(" %u", kernels());
	printf("\n");
	/* Kernels are what a window switches on last. */
	cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	is_on = cupti ? (bool (*)(CUpti_ActivityKind))dlsym(cupti, "mock_any_enabled") : NULL;
	for (int i = 0; until && is_on && !is_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); i++) {
		if (i == 3000)
			return 3;
		pause_ms(10);
	}
	launch(count);
	return 0;
}
