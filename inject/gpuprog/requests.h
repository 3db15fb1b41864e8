/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Requests to gpumon-user probe: user/abi/wire.h. Any thread; each waits for its answer. */
#ifndef GPUMON_INJECT_GPUPROG_REQUESTS_H
#define GPUMON_INJECT_GPUPROG_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "../user/abi/wire.h"
#include "image.h"

extern struct gpumon_wire_settings inject_gpuprog_settings;

/**
 * inject_gpuprog_hello - get the settings
 * @path: of the socket
 *
 * Return: false where gpumon-user cannot be reached or is of another version.
 */
bool inject_gpuprog_hello(const char *path);

/**
 * inject_gpuprog_shared - memory of a map that the kernel's programs use, too
 * @map: number of the map, of the settings' @shared
 * @size: out: bytes
 *
 * Return: the memory, the same each time; NULL: it is not to be had.
 */
void *inject_gpuprog_shared(uint32_t map, size_t *size);

/* First content of a context's memory: @content of struct gpumon_wire_settings. */
extern const void *inject_gpuprog_content;

/* Whether gpumon-user takes an image of so many bytes. If not, a message says so. */
bool inject_gpuprog_is_taken(size_t size);

/**
 * struct inject_wanted - what is to get programs in an image; a zeroed one: all
 * @no_functions: device functions that kernels call are not
 * @first: number of the first kernel that is
 * @end: and one behind that of the last; 0: all are
 */
struct inject_wanted {
	bool no_functions;
	uint32_t first;
	uint32_t end;
};

/**
 * inject_gpuprog_ask_image - the image that replaces another
 * @image: of the program
 * @sm: architecture of the GPU that it is for: 90; 0: not known
 * @wanted: what is to get programs
 * @answer: out
 * @made: out: the new image, to be cleared
 */
void inject_gpuprog_ask_image(const struct inject_image *image, unsigned int sm,
			      const struct inject_wanted *wanted, struct gpumon_wire_answer *answer,
			      struct inject_new_image *made);

/**
 * inject_gpuprog_ask_patches - the functions for patches of machine code
 * @sm: architecture of the GPU: 90
 * @answer: out: what is to be patched
 *
 * Return: a cubin, @answer's size bytes, to be unmapped; NULL: there are none, and the user knows why.
 */
void *inject_gpuprog_ask_patches(unsigned int sm, struct gpumon_wire_answer *answer);

/**
 * inject_gpuprog_ask_kernels - the kernels of a module that get programs
 * @cubin: the module
 * @size: bytes
 * @answer: out: bytes of the list, how many, and the module's number
 *
 * Return: struct gpumon_wire_kernel, each with its name behind it, to be unmapped; NULL: none.
 */
void *inject_gpuprog_ask_kernels(const void *cubin, size_t size, struct gpumon_wire_answer *answer);

/**
 * inject_gpuprog_say - what has become of a kernel, an image or a context
 * @type: GPUMON_WIRE_NOT_PATCHED, NOT_LOADED, WITHDRAWN or ENDED
 * @number: its @context in struct gpumon_wire_request
 */
void inject_gpuprog_say(enum gpumon_wire_type type, uint32_t number);

/* Sends a request with a reason, or "": GPUMON_WIRE_TOO_LARGE or KERNEL_NOT_LOADED. */
void inject_gpuprog_say_why(enum gpumon_wire_type type, uint32_t number, const char *why);

/**
 * inject_gpuprog_ask_area - the shared memory of a new context
 * @device: number of the GPU
 * @name: of the GPU
 * @context: out: its number
 *
 * Return: shared memory of the settings' @bytes, or NULL.
 */
void *inject_gpuprog_ask_area(unsigned int device, const char *name, unsigned int *context);

/**
 * inject_gpuprog_say_copied - the shared memory is up to date
 * @context: its number
 * @flags: GPUMON_WIRE_QUIET or 0
 * @clear: called for each range of the GPU's memory that is to be zeroed, in their order
 * @argument: for it
 */
void inject_gpuprog_say_copied(unsigned int context, unsigned int flags,
			       void (*clear)(void *argument, const struct gpumon_wire_range *range),
			       void *argument);

/* Shared memory for launches, or NULL. */
struct gpumon_wire_launches *inject_gpuprog_ask_launches(void);
/* The kernel with this number in the launches has this name. */
void inject_gpuprog_say_name(unsigned int kernel, const char *name);
/* How the clock of a context's GPU compares: struct gpumon_wire_request. */
void inject_gpuprog_say_clock(unsigned int context, int64_t offset_ns, uint64_t error_ns);

/* The module with this number in the answer was loaded, or patched (@flags: GPUMON_WIRE_PATCHED), in @took_ns. */
void inject_gpuprog_say_loaded(uint32_t module, unsigned int flags, uint64_t took_ns);

/* A sentence for the user: nothing can be put into kernels of this process. */
void inject_gpuprog_tell_unable(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A sentence for the user. */
void inject_gpuprog_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* GPUMON_INJECT_GPUPROG_REQUESTS_H */
