/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What captures define: who, strings, stacks, mappings, devices. Read before the work is. */
#ifndef GPUMON_CORRELATE_PROFILE_TABLES_H
#define GPUMON_CORRELATE_PROFILE_TABLES_H

#include "symbol/symbol.h"
#include "kept.h"
#include "base/map.h"
#include "base/pool.h"
#include "profile.h"

/**
 * struct gpumon_tables_process - a process's definitions
 * @capture: number of the capture that it is in
 * @name: of its file there, without suffix
 * @known: it has records
 * @record: as it tells of itself, @has_record
 * @strings: id to text
 * @frames: id to number in @frame + 1
 * @stacks: id to place in @stack + 1: flags << 32 | count, then that many frames
 * @threads: tid to string id of its name
 * @contexts: id to device id + 1
 * @devices: id to number in @device + 1
 * @root: in front of paths of its code, NULL: as all others'
 * @symbols: of its addresses
 * @kept: names that the capture has, NULL for none
 * @unmapped: times when code went away, sorted once all is read
 * @has_launches: and so on: there are such records
 */
struct gpumon_tables_process {
	uint32_t capture;
	const char *name;
	bool known;
	bool has_record;
	bool has_launches;
	bool has_hits;
	bool has_nodes;
	bool has_ranges;
	struct gpumon_record_process record;
	struct gpumon_map strings;
	struct gpumon_map frames;
	struct gpumon_record_frame *frame;
	uint32_t frame_used;
	uint32_t frame_room;
	struct gpumon_map stacks;
	uint64_t *stack;
	size_t stack_used;
	size_t stack_room;
	struct gpumon_map threads;
	struct gpumon_map contexts;
	struct gpumon_map devices;
	struct gpumon_record_device *device;
	uint32_t device_used;
	uint32_t device_room;
	char *root;
	struct gpumon_symbols *symbols;
	struct gpumon_kept *kept;
	uint64_t *unmapped;
	uint32_t unmapped_used;
	uint32_t unmapped_room;
	struct gpumon_record_mapping *mapping; /* until all strings are known */
	uint32_t mapping_used;
	uint32_t mapping_room;
	struct gpumon_record_unmapping *unmapping;
	uint32_t unmapping_used;
	uint32_t unmapping_room;
};

/* All zero is empty, but for @pool. */
struct gpumon_tables {
	struct gpumon_pool *pool;
	const char *symbol_root; /* as struct gpumon_profile_options */
	struct gpumon_tables_process *processes;
	uint32_t used;
	uint32_t room;
	uint64_t losses[GPUMON_LOSS_CAUSES];
};

/**
 * gpumon_tables_process - a process by its number
 * @tables: tables
 * @number: as in the profile
 *
 * Return: made where it was not there; NULL without memory.
 */
struct gpumon_tables_process *gpumon_tables_process(struct gpumon_tables *tables, uint32_t number);

/**
 * gpumon_tables_record - a record of a process that may define something
 * @tables: tables
 * @number: of the process, GPUMON_PROCESS_DRIVER of the driver's records
 * @record: any record
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_tables_record(struct gpumon_tables *tables, uint32_t number,
			 const struct gpumon_record *record);

/**
 * gpumon_tables_capture - all records of a capture were given
 * @tables: tables
 * @number: of the capture, its place among the paths of gpumon_tables_end()
 * @first: number of its first process
 * @capture: it
 *
 * Also of processes that have no records, or none yet.
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_tables_capture(struct gpumon_tables *tables, uint32_t number, uint32_t first,
			  const struct gpumon_capture *capture);

/* Tell the engine what records there will be. 0, or -1 without memory. */
int gpumon_tables_expect(const struct gpumon_tables *tables, struct gpumon_correlate *correlate);

/* Tell it of damage to a capture of the processes from @first to before @end; likewise. */
int gpumon_tables_damage(const struct gpumon_tables *tables, struct gpumon_correlate *correlate,
			 uint32_t first, uint32_t end, const struct gpumon_capture_damage *damage);

/**
 * gpumon_tables_end - all definitions were read
 * @tables: tables
 * @paths: of the captures, where perf-PID.map may lie
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_tables_end(struct gpumon_tables *tables, const char *const *paths);
void gpumon_tables_clear(struct gpumon_tables *tables);

/* Text of a string id, NULL where it is not known. */
const char *gpumon_tables_string(const struct gpumon_tables_process *process, uint32_t id);
/* Frames of a stack, NULL where it is not known. */
const uint64_t *gpumon_tables_stack(const struct gpumon_tables_process *process, uint32_t id,
				    uint32_t *count, uint16_t *flags);
/* Where code is that a frame of a stack leads to: a return address may be the next function's. */
static inline uint64_t gpumon_stack_code(uint64_t address, uint32_t frame)
{
	return frame && address ? address - 1 : address;
}

const struct gpumon_record_frame *gpumon_tables_frame(const struct gpumon_tables_process *process,
						      uint32_t id);
const struct gpumon_record_device *gpumon_tables_device(const struct gpumon_tables_process *process,
							uint32_t id);
/* Times between which the same code lies at an address have the same number. */
uint32_t gpumon_tables_epoch(const struct gpumon_tables_process *process, uint64_t time_ns);

#endif /* GPUMON_CORRELATE_PROFILE_TABLES_H */
