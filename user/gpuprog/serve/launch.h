/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Launches kernels of gpumon-user's own on a GPU, with one block of memory that they share. */
#ifndef GPUMON_GPUPROG_SERVE_LAUNCH_H
#define GPUMON_GPUPROG_SERVE_LAUNCH_H

#include "driver.h"

/**
 * struct gpumon_cuda_gpu - a GPU that is being used
 * @driver: functions
 * @device: its number
 * @name: its name
 * @sm: architecture: 90
 * @retained: its context has to be given back
 * @memory: block of memory, or 0
 * @module: loaded kernels, which go with the context
 */
struct gpumon_cuda_gpu {
	struct gpumon_cuda_driver driver;
	int device;
	char name[100];
	uint32_t sm;
	bool retained;
	gpumon_cuda_address_t memory;
	gpumon_cuda_module_t module;
};

/**
 * gpumon_cuda_open - begin to use a GPU
 * @gpu: out, to be closed in both cases
 * @number: of the GPU, from 0
 * @err: no driver, no such GPU, no context
 *
 * Return: 0, or -1 with @err; exit status 77 where this machine is why.
 */
int gpumon_cuda_open(struct gpumon_cuda_gpu *gpu, uint32_t number, struct gpumon_error *err);
void gpumon_cuda_close(struct gpumon_cuda_gpu *gpu);

/**
 * gpumon_cuda_alloc - the block of memory, zeroed
 * @gpu: GPU
 * @bytes: of it
 * @err: why there is none
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_cuda_alloc(struct gpumon_cuda_gpu *gpu, uint64_t bytes, struct gpumon_error *err);

/* Copy to a place of the block, or from its start. 0, or -1 with @err. */
int gpumon_cuda_write(struct gpumon_cuda_gpu *gpu, uint64_t place, const void *data, size_t size,
		      struct gpumon_error *err);
int gpumon_cuda_read(struct gpumon_cuda_gpu *gpu, void *data, size_t size,
		     struct gpumon_error *err);

/**
 * gpumon_cuda_module - load kernels
 * @gpu: GPU
 * @ptx: text with a NUL
 * @table: name of a constant array of addresses in it
 * @addresses: content of the array
 * @bytes: of it
 * @err: what the driver's compiler says
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_cuda_module(struct gpumon_cuda_gpu *gpu, const char *ptx, const char *table,
		       const void *addresses, size_t bytes, struct gpumon_error *err);

/**
 * gpumon_cuda_run - launch a kernel without parameters, and wait for its end
 * @gpu: GPU with a module
 * @kernel: name
 * @grid: blocks in x, y and z
 * @block: threads of a block in x, y and z
 * @ns: out: how long it ran, by the GPU's clock
 * @err: why it did not run, or not to its end
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_cuda_run(struct gpumon_cuda_gpu *gpu, const char *kernel, const uint32_t *grid,
		    const uint32_t *block, uint64_t *ns, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVE_LAUNCH_H */
