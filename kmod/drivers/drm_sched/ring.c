// SPDX-License-Identifier: GPL-2.0-only
/* The table of rings: which ring a scheduler is, and recycling those that are gone. */
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <drm/gpu_scheduler.h>

#include "common/device.h"
#include "compat/sched_device.h"
#include "core/key.h"
#include "core/nofault.h"
#include "core/period.h"
#include "core/statistics.h"
#include "core/track.h"
#include "drivers/groups.h"
#include "job.h"
#include "ring.h"
#include "usage.h"

/* Schedulers that are remembered for each ring: some drivers have one for each queue. */
#define SCHEDULERS_PER_RING 16

/* Slots of 1024 rings, the most: gpumon_place() has 16 bits for one. */
static_assert(2 * SCHEDULERS_PER_RING * 1024 + GPUMON_TABLE_WAYS < GPUMON_PLACE_NO_SCHEDULER);

unsigned int gpumon_ring_max = 64;
u64 gpumon_rings_retired;

/* Changes when a scheduler ends, so that a new one at its address is not mistaken for it. */
atomic_t gpumon_scheduler_generation = ATOMIC_INIT(1);

/* No row was free, and none has become free since. */
static bool rings_full;

/* An event of the ring that is being dropped has come. */
static bool ring_wanted;

static siphash_key_t name_key;

static const struct gpumon_column ring_columns[GPUMON_RING_COLUMNS] = {
	[GPUMON_RING_QUEUED] = GPUMON_COUNTER("queued"),
	[GPUMON_RING_RUN] = GPUMON_COUNTER("run"),
	[GPUMON_RING_DONE] = GPUMON_COUNTER("done"),
	[GPUMON_RING_ERRORS] = GPUMON_COUNTER("errors", .roles = BIT(SCHED_ROLE_RESULT)),
	[GPUMON_RING_KILLED] = GPUMON_COUNTER("killed", .roles = BIT(SCHED_ROLE_RESULT)),
	[GPUMON_RING_WAITS] = GPUMON_COUNTER("dependency_waits", .roles = BIT(SCHED_ROLE_WAIT)),
	[GPUMON_RING_UNTRACKED] = GPUMON_COUNTER("untracked"),
	[GPUMON_RING_QUEUE_DEPTH] = GPUMON_GAUGE("queue_depth", .with_next = true),
	[GPUMON_RING_HW_DEPTH] = GPUMON_GAUGE("hw_depth"),
	/* At least one job is on the hardware. */
	[GPUMON_RING_BUSY] = GPUMON_COUNTER("busy_ns", .interval = true),
	[GPUMON_RING_QUEUE_NS] = GPUMON_HISTOGRAM("queue_ns", .bits = GPUMON_LATENCY_BITS),
	[GPUMON_RING_RUN_NS] = GPUMON_HISTOGRAM("run_ns", .bits = GPUMON_LATENCY_BITS),
	[GPUMON_RING_JOBS_TABLE_FULL] = GPUMON_COUNTER("jobs_table_full"),
	[GPUMON_RING_BACKWARDS] = GPUMON_COUNTER("clock_backwards"),
	[GPUMON_RING_ABANDONED] = GPUMON_COUNTER("abandoned", .roles = BIT(SCHED_ROLE_FINI)),
	/* If the end of schedulers is not seen, the level would only grow. */
	[GPUMON_RING_LIVE] = GPUMON_GAUGE("live", .roles = BIT(SCHED_ROLE_FINI)),
};

struct gpumon_statistics gpumon_ring_statistics = {
	.name = "rings",
	.labels = { "device", "ring" },
	.columns = ring_columns,
	.column_count = GPUMON_RING_COLUMNS,
	.own_histograms = GPUMON_HAS_OWN_HISTOGRAMS,
	.exact = true,
	.counters = { .anchor = GPUMON_ANCHOR(rings) },
};

