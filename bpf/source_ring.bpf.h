/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Rings and the schedulers that have them, the counterpart of kmod/drivers/drm_sched/ring.c. */
#ifndef GPUMON_BPF_SOURCE_RING_BPF_H
#define GPUMON_BPF_SOURCE_RING_BPF_H

#include "source.bpf.h"

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
} KERNEL_TYPE;

struct source_ring rings[SOURCE_RINGS + 1];
struct source_class classes[SOURCE_CLASSES];
struct source_scheduler schedulers[SOURCE_SCHEDULERS];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOURCE_RINGS + 1);
	__type(key, __u32);
	__type(value, struct source_ring_words);
} ring_words SEC(".maps");

INLINE __u64 *words_of(__u32 ring)
{
	struct source_ring_words *words = bpf_map_lookup_elem(&ring_words, &ring);

	return words ? words->word : NULL;
}

/* Addresses differ in their low bits, but the high bits of the key select the slot. */
INLINE __u64 scheduler_key(__u64 address)
{
	return address * 0x9e3779b97f4a7c15ULL;
}

struct name {
	char text[SOURCE_NAME_LEN];
};

/* 1 or 0 without a jump: the verifier would follow both ways of each. */
INLINE __u32 is_less(__u32 value, __u32 than)
{
	return (value - than) >> 31;
}

INLINE __u32 is_equal(__u32 value, __u32 other)
{
	return is_less(value ^ other, 1);
}

/* As in kmod/drivers/drm_sched/ring.c: higher numbers are no indices, more rings are queues. */
#define CLASS_INDEX_MAX 31
#define CLASS_APART	(SOURCE_RINGS / 4)

/*
 * Takes the numbers off the end of a name: "rcs17" becomes "rcs", "panthor-queue-7-1-0"
 * "panthor-queue". Returns 0 if there are none, 1, or 2 if one of them is no index. Not static, so
 * that the verifier checks it once, by itself.
 */
__noinline int leave_class(struct name *name)
{
	__u32 length = 0, tail = 1, digits = 0, high = 0;
	__u64 number = 0, unit = 1;

	if (!name)
		return 0;
	for (int i = SOURCE_NAME_LEN - 1; i >= 0; i--) {
		__u32 c = (__u8)name->text[i], digit = is_less((c - '0') & 0xff, 10);
		__u32 there = tail & (1 - is_equal(c, 0));
		__u32 of_number = there & digit;
		__u32 separates = there & digits & (is_equal(c, '.') | is_equal(c, '-') |
						    is_equal(c, '_') | is_equal(c, ':'));
		__u32 last = there & (1 - of_number) & (1 - separates);

		barrier_var(of_number);
		barrier_var(separates);
		barrier_var(last);
		number = number * (1 - separates) + (__u64)of_number * (c - '0') * unit;
		unit = unit * (1 - separates) * (1 + 9 * of_number) + separates;
		high |= (CLASS_INDEX_MAX - number) >> 63;
		digits |= of_number;
		length += last * (i + 1);
		tail &= 1 - last;
		barrier_var(tail);
		barrier_var(digits);
		barrier_var(high);
	}
	if (!digits || !length)
		return 0;
	for (int i = 0; i < SOURCE_NAME_LEN; i++) {
		__u32 keep = is_less(i, length);

		barrier_var(keep);
		name->text[i] *= keep;
	}
	return 1 + high;
}

/*
 * The rings of a class are those of queues: the ring in a slot is that of all from now on. Not static,
 * as leave_class().
 */
__noinline int class_join(__u32 class, __u32 slot)
{
	struct name name = {};

	if (class >= SOURCE_CLASSES)
		return 0;
	TESTED(class);
	if (__sync_lock_test_and_set(&classes[class].joined, 1))
		return 0;
	if (slot >= SOURCE_RINGS)
		return 0;
	TESTED(slot);
	classes[class].ring = slot + 1;
	__builtin_memcpy(&name, rings[slot].name, sizeof(name));
	leave_class(&name);
	__builtin_memcpy(rings[slot].name, &name, sizeof(name));
	/* Its schedulers in other rings are learned again. */
	for (int i = 0; i < SOURCE_SCHEDULERS; i++)
		if (schedulers[i].class == class + 1 && schedulers[i].ring != slot + 1)
			schedulers[i].ring = 0;
	return 0;
}

/* The slot of the ring of all that found no place. */
static __noinline int ring_other(void)
{
	struct source_ring *other = &rings[SOURCE_RING_OTHER];

	if (!other->ready) {
		other->device[0] = '-';
		__builtin_memcpy(other->name, "other", sizeof("other"));
		__sync_fetch_and_or(&other->ready, 1);
	}
	return SOURCE_RING_OTHER;
}

/* The class of a name without its numbers, SOURCE_NONE if there is no room. */
INLINE __u32 class_of(const char *device, const struct name *name)
{
	__u64 key = hash_name(hash_name(2, device), name->text) | 1;
	bool created;

	return CLAIM(classes, SOURCE_CLASSES, key, &created);
}

