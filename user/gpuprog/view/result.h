/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What programs have gathered on the GPUs, as it is handed to probe/view to be shown. */
#ifndef GPUMON_GPUPROG_VIEW_RESULT_H
#define GPUMON_GPUPROG_VIEW_RESULT_H

#include "gpuprog/image/run.h"
#include "gpuprog/object/layout.h"
#include "gpuprog/object/object.h"
#include "records.h"

struct gpumon_probe_modules;

/**
 * struct gpumon_probe_clock - how a GPU's clock (bpf_get_globaltimer()) compares to the CPU's
 * @known: the clocks were compared
 * @offset_ns: what has to be added to the GPU's clock to get CLOCK_MONOTONIC
 * @error_ns: the result is right to within this
 */
struct gpumon_probe_clock {
	bool known;
	int64_t offset_ns;
	uint64_t error_ns;
};

/**
 * struct gpumon_probe_device - what programs have gathered in one context of a GPU
 * @name: for people: "GPU 0"; told apart by it if there are several. NULL: "GPU" and a number
 * @shards: of its maps' memory, a power of two
 * @images: by number of the map a copy of its memory, gpumon_probe_map_bytes(). NULL: all zero; of a
 *          ring it is not looked at
 * @control: copy of the control block
 * @clock: of this GPU
 */
struct gpumon_probe_device {
	const char *name;
	uint32_t shards;
	const void *const *images;
	struct gpumon_probe_control control;
	struct gpumon_probe_clock clock;
};

/**
 * struct gpumon_probe_launch - a launch of a kernel on the CPU
 * @kernel: number in struct gpumon_probe_run
 * @device: index in struct gpumon_probe_result
 * @ns: CLOCK_MONOTONIC when the program called for it
 */
struct gpumon_probe_launch {
	uint32_t kernel;
	uint32_t device;
	uint64_t ns;
};

/**
 * struct gpumon_probe_ran - a kernel that is a program itself
 * @program: its name
 * @blocks: of the grid
 * @threads: of a block
 * @times: how often it ran
 * @shortest_ns: by the GPU's clock
 * @median_ns: likewise
 * @longest_ns: likewise
 */
struct gpumon_probe_ran {
	const char *program;
	uint64_t blocks;
	uint64_t threads;
	uint32_t times;
	uint64_t shortest_ns;
	uint64_t median_ns;
	uint64_t longest_ns;
};

/**
 * struct gpumon_probe_result - what an object's programs have gathered
 * @tool: name of the tool whose view is wanted, or NULL: a table for each map
 * @object: programs and maps
 * @run: kernels and lines; NULL: none are known
 * @modules: of these kernels; NULL: they are not known
 * @devices: contexts; their maps are not the same memory
 * @devices_n: how many; 0 if no kernel ran
 * @records: by number of the map: what came out of rings so far, on all devices; of other maps it is
 *           empty. NULL: there are none
 * @prints: records of gpumon_probe_print_map, what programs have printed; may be NULL
 * @launches: of kernels that have programs; a view may sort them. NULL: they are not known
 * @launches_n: how many
 * @launches_why: why not all are known, NULL otherwise
 * @launchers_left_out: processes of which none is among @launches, as there were too many at a time
 * @ran: kernels that are programs themselves: nothing else ran then
 * @ran_n: how many
 */
struct gpumon_probe_result {
	const char *tool;
	const struct gpumon_probe_object *object;
	const struct gpumon_probe_run *run;
	const struct gpumon_probe_modules *modules;
	const struct gpumon_probe_device *devices;
	uint32_t devices_n;
	const struct gpumon_probe_records *records;
	const struct gpumon_probe_records *prints;
	struct gpumon_probe_launch *launches;
	uint64_t launches_n;
	const char *launches_why;
	uint32_t launchers_left_out;
	const struct gpumon_probe_ran *ran;
	uint32_t ran_n;
};

#endif /* GPUMON_GPUPROG_VIEW_RESULT_H */
