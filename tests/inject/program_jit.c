// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "program.h"

PLACE void launch_from_jit(void)
{
	const dim3 one = { 1, 1, 1 };

	cudaLaunchKernel("kernel_of_jit", one, one, NULL, 0, NULL);
	__asm__ volatile("");
}

bool run_jit(unsigned int count, unsigned int pause)
{
#if defined(__x86_64__)
	/* push %rbp; mov %rsp, %rbp; mov $FUNCTION, %rax; call *%rax; pop %rbp; ret */
	uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,	   0,
			   0,	 0,    0,    0,	   0,	 0xff, 0xd0, 0x5d, 0xc3 };
	const size_t place = 6;
#elif defined(__aarch64__)
	/* stp x29, x30, [sp, #-16]!; mov x29, sp; ldr x8, .+16; blr x8; ldp x29, x30, [sp], #16; ret */
	uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0x58000088, 0xd63f0100,
			    0xa8c17bfd, 0xd65f03c0, 0,		0 };
	const size_t place = 24;
#else
	uint8_t code[8];
	const size_t place = 0;
	return false;
#endif
	uint64_t function = (uintptr_t)launch_from_jit;
	char path[64];
	FILE *map;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	memcpy((char *)code + place, &function, sizeof(function));
	memcpy((char *)memory + 64, code, sizeof(code));
	__builtin___clear_cache(memory, (char *)memory + 4096);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map || mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return false;
	fprintf(map, "%lx %zx jit_train_step\n", (unsigned long)(uintptr_t)memory + 64,
		sizeof(code));
	fclose(map);
	for (unsigned int i = 0; i < count; i++) {
		((void (*)(void))(uintptr_t)((char *)memory + 64))();
		usleep(pause * 1000);
	}
	printf("%d\n", (int)getpid());
	return true;
}
