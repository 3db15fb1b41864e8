/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The functions of CUDA, HIP, Level Zero, OpenCL and Vulkan to probe, and what they do. */
#ifndef GPUMON_RECORD_UPROBE_FUNCTION_H
#define GPUMON_RECORD_UPROBE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUMON_FUNCTION_LAUNCH	 (1u << 0) /* starts GPU work */
#define GPUMON_FUNCTION_BLOCKING (1u << 1) /* waits for GPU work */
#define GPUMON_FUNCTION_PRESENT	 (1u << 2) /* ends a frame: gives an image to the display */

/**
 * gpumon_function_kind - check whether a function may be probed
 * @name: name of a symbol, with suffixes such as _ptsz, _v2
 *
 * Return: GPUMON_FUNCTION_*, or 0.
 */
unsigned int gpumon_function_kind(const char *name);

/* True if the name belongs to the API's code, as in a program that links the runtime. */
bool gpumon_function_of_runtime(const char *name);

/* True for a library of the API, or of a tool inside it, by its DT_SONAME or file name. */
bool gpumon_library_of_api(const char *name);

/**
 * gpumon_function_jump - find the target of a function that only jumps
 * @code: first bytes of the function
 * @size: number of bytes
 * @machine: EM_X86_64 or EM_AARCH64
 * @target: set to the distance from the function's beginning
 *
 * Return: true if it does nothing else.
 */
bool gpumon_function_jump(const uint8_t *code, size_t size, unsigned int machine, int64_t *target);

/* The first word of the table of functions that Vulkan's loader has for each device. */
#define GPUMON_VULKAN_TABLE	UINT64_C(0x10aded040410aded)
#define GPUMON_VULKAN_TABLE_MAX 8192

/**
 * gpumon_function_vulkan_entry - find where a function of Vulkan's loader has its successor
 * @code: first bytes of the function
 * @size: number of bytes
 * @machine: EM_X86_64, or it is not found
 * @offset: set to the place in the table of a device
 *
 * The order of the table depends on the version of the loader.
 *
 * Return: true if it was found.
 */
bool gpumon_function_vulkan_entry(const uint8_t *code, size_t size, unsigned int machine,
				  uint32_t *offset);

#endif /* GPUMON_RECORD_UPROBE_FUNCTION_H */
