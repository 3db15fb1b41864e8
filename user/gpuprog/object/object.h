/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads the programs for the GPU out of an eBPF object file. */
#ifndef GPUMON_GPUPROG_OBJECT_OBJECT_H
#define GPUMON_GPUPROG_OBJECT_OBJECT_H

#include "lib/error.h"
#include "lib/map.h"
#include "program.h"

/* Whether a program is for the GPU: "gpu/..." is our own, "cuda__..." is bpftime's. */
bool gpumon_gpuprog_section_is_gpu(const char *section, const char *function);

#define GPUMON_GPUPROG_MAX_PROGRAMS 32 /* for the GPU, of an object */

/**
 * struct gpumon_gpuprog_object - an object file
 * @pool: owns everything below
 * @maps: its maps that programs for the GPU use, at most GPUMON_GPUPROG_MAX_MAPS
 * @programs: its programs for the GPU
 * @targets: for each program what its section names: kernels (globs, mangled or demangled) with
 *           commas in between, or ""
 * @texts: those that its programs have on their stack, once they are verified
 * @cpu_n: programs for the CPU in it (uprobe, kprobe of the kernel, tracepoint): libbpf loads those
 */
struct gpumon_gpuprog_object {
	struct gpumon_pool pool;
	struct gpumon_gpuprog_map *maps;
	uint32_t maps_n;
	struct gpumon_gpuprog *programs;
	const char **targets;
	uint32_t programs_n;
	struct gpumon_gpuprog_texts *texts;
	uint32_t cpu_n;
};

/**
 * gpumon_gpuprog_object_read - read an object file
 * @image: the file's bytes; nothing in them is trusted
 * @size: how many
 * @name: for messages
 * @object: out, to be cleared in both cases
 * @err: what is wrong with it
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_object_read(const void *image, size_t size, const char *name,
			       struct gpumon_gpuprog_object *object, struct gpumon_error *err);
void gpumon_gpuprog_object_clear(struct gpumon_gpuprog_object *object);

/* The map whose name is @name, @length bytes of it, or NULL. */
struct gpumon_gpuprog_map *gpumon_gpuprog_object_map(const struct gpumon_gpuprog_object *object,
						     const char *name, size_t length);

#endif /* GPUMON_GPUPROG_OBJECT_OBJECT_H */
