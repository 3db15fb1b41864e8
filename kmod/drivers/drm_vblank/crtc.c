// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group drm_vblank: the crtcs, and the differences from one vblank to the next: intervals, jitter,
 * missed and late vblanks.
 */
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_vblank.h>

#include "common/device.h"
#include "core/key.h"
#include "core/period.h"
#include "drivers/groups.h"
#include "internal.h"

/* Number of slots that gpumon_track_init() allocates for VBLANK_CAPACITY. */
#define SLOTS (2 * VBLANK_CAPACITY)

/* After so many long intervals in a row the rate has changed. */
#define OUTLIERS 4

/* Weight of a new interval in the estimate of the period, as a shift. */
#define ESTIMATE_SHIFT 3

#define MHZ_NS 1000000000000ULL

static bool row_is_unknown(u32 row)
{
	return !strcmp(gpumon_row_label(&gpumon_vblank_crtcs, row, 0), GPUMON_DEVICE_UNKNOWN);
}

/* Vblanks whose device is unknown have their own row. */
static bool vblanks_known(const struct gpumon_group *group, u32 row)
{
	return row_is_unknown(row) || gpumon_group_can_count(group, VBLANK_ROLE_HANDLE);
}

/* Differences between vblanks are known only if both are of the same device. */
static bool sequence_known(const struct gpumon_group *group, u32 row)
{
	return !row_is_unknown(row) && gpumon_group_can_count(group, VBLANK_ROLE_HANDLE);
}

static bool gaps_known(const struct gpumon_group *group, u32 row)
{
	return sequence_known(group, row) && (gpumon_group_can_count(group, VBLANK_ROLE_ENABLE) ||
					      gpumon_group_can_count(group, VBLANK_ROLE_DISABLE));
}

/* Histogram of times of up to 8 seconds: those of a row fill a page. */
#define TIMES(_name, ...) GPUMON_HISTOGRAM(_name, .bits = 33, ##__VA_ARGS__)

static const struct gpumon_column vblank_columns[VBLANK_COLUMNS] = {
	[VBLANK_VBLANKS] = GPUMON_COUNTER("vblanks", .known = vblanks_known),
	[VBLANK_HIGH_PRECISION] = GPUMON_COUNTER("high_precision", .known = vblanks_known),
	[VBLANK_MISSED] = GPUMON_COUNTER("missed", .known = gaps_known),
	[VBLANK_REPEATED] = GPUMON_COUNTER("repeated", .known = sequence_known),
	[VBLANK_LATE] = GPUMON_COUNTER("late", .known = gaps_known),
	[VBLANK_OFF_GAPS] = GPUMON_COUNTER("off_gaps", .known = gaps_known),
	[VBLANK_INTERVAL_NS] = TIMES("interval_ns", .known = sequence_known),
	[VBLANK_JITTER_NS] = TIMES("jitter_ns", .known = sequence_known),
	[VBLANK_REFRESH_MHZ] = GPUMON_GAUGE("refresh_millihertz"),
	[VBLANK_QUEUED] = GPUMON_COUNTER("queued"),
	[VBLANK_DELIVERED] = GPUMON_COUNTER("delivered"),
	[VBLANK_QUEUE_TO_DELIVERY_NS] = TIMES("queue_to_delivery_ns"),
	[VBLANK_VBLANK_TO_DELIVERY_NS] = TIMES("vblank_to_delivery_ns"),
	[VBLANK_EARLY] = GPUMON_COUNTER("early"),
	[VBLANK_AMBIGUOUS] = GPUMON_COUNTER("ambiguous"),
	[VBLANK_UNTRACKED] = GPUMON_COUNTER("untracked"),
	[VBLANK_NULL_FILE] = GPUMON_COUNTER("null_file"),
	[VBLANK_TABLE_FULL] = GPUMON_COUNTER("requests_table_full"),
};

struct gpumon_statistics gpumon_vblank_crtcs = {
	.name = "crtcs",
	.labels = { "device", "crtc" },
	.numbers = BIT(1),
	GPUMON_COLUMNS(vblank_columns),
};

