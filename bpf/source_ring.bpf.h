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

/*
 * A name, and the state of class_scan(), which reads it from its end. They are memory that was
 * passed by its address: before 6.7 the verifier would take the first values of variables for those
 * in all rounds.
 */
struct class_name {
	char text[SOURCE_NAME_LEN];
	__u64 number;
	__u64 unit;
	__u32 length;
	__u32 digits;
	__u32 high;
};

/*
 * As in kmod/drivers/drm_sched/ring.c: a higher number is no index, and more rings of one class are
 * those of queues.
 */
#define CLASS_INDEX_MAX 31
#define CLASS_APART	(SOURCE_RINGS / 4)

struct class_scan {
	struct class_name *name;
};

/*
 * Callback: reads one character, from the end of the name. Returns 1 at the first one that is not
 * of a number.
 */
static long class_scan(__u32 i, const struct class_scan *scan)
{
	struct class_name *name = scan->name;
	__u32 at = (SOURCE_NAME_LEN - 1 - i) & (SOURCE_NAME_LEN - 1);
	char c = name->text[at];

	if (!c)
		return 0;
	if (c >= '0' && c <= '9') {
		name->number += (c - '0') * name->unit;
		name->unit *= 10;
		name->high |= name->number > CLASS_INDEX_MAX;
		name->digits = 1;
	} else if (name->digits && (c == '.' || c == '-' || c == '_' || c == ':')) {
		name->number = 0;
		name->unit = 1;
	} else {
		name->length = at + 1;
		return 1;
	}
	name->text[at] = '\0';
	return 0;
}

/*
 * Takes the numbers off the end of a name: "rcs17" becomes "rcs", "panthor-queue-7-1-0"
 * "panthor-queue". Returns 0 if there are none, or nothing else; 1, or 2 if one of them is no index.
 * Not static, so that the verifier checks it once, by itself.
 */
__noinline int leave_class(struct class_name *name)
{
	struct class_scan scan = { .name = name };

	if (!name)
		return 0;
	name->number = 0;
	name->unit = 1;
	name->length = 0;
	name->digits = 0;
	name->high = 0;
	bpf_loop(SOURCE_NAME_LEN, class_scan, &scan, 0);
	if (!name->digits || !name->length)
		return 0;
	return name->high ? 2 : 1;
}

struct joining {
	__u32 class;
	__u32 ring;
};

/* Callback: lets a scheduler of the class that is in another ring be learned again. */
static long class_gather(__u32 i, const struct joining *to)
{
	if (i >= SOURCE_SCHEDULERS)
		return 1;
	TESTED(i);
	if (schedulers[i].class == to->class && schedulers[i].ring != to->ring)
		schedulers[i].ring = 0;
	return 0;
}

/*
 * Makes the ring in a slot that of all schedulers of its class, whose rings have turned out to be
 * those of queues. Not static, as leave_class().
 */
__noinline int class_join(__u32 class, __u32 slot)
{
	struct joining to = { .class = class + 1, .ring = slot + 1 };
	struct class_name name = {};

	if (class >= SOURCE_CLASSES)
		return 0;
	TESTED(class);
	if (__sync_lock_test_and_set(&classes[class].joined, 1))
		return 0;
	if (slot >= SOURCE_RINGS)
		return 0;
	TESTED(slot);
	classes[class].ring = slot + 1;
	__builtin_memcpy(name.text, rings[slot].name, sizeof(name.text));
	if (leave_class(&name))
		__builtin_memcpy(rings[slot].name, name.text, sizeof(name.text));
	bpf_loop(SOURCE_SCHEDULERS, class_gather, &to, 0);
	return 0;
}

/* Slot of the ring of all schedulers that found no place. */
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

/*
 * Slots for keys, new ones if they have none. Not static: else the verifier would follow the caller
 * from each place where a key may be.
 */
__noinline __u32 class_claim(__u64 key)
{
	bool created;

	return CLAIM(classes, SOURCE_CLASSES, key, &created);
}

__noinline __u32 scheduler_claim(__u64 key)
{
	bool created;

	return CLAIM(schedulers, SOURCE_SCHEDULERS, key, &created);
}

__noinline __u32 scheduler_find(__u64 key)
{
	return FIND(schedulers, SOURCE_SCHEDULERS, key);
}

/*
 * Notes that a scheduler of a known ring has come. Returns false if gpumon-user is freeing the slot
 * of the ring.
 */
INLINE bool ring_stays(__u32 slot)
{
	struct source_ring *ring = &rings[slot];

	if (!*(volatile __u32 *)&ring->leaving)
		return true;
	ring->used_ns = bpf_ktime_get_ns();
	return __sync_val_compare_and_swap(&ring->leaving, SOURCE_RING_LEAVES,
					   SOURCE_RING_STAYS) != SOURCE_RING_GONE;
}

#define RING_CREATED 0x8000
__noinline __u32 ring_claim(__u64 key)
{
	bool created;
	__u32 slot = CLAIM(rings, SOURCE_RINGS, key, &created);

	if (created)
		return slot | RING_CREATED;
	if (slot >= SOURCE_RINGS)
		return SOURCE_NONE;
	TESTED(slot);
	return ring_stays(slot) ? slot : SOURCE_NONE;
}

