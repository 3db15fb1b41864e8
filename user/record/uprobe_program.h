/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The BPF programs of bpf/uprobe.bpf.c, loaded for one process. If gpumon-user was built without
 * clang or bpftool there are none, and loading reports that.
 */
#ifndef GPUMON_RECORD_UPROBE_PROGRAM_H
#define GPUMON_RECORD_UPROBE_PROGRAM_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/uprobe.h"
#include "lib/error.h"

struct gpumon_uprobe_program;

/**
 * struct gpumon_uprobe_setup - settings that are fixed after loading
 * @pid: pid of the target in its own pid namespace
 * @namespace_device: device of that namespace, from stat()
 * @namespace_inode: inode of that namespace
 * @depth: maximum number of frames, 2 to UPROBE_DEPTH
 * @stacks: size of the table of stacks
 * @threads: size of the table of threads
 * @ring_bytes: a power of two
 * @with_stacks: record stacks
 * @one_by_one: attach each probe by itself, even if the kernel supports multi links
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
	GPUMON_HOOK_LINKER, /* the dynamic linker has changed the mappings */
	GPUMON_HOOK_DEVICE, /* the return of the function that makes a Vulkan device */
};

/**
 * gpumon_uprobe_program_load - load the programs without any probes
 * @setup: copied
 * @event: called with each event, an enum uprobe_event_type and its data, which may be modified
 * @data: passed to @event
 * @err: out
 *
 * Return: the programs, or NULL with @err.
 */
struct gpumon_uprobe_program *gpumon_uprobe_program_load(const struct gpumon_uprobe_setup *setup,
							 void (*event)(void *data, void *event,
								       size_t size),
							 void *data, struct gpumon_error *err);

/**
 * struct gpumon_uprobe_point - where to place a probe
 * @offset: offset in the file
 * @cookie: value for the BPF program
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
 * @hook: hook to attach
 * @tid: a live thread of the target, in the caller's pid namespace
 * @fd: file with the functions
 * @points: where to place the probes
 * @count: number of @points
 *
 * All threads of the process hit the probes, but no other process does.
 */
void gpumon_uprobe_program_probe(struct gpumon_uprobe_program *program,
				 enum gpumon_uprobe_hook hook, pid_t tid, int fd,
				 struct gpumon_uprobe_point *points, unsigned int count);
/* True if each probe has its own link. Multi links belong to a process's first thread. */
bool gpumon_uprobe_program_one_by_one(const struct gpumon_uprobe_program *program);
/* Start or stop recording calls. It is stopped at first. */
void gpumon_uprobe_program_run(struct gpumon_uprobe_program *program, bool run);
/* False once it was stopped, also by exec() of the process. */
bool gpumon_uprobe_program_runs(const struct gpumon_uprobe_program *program);
/* Is a thread in a call whose return is probed? @host_tid: in the initial pid namespace */
bool gpumon_uprobe_program_in_call(const struct gpumon_uprobe_program *program, uint32_t host_tid);
/* Remove all probes. */
void gpumon_uprobe_program_unprobe(struct gpumon_uprobe_program *program);

/* Descriptor for poll(): readable if there are events, or other work. */
int gpumon_uprobe_program_fd(const struct gpumon_uprobe_program *program);
/* Deliver all available events. Returns their number. */
int gpumon_uprobe_program_consume(struct gpumon_uprobe_program *program);

/* Set the ranges of the API's code. False if some did not fit. */
bool gpumon_uprobe_program_ranges(struct gpumon_uprobe_program *program,
				  const struct uprobe_range *ranges, unsigned int count);
/* The ranges that were set last. */
const struct uprobe_ranges *
gpumon_uprobe_program_get_ranges(const struct gpumon_uprobe_program *program);
/* Set the rule for a return address; NULL removes it. */
void gpumon_uprobe_program_rule(struct gpumon_uprobe_program *program, uint64_t pc,
				const struct uprobe_rule *rule);
/* A copy of a stack was processed. */
void gpumon_uprobe_program_copy_seen(struct gpumon_uprobe_program *program);
/* From now on, stacks are new even if they have the same addresses as earlier ones. */
void gpumon_uprobe_program_new_generation(struct gpumon_uprobe_program *program);
/* How often the dynamic linker reported a change; and mark changes up to that number as seen. */
uint64_t gpumon_uprobe_program_changes(const struct gpumon_uprobe_program *program);
/* How often a device was made. */
uint64_t gpumon_uprobe_program_devices(const struct gpumon_uprobe_program *program);
bool gpumon_uprobe_program_unsettled(const struct gpumon_uprobe_program *program);
void gpumon_uprobe_program_settle(struct gpumon_uprobe_program *program, uint64_t changes);

/* Counts by enum uprobe_counter. */
void gpumon_uprobe_program_counters(const struct gpumon_uprobe_program *program,
				    uint64_t counters[UPROBE_COUNTERS]);
/* List the blocking calls that are still running. Only call it once all probes are removed. */
void gpumon_uprobe_program_each_pending(struct gpumon_uprobe_program *program,
					void (*each)(void *data, const struct uprobe_hit *hit),
					void *data);
void gpumon_uprobe_program_free(struct gpumon_uprobe_program *program);

/**
 * gpumon_uprobe_program_possible - check the requirements without loading anything
 * @root: prefix of /proc and /sys
 * @err: out, see gpumon_uprobes_supported()
 *
 * Return: 0 or -1.
 */
int gpumon_uprobe_program_possible(const char *root, struct gpumon_error *err);

/*
 * Many uprobes with one link, since Linux 6.6. Removing single uprobes costs the kernel some
 * hundredths of a second each. libbpf 1.1 does not support this.
 */

/* BPF_TRACE_UPROBE_MULTI of linux/bpf.h, since 6.6 */
#define GPUMON_UPROBE_MULTI 48

/* A link's descriptor, or a negative errno; then no function is probed. */
int gpumon_uprobe_multi_link(int program_fd, bool at_return, pid_t pid, const char *path,
			     const struct gpumon_uprobe_point *points, unsigned int count);

/* True if the kernel has the version that probes all threads of a process. */
bool gpumon_uprobe_multi_works(int program_fd);

/* The ranges of the API's code. The BPF program may read them while they change. */

/**
 * gpumon_uprobe_ranges_replace - replace the ranges
 * @tables: one is valid, the other one is written
 * @now: index of the valid one
 * @ranges: new ranges
 * @count: number of @ranges; those beyond UPROBE_RANGES are left out
 *
 * A concurrent reader sees either the old or the new ranges: without any, it would count a nested
 * call as a hit. Nothing is written if nothing changes.
 *
 * Return: false if some were left out.
 */
bool gpumon_uprobe_ranges_replace(struct uprobe_ranges tables[2], uint32_t *now,
				  const struct uprobe_range *ranges, unsigned int count);

/* The number of the API's file with code at @address, 0 if there is none. */
uint64_t gpumon_uprobe_ranges_file(const struct uprobe_ranges *ranges, uint64_t address);

#endif /* GPUMON_RECORD_UPROBE_PROGRAM_H */