unsigned int gpumon_vblank_crtc_max = VBLANK_CAPACITY;

/* Crtcs by their device's address and number. The slot alone is used, for gpumon_vblank_crtc_states[]. */
struct gpumon_track gpumon_vblank_crtc_track;
struct gpumon_vblank_crtc gpumon_vblank_crtc_states[SLOTS];
u32 gpumon_vblank_unknown[VBLANK_MAX_CRTCS];

/* State of the crtc that has this entry of gpumon_vblank_crtc_track. */
static __always_inline struct gpumon_vblank_crtc *vblank_crtc_state(const void *entry)
{
	return &gpumon_vblank_crtc_states[gpumon_track_slot(&gpumon_vblank_crtc_track, entry)];
}

#define READ_NOFAULT(_to, _from) (gpumon_read_nofault(_to, (const void *)(_from), sizeof(*(_to))))

/* Forgets all crtcs; no probe of the group runs. */
void gpumon_vblank_forget_crtcs(void)
{
	memset(gpumon_vblank_crtc_states, 0, sizeof(gpumon_vblank_crtc_states));
}

/* Forgets a device whose last user is gone: another device may get its address. */
void gpumon_vblank_forget_device(const struct drm_device *dev)
{
	const void *entry;
	u32 crtc;

	for (crtc = 0; crtc < VBLANK_MAX_CRTCS; crtc++) {
		entry = gpumon_track_find(&gpumon_vblank_crtc_track, gpumon_vblank_key(dev, crtc));
		if (!entry)
			continue;
		memset(vblank_crtc_state(entry), 0, sizeof(*gpumon_vblank_crtc_states));
		gpumon_track_end(&gpumon_vblank_crtc_track, entry);
	}
}

static u32 crtc_row(const char *name, u32 crtc)
{
	u64 key = gpumon_key_mix(gpumon_key_text(name), crtc);
	u32 row = gpumon_row_find(&gpumon_vblank_crtcs, key);

	if (row == GPUMON_NONE)
		row = gpumon_row_learn_number(&gpumon_vblank_crtcs, key, name, crtc, NULL);
	return row;
}

/* Row of vblanks whose device is unknown, GPUMON_NONE if the table is full. */
u32 gpumon_vblank_unknown_row(u32 crtc)
{
	return crtc_row(GPUMON_DEVICE_UNKNOWN, crtc);
}

/*
 * Without BTF of drm: does a device have the headers' layout? Its vblanks have a pointer to it, and
 * their number.
 */
static bool vblank_device_trusted(const struct drm_device *dev, const struct drm_vblank_crtc *vblank,
			   unsigned int count)
{
	const struct drm_device *of_vblank;
	const char *differs = NULL;
	const struct device *device;
	unsigned int last, crtc;
	u8 enabled;

	if (likely(gpumon_drm_vblank.layout_known))
		return true;
	last = count - 1;
	if (!READ_NOFAULT(&device, &dev->dev) || !gpumon_is_device(device))
		differs = "drm_device.dev";
	else if (count > VBLANK_MAX_CRTCS || !vblank != !count)
		differs = "drm_device.num_crtcs";
	else if (count && (!READ_NOFAULT(&of_vblank, &vblank[last].dev) || of_vblank != dev ||
			   !READ_NOFAULT(&crtc, &vblank[last].pipe) || crtc != last ||
			   !READ_NOFAULT(&enabled, &vblank[last].enabled) || enabled > 1))
		differs = "drm_vblank_crtc.pipe";
	if (differs)
		gpumon_group_refuse(&gpumon_drm_vblank, differs);
	return !differs;
}

