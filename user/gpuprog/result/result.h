/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Contents of maps that programs have filled on the GPUs, and their sums over all GPUs. */
#ifndef GPUMON_GPUPROG_RESULT_RESULT_H
#define GPUMON_GPUPROG_RESULT_RESULT_H

#include "gpuprog/image/kernels.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/object/object.h"
#include "gpuprog/object/program.h"

#define GPUMON_GPUPROG_KEPT_BYTES (64u << 20) /* of records that are kept, for a ring */

/**
 * struct gpumon_gpuprog_records - the records of a ring
 * @added: how many there were in all
 * @slots: the kept ones: device and size, each of 32 bits, then the record
 * @slot_bytes: of one
 * @room: slots that there is memory for now
 * @most: slots at most; then each record takes the place of the oldest
 *
 * Zeroed: no records.
 */
struct gpumon_gpuprog_records {
	uint64_t added;
	uint8_t *slots;
	uint32_t slot_bytes;
	uint64_t room;
	uint64_t most;
};

struct gpumon_gpuprog_record {
	const void *data; /* aligned to 8 bytes */
	uint32_t size;
	uint32_t device;
};

/* @most_bytes: what the kept records may take up, about: GPUMON_GPUPROG_KEPT_BYTES. */
void gpumon_gpuprog_records_init(struct gpumon_gpuprog_records *records,
				 const struct gpumon_gpuprog_map *map, uint64_t most_bytes);
void gpumon_gpuprog_records_clear(struct gpumon_gpuprog_records *records);

/* Take a copy of a record, @size bytes, of the context with this index. */
void gpumon_gpuprog_records_add(struct gpumon_gpuprog_records *records, uint32_t device,
				const void *data, uint32_t size);

uint64_t gpumon_gpuprog_records_kept(const struct gpumon_gpuprog_records *records);
/* The record with this index below gpumon_gpuprog_records_kept(), the oldest first. */
struct gpumon_gpuprog_record gpumon_gpuprog_records_at(const struct gpumon_gpuprog_records *records,
						       uint64_t index);

struct gpumon_gpuprog_modules;

/**
 * struct gpumon_gpuprog_clock - how a GPU's clock (bpf_get_globaltimer()) compares to the CPU's
 * @known: the clocks were compared
 * @offset_ns: what has to be added to the GPU's clock to get CLOCK_MONOTONIC
 * @error_ns: the result is right to within this
 */
struct gpumon_gpuprog_clock {
	bool known;
	int64_t offset_ns;
	uint64_t error_ns;
};

/**
 * struct gpumon_gpuprog_device - what programs have gathered in one context of a GPU
 * @name: for people: "GPU 0"; told apart by it if there are several. NULL: "GPU" and a number
 * @shards: of its maps' memory, a power of two
 * @images: by number of the map a copy of its memory, gpumon_gpuprog_map_bytes(). NULL: all zero; of a
 *          ring it is not looked at
 * @control: copy of the control block
 * @clock: of this GPU
 */
struct gpumon_gpuprog_device {
	const char *name;
	uint32_t shards;
	const void *const *images;
	struct gpumon_gpuprog_control control;
	struct gpumon_gpuprog_clock clock;
};

/**
 * struct gpumon_gpuprog_launch - a launch of a kernel on the CPU
 * @kernel: number in struct gpumon_gpuprog_run
 * @device: index in struct gpumon_gpuprog_result
 * @ns: CLOCK_MONOTONIC when the program called for it
 */
struct gpumon_gpuprog_launch {
	uint32_t kernel;
	uint32_t device;
	uint64_t ns;
};

/**
 * struct gpumon_gpuprog_ran - a kernel that is a program itself
 * @program: its name
 * @blocks: of the grid
 * @threads: of a block
 * @times: how often it ran
 * @shortest_ns: by the GPU's clock
 * @median_ns: likewise
 * @longest_ns: likewise
 */
struct gpumon_gpuprog_ran {
	const char *program;
	uint64_t blocks;
	uint64_t threads;
	uint32_t times;
	uint64_t shortest_ns;
	uint64_t median_ns;
	uint64_t longest_ns;
};

