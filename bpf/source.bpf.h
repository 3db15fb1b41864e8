/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared by the programs on raw tracepoints. Kernel types only have the members that are read.
 * libbpf finds their offsets in the running kernel's BTF.
 *
 * New kernels can preempt a program, and an interrupt can come anywhere, so shared data is changed
 * by atomic operations.
 */
#ifndef GPUMON_BPF_SOURCE_BPF_H
#define GPUMON_BPF_SOURCE_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "source.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct kobject {
	const char *name;
} KERNEL_TYPE;

enum module_state {
	MODULE_STATE_GOING = 2,
};

struct module {
	enum module_state state;
} KERNEL_TYPE;

struct device_driver {
	struct module *owner;
} KERNEL_TYPE;

enum dl_dev_state {
	DL_DEV_DRIVER_BOUND = 2,
};

struct dev_links_info {
	enum dl_dev_state status;
} KERNEL_TYPE;

struct device {
	struct kobject kobj;
	const char *init_name;
	struct device_driver *driver;
	struct dev_links_info links;
} KERNEL_TYPE;

/* Are events wanted? If not, the verifier removes the code that sends them. */
const volatile bool with_events;
/*
 * Are twins of the programs attached, too? The kernel does not run a program while the same program
 * runs on that CPU, so events during an interrupt, or on new kernels a preemption, are skipped. So
 * each program exists twice, and the second one counts the events that the first one missed. Only
 * events that both missed are lost.
 */
const volatile bool twins;
/* Fill level of the ring, in bytes, that wakes the reader. It also polls. */
const volatile __u64 wake_bytes = 256 << 10;

/* One ring for all programs, created by gpumon-user. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct source_events event_counts;

/* Not static inline: each program that uses it gets its own copy. */
#define INLINE static __always_inline

INLINE void add(__u64 *word, __u64 n)
{
	__sync_fetch_and_add(word, n);
}

/*
 * Retries as often as other writers interfere. An interrupting one finishes before this continues.
 */
INLINE void raise_to(volatile __u64 *word, __u64 value)
{
	for (int i = 0; i < 8; i++) {
		__u64 old = *word;

		if (old >= value || __sync_val_compare_and_swap(word, old, value) == old)
			return;
	}
}

/* Index of the bucket, as in kmod/core/histogram.h. */
INLINE __u32 bucket_of(__u64 value, __u32 buckets)
{
	__u64 x = value | (1 << SOURCE_SUB_BITS);
	__u32 power = 0, index, shift;

	/* The highest set bit. BPF has no instruction for it. */
	if (x >> 32) {
		power += 32;
		x >>= 32;
	}
	if (x >> 16) {
		power += 16;
		x >>= 16;
	}
	if (x >> 8) {
		power += 8;
		x >>= 8;
	}
	if (x >> 4) {
		power += 4;
		x >>= 4;
	}
	if (x >> 2) {
		power += 2;
		x >>= 2;
	}
	power += x >> 1;
	shift = power - SOURCE_SUB_BITS;
	index = (shift << SOURCE_SUB_BITS) + (__u32)(value >> (shift & 63));
	return index < buckets ? index : buckets - 1;
}

INLINE __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Names are SOURCE_NAME_LEN bytes long, padded with zeroes. */
INLINE __u64 hash_name(__u64 hash, const char *name)
{
	const __u64 *words = (const void *)name;

	for (int i = 0; i < SOURCE_NAME_LEN / 8; i++)
		hash = mix(hash, words[i]);
	return hash;
}

/* Claim a slot for a key. True if the slot has this key, *created if it was free before. */
INLINE bool take(__u64 *place, __u64 key, bool *created)
{
	__u64 old = *(volatile __u64 *)place;

	if (!old) {
		old = __sync_val_compare_and_swap(place, 0, key);
		*created = !old;
	}
	return !old || old == key;
}

/*
 * Slot of a key in a table of entries with a member "key". A new key gets a free slot. SOURCE_NONE
 * if there is no room.
 */
#define CLAIM(_table, _count, _key, _created) ({						\
	__u32 _i, _found = SOURCE_NONE;								\
	__u64 _want = (_key);									\
	*(_created) = false;									\
	for (__u32 _way = 0; _way < SOURCE_WAYS; _way++) {					\
		_i = ((__u32)(_want >> 32) + _way) & ((_count) - 1);				\
		if (take(&(_table)[_i].key, _want, _created)) {					\
			_found = _i;								\
			break;									\
		}										\
	}											\
	_found;											\
})

/* Slot of a key, SOURCE_NONE if it has none. */
#define FIND(_table, _count, _key) ({								\
	__u32 _at, _slot = SOURCE_NONE;								\
	for (__u32 _way = 0; _way < SOURCE_WAYS; _way++) {					\
		_at = ((__u32)((_key) >> 32) + _way) & ((_count) - 1);				\
		if (*(volatile __u64 *)&(_table)[_at].key == (_key)) {				\
			_slot = _at;								\
			break;									\
		}										\
	}											\
	_slot;											\
})

/*
 * Place this after the test of an index. It keeps the compiler from computing the address before
 * the test, which the verifier rejects.
 */
#define TESTED(_slot) barrier_var(_slot)

/* Copies the name of the hardware device, or "-". */
INLINE void device_name(char name[SOURCE_NAME_LEN], const struct device *device)
{
	const char *text = NULL;

	if (device) {
		text = BPF_CORE_READ(device, init_name);
		if (!text)
			text = BPF_CORE_READ(device, kobj.name);
	}
	if (!text || bpf_probe_read_kernel_str(name, SOURCE_NAME_LEN, text) <= 1)
		name[0] = '-';
}

/* --- events */

INLINE struct gpumon_event *event_begin(__u16 type, __u64 now, __u32 row)
{
	struct gpumon_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		add(&event_counts.dropped, 1);
		return NULL;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->time_ns = now;
	event->event = type;
	event->cpu = bpf_get_smp_processor_id();
	event->ring = row;
	event->queue_depth = GPUMON_DEPTH_UNKNOWN;
	event->hw_depth = GPUMON_DEPTH_UNKNOWN;
	return event;
}

INLINE void event_submitter(struct gpumon_event *event)
{
	__u64 ids = bpf_get_current_pid_tgid();

	event->flags |= GPUMON_EVENT_F_SUBMITTER;
	event->pid = ids >> 32;
	event->tid = (__u32)ids;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

INLINE void event_commit(struct gpumon_event *event)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	add(&event_counts.written, 1);
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(event, flags);
}

/* Send a complete event, if events are wanted. The meaning of its words depends on the type. */
INLINE void event_send(__u16 type, __u64 now, __u32 row, __u64 context, __u64 seqno, __u64 arg,
		       __u64 arg2, bool by_task)
{
	struct gpumon_event *event;

	if (!with_events)
		return;
	event = event_begin(type, now, row);
	if (!event)
		return;
	event->context = context;
	event->seqno = seqno;
	event->arg = arg;
	event->arg2 = arg2;
	if (by_task)
		event_submitter(event);
	event_commit(event);
}

#endif /* GPUMON_BPF_SOURCE_BPF_H */
