/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The captures of one job: all of their definitions in one set of tables, and passes over their
 * records for consumers. Definitions (processes, strings, stacks, mappings, devices) may come after
 * their use, so a first pass takes them all.
 *
 * Processes are numbered through all captures in order: those of the second one follow the
 * gpumon_capture_processes() of the first one. The driver of each capture has a number, too, counted
 * down from the highest: strings of its records belong to it.
 */
#ifndef GPUMON_REPORT_CAPTURES_H
#define GPUMON_REPORT_CAPTURES_H

#include "../kmod/uapi/gpumon_event.h"
#include "capture/symbol.h"
#include "lib/map.h"
#include "capture/windows.h"
#include "profile.h"

/**
 * struct gpumon_tables_process - definitions of a process
 * @capture: number of its capture
 * @name: name of its file, without suffix; NULL: none
 * @known: it has records
 * @record: its own description, if @has_record
 * @strings: id to text
 * @frames: id to number in @frame + 1
 * @stacks: id to index in @stack + 1: flags << 32 | count, followed by the frames
 * @threads: tid to string id of its name
 * @contexts: id to device id + 1
 * @devices: id to number in @device + 1
 * @root: prefix of paths of its code, to free; NULL: the common one
 * @symbols: symbols for its addresses
 * @stored: names stored in the capture, may be NULL
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
	bool has_presents;
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
	struct gpumon_stored_names *stored;
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

/**
 * struct gpumon_tables - definitions; a zeroed one is empty, except for @pool
 * @symbol_root: as in struct gpumon_profile_options
 * @driver_strings: by capture: id to text
 * @losses: counts by enum gpumon_loss
 */
struct gpumon_tables {
	struct gpumon_pool *pool;
	const char *symbol_root;
	struct gpumon_tables_process *processes;
	uint32_t used;
	uint32_t room;
	struct gpumon_map *driver_strings;
	uint32_t driver_used;
	uint32_t driver_room;
	uint64_t losses[GPUMON_LOSS_CAUSES];
};

/**
 * struct gpumon_captures - captures that are open
 * @at: the captures
 * @first: by capture: number of its first process; the last element is the number of processes
 * @shifts: by capture: what its times are shifted by, see gpumon_capture_shifts()
 * @damages: by capture: damage found in the first pass
 */
struct gpumon_captures {
	const char *const *paths;
	unsigned int count;
	struct gpumon_capture **at;
	uint32_t *first;
	uint64_t *shifts;
	struct gpumon_capture_damage *damages;
	struct gpumon_tables tables;
};

/**
 * struct gpumon_captures_pass - what a pass calls
 * @begin: before the first record of a capture; may be NULL; -1 ends the pass
 * @record: with each record and the number of its process
 * @end: after the last record of a capture; may be NULL
 */
struct gpumon_captures_pass {
	int (*begin)(void *data, unsigned int capture);
	void (*record)(void *data, uint32_t process, const struct gpumon_record *record);
	void (*end)(void *data, unsigned int capture);
	void *data;
};

/**
 * gpumon_captures_open - open captures
 * @captures: zeroed; close it also on failure
 * @paths: directories; must outlive @captures
 * @count: number of @paths
 * @pool: for texts
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_captures_open(struct gpumon_captures *captures, const char *const *paths,
			 unsigned int count, struct gpumon_pool *pool);

/**
 * gpumon_captures_define - the first pass: take all definitions
 * @captures: open captures
 * @pass: is given all records, too, before all definitions are known; may be NULL
 *
 * A capture that is still being written is read up to its state now, in all later passes as well.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_captures_define(struct gpumon_captures *captures,
			   const struct gpumon_captures_pass *pass);

/* After gpumon_captures_define(): windows are complete, and addresses can be looked up. */
void gpumon_captures_find_symbols(struct gpumon_captures *captures);

/* A further pass over the same records. -1 if @begin failed. */
int gpumon_captures_read(struct gpumon_captures *captures, const struct gpumon_captures_pass *pass);

/* The number of a record's process. */
static inline uint32_t gpumon_captures_number(const struct gpumon_captures *captures,
					      unsigned int capture,
					      const struct gpumon_capture_cursor *cursor)
{
	return cursor->process == GPUMON_PROCESS_DRIVER ?
		       ~(uint32_t)capture :
		       captures->first[capture] + cursor->process;
}

/* True for the number of a driver. */
static inline bool gpumon_captures_is_driver(uint32_t number)
{
	return number > UINT32_MAX / 2;
}

/**
 * gpumon_captures_event - take an event of the driver out of its record
 * @record: of type GPUMON_RECORD_DRIVER_EVENT
 * @event: out; what an older module did not write is 0
 * @row: out: string id of the name of its row
 *
 * Return: true; false if it is damaged, or not known to this version.
 */
bool gpumon_captures_event(const struct gpumon_record *record, struct gpumon_event *event,
			   uint32_t *row);

/* Tell the engine which processes have graph nodes. */
void gpumon_captures_expect(const struct gpumon_captures *captures,
			    struct gpumon_correlate *correlate);

/* After gpumon_captures_define(): whether there are presents, and so frames. */
bool gpumon_captures_have_presents(const struct gpumon_captures *captures);

/* Answers for the engine: is a launch without operations outside of windows, or was its process cut? */
bool gpumon_captures_left_out(const struct gpumon_captures *captures, uint32_t process,
			      const struct gpumon_record_launch *launch);
bool gpumon_captures_is_cut(const struct gpumon_captures *captures, uint32_t process);

/* Texts stay in the pool. */
void gpumon_captures_close(struct gpumon_captures *captures);

/* Text of a string id of a process or a driver, from the pool; NULL if unknown. */
const char *gpumon_tables_text(const struct gpumon_tables *tables, uint32_t number, uint32_t id);
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

#endif /* GPUMON_REPORT_CAPTURES_H */