/* Two CPUs that learn a crtc at once write the same. */
static noinline u32 crtc_learn(const struct drm_device *dev, u32 crtc)
{
	struct drm_vblank_crtc *vblank;
	struct gpumon_vblank_crtc *state;
	char name[GPUMON_LABEL_LEN];
	const void *entry;
	unsigned int count;
	bool known;
	u32 row;

	if (crtc >= VBLANK_MAX_CRTCS || !READ_NOFAULT(&vblank, &dev->vblank) ||
	    !READ_NOFAULT(&count, &dev->num_crtcs) || !vblank_device_trusted(dev, vblank, count) ||
	    !gpumon_device_label_of_drm(name, dev))
		return GPUMON_UNREADABLE;
	row = crtc_row(name, crtc);
	if (row == GPUMON_NONE)
		return GPUMON_NONE;
	entry = gpumon_track_begin(&gpumon_vblank_crtc_track, gpumon_vblank_key(dev, crtc), &known);
	if (!entry)
		return GPUMON_NONE;

	vblank = vblank && crtc < count ? vblank + crtc : NULL;
	state = vblank_crtc_state(entry);
	if (state->ready && state->row == row && state->vblank == vblank)
		return state - gpumon_vblank_crtc_states;
	if (state->ready)
		memset(state, 0, sizeof(*state));
	state->vblank = vblank;
	state->row = row;
	state->crtc = crtc;
	/* Pairs with gpumon_vblank_crtc_of_device(). */
	smp_store_release(&state->ready, true);
	return state - gpumon_vblank_crtc_states;
}

/*
 * Slot of a crtc of a device, which may both be any value; GPUMON_NONE if there is no room,
 * GPUMON_UNREADABLE. @end_seen: the end of a device would be seen, so the address is still of the
 * same device.
 */
u32 gpumon_vblank_crtc_of_device(const struct drm_device *dev, u32 crtc, bool end_seen)
{
	const void *entry =
		gpumon_track_find(&gpumon_vblank_crtc_track, gpumon_vblank_key(dev, crtc));
	const struct gpumon_vblank_crtc *state;

	if (unlikely(!entry || crtc >= VBLANK_MAX_CRTCS || !end_seen))
		return crtc_learn(dev, crtc);
	state = vblank_crtc_state(entry);
	/* A device has no vblanks before it has been set up. */
	if (unlikely(!smp_load_acquire(&state->ready) || !state->vblank))
		return crtc_learn(dev, crtc);
	return state - gpumon_vblank_crtc_states;
}

/* gpumon_vblank_crtc_of_device() for the device that a client has open; @file may be any value. */
u32 gpumon_vblank_crtc_of_file(const struct drm_file *file, u32 crtc, bool end_seen)
{
	const struct drm_minor *minor;
	const struct drm_device *dev;

	if (!READ_NOFAULT(&minor, &file->minor) || !READ_NOFAULT(&dev, &minor->dev))
		return GPUMON_UNREADABLE;
	return gpumon_vblank_crtc_of_device(dev, crtc, end_seen);
}

/* Is a crtc's interrupt on? Sets @enabled; returns false if that is unknown. */
bool gpumon_vblank_enabled(const struct gpumon_vblank_crtc *state, bool *enabled)
{
	u8 value;

	if (!state->vblank || !READ_NOFAULT(&value, &state->vblank->enabled))
		return false;
	*enabled = value;
	return true;
}

/* The sequence counter, number and time of a vblank lie side by side in the core's memory. */
struct last_vblank {
	u8 bytes[offsetofend(struct drm_vblank_crtc, time) -
		 offsetof(struct drm_vblank_crtc, seqlock)];
};

#define LAST(_last, _type, _member)                                                    \
	(*(const _type *)((_last)->bytes + offsetof(struct drm_vblank_crtc, _member) - \
			  offsetof(struct drm_vblank_crtc, seqlock)))
#define SEQUENCE seqlock.seqcount.seqcount.sequence

/*
 * Time of a vblank, CLOCK_MONOTONIC; returns false if it is not the latest vblank. The DRM core
 * keeps number and time of the latest one, already before its events are delivered: it does not
 * matter which of the two is seen first.
 */