/**
 * struct tracked_scheduler - a scheduler that was seen
 * @class: key of its class of names, 0 for none
 * @identity: see scheduler_identity(); 0 while the entry is not complete
 * @ring: the row of its ring plus 1, 0 for none
 */
struct tracked_scheduler {
	u64 class;
	u64 identity;
	u32 ring;
};
GPUMON_TRACKED_TYPE(struct tracked_scheduler);

/* Schedulers by their address. gpumon_place() has the numbers of slots here. */
struct gpumon_track gpumon_ring_schedulers = { .whole = true };

/**
 * struct tracked_ring - where the ring of a key is
 * @used_ns: when it last had a scheduler or a job, ktime_get_mono_fast_ns()
 * @of_class: the ring is all schedulers that have its name and a number
 * @row: its row
 */
struct tracked_ring {
	u64 used_ns;
	bool of_class;
	u32 row;
};
GPUMON_TRACKED_TYPE(struct tracked_ring);

/* Rings by their key, so that one is found without a search through the rows. */
struct gpumon_track gpumon_ring_names;

/* Do the constants in ring.h match the layout of a row? */
static bool ring_layout_known(void)
{
	static const struct {
		u8 column;
		u16 bucket;
		u16 extreme;
	} wanted[] = {
		{ GPUMON_RING_QUEUE_DEPTH, 0, GPUMON_RING_QUEUE_DEPTH_MAX },
		{ GPUMON_RING_HW_DEPTH, 0, GPUMON_RING_HW_DEPTH_MAX },
		{ GPUMON_RING_QUEUE_NS, GPUMON_RING_QUEUE_NS_BUCKETS, GPUMON_RING_QUEUE_NS_MAX },
		{ GPUMON_RING_RUN_NS, GPUMON_RING_RUN_NS_BUCKETS, GPUMON_RING_RUN_NS_MAX },
		{ GPUMON_RING_LIVE, 0, GPUMON_RING_LIVE_MAX },
	};
	const struct gpumon_place *place;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		place = &gpumon_ring_statistics.places[wanted[i].column];
		if (place->bucket != wanted[i].bucket || place->own_extreme != wanted[i].extreme)
			return false;
	}
	return gpumon_ring_statistics.words - gpumon_ring_statistics.counters.wide == GPUMON_RING_WORDS;
}

static void ring_index(u64 key, u32 row)
{
	bool known;
	struct tracked_ring *entry = gpumon_track_begin(&gpumon_ring_names, key, &known);

	if (!entry)
		return;
	gpumon_write_plain64(entry->used_ns, ktime_get_mono_fast_ns());
	if (!known)
		entry->of_class = false;
	WRITE_ONCE(entry->row, row);
}

/**
 * gpumon_ring_init - size the tables for gpumon_ring_max rings
 *
 * Context: may sleep, the tables are laid out and have no memory yet.
 * Return: 0 or -EINVAL.
 */
int gpumon_ring_init(void)
{
	get_random_bytes(&name_key, sizeof(name_key));
	gpumon_ring_statistics.capacity = gpumon_ring_max;
	gpumon_ring_schedulers.capacity = SCHEDULERS_PER_RING * gpumon_ring_max;
	gpumon_ring_names.capacity = 2 * gpumon_ring_max;
	return WARN_ON(!ring_layout_known()) ? -EINVAL : 0;
}

/*
 * Starts to follow schedulers and jobs; no earlier one is known. No probe runs, and nothing is
 * tracked.
 */
void gpumon_ring_start(void)
{
	const struct gpumon_table *table = &gpumon_ring_statistics.table;
	u32 row;

	/* Without a module of the group there is no memory yet. */
	if (!table->keys)
		return;
	WARN_ON(gpumon_ring_statistics.counters.stride != GPUMON_RING_STRIDE);
	mutex_lock(&gpumon_period_lock);
	for (row = 0; row < table->slots; row++) {
		if (!table->keys[row])
			continue;
		if (row != GPUMON_ROW_OTHER_SLOT)
			ring_index(table->keys[row], row);
		/* No scheduler has been seen since this start. */
		gpumon_row_level_set(&gpumon_ring_statistics, row, GPUMON_RING_LIVE, 0);
	}
	rings_full = false;
	mutex_unlock(&gpumon_period_lock);
	atomic_inc(&gpumon_scheduler_generation);
}

