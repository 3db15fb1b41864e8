/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Options of a user who puts programs into kernels. */
#ifndef GPUMON_GPUPROG_SERVER_OPTIONS_H
#define GPUMON_GPUPROG_SERVER_OPTIONS_H

#include "cpu.h"

/**
 * struct gpumon_gpuprog_options - how programs are put into kernels
 * @tool: name of a tool of gpumon, or NULL
 * @kernels: patterns of kernels; none: all
 * @fuel: backward jumps of a run; 0: GPUMON_GPUPROG_FUEL
 * @sass: patch machine code of all kernels; otherwise that of kernels without PTX, if kernels are named
 * @within: a recording, which needs CUPTI: no machine code is patched
 * @sample: of @sass: 1 of so many blocks runs the programs; 0: all
 * @ptxas: for patches: assembler, or NULL: it is searched
 * @sanitizer: for patches: library, or NULL: it is searched
 * @cpu: where programs for the CPU run
 * @no_cpu: leave them out
 * @gpu: for programs that are kernels of their own: number of the GPU
 * @grid: likewise: blocks in x, y and z
 * @block: likewise: threads of a block in x, y and z
 * @times: likewise: how often each runs, one after the other
 */
struct gpumon_gpuprog_options {
	const char *tool;
	struct gpumon_texts kernels;
	uint32_t fuel;
	bool sass;
	bool within;
	uint32_t sample;
	const char *ptxas;
	const char *sanitizer;
	struct gpumon_gpuprog_cpu_options cpu;
	bool no_cpu;
	uint32_t gpu;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t times;
};

#define GPUMON_GPUPROG_FUEL 65536

#endif /* GPUMON_GPUPROG_SERVER_OPTIONS_H */
