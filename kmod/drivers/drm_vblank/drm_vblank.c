// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group drm_vblank: vertical blanks of the displays of any DRM driver (drm.ko), and the events that
 * are delivered to clients at a vblank.
 *
 * The tracepoint of a vblank has no device. The function around it, drm_handle_vblank(), has one:
 * its kprobe leaves the device for this CPU and context level, and the tracepoint takes it. Without
 * the kprobe a vblank is counted for an unknown device, and nothing is concluded from it.
 *
 * Events are delivered before the tracepoint of their own vblank, or later for page flips and for
 * vblanks that are over. The client of an event has one device; the event of a client that is gone
 * belongs to the vblank that is being handled, if there is one.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_vblank.h>

#include "common/event_ring.h"
#include "drivers/groups.h"
#include "internal.h"

/**
 * struct vblank_handling - the vblank that a context is about to handle
 * @task: the task there, an address that is not followed; NULL if there is no vblank
 * @key: key of the crtc
 * @slot: its slot
 * @enabled: its interrupt was on, as far as could be seen without the core's lock
 * @missed: calls of drm_handle_vblank() that went unseen until then, on all CPUs
 */
struct vblank_handling {
	const struct task_struct *task;
	u64 key;
	u32 slot;
	bool enabled;
	unsigned long missed;
};

enum {
	LEVEL_TASK,
	LEVEL_SOFTIRQ,
	LEVEL_HARDIRQ,
	LEVELS
};

static DEFINE_PER_CPU(struct vblank_handling[LEVELS], vblank_handling);

/* The vblank of the context level that the probed code runs in. */
static __always_inline struct vblank_handling *handling_here(void)
{
	unsigned long count = gpumon_probed_count();
	unsigned int level = LEVEL_TASK;

	if (count & HARDIRQ_MASK)
		level = LEVEL_HARDIRQ;
	else if (count & SOFTIRQ_OFFSET)
		level = LEVEL_SOFTIRQ;
	return &(*this_cpu_ptr(&vblank_handling))[level];
}

static __always_inline u64 slot_key(u32 slot)
{
	return gpumon_read_once64(gpumon_vblank_crtc_track.table.keys[slot]);
}

/* Slot of the crtc whose vblank is being handled here, if it is @crtc, else GPUMON_NONE. */
static __always_inline u32 handled_slot(const struct vblank_handling *here, u32 crtc)
{
	if (here->task != current || slot_key(here->slot) != here->key ||
	    gpumon_vblank_crtc_states[here->slot].crtc != crtc)
		return GPUMON_NONE;
	return here->slot;
}

static unsigned long handlings_missed(void);
static bool devices_end_seen(void);
static bool files_end_seen(void);

/*
 * handled_slot() for the tracepoint of a vblank. The core checks under its lock whether the
 * interrupt is on. An interrupt may come while it is being switched on: we saw it off, the core
 * handles it. Every vblank has its own call of drm_handle_vblank(), so this vblank is that of the
 * last call, unless a call may have been missed since.
 */
static __always_inline u32 vblank_slot(const struct vblank_handling *here, u32 crtc)
{
	if (unlikely(!here->enabled && here->missed != handlings_missed()))
		return GPUMON_NONE;
	return handled_slot(here, crtc);
}

/*
 * handled_slot() for an event, which may also come without a vblank, after a call that had nothing
 * to do.
 */
static __always_inline u32 event_slot(const struct vblank_handling *here, u32 crtc)
{
	return likely(here->enabled) ? handled_slot(here, crtc) : GPUMON_NONE;
}

static __always_inline bool slot_valid(u32 slot)
{
	return slot < GPUMON_UNREADABLE;
}

/* gpumon_row_begin() for the row of a crtc, that of the unknown device if its slot is not known. */
static __always_inline bool crtc_begin(struct gpumon_event_context *ctx, u32 crtc, u32 slot,
				       u32 *row, unsigned int column, local64_t **words)
{
	if (unlikely(crtc >= VBLANK_MAX_CRTCS))
		*row = GPUMON_UNREADABLE;
	else if (likely(slot_valid(slot)))
		*row = gpumon_vblank_crtc_states[slot].row;
	else
		*row = gpumon_vblank_unknown_row(crtc);
	return gpumon_row_begin(ctx, &gpumon_vblank_crtcs, *row, column, words);
}

