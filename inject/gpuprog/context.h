/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Memory of maps in each context, and modules whose tables of addresses point to it. A table that was
 * not filled in has zeroes, and programs then do nothing.
 */
#ifndef GPUMON_INJECT_GPUPROG_CONTEXT_H
#define GPUMON_INJECT_GPUPROG_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"
#include "requests.h"

/**
 * inject_gpuprog_module_add - a module with programs was loaded
 * @handle: CUmodule or CUlibrary
 * @is_library: which of them
 * @image: its memory, @size bytes, unmapped when it goes; NULL: there is none
 * @size: bytes
 *
 * Its table is filled in for the current context, if there is one.
 */
void inject_gpuprog_module_add(void *handle, bool is_library, void *image, size_t size);

/* The program unloads it. */
void inject_gpuprog_module_remove(void *handle, bool is_library);

/*
 * Called before a launch: fills in tables that are still empty in the current context. Returns the
 * context's number as gpumon-user knows it, less than 0 if it has none.
 */
int inject_gpuprog_fill(void);

/**
 * inject_gpuprog_addresses - the table of addresses of the maps in the current context
 * @context: the current one
 * @addresses: out
 *
 * Their memory is made when it is asked for. It waits for nothing that a thread holds during a call of
 * CUDA.
 *
 * Return: false: there is no memory.
 */
bool inject_gpuprog_addresses(CUcontext context, uint64_t addresses[GPUMON_WIRE_PLACES]);

/* Writes memory of the current context, which has such memory, and waits for it. */
bool inject_gpuprog_write(CUcontext context, CUdeviceptr to, const void *data, size_t size);

/**
 * inject_gpuprog_copy - bring the shared memory of contexts up to date
 * @context: of this one; NULL: of all
 * @wait: for what the program has launched, two seconds at most
 *
 * Context: not within a call of CUDA, but for its beginning.
 *
 * Return: how long it took, without the wait for other threads.
 */
uint64_t inject_gpuprog_copy(CUcontext context, bool wait);

/*
 * Copies the memory of all contexts, without a wait, unless copies would take more than 5 % of the
 * time.
 */
void inject_gpuprog_copy_sometimes(void);

/* Called when a context has ended, with its memory and its modules. */
void inject_gpuprog_forget(CUcontext context);

#endif /* GPUMON_INJECT_GPUPROG_CONTEXT_H */
