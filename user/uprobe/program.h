/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The BPF programs of bpf/uprobe.bpf.c, loaded for one process. Where
 * gpumon-user was built without clang or bpftool there are none, and loading says so.
 */
#ifndef GPUMON_UPROBE_PROGRAM_H
#define GPUMON_UPROBE_PROGRAM_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/uprobe.h"
#include "base/error.h"

struct gpumon_uprobe_program;

/**
 * struct gpumon_uprobe_setup - what does not change once it is loaded
 * @pid: of the target, in its own pid namespace
 * @namespace_device: of that, as stat() has it
 * @namespace_inode: of that
 * @depth: frames at most, 2 to UPROBE_DEPTH
 * @stacks: entries of the table
 * @threads: likewise
 * @ring_bytes: a power of two
 * @with_stacks: take them
 * @one_by_one: each probe by itself, even where the kernel takes many at once
 */
struct gpumon_uprobe_setup {
	pid_t pid;
	uint64_t namespace_device;
	uint64_t namespace_inode;
	unsigned int depth;
	unsigned int stacks;
	unsigned int threads;
	uint64_t ring_bytes;
	bool with_stacks;
	bool one_by_one;
};

enum gpumon_uprobe_hook {
	GPUMON_HOOK_ENTER,
	GPUMON_HOOK_LEAVE,
	GPUMON_HOOK_LINKER,
};

/**
 * gpumon_uprobe_program_load - load, probe nothing yet
 * @setup: copied
 * @event: gets each event, an enum uprobe_event_type and what belongs to it; it may be changed
 * @data: for @event
 * @err: why not
 *
 * Return: it, or NULL with @err.
 */
struct gpumon_uprobe_program *gpumon_uprobe_program_load(const struct gpumon_uprobe_setup *setup,
							 void (*event)(void *data, void *event,
								       size_t size),
							 void *data, struct gpumon_error *err);

/**
 * struct gpumon_uprobe_point - where a probe goes
 * @offset: in the file
 * @cookie: for the program
 * @result: set to 0, or a negative errno
 */
struct gpumon_uprobe_point {
	uint64_t offset;
	uint64_t cookie;
	int result;
};

/**
 * gpumon_uprobe_program_probe - probe functions of a file
 * @program: programs
 * @hook: which
 * @tid: a thread of the target that is alive, in the caller's pid namespace
 * @fd: file that the functions are in
 * @points: where
 * @count: of @points
 *
 * All threads of the process hit them, and no other process.
 */
void gpumon_uprobe_program_probe(struct gpumon_uprobe_program *program,
				 enum gpumon_uprobe_hook hook, pid_t tid, int fd,
				 struct gpumon_uprobe_point *points, unsigned int count);
/* Is each probe by itself? Else they can only hang at the first thread of a process. */
bool gpumon_uprobe_program_one_by_one(const struct gpumon_uprobe_program *program);
/* From now on calls are hits, or not. At first they are not. */
void gpumon_uprobe_program_run(struct gpumon_uprobe_program *program, bool run);
/* Take all probes away. */
void gpumon_uprobe_program_unprobe(struct gpumon_uprobe_program *program);

/* Readable: there are events, or the program wants to be looked after. */
int gpumon_uprobe_program_fd(const struct gpumon_uprobe_program *program);
/* Give out all events that there are. Their number. */
int gpumon_uprobe_program_consume(struct gpumon_uprobe_program *program);

/* Where the API's code is; what has no room is left out. False: something was. */
bool gpumon_uprobe_program_ranges(struct gpumon_uprobe_program *program,
				  const struct uprobe_range *ranges, unsigned int count);
/* A rule for a return address, or NULL: none any more. */
void gpumon_uprobe_program_rule(struct gpumon_uprobe_program *program, uint64_t pc,
				const struct uprobe_rule *rule);
/* A copy of a stack was seen. */
void gpumon_uprobe_program_copy_seen(struct gpumon_uprobe_program *program);
/* Stacks of now are not taken for stacks of before, even if their addresses are the same. */
void gpumon_uprobe_program_new_generation(struct gpumon_uprobe_program *program);
/* How often the dynamic linker said that it changes something; and: up to there it was seen. */
uint64_t gpumon_uprobe_program_changes(const struct gpumon_uprobe_program *program);
bool gpumon_uprobe_program_unsettled(const struct gpumon_uprobe_program *program);
void gpumon_uprobe_program_settle(struct gpumon_uprobe_program *program, uint64_t changes);

/* By enum uprobe_counter. */
void gpumon_uprobe_program_counters(const struct gpumon_uprobe_program *program,
				    uint64_t counters[UPROBE_COUNTERS]);
/* Blocking calls that go on; for when no probe is left. */
void gpumon_uprobe_program_each_pending(struct gpumon_uprobe_program *program,
					void (*each)(void *data, const struct uprobe_hit *hit),
					void *data);
void gpumon_uprobe_program_free(struct gpumon_uprobe_program *program);

/**
 * gpumon_uprobe_program_possible - what can be known without trying
 * @root: prefix of /proc and /sys
 * @err: why not, see gpumon_uprobes_supported()
 *
 * Return: 0 or -1.
 */
int gpumon_uprobe_program_possible(const char *root, struct gpumon_error *err);

#endif /* GPUMON_UPROBE_PROGRAM_H */
