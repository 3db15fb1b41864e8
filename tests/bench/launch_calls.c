// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What lies between a program and its launch: calls of different depths, each of functions of its own,
 * as a framework's operations have. Between two launches the data that a program uses meanwhile is
 * read, so that nothing of the library's stays in a cache of that size.
 */
#include <stdint.h>
#include <valgrind/callgrind.h>

#define LINE 64
#define DATA (64 << 10)

typedef struct {
	unsigned int x, y, z;
} dim3;

int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
		     unsigned long shared, void *stream);

static volatile char data[DATA];

static __attribute__((noinline)) int launch(const char *name)
{
	static const dim3 one = { 1, 1, 1 };
	int sum = 0;

	for (unsigned int i = 0; i < DATA; i += LINE)
		sum += data[i];
	return cudaLaunchKernel(name, one, one, 0, 0, 0) + sum;
}

/* A function of a frame of its own size, that calls the next one. */
#define CALL(operation, number, next, words)                                     \
	static __attribute__((noinline)) int operation##number(const char *name) \
	{                                                                        \
		volatile uint64_t space[words];                                  \
                                                                                 \
		space[0] = number;                                               \
		return next(name) + (int)space[0];                               \
	}

#define FOUR(operation, a, b, c, d, next)   \
	CALL(operation, a, next, 2)         \
	CALL(operation, b, operation##a, 9) \
	CALL(operation, c, operation##b, 4) \
	CALL(operation, d, operation##c, 15)

#define TWELVE(operation)                         \
	FOUR(operation, 1, 2, 3, 4, launch)       \
	FOUR(operation, 5, 6, 7, 8, operation##4) \
	FOUR(operation, 9, 10, 11, 12, operation##8)

TWELVE(add)
TWELVE(scale)
TWELVE(product)
FOUR(product, 13, 14, 15, 16, product12)
TWELVE(attention)
FOUR(attention, 13, 14, 15, 16, attention12)
FOUR(attention, 17, 18, 19, 20, attention16)

int op_add(const char *name)
{
	return add12(name) + 1;
}

int op_scale(const char *name)
{
	return scale12(name) + 2;
}

int op_product(const char *name)
{
	return product16(name) + 3;
}

int op_attention(const char *name)
{
	return attention20(name) + 4;
}

/* What is counted by callgrind begins, ends. */
void count_begin(void)
{
	CALLGRIND_START_INSTRUMENTATION;
}

void count_end(void)
{
	CALLGRIND_STOP_INSTRUMENTATION;
}