static GPUMON_TRACEPOINT_BODY(4, probe_vblank, int, crtc, unsigned int, seq, ktime_t, time,
			      bool, high_prec)
{
	u64 now = ktime_get_mono_fast_ns(), missed = GPUMON_WORD_UNKNOWN;
	struct vblank_handling *here = handling_here();
	u32 row, slot = vblank_slot(here, crtc);
	local64_t *words;

	here->task = NULL;
	if (!crtc_begin(ctx, crtc, slot, &row, VBLANK_VBLANKS, &words))
		return;
	gpumon_row_add(words, VBLANK_HIGH_PRECISION, high_prec);
	if (likely(slot_valid(slot))) {
		missed = gpumon_vblank_follow(&gpumon_vblank_crtc_states[slot], now, seq,
					      ktime_to_ns(time));
	} else {
		WRITE_ONCE(gpumon_vblank_unknown[crtc], gpumon_vblank_unknown[crtc] + 1);
		gpumon_row_add(words, VBLANK_AMBIGUOUS, 1);
	}
	if (gpumon_event_ring_on())
		gpumon_event_ring_words(GPUMON_EVENT_VBLANK, now, row, seq, ktime_to_ns(time),
					high_prec, missed);
}

/*
 * Slot of a crtc of a client's device; @client: set to the client's requests, NULL if none was
 * seen.
 */
static __always_inline u32 file_slot(const struct drm_file *file, u32 crtc,
				     struct gpumon_vblank_client **client)
{
	*client = gpumon_vblank_client_find(file, crtc);
	return likely(*client && files_end_seen()) ?
		       (*client)->slot :
		       gpumon_vblank_crtc_of_file(file, crtc, devices_end_seen());
}

static GPUMON_TRACEPOINT_BODY(3, probe_queued, struct drm_file *, file, int, crtc,
			      unsigned int, seq)
{
	u64 now = ktime_get_mono_fast_ns();
	u32 row, slot = GPUMON_NONE;
	struct gpumon_vblank_client *client;
	local64_t *words;

	if (likely(file))
		slot = file_slot(file, crtc, &client);
	if (!crtc_begin(ctx, crtc, slot, &row, VBLANK_QUEUED, &words))
		return;
	if (unlikely(!file))
		gpumon_row_add(words, VBLANK_NULL_FILE, 1);
	else if (unlikely(!slot_valid(slot)))
		gpumon_row_add(words, VBLANK_AMBIGUOUS, 1);
	else if (unlikely(!gpumon_vblank_request(file, slot, seq, now)))
		gpumon_row_add(words, VBLANK_TABLE_FULL, 1);
	if (gpumon_event_ring_on())
		gpumon_event_ring_words(GPUMON_EVENT_VBLANK_QUEUED, now, row, seq, 0, 0, 0);
}

/* Time from a vblank to the delivery of its event. */
static __always_inline u64 count_since_vblank(u32 slot, local64_t *words, u32 seq, u64 now)
{
	u64 time_ns, since;

	if (unlikely(!slot_valid(slot))) {
		gpumon_row_add(words, VBLANK_AMBIGUOUS, 1);
		return GPUMON_WORD_UNKNOWN;
	}
	/* Drivers without vblanks also send the events of page flips. */
	if (unlikely(!gpumon_vblank_crtc_states[slot].vblank))
		return GPUMON_WORD_UNKNOWN;
	if (unlikely(!gpumon_vblank_time(&gpumon_vblank_crtc_states[slot], seq, &time_ns))) {
		gpumon_row_add(words, VBLANK_AMBIGUOUS, 1);
		return GPUMON_WORD_UNKNOWN;
	}
	since = now - time_ns;
	if (unlikely((s64)since < 0)) {
		gpumon_row_add(words, VBLANK_EARLY, 1);
		since = 0;
	}
	gpumon_row_observe(&gpumon_vblank_crtcs, words, VBLANK_VBLANK_TO_DELIVERY_NS, since);
	return since;
}

/* Time from the request for an event to its delivery. */
static __always_inline u64 count_since_queued(struct gpumon_vblank_client *client, local64_t *words,
					      u32 seq, u64 now)
{
	enum gpumon_vblank_join join = VBLANK_NO_REQUEST;
	u64 asked_ns, since;

	if (likely(client))
		join = gpumon_vblank_answer(client, seq, files_end_seen(), &asked_ns);
	if (unlikely(join != VBLANK_JOINED)) {
		gpumon_row_add(words, join == VBLANK_MANY ? VBLANK_AMBIGUOUS : VBLANK_UNTRACKED, 1);
		return GPUMON_WORD_UNKNOWN;
	}
	since = max_t(s64, now - asked_ns, 0);
	gpumon_row_observe(&gpumon_vblank_crtcs, words, VBLANK_QUEUE_TO_DELIVERY_NS, since);
	return since;
}

