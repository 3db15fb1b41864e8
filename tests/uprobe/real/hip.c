// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * HIP without a device: every call returns an error, but is a call. There are no headers for a
 * library without its compiler, so the functions are declared here, as far as they are called.
 */
#include <string.h>

#include "real.h"

struct dim3 {
	unsigned int x, y, z;
};

int hipDeviceSynchronize(void);
int hipDrvMemcpy3D(const void *copy);
int hipDrvMemcpy3DAsync(const void *copy, void *stream);
int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
		    size_t shared, void *stream);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
		       size_t height, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemcpyAtoH(void *to, void *from, size_t offset, size_t bytes);
int hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind);
int hipMemcpyHtoA(void *to, size_t offset, const void *from, size_t bytes);
int hipMemcpyParam2D(const void *copy);
int hipMemcpyParam2DAsync(const void *copy, void *stream);
int hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
int hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
			   int kind, void *stream);
int hipMemset(void *to, int value, size_t bytes);
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream);
int hipModuleLaunchKernel(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
			  unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			  void *stream, void **arguments, void **extra);
int hipStreamSynchronize(void *stream);

const unsigned int threads = 2;

void before_go(const char *mode)
{
	(void)mode;
}

void after_go(const char *mode)
{
	(void)mode;
}

void work(unsigned int thread)
{
	struct dim3 one = { 1, 1, 1 };
	char a[64] = { 0 }, b[64];
	int failed = 0;

	(void)thread;
	memcpy(b, a, sizeof(b));
	failed += CALL(hipMemcpy, a, b, sizeof(a), 0) != 0;
	failed += CALL(hipMemcpyAsync, a, b, sizeof(a), 0, NULL) != 0;
	failed += CALL(hipMemset, a, 0, sizeof(a)) != 0;
	failed += CALL(hipMemsetAsync, a, 0, sizeof(a), NULL) != 0;
	for (int i = 0; i < 3; i++)
		failed += CALL(hipLaunchKernel, work, one, one, NULL, 0, NULL) != 0;
	failed += CALL(hipModuleLaunchKernel, NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != 0;
	failed += CALL(hipMemcpyToSymbol, a, b, sizeof(b), 0, 1) != 0;
	failed += CALL(hipMemcpyToSymbolAsync, a, b, sizeof(b), 0, 1, NULL) != 0;
	failed += CALL(hipMemcpyFromSymbol, b, a, sizeof(b), 0, 2) != 0;
	failed += CALL(hipMemcpyParam2D, NULL) != 0;
	failed += CALL(hipMemcpyParam2DAsync, NULL, NULL) != 0;
	failed += CALL(hipDrvMemcpy3D, NULL) != 0;
	failed += CALL(hipDrvMemcpy3DAsync, NULL, NULL) != 0;
	failed += CALL(hipMemcpyAtoH, a, NULL, 0, sizeof(a)) != 0;
	failed += CALL(hipMemcpyHtoA, NULL, 0, a, sizeof(a)) != 0;
	failed += CALL(hipMemcpy2DToArray, NULL, 0, 0, a, 8, 8, 8, 1) != 0;
	failed += CALL(hipStreamSynchronize, NULL) != 0;
	failed += CALL(hipDeviceSynchronize) != 0;
	NEED(failed > 15);
}
