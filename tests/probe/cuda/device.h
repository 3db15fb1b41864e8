/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A GPU that runs kernels, for the stand-in for libcuda of tests/inject: contexts, their memory, modules,
 * and an interpreter. The GPU's memory is memory of this process, at the same addresses.
 *
 * Settings in the environment:
 *	MOCK_DEVICES=N		GPUs
 *	MOCK_FREE_MIB=N		free memory of the GPU
 *	MOCK_ALLOC_MAX=N	the largest piece that can be allocated, in bytes
 *	MOCK_REFUSE=1		texts with programs in them are not loaded
 *	MOCK_BAD=NAME,NAME	texts with programs in one of these kernels are not; __gpumon_: those with copies of
 *				functions
 *	MOCK_FEWER=NAME		with programs in it, fewer of this kernel's blocks fit on the GPU
 *	MOCK_LARGE=KERNEL	with a program in it, it can be launched with 512 threads only
 *	MOCK_BLOCK_US=N		a block of threads takes so long
 *	MOCK_WAIT_COPIED=1	half of the blocks wait until memory has been copied
 */
#ifndef PROBE_CUDA_DEVICE_H
#define PROBE_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "kernel.h"

#define DEVICES 2

/* CUDA 11 has none of these. */
#if CUDA_VERSION < 12000
typedef struct mock_module *CUlibrary;
typedef struct mock_function *CUkernel;
#endif

/**
 * struct mock_piece - allocated memory of a context
 * @next: in the context
 * @at: address
 * @size: bytes
 * @is_host: of the program, which has registered it
 */
struct mock_piece {
	struct mock_piece *next;
	uint8_t *at;
	size_t size;
	bool is_host;
};

/**
 * struct mock_context - a context; it is never freed, as a program may use one that has ended
 * @device: of this GPU
 * @alive: it has not ended
 * @retained: of a primary context
 * @pieces: memory
 * @modules: that were loaded into it
 */
struct mock_context {
	int device;
	bool alive;
	unsigned int retained;
	struct mock_piece *pieces;
	struct mock_module *modules;
};

/**
 * struct mock_table - a module's table of addresses in a context
 * @next: in the next context
 */
struct mock_table {
	struct mock_table *next;
	struct mock_context *context;
	struct mock_piece *piece;
};

/* What cuModuleGetFunction() gives; mock_cuda.c takes it for the name. */
struct mock_function {
	char name[KERNEL_NAME];
	struct mock_module *module;
	const struct kernel *kernel;
	const uint32_t *data; /* of patches; NULL: none */
};

/**
 * struct mock_module - a module, or a library (without a context)
 * @next: in its context
 * @functions: by number of the kernel
 */
struct mock_module {
	struct mock_module *next;
	struct mock_context *context;
	struct kernels kernels;
	struct mock_function functions[KERNELS_MAX];
	struct mock_table *tables;
};

/* The GPU's state; not held while a kernel runs. */
void mock_device_lock(void);
void mock_device_unlock(void);

/* The calling thread's context; NULL if there is none or it has ended. Locked. */
struct mock_context *mock_current(void);
/* Whether a call that waits or allocates is forbidden now, by a stream that is being captured. */
bool mock_is_forbidden(void);
/* After fork() CUDA does not work. */
bool mock_is_child(void);
unsigned long mock_setting(const char *name, unsigned long otherwise);

/* Locked. NULL: no memory is left. It has garbage in it. */
struct mock_piece *mock_piece_add(struct mock_context *context, size_t size);
void mock_piece_remove(struct mock_context *context, const void *at);
/* Locked. Whether this is memory of any living context. */
bool mock_is_memory(CUdeviceptr at, size_t size);
/* Whether so many blocks of a cooperative launch are on the GPU at a time. */
bool mock_fits(CUfunction function, unsigned int blocks, unsigned int threads);
int mock_set(CUdeviceptr at, unsigned char value, size_t size);

/* Locked: of the module in that context, made if it is missing; NULL: it has none. */
struct mock_piece *mock_table_of(struct mock_module *module, struct mock_context *context);
/* Locked: free it, and take it out of its context. */
void mock_module_remove(struct mock_module *module);
/* The text behind an image: PTX, a container, a cubin of cubin.c. NULL: it is none. To be freed. */
char *mock_text_of(const void *image, bool *is_machine_code);
char *mock_read_file(const char *path, size_t *size);

/* Kernels that run, or have run: for events. */
void mock_launch_counts(uint64_t *begun, uint64_t *done);

/* How often memory was copied from the GPU. */
uint64_t mock_copies_out(void);
void mock_run_install(void);

#endif /* PROBE_CUDA_DEVICE_H */