static GPUMON_TRACEPOINT_BODY(3, probe_delivered, struct drm_file *, file, int, crtc,
			      unsigned int, seq)
{
	u64 now = ktime_get_mono_fast_ns();
	u64 since_queued = GPUMON_WORD_UNKNOWN, since_vblank;
	struct gpumon_vblank_client *client;
	local64_t *words;
	u32 row, slot;

	slot = likely(file) ? file_slot(file, crtc, &client) : event_slot(handling_here(), crtc);
	if (!crtc_begin(ctx, crtc, slot, &row, VBLANK_DELIVERED, &words))
		return;
	since_vblank = count_since_vblank(slot, words, seq, now);
	if (likely(file))
		since_queued = count_since_queued(client, words, seq, now);
	else
		gpumon_row_add(words, VBLANK_NULL_FILE, 1);
	if (gpumon_event_ring_on())
		gpumon_event_ring_words(GPUMON_EVENT_VBLANK_DELIVERED, now, row, seq, 0,
					since_queued, since_vblank);
}

static u32 crtc_of_arguments(struct pt_regs *regs)
{
	return gpumon_vblank_crtc_of_device((void *)gpumon_compat_kernel_argument(regs, 0),
					    gpumon_compat_kernel_argument(regs, 1), devices_end_seen());
}

/* kprobe on drm_handle_vblank(dev, pipe): the tracepoint follows, if the interrupt is not off. */
static GPUMON_KPROBE(probe_handle)
{
	struct gpumon_event_context ctx;
	struct vblank_handling *here;
	bool enabled;
	u32 slot;

	/* Cleared also if this call is not counted: the call before it is over. */
	here = handling_here();
	here->task = NULL;
	if (!gpumon_kprobe_enter(&ctx, kprobe))
		return 0;
	slot = crtc_of_arguments(regs);
	if (!gpumon_probe_found(&ctx, slot))
		goto leave;
	if (gpumon_vblank_enabled(&gpumon_vblank_crtc_states[slot], &enabled)) {
		here->key = slot_key(slot);
		here->slot = slot;
		here->enabled = enabled;
		here->missed = READ_ONCE(kprobe->nmissed);
		here->task = current;
	}
	gpumon_probe_recorded(&ctx);
leave:
	gpumon_probe_leave(&ctx);
	return 0;
}

/*
 * kprobes on drm_vblank_enable(dev, pipe) and drm_vblank_disable_and_save(dev, pipe), which are
 * also called where nothing is to be switched.
 */
static void count_switch(struct gpumon_event_context *ctx, struct pt_regs *regs, bool on)
{
	struct gpumon_vblank_crtc *state;
	u32 slot = crtc_of_arguments(regs);
	bool enabled;

	if (!gpumon_probe_found(ctx, slot))
		return;
	state = &gpumon_vblank_crtc_states[slot];
	if (gpumon_vblank_enabled(state, &enabled) && enabled != on)
		WRITE_ONCE(state->off, 1);
	gpumon_probe_recorded(ctx);
}

static GPUMON_KPROBE_BODY(probe_enable)
{
	count_switch(ctx, regs, true);
}

static GPUMON_KPROBE_BODY(probe_disable)
{
	count_switch(ctx, regs, false);
}

/* kprobe on drm_fb_release(file): the events that the closed file waited for are gone by then. */
static GPUMON_KPROBE_BODY(probe_file_end)
{
	gpumon_vblank_forget_file((void *)gpumon_compat_kernel_argument(regs, 0));
	gpumon_probe_recorded(ctx);
}

/* kprobe on drm_managed_release(dev), the last function called for a device. */
static GPUMON_KPROBE_BODY(probe_device_end)
{
	gpumon_vblank_forget_device((void *)gpumon_compat_kernel_argument(regs, 0));
	gpumon_probe_recorded(ctx);
}

#define DRM_TRACEPOINT(_role, _name, ...) \
	[_role] = GPUMON_TRACEPOINT_AT("drm", _name, _role, __VA_ARGS__)
#define DRM_KPROBE(_role, _name, _body, _prototype, _returns, _without)                    \
	[_role] = GPUMON_KPROBE_AT("drm", _name, _role, _body, _prototype, _returns,       \
				   .optional = true, .without = _without)
#define DEVICE_AND_CRTC "*drm_device u32"
#define CANNOT_TELL_OFF "whether a vblank was missed or the interrupt was off is unknown"

