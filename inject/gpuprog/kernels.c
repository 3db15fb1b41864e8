// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "base/prepared.h"
#include "context.h"
#include "kernels.h"

/* Kernels whose data are allocated together. */
#define TOGETHER 64

struct data {
	struct gpumon_wire_patch_data head;
	uint64_t table[GPUMON_WIRE_PLACES];
};

/**
 * struct entry - data of a kernel in a context
 * @context: NULL: the context has ended
 */
struct entry {
	CUcontext context;
	uint32_t kernel;
	uint32_t programs;
	CUdeviceptr at;
};

static struct entry *entries;
static size_t entries_n, entries_room;
/* Rest of the memory that was allocated last in this context. */
static CUcontext rest_of;
static CUdeviceptr rest;
static size_t rest_n;

bool inject_kernels_next(const void *list, size_t size, size_t *at,
			 struct gpumon_wire_kernel *kernel, const char **name)
{
	const char *text = list;

	if (size - *at <= sizeof(*kernel))
		return false;
	memcpy(kernel, text + *at, sizeof(*kernel));
	*at += sizeof(*kernel);
	if (!kernel->name_size || kernel->name_size > size - *at ||
	    text[*at + kernel->name_size - 1])
		return false;
	*name = text + *at;
	*at += kernel->name_size;
	return true;
}

bool inject_kernels_find(const struct inject_patched_module *module, const char *name,
			 struct gpumon_wire_kernel *kernel)
{
	const char *other;
	size_t at = 0;

	while (inject_kernels_next(module->kernels, module->size, &at, kernel, &other))
		if (strcmp(name, other) == 0)
			return true;
	return false;
}

static CUdeviceptr take_place(CUcontext context)
{
	if (rest_of != context || !rest_n) {
		if (inject_gpuprog_driver.alloc(&rest, TOGETHER * sizeof(struct data)) !=
		    CUDA_SUCCESS)
			return 0;
		rest_of = context;
		rest_n = TOGETHER;
	}
	rest_n--;
	return rest + rest_n * sizeof(struct data);
}

static bool write_data(CUcontext context, CUdeviceptr at, const struct gpumon_wire_kernel *kernel)
{
	struct data data = { .head = { kernel->number, kernel->programs } };

	return inject_gpuprog_addresses(context, data.table) &&
	       inject_gpuprog_write(context, at, &data, sizeof(data));
}

CUdeviceptr inject_kernels_data(CUcontext context, const struct gpumon_wire_kernel *kernel)
{
	struct entry *entry = NULL;
	CUdeviceptr at;

	for (size_t i = 0; i < entries_n; i++) {
		if (entries[i].context == context && entries[i].kernel == kernel->number &&
		    entries[i].programs == kernel->programs)
			return entries[i].at;
		if (!entries[i].context)
			entry = &entries[i];
	}
	if (!entry &&
	    !inject_grow((void **)&entries, &entries_room, entries_n + 1, sizeof(*entries)))
		return 0;
	at = take_place(context);
	if (!at || !write_data(context, at, kernel))
		return 0;
	if (!entry)
		entry = &entries[entries_n++];
	*entry = (struct entry){ context, kernel->number, kernel->programs, at };
	return at;
}

bool inject_kernels_elsewhere(CUcontext context, uint32_t kernel)
{
	for (size_t i = 0; i < entries_n; i++)
		if (entries[i].context && entries[i].context != context &&
		    entries[i].kernel == kernel)
			return true;
	return false;
}

void inject_kernels_forget(CUcontext context)
{
	for (size_t i = 0; i < entries_n; i++)
		if (entries[i].context == context)
			entries[i].context = NULL;
	if (rest_of == context)
		rest_n = 0;
}