/**
 * gpumon_ring_count - rings in the table
 *
 * Context: gpumon_period_lock held.
 * Return: their number, without the row of all others.
 */
u32 gpumon_ring_count(void)
{
	u32 used = gpumon_table_used(&gpumon_ring_statistics.table);

	return used ? used - 1 : 0;
}

/*
 * Drivers whose firmware does the scheduling have a scheduler for each queue of an application, and
 * number them: "rcs17", "hwctx.4711.3", "panthor-queue-7-1-0". All schedulers of such a class are
 * one ring, with the name without the numbers. Other drivers number a fixed set of rings, "sdma0"
 * and "comp_1.0.1", which stay apart. Queues come and go while their driver stays, are many, and
 * have numbers that are no indices.
 */
#define CLASS_INDEX_MAX 31
#define CLASS_APART	max(16U, gpumon_ring_max / 4)

/* Length of a name without its numbers at the end; @highest: the highest of them. */
static size_t class_length(const char *name, u64 *highest)
{
	size_t length = strlen(name), at = length, digits;
	u64 number, unit;

	*highest = 0;
	for (;;) {
		number = 0;
		unit = 1;
		for (digits = at; at && isdigit(name[at - 1]); at--, unit *= 10)
			number += (name[at - 1] - '0') * unit;
		if (at == digits)
			break;
		*highest = max(*highest, number);
		while (at && strchr("-._:", name[at - 1]))
			at--;
		length = at;
	}
	/* A name of numbers alone is taken whole. */
	return length ?: strlen(name);
}

/* The row of all rings without a row of their own. */
static u32 ring_other(void)
{
	return gpumon_row_learn(&gpumon_ring_statistics, GPUMON_ROW_OTHER, GPUMON_DEVICE_UNKNOWN,
				"other", NULL);
}

/* The ring of these names, a new one if there is none and room for one. */
static u32 ring_of_key(u64 key, const char *device, const char *name)
{
	const struct tracked_ring *known = gpumon_track_find(&gpumon_ring_names, key);
	u64 holder;
	u32 row;

	if (known) {
		row = READ_ONCE(known->row);
		holder = gpumon_read_once64(gpumon_ring_statistics.table.keys[row]);
		if (holder == key)
			return row;
		/*
		 * gpumon_ring_recycle() may yet keep that row: these names must not get a second
		 * one.
		 */
		if (holder == GPUMON_TABLE_RECYCLING) {
			WRITE_ONCE(ring_wanted, true);
			return ring_other();
		}
	}
	/* Searches through all rows, once for each new ring. */
	row = READ_ONCE(rings_full) ? GPUMON_NONE :
				      gpumon_row_learn(&gpumon_ring_statistics, key, device, name,
						       NULL);
	if (row == GPUMON_NONE) {
		WRITE_ONCE(rings_full, true);
		return ring_other();
	}
	ring_index(key, row);
	return row;
}

struct ring_names {
	char device[GPUMON_LABEL_LEN];
	char name[GPUMON_LABEL_LEN];
};

/* The same names have the same key on all CPUs, so that two that learn a ring at once agree. */
static u64 names_key(const struct ring_names *names)
{
	return gpumon_key_mix(siphash(names, sizeof(*names), &name_key), 0);
}

/* Does a class have a ring? @key: key of the class, of its name without numbers. */
static bool class_joined(u64 key)
{
	const struct tracked_ring *known = gpumon_track_find(&gpumon_ring_names, key);

	return known && READ_ONCE(known->of_class);
}

static void class_join(u64 key)
{
	struct tracked_ring *known = gpumon_track_find(&gpumon_ring_names, key);

	if (known)
		WRITE_ONCE(known->of_class, true);
}