static struct gpumon_probe vblank_probes[] = {
	/* The kprobes are attached before the tracepoints that need them. */
	DRM_TRACEPOINT(VBLANK_ROLE_QUEUED, "drm_vblank_event_queued", probe_queued,
		       "*drm_file i32 u32"),
	DRM_TRACEPOINT(VBLANK_ROLE_DELIVERED, "drm_vblank_event_delivered", probe_delivered,
		       "*drm_file i32 u32"),
	DRM_TRACEPOINT(VBLANK_ROLE_VBLANK, "drm_vblank_event", probe_vblank, "i32 u32 i64 bool"),
	DRM_KPROBE(VBLANK_ROLE_ENABLE, "drm_vblank_enable", probe_enable, DEVICE_AND_CRTC, "i32",
		   CANNOT_TELL_OFF),
	DRM_KPROBE(VBLANK_ROLE_DISABLE, "drm_vblank_disable_and_save", probe_disable,
		   DEVICE_AND_CRTC, "void", CANNOT_TELL_OFF),
	DRM_KPROBE(VBLANK_ROLE_HANDLE, "drm_handle_vblank", probe_handle, DEVICE_AND_CRTC, "bool",
		   "devices of vblanks are not known"),
	DRM_KPROBE(VBLANK_ROLE_FILE_END, "drm_fb_release", probe_file_end, "*drm_file", "void",
		   "clients that are gone keep their place while they wait for an event"),
	DRM_KPROBE(VBLANK_ROLE_DEVICE_END, "drm_managed_release", probe_device_end, "*drm_device",
		   "void", "devices that are gone keep their place"),
};

#define DRM_FIELD(_type, _member) GPUMON_FIELD_BUILT("drm", _type, _member)

/*
 * Members of public types that are read at the headers' offsets: a drm.ko with other offsets is
 * refused.
 */
static struct gpumon_field vblank_fields[] = {
	DRM_FIELD(drm_device, dev),	  DRM_FIELD(drm_device, vblank),
	DRM_FIELD(drm_device, num_crtcs), DRM_FIELD(drm_file, minor),
	DRM_FIELD(drm_minor, dev),	  DRM_FIELD(drm_vblank_crtc, dev),
	DRM_FIELD(drm_vblank_crtc, pipe), DRM_FIELD(drm_vblank_crtc, seqlock),
	DRM_FIELD(drm_vblank_crtc, count), DRM_FIELD(drm_vblank_crtc, time),
	DRM_FIELD(drm_vblank_crtc, enabled),
};

static unsigned long handlings_missed(void)
{
	return READ_ONCE(vblank_probes[VBLANK_ROLE_HANDLE].kprobe.nmissed);
}

static __always_inline bool probe_attached(unsigned int role)
{
	return READ_ONCE(vblank_probes[role].state) == GPUMON_ATTACH_STATE_ATTACHED;
}

/* Would the end of a device be seen? Else another device may get its address unnoticed. */
static bool devices_end_seen(void)
{
	return probe_attached(VBLANK_ROLE_DEVICE_END);
}

/* Would the end of a client be seen? */
static bool files_end_seen(void)
{
	return probe_attached(VBLANK_ROLE_FILE_END);
}

static struct gpumon_statistics *const vblank_statistics[] = { &gpumon_vblank_crtcs };
static struct gpumon_track *const vblank_tracks[] = {
	&gpumon_vblank_crtc_track,
	&gpumon_vblank_client_track,
	&gpumon_vblank_request_track,
};

/*
 * The tables have room for two clients and sixteen requests of each crtc: at one time, more than that
 * seldom wait for its vblanks.
 */
static void vblank_size(void)
{
	gpumon_vblank_crtcs.capacity = gpumon_vblank_crtc_max;
	gpumon_vblank_crtc_track.capacity = gpumon_vblank_crtc_max;
	gpumon_vblank_client_track.capacity = 2 * gpumon_vblank_crtc_max;
	gpumon_vblank_request_track.capacity = 16 * gpumon_vblank_crtc_max;
}

/* Forgets earlier vblanks and the requests under way. */
static void vblank_track_start(void)
{
	int cpu;

	gpumon_vblank_forget_crtcs();
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&vblank_handling, cpu), 0, sizeof(vblank_handling));
}

struct gpumon_group gpumon_drm_vblank = {
	.name = "drm_vblank",
	GPUMON_PROBES(vblank_probes),
	GPUMON_FIELDS(vblank_fields),
	GPUMON_TABLES(vblank_statistics),
	GPUMON_TRACKS(vblank_tracks),
	.init = vblank_size,
	.start = vblank_track_start,
};
