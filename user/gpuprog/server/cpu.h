/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The programs for the CPU in an object: uprobes, kprobes of the kernel, tracepoints. libbpf loads and
 * attaches them. An array that they and programs for the GPU use is the kernel's, in memory that the
 * GPU reads and writes, too.
 */
#ifndef GPUMON_GPUPROG_SERVER_CPU_H
#define GPUMON_GPUPROG_SERVER_CPU_H

#include "lib/options.h"
#include "load.h"

struct gpumon_gpuprog_cpu;

/**
 * struct gpumon_gpuprog_cpu_options - what a section does not say
 * @attach: "PROGRAM=FILE:FUNCTION" for uprobes
 * @sets: "MAP[INDEX]=NUMBER" for maps that no program for the GPU uses
 */
struct gpumon_gpuprog_cpu_options {
	struct gpumon_texts attach;
	struct gpumon_texts sets;
};

/**
 * gpumon_gpuprog_cpu_open - load and attach them
 * @check: verified object, with @cpu_n programs for the CPU
 * @options: see there
 * @cpu: out, to be closed; NULL where it fails
 * @err: no privilege, the kernel refuses one, a map cannot be shared, a place is not known
 *
 * Arrays get the first content of those in @check.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_cpu_open(const struct gpumon_gpuprog_check *check,
			    const struct gpumon_gpuprog_cpu_options *options,
			    struct gpumon_gpuprog_cpu **cpu, struct gpumon_error *err);
void gpumon_gpuprog_cpu_close(struct gpumon_gpuprog_cpu *cpu);

/* Arrays that are shared, by number of the map, a bit each. */
uint64_t gpumon_gpuprog_cpu_shared(const struct gpumon_gpuprog_cpu *cpu);
/* The memory of one of these, as gpumon_gpuprog_map_bytes(), or NULL. */
const void *gpumon_gpuprog_cpu_memory(const struct gpumon_gpuprog_cpu *cpu, uint32_t map);
/* The descriptor of a shared array, which can be mapped, or -1. */
int gpumon_gpuprog_cpu_descriptor(const struct gpumon_gpuprog_cpu *cpu, uint32_t map);

#endif /* GPUMON_GPUPROG_SERVER_CPU_H */