/**
 * struct gpumon_gpuprog_result - what an object's programs have gathered
 * @tool: name of the tool whose view is wanted, or NULL: a table for each map
 * @object: programs and maps
 * @run: kernels and lines; NULL: none are known
 * @modules: of these kernels; NULL: they are not known
 * @devices: contexts; their maps are not the same memory
 * @devices_n: how many; 0 if no kernel ran
 * @records: by number of the map: what came out of rings so far, on all devices; of other maps it is
 *           empty. NULL: there are none
 * @prints: records of gpumon_gpuprog_print_map, what programs have printed; may be NULL
 * @launches: of kernels that have programs; a view may sort them. NULL: they are not known
 * @launches_n: how many
 * @launches_why: why not all are known, NULL otherwise
 * @launchers_left_out: processes of which none is among @launches, as there were too many at a time
 * @ran: kernels that are programs themselves: nothing else ran then
 * @ran_n: how many
 */
struct gpumon_gpuprog_result {
	const char *tool;
	const struct gpumon_gpuprog_object *object;
	const struct gpumon_gpuprog_run *run;
	const struct gpumon_gpuprog_modules *modules;
	const struct gpumon_gpuprog_device *devices;
	uint32_t devices_n;
	const struct gpumon_gpuprog_records *records;
	const struct gpumon_gpuprog_records *prints;
	struct gpumon_gpuprog_launch *launches;
	uint64_t launches_n;
	const char *launches_why;
	uint32_t launchers_left_out;
	const struct gpumon_gpuprog_ran *ran;
	uint32_t ran_n;
};

/* A histogram: bucket b counts values from 2^b to 2^(b+1) - 1, bucket 0 also the value 0. */
struct gpumon_gpuprog_buckets {
	uint64_t counts[GPUMON_GPUPROG_BUCKETS];
};

/* The map with this name, or NULL. */
const struct gpumon_gpuprog_map *
gpumon_gpuprog_result_map(const struct gpumon_gpuprog_result *result, const char *name);
/* The memory of a map in a context, or NULL: all zero. */
const void *gpumon_gpuprog_image_of(const struct gpumon_gpuprog_result *result, uint32_t device,
				    const struct gpumon_gpuprog_map *map);
/* The records of a ring; empty if nothing is known. */
const struct gpumon_gpuprog_records *
gpumon_gpuprog_records_of(const struct gpumon_gpuprog_result *result,
			  const struct gpumon_gpuprog_map *map);

/* The value at @index of one context, gpumon_gpuprog_read_bytes(). */
void gpumon_gpuprog_value_on(const struct gpumon_gpuprog_result *result, uint32_t device,
			     const struct gpumon_gpuprog_map *map, uint64_t index, void *value);
/* The sum of a value's first number, of 64 bits, over all contexts. */
uint64_t gpumon_gpuprog_number(const struct gpumon_gpuprog_result *result,
			       const struct gpumon_gpuprog_map *map, uint64_t index);
/* The sum of numbers of 64 bits that make up a value: value_size / 8 of them. */
void gpumon_gpuprog_numbers(const struct gpumon_gpuprog_result *result,
			    const struct gpumon_gpuprog_map *map, uint64_t index,
			    uint64_t *numbers);
/* The histogram at @index over all contexts. */
struct gpumon_gpuprog_buckets gpumon_gpuprog_histogram(const struct gpumon_gpuprog_result *result,
						       const struct gpumon_gpuprog_map *map,
						       uint64_t index);
void gpumon_gpuprog_buckets_add(struct gpumon_gpuprog_buckets *buckets, uint64_t value);
uint64_t gpumon_gpuprog_buckets_total(const struct gpumon_gpuprog_buckets *buckets);
/* Smallest and largest value of a bucket. */
uint64_t gpumon_gpuprog_bucket_from(uint32_t bucket);
uint64_t gpumon_gpuprog_bucket_to(uint32_t bucket);
/*
 * The largest power of two that at least @percent of the values reach, or 0: so nothing is estimated.
 * *@reached: values that do.
 */
uint64_t gpumon_gpuprog_buckets_reached(const struct gpumon_gpuprog_buckets *buckets,
					uint32_t percent, uint64_t *reached);

/* Losses of all contexts by cause. */
void gpumon_gpuprog_losses(const struct gpumon_gpuprog_result *result,
			   uint64_t lost[GPUMON_GPUPROG_LOSS_CAUSES]);

#endif /* GPUMON_GPUPROG_RESULT_RESULT_H */
