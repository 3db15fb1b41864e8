// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Calls of NVIDIA's own runtime, where it is installed. Without a GPU they all
 * fail, but not before they are called.
 *
 * usage: cudart ROUNDS GO
 *   GO   file that it waits for
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Not in the header: what nvcc 13 makes of <<<>>>, for which the runtime has it. */
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

int main(int argc, char **argv)
{
	unsigned long rounds;

	if (argc < 3)
		return 2;
	rounds = strtoul(argv[1], NULL, 0);
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	while (access(argv[2], F_OK))
		usleep(1000);
	for (unsigned long i = 0; i < rounds; i++) {
		one_round();
		/* All rounds are to be called from one place. */
		__asm__ volatile("" : "+r"(i));
		usleep(i ? 0 : 500000);
	}
	return 0;
}
