/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The processor's half of a live process without any library in it: uprobes on
 * the functions that give a GPU something to do or wait for it, by BPF. Hits
 * come as records of captures. Documentation/user/bpf.md tells what is exact,
 * what is lost when, and what it costs the process.
 */
#ifndef GPUMON_UPROBE_H
#define GPUMON_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/format.h"
#include "base/error.h"

struct gpumon_uprobes;

/**
 * struct gpumon_uprobes_options - 0 everywhere is what fits most
 * @root: prefix of /proc and /sys, NULL: none
 * @ring_bytes: room for hits that were not read yet, a power of two; 0: 8 MiB
 * @stack_depth: frames at most, 2 to 256; 0: 127
 * @stacks: different stacks that the kernel keeps, others are sent each time; 0: 8192
 * @threads: threads that hit anything at one time, hits of others are lost; 0: 1024
 * @rescan_ms: how often new libraries are looked for where the dynamic linker does not tell;
 *             0: 1000
 * @no_stacks: hits without stacks
 * @no_blocking: launch functions alone, no returns are probed
 */
struct gpumon_uprobes_options {
	const char *root;
	uint64_t ring_bytes;
	unsigned int stack_depth;
	unsigned int stacks;
	unsigned int threads;
	unsigned int rescan_ms;
	bool no_stacks;
	bool no_blocking;
};

enum gpumon_uprobes_state {
	GPUMON_UPROBES_RUNNING,
	GPUMON_UPROBES_EXITED, /* the process is gone; all that it left was given out */
	GPUMON_UPROBES_EXEC,   /* it is another program now: attach again, into another file */
};

/**
 * struct gpumon_uprobes_counts - so that nothing vanishes
 * @seen: calls of functions that are probed; @nested + @foreign + @hits + @lost_ring +
 *        @lost_threads + blocking calls that go on
 * @nested: within another call: the runtime's of the driver
 * @foreign: of another process that shares this one's memory (vfork)
 * @hits: records given out, or in the ring
 * @lost_ring: hits that found it full; numbers show where
 * @lost_threads: hits of threads beyond the option's, which have no number
 * @lost_stacks: hits whose stack found the ring full: given out without
 * @stacks: different ones given out
 * @truncated: hits whose stack ends early
 * @copied: hits whose stack was walked here, from a copy
 * @returns_unseen: blocking calls given out without duration
 * @stacks_no_room: stacks sent although they were not new: the kernel's table is full
 * @functions: probes at entries
 * @returns: probes at returns
 * @libraries: files they are in
 * @refused: functions that could not be probed
 */
struct gpumon_uprobes_counts {
	uint64_t seen;
	uint64_t nested;
	uint64_t foreign;
	uint64_t hits;
	uint64_t lost_ring;
	uint64_t lost_threads;
	uint64_t lost_stacks;
	uint64_t stacks;
	uint64_t truncated;
	uint64_t copied;
	uint64_t returns_unseen;
	uint64_t stacks_no_room;
	unsigned int functions;
	unsigned int returns;
	unsigned int libraries;
	unsigned int refused;
};

/**
 * gpumon_uprobes_supported - could any process be probed here?
 * @root: prefix of /proc and /sys, "" here
 * @err: why not
 *
 * Tries it, with a probe that never fires. Codes: "not-built" (no clang or bpftool when
 * gpumon-user was made), "permission", "lockdown", "no-uprobes", "no-bpf", "kernel".
 *
 * Return: 0, or -1 with @err, whose status is GPUMON_EXIT_IMPOSSIBLE.
 */
int gpumon_uprobes_supported(const char *root, struct gpumon_error *err);

/**
 * gpumon_uprobes_attach - probe a live process
 * @pid: process, in the caller's pid namespace
 * @options: NULL: as all 0; copied
 * @err: why not
 *
 * Beside the codes of gpumon_uprobes_supported(): "gone" (no such process), "no-library" (nothing
 * of CUDA, HIP or Level Zero is in it; status GPUMON_EXIT_FAILED: it may be loaded yet, see
 * gpumon_uprobes_watch()), "memory", "io".
 *
 * Return: it, or NULL with @err.
 */
struct gpumon_uprobes *gpumon_uprobes_attach(pid_t pid,
					     const struct gpumon_uprobes_options *options,
					     struct gpumon_error *err);

/* The same, but a process in which there is no such library yet is watched until there is. */
struct gpumon_uprobes *gpumon_uprobes_watch(pid_t pid, const struct gpumon_uprobes_options *options,
					    struct gpumon_error *err);

/**
 * gpumon_uprobes_tap - who gets the records: PROCESS first, then THREAD, MAPPING, UNMAPPING,
 *                      STRING, STACK, HIT, LOSS and NOTE, whole ones
 * @data: for it
 * @tid: in the target's pid namespace; 0: of the process
 * @record: valid during the call
 *
 * What a hit refers to comes before it. Hits of one thread come by number.
 */
typedef void (*gpumon_uprobes_tap)(void *data, uint32_t tid, const struct gpumon_record *record);

/**
 * gpumon_uprobes_poll - give out what there is
 * @uprobes: uprobes
 * @timeout_ms: how long to wait if there is nothing, 0: not at all, -1: until there is
 * @tap: who gets it
 * @data: for @tap
 *
 * Also looks for new libraries, and probes them. To be called a few times a second at least, or
 * the ring runs full.
 *
 * Return: records given out, or -1 where memory ran out (what was not given out comes next time).
 */
int gpumon_uprobes_poll(struct gpumon_uprobes *uprobes, int timeout_ms, gpumon_uprobes_tap tap,
			void *data);

/* For poll(): readable when there is something to do, though hits alone may wait. */
int gpumon_uprobes_fd(const struct gpumon_uprobes *uprobes);
enum gpumon_uprobes_state gpumon_uprobes_state(const struct gpumon_uprobes *uprobes);
void gpumon_uprobes_get_counts(const struct gpumon_uprobes *uprobes,
			       struct gpumon_uprobes_counts *counts);

/**
 * gpumon_uprobes_each_library - what was found
 * @uprobes: uprobes
 * @each: gets path (the target's), how many functions are probed in it, and why others are not
 *        ("" if all are)
 * @data: for @each
 */
void gpumon_uprobes_each_library(const struct gpumon_uprobes *uprobes,
				 void (*each)(void *data, const char *path, unsigned int functions,
					      const char *why),
				 void *data);

/**
 * gpumon_uprobes_detach - take the probes away, give out the rest, free
 * @uprobes: NULL is nothing
 * @tap: who gets the rest, blocking calls that go on among it; NULL: nobody
 * @data: for @tap
 *
 * The process goes on as if nothing had been.
 */
void gpumon_uprobes_detach(struct gpumon_uprobes *uprobes, gpumon_uprobes_tap tap, void *data);

#endif /* GPUMON_UPROBE_H */
