/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Definitions in captures: processes, strings, stacks, mappings, devices. They are read before the
 * GPU operations.
 */
#ifndef GPUMON_REPORT_PROFILE_TABLES_H
#define GPUMON_REPORT_PROFILE_TABLES_H

#include "capture/symbol.h"
#include "stored_names.h"
#include "lib/map.h"
#include "lib/pool.h"
#include "capture/windows.h"
#include "profile.h"

/**
 * struct gpumon_tables_process - definitions of a process
 * @capture: number of its capture
 * @name: name of its file, without suffix
 * @known: it has records
 * @record: its own description, if @has_record
 * @strings: id to text
 * @frames: id to number in @frame + 1
 * @stacks: id to index in @stack + 1: flags << 32 | count, followed by the frames
 * @threads: tid to string id of its name
 * @contexts: id to device id + 1
 * @devices: id to number in @device + 1
 * @root: prefix of paths of its code; NULL: the common one
 * @symbols: symbols for its addresses
 * @kept: names stored in the capture, may be NULL
 * @unmapped: times when code was unmapped, sorted at the end
 * @windows: windows of operations, complete at the end
 * @has_launches: and so on: there are such records
 * @is_cut: it ended without its library's end
 * @lacks_records: some that it sent are not in the capture
 * @has_cut_stacks: there are stacks without their outermost frames
 */
struct gpumon_tables_process {
	uint32_t capture;
	const char *name;
	bool known;
	bool has_record;
	bool has_launches;
	bool has_nodes;
	bool has_ranges;
	bool has_unsampled;
	bool is_cut;
	bool lacks_records;
	bool has_cut_stacks;
	struct gpumon_windows windows;
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
	struct gpumon_stored_names *kept;
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

/* A zeroed one is empty, except for @pool. */
struct gpumon_tables {
	struct gpumon_pool *pool;
	const char *symbol_root; /* as in struct gpumon_profile_options */
	struct gpumon_tables_process *processes;
	uint32_t used;
	uint32_t room;
	uint64_t losses[GPUMON_LOSS_CAUSES];
};

/**
 * gpumon_tables_process - get a process by its number
 * @tables: tables
 * @number: number in the profile
 *
 * Return: the process, created if it is new; NULL without memory.
 */
struct gpumon_tables_process *gpumon_tables_process(struct gpumon_tables *tables, uint32_t number);

/**
 * gpumon_tables_record - add a record that may define something
 * @tables: tables
 * @number: number of the process, GPUMON_PROCESS_DRIVER for the driver's records
 * @record: any record
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_tables_record(struct gpumon_tables *tables, uint32_t number,
			 const struct gpumon_record *record);

/**
 * gpumon_tables_capture - finish a capture after its last record
 * @tables: tables
 * @number: number of the capture: its index in the paths of gpumon_tables_end()
 * @first: number of its first process
 * @capture: capture
 *
 * Also covers processes that have no records (yet).
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_tables_capture(struct gpumon_tables *tables, uint32_t number, uint32_t first,
			  const struct gpumon_capture *capture);

/* Tell the engine which kinds of records to expect. */
void gpumon_tables_expect(const struct gpumon_tables *tables, struct gpumon_correlate *correlate);

/**
 * gpumon_tables_end - finish after all definitions were read
 * @tables: tables
 * @paths: paths of the captures, which may contain perf-PID.map
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_tables_end(struct gpumon_tables *tables, const char *const *paths);
void gpumon_tables_clear(struct gpumon_tables *tables);

/* Text of a string id, NULL if unknown. */
const char *gpumon_tables_string(const struct gpumon_tables_process *process, uint32_t id);
/* Frames of a stack, NULL if unknown. */
const uint64_t *gpumon_tables_stack(const struct gpumon_tables_process *process, uint32_t id,
				    uint32_t *count, uint16_t *flags);
/* Whether the outermost frames of a stack are missing. */
bool gpumon_tables_cut_stack(const struct gpumon_tables_process *process, uint32_t id);
/* Address to look up for a frame: a return address may already belong to the next function. */
static inline uint64_t gpumon_stack_code(uint64_t address, uint32_t frame)
{
	return frame && address ? address - 1 : address;
}

const struct gpumon_record_frame *gpumon_tables_frame(const struct gpumon_tables_process *process,
						      uint32_t id);
const struct gpumon_record_device *gpumon_tables_device(const struct gpumon_tables_process *process,
							uint32_t id);
/* Times with the same number have the same code at each address. */
uint32_t gpumon_tables_epoch(const struct gpumon_tables_process *process, uint64_t time_ns);

#endif /* GPUMON_REPORT_PROFILE_TABLES_H */