/* Number of rings with names of a class; @one: set to the row of one of them. */
static u32 class_rings(const struct ring_names *class, size_t length, u32 *one)
{
	const char *name;
	u32 slot, count = 0;
	u64 highest;

	for (slot = 0; slot < gpumon_ring_statistics.table.slots; slot++) {
		name = gpumon_row_label(&gpumon_ring_statistics, slot, 1);
		if (!READ_ONCE(gpumon_ring_statistics.ready[slot]) ||
		    strcmp(gpumon_row_label(&gpumon_ring_statistics, slot, 0), class->device) ||
		    strncmp(name, class->name, length) || !name[length] ||
		    class_length(name, &highest) != length)
			continue;
		*one = slot;
		count++;
	}
	return count;
}

/*
 * Lets the schedulers of a class that belong to other rings be learned again with their next event.
 * @key: key of the class; @ring: its ring.
 */
static void class_gather(u64 key, u32 ring)
{
	struct tracked_scheduler *known;
	u32 slot, from;

	for (slot = 0; slot < gpumon_ring_schedulers.table.slots; slot++) {
		known = gpumon_track_at(&gpumon_ring_schedulers, slot);
		from = READ_ONCE(known->ring);
		if (from && from != ring + 1 && gpumon_read_once64(known->class) == key &&
		    cmpxchg(&known->ring, from, 0) == from)
			gpumon_row_level(&gpumon_ring_statistics, from - 1, GPUMON_RING_LIVE, -1);
	}
	atomic_inc(&gpumon_scheduler_generation);
}

/*
 * Makes a ring that of its class, with what it has counted: the names of the class have turned out
 * to be those of queues. @key: key of the class; @ring: one of its rings.
 */
static void class_take(u64 key, u32 ring)
{
	char *name = gpumon_row_label(&gpumon_ring_statistics, ring, 1);
	struct tracked_ring *own = gpumon_track_find(&gpumon_ring_names, key);
	u64 highest, old;

	if (own) {
		WRITE_ONCE(own->of_class, true);
		class_gather(key, READ_ONCE(own->row));
		return;
	}
	old = gpumon_read_once64(gpumon_ring_statistics.table.keys[ring]);
	if (ring == GPUMON_ROW_OTHER_SLOT || old == GPUMON_TABLE_RECYCLING ||
	    gpumon_cmpxchg64(&gpumon_ring_statistics.table.keys[ring], old, key) != old)
		return;
	own = gpumon_track_find(&gpumon_ring_names, old);
	if (own)
		gpumon_track_end(&gpumon_ring_names, own);
	ring_index(key, ring);
	class_join(key);
	/* A reader sees the name with or without its numbers. */
	WRITE_ONCE(name[class_length(name, &highest)], '\0');
	gpumon_usage_ring_renamed(old, key, ring);
	atomic_add(2, &gpumon_ring_statistics.generation);
	class_gather(key, ring);
}

/*
 * Ring of a scheduler by its names. @class: set to the key of its class, 0 if its name has no
 * number.
 */
static u32 ring_by_name(const struct drm_gpu_scheduler *sched, u64 *class)
{
	struct ring_names names = {}, of_class;
	char device[GPUMON_LABEL_LEN];
	u64 key, highest;
	u32 row, of_same;
	size_t length;
	bool queues;

	(void)gpumon_device_label(device,
				  gpumon_compat_sched_device(sched->gpumon_compat_sched_owner));
	/* The bytes behind the text are 0: the key is a hash of all bytes. */
	strscpy(names.device, device, sizeof(names.device));
	strscpy(names.name, sched->name ?: "-", sizeof(names.name));
	key = names_key(&names);
	*class = 0;
	length = class_length(names.name, &highest);
	if (!names.name[length])
		return ring_of_key(key, names.device, names.name);
	of_class = names;
	memset(of_class.name + length, 0, sizeof(of_class.name) - length);
	*class = names_key(&of_class);
	queues = class_joined(*class);
	/* Searches through all rows, once for each new ring. */
	if (!queues && (highest > CLASS_INDEX_MAX || !gpumon_track_find(&gpumon_ring_names, key))) {
		of_same = class_rings(&of_class, length, &row);
		queues = highest > CLASS_INDEX_MAX || of_same >= CLASS_APART;
		if (queues && of_same)
			class_take(*class, row);
	}
	if (!queues)
		return ring_of_key(key, names.device, names.name);
	row = ring_of_key(*class, of_class.device, of_class.name);
	class_join(*class);
	return row;
}

