/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Commands of the program, from the call that enqueues them until the library's own thread has asked
 * for their times (completion.h). The calling thread keeps them in a block of its own.
 */
#ifndef GPUMON_INJECT_OPENCL_COMMAND_H
#define GPUMON_INJECT_OPENCL_COMMAND_H

#include "objects.h"

/**
 * struct inject_opencl_kept - a command, until its times are asked for
 * @event: has a reference for this
 * @queue: that it is in
 * @begin_ns: begin of the call
 * @end_ns: end of the call
 * @bytes: of a copy or fill
 * @global: work-items of a kernel
 * @local: of a work-group, 0 where the driver chooses
 * @correlation: id of the call
 * @name: of a kernel: string id; of a fill: the value
 * @graph: id of a command buffer
 * @record: GPUMON_RECORD_KERNEL, _COPY or _SET
 * @copy_kind: enum gpumon_copy_kind
 * @from: enum gpumon_memory_place
 * @to: likewise
 */
struct inject_opencl_kept {
	cl_event event;
	struct inject_opencl_queue *queue;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t bytes;
	uint64_t global[3];
	uint32_t local[3];
	uint32_t correlation;
	uint32_t name;
	uint32_t graph;
	uint16_t record;
	uint8_t copy_kind;
	uint8_t from;
	uint8_t to;
};

/**
 * struct inject_opencl_command - a command that is being enqueued
 * @event: what the driver gets as its event: the program's, or @own
 * @own: for a program that wants none
 * @is_recorded: by a capture
 * @waits: the call returns when the command has ended
 * @generation: of that capture
 * @kept: what is known of it
 */
struct inject_opencl_command {
	cl_event *event;
	cl_event own;
	bool is_recorded;
	bool waits;
	uint32_t generation;
	struct inject_opencl_kept kept;
};

#define INJECT_OPENCL_COMMANDS_PER_BLOCK 512

/**
 * struct inject_opencl_block - commands of one thread
 * @used: how many; the thread adds, the library's thread reads
 * @read: how many were read
 * @next: in a list of free or full blocks
 */
struct inject_opencl_block {
	_Atomic uint32_t used;
	uint32_t read;
	struct inject_opencl_block *next;
	struct inject_opencl_kept commands[INJECT_OPENCL_COMMANDS_PER_BLOCK];
};

/* Memory for blocks, at most. */
void inject_opencl_command_reserve(uint32_t mib);

/**
 * inject_opencl_command_begin - a command is about to be enqueued
 * @command: on the caller's stack
 * @handle: queue
 * @event: of the program, NULL if it wants none
 * @function: that is called
 *
 * The driver gets @command->event as its event.
 */
void inject_opencl_command_begin(struct inject_opencl_command *command, cl_command_queue handle,
				 cl_event *event, enum inject_opencl_function function);

/* Describe a command that was enqueued. */
void inject_opencl_command_kernel(struct inject_opencl_command *command, cl_kernel kernel,
				  cl_uint dimensions, const size_t *global, const size_t *local);
void inject_opencl_command_named(struct inject_opencl_command *command, const char *name,
				 uint32_t graph);
void inject_opencl_command_copy(struct inject_opencl_command *command,
				enum gpumon_memory_place from, enum gpumon_memory_place to,
				uint64_t bytes);
void inject_opencl_command_set(struct inject_opencl_command *command, uint64_t bytes,
			       const void *pattern, size_t pattern_size);

/* The call returned: writes its LAUNCH record, and keeps the command. */
void inject_opencl_command_end(struct inject_opencl_command *command, cl_int result);

/*
 * For any other call, such as one that waits. Returns false if there is nothing to record: then
 * inject_opencl_other_end() is not called.
 */
bool inject_opencl_other_begin(enum inject_opencl_function function);
void inject_opencl_other_end(void);

/* Full blocks, the oldest first; NULL where there is none. Its commands were read: give it back. */
struct inject_opencl_block *inject_opencl_command_full(void);
void inject_opencl_command_give_back(struct inject_opencl_block *block);

void inject_opencl_commands_forked(void);

#endif /* GPUMON_INJECT_OPENCL_COMMAND_H */