/* Ring of a class whose schedulers are those of queues, SOURCE_NONE if there is none yet. */
__noinline __u32 ring_of_class(__u32 class)
{
	__u32 slot;

	if (class >= SOURCE_CLASSES)
		return SOURCE_NONE;
	TESTED(class);
	slot = classes[class].ring - 1;
	if (slot >= SOURCE_RINGS)
		return SOURCE_NONE;
	TESTED(slot);
	/* The slot may be another ring's by now. */
	return ring_stays(slot) && rings[slot].class == class + 1 ? slot : SOURCE_NONE;
}

/*
 * Learns the ring of a new scheduler, or of a new one at a known address. Returns the slot of the
 * ring, and the slot of the scheduler + 1 in the upper half.
 */
__noinline __u64 ring_learn(__u64 address)
{
	const struct drm_gpu_scheduler *sched = (const void *)address;
	const struct device *device = BPF_CORE_READ(sched, dev);
	const char *text = BPF_CORE_READ(sched, name);
	struct source_scheduler *known;
	char device_text[SOURCE_NAME_LEN] __attribute__((aligned(8))) = {};
	struct class_name name = {}, of_class;
	__u32 slot, place, class = SOURCE_NONE;
	bool created;
	int numbered;

	device_name(device_text, device);
	if (!text || bpf_probe_read_kernel_str(name.text, sizeof(name.text), text) <= 1)
		name.text[0] = '-';
	of_class = name;
	numbered = leave_class(&of_class);
	if (numbered)
		class = class_claim(hash_name(hash_name(2, device_text), of_class.text) | 1);
	slot = SOURCE_NONE;
	if (class < SOURCE_CLASSES) {
		TESTED(class);
		if (numbered == 2 || classes[class].rings >= CLASS_APART)
			class_join(class, ring_of_class(class));
		if (classes[class].joined) {
			name = of_class;
			slot = ring_of_class(class);
		}
	}
	created = false;
	if (slot >= SOURCE_RINGS) {
		slot = ring_claim(hash_name(hash_name(1, device_text), name.text) | 1);
		created = slot < SOURCE_NONE && slot & RING_CREATED;
		slot = created ? slot & ~RING_CREATED : slot;
	}
	if (slot >= SOURCE_RINGS) {
		slot = ring_other();
	} else if (created) {
		TESTED(slot);
		__builtin_memcpy(rings[slot].device, device_text, SOURCE_NAME_LEN);
		__builtin_memcpy(rings[slot].name, name.text, SOURCE_NAME_LEN);
		rings[slot].used_ns = bpf_ktime_get_ns();
		if (class < SOURCE_CLASSES) {
			TESTED(class);
			rings[slot].class = class + 1;
			classes[class].ring = slot + 1;
			__sync_fetch_and_add(&classes[class].rings, 1);
		}
		__sync_fetch_and_or(&rings[slot].ready, 1);
	}
	/* If there is no room, the scheduler is learned again the next time. */
	place = scheduler_claim(scheduler_key(address));
	if (place < SOURCE_SCHEDULERS) {
		TESTED(place);
		known = &schedulers[place];
		known->ring = 0;
		known->device = (__u64)device;
		known->name = (__u64)text;
		known->class = class < SOURCE_CLASSES ? class + 1 : 0;
		known->ring = slot + 1;
	}
	return slot | (__u64)(__u32)(place + 1) << 32;
}

/* Ring of a scheduler; *scheduler: set to the slot of the scheduler + 1, 0 if it has none. */
INLINE __u32 ring_and_scheduler_of(const struct drm_gpu_scheduler *sched, __u32 *scheduler)
{
	const __u64 key = scheduler_key((__u64)sched);
	__u32 place = FIND(schedulers, SOURCE_SCHEDULERS, key);
	const struct source_scheduler *known;
	__u64 device, name, learned;

	if (place < SOURCE_SCHEDULERS) {
		known = &schedulers[place];
		*scheduler = place + 1;
		device = (__u64)BPF_CORE_READ(sched, dev);
		name = (__u64)BPF_CORE_READ(sched, name);
		if (known->ring && known->device == device && known->name == name)
			return known->ring - 1;
	}
	learned = ring_learn((__u64)sched);
	*scheduler = learned >> 32;
	return learned;
}

INLINE __u32 ring_of(const struct drm_gpu_scheduler *sched)
{
	__u32 scheduler;

	return ring_and_scheduler_of(sched, &scheduler);
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

/* Forgets a scheduler that ends; its memory is still there. */
INLINE void scheduler_ends(__u64 key, __u64 address)
{
	__u32 place = scheduler_find(key);
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
	__u32 place = scheduler_find(key), ring;

	if (place >= SOURCE_SCHEDULERS)
		return;
	TESTED(place);
	ring = schedulers[place].ring - 1;
	if (ring < SOURCE_RINGS) {
		TESTED(ring);
		rings[ring].used_ns = bpf_ktime_get_ns();
	}
	schedulers[place].ring = 0;
	__sync_val_compare_and_swap(&schedulers[place].key, key, 0);
}

#endif /* GPUMON_BPF_SOURCE_RING_BPF_H */