/* Is the device of a scheduler still bound to its driver? The device may be gone. */
static bool driver_stays(const struct drm_gpu_scheduler *sched)
{
	const struct device_driver *driver;
	const struct device *dev;
	const struct module *owner;
	const void *sched_owner;
	enum dl_dev_state bound;
	enum module_state state = MODULE_STATE_LIVE;

	if (!gpumon_read_nofault(&sched_owner, &sched->gpumon_compat_sched_owner,
				 sizeof(sched_owner)))
		return false;
	dev = gpumon_compat_sched_device(sched_owner);
	return gpumon_is_device(dev) &&
	       gpumon_read_nofault(&bound, &dev->links.status, sizeof(bound)) &&
	       bound == DL_DEV_DRIVER_BOUND &&
	       gpumon_read_nofault(&driver, &dev->driver, sizeof(driver)) && driver &&
	       gpumon_read_nofault(&owner, &driver->owner, sizeof(owner)) &&
	       (!owner || (gpumon_read_nofault(&state, &owner->state, sizeof(state)) &&
			   state != MODULE_STATE_GOING));
}

/*
 * Number that differs between two schedulers which have one address one after the other; never 0.
 */
static u64 scheduler_identity(const struct drm_gpu_scheduler *sched)
{
	return gpumon_key_mix((unsigned long)sched->gpumon_compat_sched_owner,
			      (unsigned long)sched->name);
}

/*
 * Moves a scheduler to a ring, or to none (GPUMON_NONE). If several CPUs move it at once, each
 * takes over what the one before wrote, so that each change is in the levels once.
 */
static void scheduler_move(struct tracked_scheduler *known, u32 ring)
{
	u32 from = xchg(&known->ring, ring + 1) - 1;

	if (from == ring)
		return;
	if (from != GPUMON_NONE)
		gpumon_row_level(&gpumon_ring_statistics, from, GPUMON_RING_LIVE, -1);
	if (ring != GPUMON_NONE)
		gpumon_row_level(&gpumon_ring_statistics, ring, GPUMON_RING_LIVE, 1);
}

/* Notes that a ring was in use until now; housekeeping may not have looked for long. */
static void ring_was_used(u32 ring)
{
	struct tracked_ring *known =
		gpumon_track_find(&gpumon_ring_names, gpumon_ring_statistics.table.keys[ring]);

	if (known)
		gpumon_write_plain64(known->used_ns, ktime_get_mono_fast_ns());
}

static void scheduler_forget(struct tracked_scheduler *known)
{
	u32 ring = READ_ONCE(known->ring) - 1;

	if (ring != GPUMON_NONE)
		ring_was_used(ring);
	/* A reader may find the key of the entry's next scheduler before the rest is written. */
	gpumon_write_once64(known->identity, 0);
	scheduler_move(known, GPUMON_NONE);
	gpumon_track_end(&gpumon_ring_schedulers, known);
}

/* gpumon_place() of a scheduler that has an entry. */
static u32 scheduler_place(const struct tracked_scheduler *known, u32 ring)
{
	return gpumon_place(ring, gpumon_track_slot(&gpumon_ring_schedulers, known));
}

