/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Records the CPU side of a live process without a library in it, by BPF uprobes on the functions
 * that start GPU work or wait for it. Hits become capture records. Documentation/user/uprobes.md
 * describes accuracy, losses and overhead.
 */
#ifndef GPUMON_RECORD_UPROBE_H
#define GPUMON_RECORD_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/format.h"
#include "lib/error.h"

struct gpumon_uprobes;

/**
 * struct gpumon_uprobes_options - options; 0 selects the default, if there is one
 * @root: prefix of /proc and /sys, NULL for none
 * @ring_bytes: size of the ring for hits, a power of two; 0: 8 MiB
 * @stack_depth: maximum number of frames, 2 to 256; 0: 127
 * @stacks: number of stacks that the kernel remembers; others are sent each time; 0: 8192
 * @threads: maximum number of threads with hits; hits of others are lost; 0: 1024
 * @rescan_ms: interval of scans for new libraries that the dynamic linker does not report; 0: 1000
 * @wait_hz: how often threads are looked at in a second while they are in no call; 0: never
 * @no_stacks: record hits without stacks
 * @no_blocking: probe launch functions only, and no returns
 * @presents: probe only functions that present an image, without stacks and returns
 * @by_name: look for functions only in files that are called like a library of an API. Libraries that are
 *	     linked into a program are not found; it takes a tenth of the time
 */
struct gpumon_uprobes_options {
	const char *root;
	uint64_t ring_bytes;
	unsigned int stack_depth;
	unsigned int stacks;
	unsigned int threads;
	unsigned int rescan_ms;
	unsigned int wait_hz;
	bool no_stacks;
	bool no_blocking;
	bool presents;
	bool by_name;
};

enum gpumon_uprobes_state {
	GPUMON_UPROBES_RUNNING,
	GPUMON_UPROBES_EXITED, /* the process is gone and all its records were delivered */
	GPUMON_UPROBES_EXEC,   /* another program runs now: attach again, into another file */
};

/**
 * struct gpumon_uprobes_counts - accounts for every call
 * @seen: calls of probed functions: the sum of @nested, @foreign, @hits, @lost_ring, @lost_threads,
 *        @undecided and running blocking calls
 * @nested: calls within another call: from the runtime to the driver
 * @foreign: calls of another process that shares the memory (vfork)
 * @hits: records delivered, or still in the ring
 * @lost_ring: hits lost because the ring was full; gaps in the numbers show where
 * @lost_threads: hits of threads beyond @threads, which have no number
 * @undecided: calls lost because nothing showed whether they are nested; gaps in the numbers show
 *             where
 * @lost_stacks: hits without their stack, because the ring was full
 * @stacks: different stacks delivered
 * @truncated: hits with a truncated stack
 * @copied: hits whose stack was walked here, from a copy
 * @returns_unseen: blocking calls delivered without a duration
 * @stacks_no_room: known stacks sent again because the kernel's table is full
 * @functions: number of probes at entries
 * @returns: number of probes at returns
 * @libraries: number of files with probes
 * @refused: functions that could not be probed
 * @vulkan: Vulkan's loader is in the process
 * @vulkan_devices: devices in its memory whose functions are probed
 */
struct gpumon_uprobes_counts {
	uint64_t seen;
	uint64_t nested;
	uint64_t foreign;
	uint64_t hits;
	uint64_t lost_ring;
	uint64_t lost_threads;
	uint64_t undecided;
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
	bool vulkan;
	unsigned int vulkan_devices;
};

/**
 * gpumon_uprobes_supported - check whether uprobes work on this machine
 * @root: prefix of /proc and /sys, normally ""
 * @err: out
 *
 * Tries a probe that never fires. Codes: "not-built" (gpumon-user was built without clang or
 * bpftool), "permission", "lockdown", "no-uprobes", "no-bpf", "kernel".
 *
 * Return: 0, or -1 with @err, whose status is GPUMON_EXIT_IMPOSSIBLE.
 */
int gpumon_uprobes_supported(const char *root, struct gpumon_error *err);

/**
 * gpumon_uprobes_attach - probe a live process
 * @pid: process, in the caller's pid namespace
 * @options: copied; NULL for the defaults
 * @err: out
 *
 * Codes besides those of gpumon_uprobes_supported(): "gone" (no such process), "no-library" (no
 * CUDA, HIP, Level Zero, OpenCL or Vulkan; status GPUMON_EXIT_FAILED: it may be loaded later, see
 * gpumon_uprobes_watch()), "memory", "io".
 *
 * Return: the uprobes, or NULL with @err.
 */
struct gpumon_uprobes *gpumon_uprobes_attach(pid_t pid,
					     const struct gpumon_uprobes_options *options,
					     struct gpumon_error *err);

/* gpumon_uprobes_attach() that also watches a process without such a library until it loads one. */
struct gpumon_uprobes *gpumon_uprobes_watch(pid_t pid, const struct gpumon_uprobes_options *options,
					    struct gpumon_error *err);

/**
 * gpumon_uprobes_tap - called with whole records: PROCESS first, then THREAD, MAPPING, UNMAPPING,
 *                      STRING, STACK, HIT, WAIT, LOSS and NOTE
 * @data: as given with the function
 * @tid: thread in the target's pid namespace; 0: the whole process
 * @record: valid during the call
 *
 * Records that a hit refers to come before it. The hits of one thread come in order.
 */
typedef void (*gpumon_uprobes_tap)(void *data, uint32_t tid, const struct gpumon_record *record);

/**
 * gpumon_uprobes_poll - deliver the available records
 * @uprobes: uprobes
 * @timeout_ms: how long to wait if there are none; 0: do not wait, -1: no limit
 * @tap: called with each record
 * @data: passed to @tap
 *
 * Also probes new libraries. Call it at least a few times a second, or the ring fills up.
 *
 * Return: number of records delivered.
 */
int gpumon_uprobes_poll(struct gpumon_uprobes *uprobes, int timeout_ms, gpumon_uprobes_tap tap,
			void *data);

/* When threads are to be looked at next, which gpumon_uprobes_poll() does; UINT64_MAX: never. */
uint64_t gpumon_uprobes_due_ns(const struct gpumon_uprobes *uprobes);

enum gpumon_uprobes_state gpumon_uprobes_state(const struct gpumon_uprobes *uprobes);
void gpumon_uprobes_get_counts(const struct gpumon_uprobes *uprobes,
			       struct gpumon_uprobes_counts *counts);

/**
 * gpumon_uprobes_detach - remove the probes, deliver the rest, and free everything
 * @uprobes: may be NULL
 * @tap: called with the remaining records, including running blocking calls; may be NULL
 * @data: passed to @tap
 *
 * The process continues unchanged.
 */
void gpumon_uprobes_detach(struct gpumon_uprobes *uprobes, gpumon_uprobes_tap tap, void *data);

#endif /* GPUMON_RECORD_UPROBE_H */