/* Learn the ring of a new scheduler, or of a new one at a known address. */
static __noinline __u32 ring_learn(__u64 address)
{
	const struct drm_gpu_scheduler *sched = (const void *)address;
	const struct device *device = BPF_CORE_READ(sched, dev);
	const char *text = BPF_CORE_READ(sched, name);
	struct source_scheduler *known;
	char device_text[SOURCE_NAME_LEN] __attribute__((aligned(8))) = {};
	struct name name __attribute__((aligned(8))) = {}, of_class __attribute__((aligned(8)));
	__u32 slot, place, class = SOURCE_NONE;
	bool created;
	int numbered;

	device_name(device_text, device);
	if (!text || bpf_probe_read_kernel_str(name.text, sizeof(name.text), text) <= 1)
		name.text[0] = '-';
	of_class = name;
	numbered = leave_class(&of_class);
	if (numbered)
		class = class_of(device_text, &of_class);
	if (class < SOURCE_CLASSES) {
		TESTED(class);
		if (numbered == 2 || classes[class].rings >= CLASS_APART)
			class_join(class, classes[class].ring - 1);
		if (classes[class].joined)
			name = of_class;
	}
	slot = SOURCE_NONE;
	if (class < SOURCE_CLASSES) {
		TESTED(class);
		if (classes[class].joined)
			slot = classes[class].ring - 1;
	}
	created = false;
	if (slot >= SOURCE_RINGS)
		slot = CLAIM(rings, SOURCE_RINGS,
			     hash_name(hash_name(1, device_text), name.text) | 1, &created);
	if (slot >= SOURCE_RINGS) {
		slot = ring_other();
	} else if (created) {
		TESTED(slot);
		__builtin_memcpy(rings[slot].device, device_text, SOURCE_NAME_LEN);
		__builtin_memcpy(rings[slot].name, &name, SOURCE_NAME_LEN);
		__sync_fetch_and_or(&rings[slot].ready, 1);
		if (class < SOURCE_CLASSES) {
			TESTED(class);
			classes[class].ring = slot + 1;
			__sync_fetch_and_add(&classes[class].rings, 1);
		}
	}
	/* If there is no room, it is learned again the next time. */
	place = CLAIM(schedulers, SOURCE_SCHEDULERS, scheduler_key(address), &created);
	if (place < SOURCE_SCHEDULERS) {
		TESTED(place);
		known = &schedulers[place];
		known->ring = 0;
		known->device = (__u64)device;
		known->name = (__u64)text;
		known->class = class < SOURCE_CLASSES ? class + 1 : 0;
		known->ring = slot + 1;
	}
	return slot;
}

INLINE __u32 ring_of(const struct drm_gpu_scheduler *sched)
{
	const __u64 key = scheduler_key((__u64)sched);
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);
	const struct source_scheduler *known;
	__u64 device, name;

	if (place < SOURCE_SCHEDULERS) {
		known = &schedulers[place];
		device = (__u64)BPF_CORE_READ(sched, dev);
		name = (__u64)BPF_CORE_READ(sched, name);
		if (known->ring && known->device == device && known->name == name)
			return known->ring - 1;
	}
	return ring_learn((__u64)sched);
}

/* Slot of a scheduler + 1, 0 if it has none. */
INLINE __u32 scheduler_of(const struct drm_gpu_scheduler *sched)
{
	const __u64 key = scheduler_key((__u64)sched);
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);

	return place < SOURCE_SCHEDULERS ? place + 1 : 0;
}

/* Does a scheduler end while its driver stays? Then it is a queue's. */
static __noinline int scheduler_was_queues(__u64 address)
{
	const struct drm_gpu_scheduler *sched = (const void *)address;
	const struct device *device = BPF_CORE_READ(sched, dev);
	const struct device_driver *driver = BPF_CORE_READ(device, driver);
	const struct module *owner = BPF_CORE_READ(driver, owner);

	return driver && BPF_CORE_READ(device, links.status) == DL_DEV_DRIVER_BOUND &&
	       (!owner || BPF_CORE_READ(owner, state) != MODULE_STATE_GOING);
}

/* A scheduler ends, which is still there. */
INLINE void scheduler_ends(__u64 key, __u64 address)
{
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);
	struct source_scheduler *known;

	if (place >= SOURCE_SCHEDULERS)
		return;
	TESTED(place);
	known = &schedulers[place];
	if (known->class && known->class <= SOURCE_CLASSES && known->ring &&
	    scheduler_was_queues(address))
		class_join(known->class - 1, known->ring - 1);
}

INLINE void scheduler_forget(__u64 key)
{
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);

	if (place >= SOURCE_SCHEDULERS)
		return;
	schedulers[place].ring = 0;
	__sync_val_compare_and_swap(&schedulers[place].key, key, 0);
}

#endif /* GPUMON_BPF_SOURCE_RING_BPF_H */
