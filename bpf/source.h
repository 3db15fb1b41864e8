/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared by gpumon-user and the BPF programs for "stat" and "trace": tables that the programs fill
 * and gpumon-user reads from memory.
 *
 * A slot of a table is claimed by a compare-and-exchange of its key. So a probe in an interrupt
 * never waits for a probe that it interrupted. The kernel's hash maps would reject its update.
 */
#ifndef GPUMON_BPF_SOURCE_H
#define GPUMON_BPF_SOURCE_H

#include <linux/types.h>

#include "../kmod/uapi/gpumon_event.h"

/* Histograms as in the module: 4 buckets for each power of two. */
#define SOURCE_SUB_BITS	     2
#define SOURCE_BUCKETS(bits) (((bits)-SOURCE_SUB_BITS + 1) << SOURCE_SUB_BITS)
/* Up to 2^42 ns and 4096 jobs, as in the module. */
#define SOURCE_LATENCY_BUCKETS SOURCE_BUCKETS(42)

/* Number of slots in which a key may be. */
#define SOURCE_WAYS 16

/* Commands whose first call failed: made-up ones do not get more of the table, as in the module. */
#define SOURCE_FAILED_COMMANDS 64

/* All of these numbers are powers of two. */
#define SOURCE_RINGS	  128
/* Slot behind the others, for all rings that found no place. */
#define SOURCE_RING_OTHER SOURCE_RINGS
#define SOURCE_CLASSES	  64
#define SOURCE_SCHEDULERS 512
#define SOURCE_JOBS	  16384
#define SOURCE_PROCESSES  2048
#define SOURCE_USAGES	  2048
/* Slot behind the others, for all that found no place. */
#define SOURCE_USAGE_OTHER SOURCE_USAGES
#define SOURCE_CRTCS	  64
#define SOURCE_DEVICES	  128
#define SOURCE_COMMANDS	  512
#define SOURCE_XIDS	  256
/* Maximum number of calls in progress. */
#define SOURCE_CALLS 8192

#define SOURCE_NONE	   0xffffffffU
#define SOURCE_NAME_LEN	   32
#define SOURCE_MESSAGE_LEN 128
/* The value of an unknown word of an event. */
#define SOURCE_UNKNOWN (~0ULL)

/**
 * struct source_probe - counts of a program's events
 * @ran: how often a program with a twin ran itself; 0 for others
 * @recorded: events in the statistics
 * @table_full: events that did not fit a table
 * @unreadable: events with unreadable arguments
 */
struct source_probe {
	__u64 ran;
	__u64 recorded;
	__u64 table_full;
	__u64 unreadable;
};

/**
 * struct source_histogram - a histogram without its buckets
 * @sum: sum of the values
 * @max: highest value
 * @not_min: complement of the lowest value, 0: none yet
 */
struct source_histogram {
	__u64 sum;
	__u64 max;
	__u64 not_min;
};

/* Events in the ring, and events that did not fit. */
struct source_events {
	__u64 written;
	__u64 dropped;
};

enum source_process_word {
	SOURCE_PROCESS_JOBS,
	SOURCE_PROCESS_IOCTLS,
	SOURCE_PROCESS_MAPPED_BYTES,
	SOURCE_PROCESS_OPENS,
	SOURCE_PROCESS_WORDS
};

/**
 * struct source_process - a process
 * @key: made from pid and start, 0: free slot
 * @ready: the following members are valid
 * @pid: pid in the initial pid namespace
 * @start_ns: start time, CLOCK_MONOTONIC
 * @start_boottime_ns: the same on CLOCK_BOOTTIME, which /proc uses
 * @cgroup_id: id of its cgroup in the unified hierarchy
 * @comm: name of the group's leader
 * @words: counters, enum source_process_word
 *
 * Name and cgroup are those at its last job or call.
 */
struct source_process {
	__u64 key;
	__u32 ready;
	__u32 pid;
	__u64 start_ns;
	__u64 start_boottime_ns;
	__u64 cgroup_id;
	char comm[GPUMON_COMM_LEN];
	__u64 words[SOURCE_PROCESS_WORDS];
};

/* --- the DRM scheduler */

/*
 * Added to each time in SOURCE_RING_BUSY. It is more than any time, so that the sum over the CPUs
 * shows how many busy times have not ended: 0 or 1.
 */
