/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event ring: single events for userspace, on the kernel's own per-CPU
 * ring buffer. Off until asked for, and then a jump that is patched out.
 */
#ifndef GPUMON_EVENT_RING_H
#define GPUMON_EVENT_RING_H

#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/types.h>

#include "uapi/gpumon_event.h"

struct file_operations;
struct netlink_ext_ack;
struct ring_buffer_event;

/* Sizes in KiB for each CPU. */
#define GPUMON_EVENT_RING_MIN_KIB 8
#define GPUMON_EVENT_RING_MAX_KIB 65536

/**
 * struct gpumon_event_ring_view - state and losses
 * @enabled: events are written
 * @size_kib: size for each CPU
 * @written: events written since it was switched on
 * @overwritten: events of @written that were overwritten before they were read
 * @delivered: events of @written that readers got
 * @pending: events of @written that are in the ring now
 * @dropped: events that could not be written, or were lost on the way to a reader
 * @memory_bytes: pages that it holds, also while it is off and can still be read
 */
struct gpumon_event_ring_view {
	bool enabled;
	u32 size_kib;
	u64 written;
	u64 overwritten;
	u64 delivered;
	u64 pending;
	u64 dropped;
	size_t memory_bytes;
};

/* The `if (gpumon_event_ring_on())` of a module without the event ring (EVENTS=no) are not compiled. */
#if GPUMON_HAS_EVENTS
DECLARE_STATIC_KEY_FALSE(gpumon_event_ring_key);
#endif
extern const struct file_operations gpumon_event_ring_fops;

void gpumon_event_ring_init(void);
void gpumon_event_ring_exit(void);
int gpumon_event_ring_set(const bool *enabled, const u32 *size_kib, struct netlink_ext_ack *extack);
void gpumon_event_ring_read(struct gpumon_event_ring_view *view);

/* Called by probes, with preemption off, only while gpumon_event_ring_on(). */
struct gpumon_event *gpumon_event_ring_begin(struct ring_buffer_event **slot);
void gpumon_event_ring_submitter(struct gpumon_event *record);
void gpumon_event_ring_commit(struct ring_buffer_event *slot);
void gpumon_event_ring_words(enum gpumon_event_type event, u64 now, u32 row, u64 context, u64 seqno,
			     u64 arg, u64 arg2);

static __always_inline bool gpumon_event_ring_on(void)
{
#if GPUMON_HAS_EVENTS
	return static_branch_unlikely(&gpumon_event_ring_key);
#else
	return false;
#endif
}

/* Write an event that happens now, if the ring is on; the words are computed only then. */
#define gpumon_event_ring_now(_event, _row, ...)                                           \
	do {                                                                               \
		if (gpumon_event_ring_on())                                                \
			gpumon_event_ring_words(_event, ktime_get_mono_fast_ns(), _row,    \
						__VA_ARGS__);                              \
	} while (0)

/*
 * Time of a record, 0 if the ring is off. Read before the probe changes anything that another probe
 * may follow on, so that the records of a job have times in the order of its steps.
 */
static __always_inline u64 gpumon_event_ring_time(void)
{
	return gpumon_event_ring_on() ? ktime_get_mono_fast_ns() : 0;
}

#endif /* GPUMON_EVENT_RING_H */
