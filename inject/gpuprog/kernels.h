/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Kernels of patched modules, and the data that their patches get. */
#ifndef GPUMON_INJECT_GPUPROG_KERNELS_H
#define GPUMON_INJECT_GPUPROG_KERNELS_H

#include <stdbool.h>

#include "driver.h"
#include "requests.h"

/**
 * struct inject_patched_module - a module with kernels that get programs
 * @context: NULL: unloaded
 * @kernels: struct gpumon_wire_kernel, each with its name behind it
 * @size: bytes of @kernels
 * @n: how many
 * @number: of the module in gpumon-user
 */
struct inject_patched_module {
	CUcontext context;
	CUmodule module;
	void *kernels;
	size_t size;
	uint32_t n;
	uint32_t number;
};

/* The kernel behind *@at in a list, which is moved on; false: there are no more. *@name is its name. */
bool inject_kernels_next(const void *list, size_t size, size_t *at,
			 struct gpumon_wire_kernel *kernel, const char **name);

/* Finds a kernel by its name. */
bool inject_kernels_find(const struct inject_patched_module *module, const char *name,
			 struct gpumon_wire_kernel *kernel);

/**
 * inject_kernels_data - the data that the patches of a kernel get
 * @context: current
 * @kernel: number and programs
 *
 * The same kernel of several modules has the same data, which stays until the context ends.
 *
 * Return: its address on the GPU; 0: no memory.
 */
CUdeviceptr inject_kernels_data(CUcontext context, const struct gpumon_wire_kernel *kernel);

/* Whether patches of this kernel have data in another context. */
bool inject_kernels_elsewhere(CUcontext context, uint32_t kernel);

/* The context ends, with its memory. */
void inject_kernels_forget(CUcontext context);

#endif /* GPUMON_INJECT_GPUPROG_KERNELS_H */