#define SOURCE_EPOCH (1ULL << 60)

/* Words of a ring for one CPU, in the order of kmod/drivers/drm_sched/ring.h. */
enum {
	SOURCE_RING_QUEUED,
	SOURCE_RING_RUN,
	SOURCE_RING_DONE,
	SOURCE_RING_ERRORS,
	SOURCE_RING_KILLED,
	SOURCE_RING_WAITS,
	SOURCE_RING_UNTRACKED,
	SOURCE_RING_JOBS_TABLE_FULL,
	SOURCE_RING_BACKWARDS,
	SOURCE_RING_ABANDONED,
	SOURCE_RING_UNATTRIBUTED,
	/* Ends of busy times less their begins, see SOURCE_EPOCH. */
	SOURCE_RING_BUSY,
	SOURCE_RING_QUEUE_NS_SUM,
	SOURCE_RING_RUN_NS_SUM,
	SOURCE_RING_QUEUE_NS,
	SOURCE_RING_RUN_NS = SOURCE_RING_QUEUE_NS + SOURCE_LATENCY_BUCKETS,
	SOURCE_RING_SUMS = SOURCE_RING_RUN_NS + SOURCE_LATENCY_BUCKETS,

	/* From here on, use the maximum of all CPUs. Minima are stored as complements. */
	SOURCE_RING_QUEUE_NS_MAX = SOURCE_RING_SUMS,
	SOURCE_RING_QUEUE_NS_MIN,
	SOURCE_RING_RUN_NS_MAX,
	SOURCE_RING_RUN_NS_MIN,
	SOURCE_RING_QUEUE_DEPTH_MAX,
	SOURCE_RING_HW_DEPTH_MAX,
	SOURCE_RING_WORDS
};

struct source_ring_words {
	__u64 word[SOURCE_RING_WORDS];
};

enum source_ring_leaving {
	/* The ring is in use, or no other ring needs its slot. */
	SOURCE_RING_STAYS,
	/* gpumon-user will free the slot of the ring, unless a scheduler of the ring comes. */
	SOURCE_RING_LEAVES,
	/* gpumon-user frees the slot of the ring. */
	SOURCE_RING_GONE,
};

/**
 * struct source_ring - the ring in a slot, and its levels
 * @key: hash of the names, 0: free
 * @ready: the names are valid
 * @queued: jobs queued and not yet run
 * @running: jobs run and not yet done
 * @begun: a job was followed from its queueing on: without one, the levels are unknown
 * @leaving: enum source_ring_leaving
 * @class: slot + 1 of the class that it is one ring of, 0: none
 * @used_ns: when it was in use, as far as was noticed
 * @done_ns: when a job of it was last done
 * @device: name of the scheduler's device, or "-"
 * @name: name of the scheduler
 */
struct source_ring {
	__u64 key;
	__u32 ready;
	__u32 queued;
	__u32 running;
	__u32 begun;
	__u32 leaving;
	__u32 class;
	__u64 used_ns;
	__u64 done_ns;
	char device[SOURCE_NAME_LEN];
	char name[SOURCE_NAME_LEN];
};

enum source_usage_word {
	SOURCE_USAGE_JOBS,
	SOURCE_USAGE_GPU_NS,
	SOURCE_USAGE_QUEUE_NS,
	SOURCE_USAGE_ERRORS,
	SOURCE_USAGE_WORDS
};

/**
 * struct source_usage - what a process uses of a ring
 * @key: hash of the following, 0: free
 * @ready: the following are valid
 * @process: slot + 1 of the process, 0: none
 * @client: DRM client, 0 where the kernel has none
 * @ring_key: key of the ring, whose name may change
 * @device: name of the ring's device
 * @ring: name of the ring
 * @words: by enum source_usage_word
 */
struct source_usage {
	__u64 key;
	__u32 ready;
	__u32 process;
	__u64 client;
	__u64 ring_key;
	char device[SOURCE_NAME_LEN];
	char ring[SOURCE_NAME_LEN];
	__u64 words[SOURCE_USAGE_WORDS];
};

/* The scheduler at an address; @ring and @class are slots + 1. */
struct source_scheduler {
	__u64 key;
	__u64 device;
	__u64 name;
	__u32 ring;
	__u32 class;
};