/* Place of a scheduler that is not known at its address. */
static u32 scheduler_learn(const struct drm_gpu_scheduler *sched)
{
	struct tracked_scheduler *known;
	u64 class;
	u32 ring = ring_by_name(sched, &class);
	bool begun;

	known = gpumon_track_begin(&gpumon_ring_schedulers, (unsigned long)sched, &begun);
	/* Without room the scheduler is looked up by its names each time, and is not in "live". */
	if (!known)
		return gpumon_place(ring, GPUMON_PLACE_NO_SCHEDULER);
	scheduler_move(known, ring);
	gpumon_write_plain64(known->class, class);
	/* Pairs with gpumon_ring_find(): a reader of the identity finds the ring. */
	gpumon_store_release64(&known->identity, scheduler_identity(sched));
	return scheduler_place(known, ring);
}

/*
 * gpumon_place() of a live scheduler; in the row of all others if there is none for it. The time is
 * bounded, but for the first event of a ring.
 */
noinline u32 gpumon_ring_find(const struct drm_gpu_scheduler *sched)
{
	const struct tracked_scheduler *known =
		gpumon_track_find(&gpumon_ring_schedulers, (unsigned long)sched);
	u32 ring = GPUMON_NONE;

	/* Pairs with scheduler_learn(). */
	if (likely(known && gpumon_load_acquire64(&known->identity) == scheduler_identity(sched)))
		ring = READ_ONCE(known->ring) - 1;
	return likely(ring != GPUMON_NONE) ? scheduler_place(known, ring) : scheduler_learn(sched);
}

/* Takes a job of a scheduler that has ended out of the depth that it was counted in. */
static void job_leaves(const struct gpumon_job *job)
{
	const u32 ring = gpumon_job_ring(job);
	local64_t *words = gpumon_row_words(&gpumon_ring_statistics, ring);

	if (job->state & GPUMON_JOB_DONE)
		return;
	local64_inc(&words[GPUMON_RING_ABANDONED]);
	if (gpumon_job_running(job))
		gpumon_ring_hw_leave(gpumon_ring_gauges(ring), words, gpumon_clock());
	else
		gpumon_ring_queue_leave(gpumon_ring_gauges(ring));
}

static bool ring_has_jobs(u32 ring)
{
	return atomic64_read(&gpumon_ring_gauges(ring)[GPUMON_RING_HW_DEPTH].now);
}

/*
 * Forgets a scheduler that has ended; another may get its address and its slot. Its jobs that are
 * not over never will be.
 */
void gpumon_ring_scheduler_ends(const struct drm_gpu_scheduler *sched)
{
	struct tracked_scheduler *known;
	u32 ring;

	while ((known = gpumon_track_find(&gpumon_ring_schedulers, (unsigned long)sched))) {
		ring = READ_ONCE(known->ring) - 1;
		/*
		 * Some jobs may have been queued while the scheduler was in the row of all others.
		 */
		if ((ring != GPUMON_NONE && ring_has_jobs(ring)) ||
		    ring_has_jobs(GPUMON_ROW_OTHER_SLOT))
			gpumon_job_abandon(gpumon_track_slot(&gpumon_ring_schedulers, known),
					   job_leaves);
		/* Rings of a fixed set end with their driver. */
		if (ring != GPUMON_NONE && known->class && !class_joined(known->class) &&
		    driver_stays(sched))
			class_take(known->class, ring);
		scheduler_forget(known);
	}
	atomic_inc(&gpumon_scheduler_generation);
}

static bool ring_idle(u32 ring)
{
	return !gpumon_row_level_now(&gpumon_ring_statistics, ring, GPUMON_RING_LIVE) &&
	       !ring_has_jobs(ring);
}