bool gpumon_vblank_time(const struct gpumon_vblank_crtc *state, u32 seq, u64 *time_ns)
{
	const struct drm_vblank_crtc *vblank = state->vblank;
	struct last_vblank last __aligned(8);
	unsigned int sequence;
	int tries;

	for (tries = 0; tries < 3; tries++) {
		if (!READ_NOFAULT(&last, &vblank->seqlock))
			return false;
		/*
		 * Pairs with the core's write_seqlock(): the values that were read belong to that
		 * sequence.
		 */
		smp_rmb();
		if (!READ_NOFAULT(&sequence, &vblank->SEQUENCE))
			return false;
		if (sequence & 1 || sequence != LAST(&last, unsigned int, SEQUENCE))
			continue;
		if ((u32)LAST(&last, s64, count) == seq && LAST(&last, s64, time) > 0) {
			*time_ns = LAST(&last, s64, time);
			return true;
		}
		break;
	}
	if (!state->seen || state->seq != seq || !state->time_ns)
		return false;
	*time_ns = gpumon_read_plain64(state->time_ns);
	return true;
}

/*
 * Updates the estimate, a mean of the last few intervals. Frames that come too late do not move it,
 * unless they keep coming: then the display has another rate.
 */
static void follow_estimate(struct gpumon_vblank_crtc *state, local64_t *words, u64 interval)
{
	s64 difference = interval - state->estimate_ns;

	if (unlikely(!state->estimate_ns)) {
		state->estimate_ns = interval;
		return;
	}
	gpumon_row_observe(&gpumon_vblank_crtcs, words, VBLANK_JITTER_NS,
			   difference < 0 ? -difference : difference);
	if (unlikely(interval > state->estimate_ns + state->estimate_ns / 2)) {
		gpumon_row_add(words, VBLANK_LATE, 1);
		if (++state->outliers < OUTLIERS)
			return;
		state->estimate_ns = interval;
	} else {
		state->estimate_ns += difference >> ESTIMATE_SHIFT;
	}
	state->outliers = 0;
}

static void follow_rate(struct gpumon_vblank_crtc *state, u64 interval)
{
	u32 period = READ_ONCE(gpumon_period.number);
	u64 mean;

	if (unlikely(state->period != period)) {
		state->period = period;
		state->intervals = 0;
		state->sum_ns = 0;
	}
	state->intervals++;
	state->sum_ns += interval;
	mean = div64_u64(state->sum_ns, state->intervals);
	gpumon_row_level_set(&gpumon_vblank_crtcs, state->row, VBLANK_REFRESH_MHZ,
			     div64_u64(MHZ_NS + mean / 2, mean));
}

/* Handles a vblank of a known crtc; returns how many were missed before it. */
u64 gpumon_vblank_follow(struct gpumon_vblank_crtc *state, u64 now, u32 seq, u64 time_ns)
{
	local64_t *words = gpumon_row_words(&gpumon_vblank_crtcs, state->row);
	u32 unknown = READ_ONCE(gpumon_vblank_unknown[state->crtc]);
	bool others = state->unknown != unknown;
	/* The DRM core has 0 for a time that it does not know. */
	s64 interval = likely(state->time_ns) ? time_ns - state->time_ns : 0;
	u32 step = seq - state->seq;
	bool seen = state->seen;
	bool off = false;

	if (unlikely(READ_ONCE(state->off)))
		off = xchg(&state->off, 0);
	state->seq = seq;
	gpumon_write_plain64(state->time_ns, time_ns);
	state->handled_ns = now;
	state->unknown = unknown;
	state->seen = true;
	if (unlikely(!seen))
		return 0;
	if (off) {
		gpumon_row_add(words, VBLANK_OFF_GAPS, 1);
		return 0;
	}
	if (likely(step == 1)) {
		if (likely(interval > 0)) {
			gpumon_row_observe(&gpumon_vblank_crtcs, words, VBLANK_INTERVAL_NS,
					   interval);
			follow_estimate(state, words, interval);
			follow_rate(state, interval);
		}
		return 0;
	}
	if (!step) {
		gpumon_row_add(words, VBLANK_REPEATED, 1);
		return 0;
	}
	/* The hardware's count was set back. */
	if (step > S32_MAX)
		return 0;
	/* Vblanks of an unknown device have come, which may be the missing ones. */
	if (unlikely(others)) {
		gpumon_row_add(words, VBLANK_AMBIGUOUS, 1);
		return 0;
	}
	gpumon_row_add(words, VBLANK_MISSED, step - 1);
	return step - 1;
}