/**
 * struct source_class - rings of a device whose names differ in their numbers alone
 * @key: hash of the device and the name without numbers, 0: free
 * @rings: how many there are
 * @ring: slot + 1 of one of them
 * @joined: they are queues: @ring is that of all
 */
struct source_class {
	__u64 key;
	__u32 rings;
	__u32 ring;
	__u32 joined;
	__u32 reserved;
};

enum source_job_state {
	SOURCE_JOB_QUEUED,
	SOURCE_JOB_RUNNING,
	/* A message from a program to its twin: the queueing was not seen. */
	SOURCE_JOB_UNTRACKED,
	/* The job is over: for the twin, or its error is to come. */
	SOURCE_JOB_DONE,
};

struct source_job {
	__u64 key;
	__u64 time_ns;
	__u32 pid;
	__u32 tid;
	__u32 ring;
	__u32 state;
	/* A wait of the job was counted; for the twin. */
	__u32 waited;
	/* Slot + 1 of the job's scheduler, 0 if it has none. */
	__u32 scheduler;
	/* Slot of what its process uses of the ring. */
	__u32 usage;
	__u32 reserved;
	char comm[GPUMON_COMM_LEN];
};

enum source_drm_sched_probe {
	SOURCE_SCHED_QUEUE,
	SOURCE_SCHED_RUN,
	SOURCE_SCHED_DONE,
	SOURCE_SCHED_WAIT,
	SOURCE_SCHED_RESULT,
	SOURCE_SCHED_FINI,
	SOURCE_SCHED_PROBES
};

/* --- vblanks */

enum {
	SOURCE_CRTC_VBLANKS,
	SOURCE_CRTC_HIGH_PRECISION,
	SOURCE_CRTC_QUEUED,
	SOURCE_CRTC_DELIVERED,
	SOURCE_CRTC_AMBIGUOUS,
	SOURCE_CRTC_NULL_FILE,
	SOURCE_CRTC_WORDS
};

struct source_crtc {
	__u64 key;
	__u32 ready;
	__u32 crtc;
	char device[SOURCE_NAME_LEN];
	__u64 words[SOURCE_CRTC_WORDS];
};

enum source_vblank_probe {
	SOURCE_VBLANK_QUEUED,
	SOURCE_VBLANK_DELIVERED,
	SOURCE_VBLANK_VBLANK,
	SOURCE_VBLANK_PROBES
};

/* --- NVIDIA's device files */

/* The files of each driver are one group. */
enum source_nvidia_family {
	SOURCE_NVIDIA,
	SOURCE_NVIDIA_UVM,
	SOURCE_NVIDIA_FAMILIES
};

enum {
	SOURCE_DEVICE_OPENS,
	SOURCE_DEVICE_CLOSES,
	SOURCE_DEVICE_IOCTLS,
	SOURCE_DEVICE_IOCTLS_FAILED,
	SOURCE_DEVICE_MMAPS,
	SOURCE_DEVICE_MMAPS_FAILED,
	SOURCE_DEVICE_MAPPED_BYTES,
	SOURCE_DEVICE_WORDS
};

struct source_device {
	__u64 key;
	__u32 ready;
	__u32 family;
	__u32 minor;
	__u32 reserved;
	__u64 words[SOURCE_DEVICE_WORDS];
};

/* Slot SOURCE_COMMANDS + family counts the commands of the family that have no row. */
struct source_command {
	__u64 key;
	__u32 ready;
	__u32 family;
	__u32 command;
	__u32 reserved;
	__u64 count;
	__u64 failed;
	__u64 rm_failed;
	struct source_histogram duration;
	__u64 buckets[SOURCE_LATENCY_BUCKETS];
};

struct source_xid {
	__u64 key;
	__u32 ready;
	__u32 code;
	__u64 count;
	__u64 time_ns;
	char device[SOURCE_NAME_LEN];
	char message[SOURCE_MESSAGE_LEN];
};

enum source_nvidia_probe {
	SOURCE_NVIDIA_ENTER,
	SOURCE_NVIDIA_EXIT,
	SOURCE_NVIDIA_XID,
	SOURCE_NVIDIA_PROBES
};

#endif /* GPUMON_BPF_SOURCE_H */