/* Row of the ring that has been without a scheduler longest, GPUMON_NONE if all have one. */
static u32 ring_oldest(void)
{
	const struct gpumon_table *table = &gpumon_ring_statistics.table;
	u64 now = ktime_get_mono_fast_ns(), since, first = now;
	struct tracked_ring *known;
	u32 row, oldest = GPUMON_NONE;

	for (row = GPUMON_ROW_OTHER_SLOT + 1; row < table->slots; row++) {
		if (!READ_ONCE(gpumon_ring_statistics.ready[row]))
			continue;
		known = gpumon_track_find(&gpumon_ring_names, table->keys[row]);
		if (known && !ring_idle(row))
			gpumon_write_plain64(known->used_ns, now);
		since = known ? gpumon_read_plain64(known->used_ns) : 0;
		if (ring_idle(row) && since < first) {
			first = since;
			oldest = row;
		}
	}
	return oldest;
}

/*
 * Lets schedulers in the row of all others be learned again, since there may be room. Their entries
 * stay, because a probe may be learning one of them just now.
 */
static void others_forget(void)
{
	const struct gpumon_track *track = &gpumon_ring_schedulers;
	const u32 other = GPUMON_ROW_OTHER_SLOT + 1;
	struct tracked_scheduler *known;
	u32 slot;

	for (slot = 0; slot < track->table.slots; slot++) {
		known = gpumon_track_at(track, slot);
		if (READ_ONCE(known->ring) == other && cmpxchg(&known->ring, other, 0) == other)
			gpumon_row_level(&gpumon_ring_statistics, GPUMON_ROW_OTHER_SLOT,
					 GPUMON_RING_LIVE, -1);
	}
	atomic_inc(&gpumon_scheduler_generation);
}

/**
 * gpumon_ring_schedulers_unknown - each CPU looks up its next scheduler
 *
 * Context: any.
 */
void gpumon_ring_schedulers_unknown(void)
{
	atomic_inc(&gpumon_scheduler_generation);
}

/**
 * gpumon_ring_recycle - make room: drop the ring that has been without a scheduler longest
 *
 * Nothing happens while there is room.
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false while there is room.
 */
bool gpumon_ring_recycle(void)
{
	struct gpumon_table *table = &gpumon_ring_statistics.table;
	struct tracked_ring *known;
	u32 oldest;
	u64 key;

	/*
	 * Without a module of the group there is no memory yet. While the group is off, no ring
	 * comes that would need room, and all rings would seem to be gone.
	 */
	if (!table->keys || !READ_ONCE(gpumon_drm_sched.enabled))
		return false;
	oldest = ring_oldest();
	WRITE_ONCE(rings_full, false);
	if (oldest == GPUMON_NONE || gpumon_ring_count() < gpumon_ring_max - gpumon_ring_max / 4) {
		/* A probe may have looked for room just before the last ring was dropped. */
		if (gpumon_ring_count() < gpumon_ring_max &&
		    gpumon_row_level_now(&gpumon_ring_statistics, GPUMON_ROW_OTHER_SLOT,
					 GPUMON_RING_LIVE))
			others_forget();
		return gpumon_ring_count() >= gpumon_ring_max - gpumon_ring_max / 4;
	}

	/*
	 * Hide the ring, wait for the probes that may just be learning it again, and put it back if
	 * one did. A scheduler of the ring that is not in "live" may be remembered by a CPU, which
	 * has to look it up again.
	 */
	WRITE_ONCE(ring_wanted, false);
	key = table->keys[oldest];
	gpumon_write_once64(table->keys[oldest], GPUMON_TABLE_RECYCLING);
	/* Pairs with queue_remember(). */
	(void)atomic_inc_return_release(&gpumon_scheduler_generation);
	tracepoint_synchronize_unregister();
	known = gpumon_track_find(&gpumon_ring_names, key);
	if (READ_ONCE(ring_wanted) || !ring_idle(oldest)) {
		gpumon_write_once64(table->keys[oldest], key);
		if (known)
			gpumon_write_plain64(known->used_ns, ktime_get_mono_fast_ns());
	} else {
		if (known && READ_ONCE(known->row) == oldest)
			gpumon_track_end(&gpumon_ring_names, known);
		gpumon_row_release(&gpumon_ring_statistics, oldest);
		gpumon_rings_retired++;
	}
	others_forget();
	return true;
}
