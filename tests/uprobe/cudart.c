// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Calls NVIDIA's own runtime, if it is installed. Without a GPU all calls fail, but they are still
 * made.
 *
 * usage: cudart ROUNDS GO WARM
 *   GO   file that it waits for
 *   WARM file that it waits for after the first round, in which all that it does is done once
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Missing in the header: nvcc 13 generates this call for <<<>>>, and the runtime has it. */
#include "cudart.h"

static __attribute__((noinline)) void one_round(void)
{
	int from = 0, to = 0;
	dim3 one = { 1, 1, 1 };

	cudaDeviceSynchronize();
	cudaMemcpy(&to, &from, sizeof(to), cudaMemcpyDefault);
	cudaMemcpyAsync(&to, &from, sizeof(to), cudaMemcpyDefault, NULL);
	cudaLaunchKernel((void *)one_round, one, one, NULL, 0, NULL);
	__cudaLaunchKernel((void *)one_round, one, one, NULL, 0, NULL);
	cudaStreamSynchronize(NULL);
	__asm__ volatile("" : : : "memory");
}

static void wait_for(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	unsigned long rounds;

	if (argc < 4)
		return 2;
	rounds = strtoul(argv[1], NULL, 0);
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	wait_for(argv[2]);
	for (unsigned long i = 0; i < rounds; i++) {
		one_round();
		/* All rounds must call from the same address. */
		__asm__ volatile("" : "+r"(i));
		if (!i)
			wait_for(argv[3]);
	}
	return 0;
}
