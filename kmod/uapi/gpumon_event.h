/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/*
 * The record of the event ring: what read() on debugfs gpumon/events returns.
 *
 * The same table of events serves the kernel module, the BPF programs and
 * userspace: GPUMON_EVENTS() is the one place where an event gets its number
 * and its name.
 */
#ifndef GPUMON_EVENT_H
#define GPUMON_EVENT_H

#include <linux/types.h>

/*
 * X(number, ENUMERATOR, "name", "group"). Numbers are ABI: add at the end.
 *
 * what arg means:  queue: 0.  run: queue->run latency in ns.
 *                  done: run->done latency in ns.
 *                  wait: fence context of the dependency.
 *                  killed: time spent in the queue in ns.
 *                  error: 0, or with GPUMON_EVENT_F_LATENCY the time since the job was
 *                  run, where its end was not seen; the error field has the errno.
 *                  lost: number of events that were overwritten on this CPU before
 *                  the next record of the same CPU.
 */
#define GPUMON_EVENTS(X)                                                       \
	X(0, GPUMON_EVENT_LOST, "lost", "gpumon")                              \
	X(1, GPUMON_EVENT_QUEUE, "queue", "drm_sched")                         \
	X(2, GPUMON_EVENT_RUN, "run", "drm_sched")                             \
	X(3, GPUMON_EVENT_DONE, "done", "drm_sched")                           \
	X(4, GPUMON_EVENT_WAIT, "wait", "drm_sched")                           \
	X(5, GPUMON_EVENT_KILLED, "killed", "drm_sched")                       \
	X(6, GPUMON_EVENT_ERROR, "error", "drm_sched")

enum gpumon_event_type {
#define GPUMON_EVENT_ENUM(number, enumerator, name, group) enumerator = (number),
	GPUMON_EVENTS(GPUMON_EVENT_ENUM)
#undef GPUMON_EVENT_ENUM
	__GPUMON_EVENT_TYPE_MAX
};

#define GPUMON_COMM_LEN 16

/* The task fields are the submitter's, not those of whoever was interrupted. */
#define GPUMON_EVENT_F_SUBMITTER (1U << 0)
/* arg holds a latency: the earlier event of the same job was seen. */
#define GPUMON_EVENT_F_LATENCY (1U << 1)

#define GPUMON_DEPTH_UNKNOWN 0xffffffffU

/**
 * struct gpumon_event - one event, 88 bytes, native byte order
 * @time_ns: CLOCK_MONOTONIC in nanoseconds
 * @context: fence context of the job's finished fence, names the entity
 * @seqno: its sequence number: (context, seqno) names the job, across rings and devices
 * @arg: see GPUMON_EVENTS()
 * @arg2: wait: sequence number of the dependency, else 0
 * @event: enum gpumon_event_type
 * @cpu: CPU that recorded it
 * @flags: GPUMON_EVENT_F_*
 * @ring: id of the ring as in netlink ring-get
 * @pid: process (thread group) in the initial pid namespace, 0 if unknown
 * @tid: thread, 0 if unknown
 * @queue_depth: jobs queued and not run on that ring after this event, or GPUMON_DEPTH_UNKNOWN
 * @hw_depth: jobs run and not done on that ring after this event, or GPUMON_DEPTH_UNKNOWN
 * @error: negative errno of the job, 0 if none
 * @reserved: 0
 * @comm: name of the process, NUL-terminated, empty if unknown
 */
struct gpumon_event {
	__u64 time_ns;
	__u64 context;
	__u64 seqno;
	__u64 arg;
	__u64 arg2;
	__u16 event;
	__u16 cpu;
	__u16 flags;
	__u16 ring;
	__u32 pid;
	__u32 tid;
	__u32 queue_depth;
	__u32 hw_depth;
	__s32 error;
	__u32 reserved;
	char comm[GPUMON_COMM_LEN];
};

#endif /* GPUMON_EVENT_H */
