/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of group drm_vblank. */
#ifndef GPUMON_DRM_VBLANK_PRIV_H
#define GPUMON_DRM_VBLANK_PRIV_H

#include <linux/compiler.h>

#include "attach/probe.h"
#include "core/statistics.h"
#include "core/track.h"

struct drm_device;
struct drm_file;
struct drm_vblank_crtc;

/* The DRM core keeps sets of crtcs in 32 bits. */
#define VBLANK_MAX_CRTCS 32

/* Number of crtcs of all devices, each of which has a row: at most, and as a module parameter. */
#define VBLANK_CAPACITY 32
extern unsigned int gpumon_vblank_crtc_max;

/* Purpose of a probe; also its place in the table. */
enum {
	VBLANK_ROLE_QUEUED,
	VBLANK_ROLE_DELIVERED,
	VBLANK_ROLE_VBLANK,
	VBLANK_ROLE_ENABLE,
	VBLANK_ROLE_DISABLE,
	VBLANK_ROLE_HANDLE,
	VBLANK_ROLE_FILE_END,
	VBLANK_ROLE_DEVICE_END
};

/* Columns of the table "crtcs". */
enum {
	VBLANK_VBLANKS,
	VBLANK_HIGH_PRECISION,
	VBLANK_MISSED,
	VBLANK_REPEATED,
	VBLANK_LATE,
	VBLANK_OFF_GAPS,
	VBLANK_INTERVAL_NS,
	VBLANK_JITTER_NS,
	VBLANK_REFRESH_MHZ,
	VBLANK_QUEUED,
	VBLANK_DELIVERED,
	VBLANK_QUEUE_TO_DELIVERY_NS,
	VBLANK_VBLANK_TO_DELIVERY_NS,
	VBLANK_EARLY,
	VBLANK_AMBIGUOUS,
	VBLANK_UNTRACKED,
	VBLANK_NULL_FILE,
	VBLANK_TABLE_FULL,
	VBLANK_COLUMNS
};

/**
 * struct gpumon_vblank_crtc - a crtc of a device
 * @vblank: what the DRM core knows of it, only for nofault reads; NULL if its device
 *          has no vblanks
 * @row: its row
 * @crtc: its number in the device
 * @ready: set when the above are
 * @seen: a vblank was seen, which the fields below are of
 * @off: its interrupt was switched off or on since
 * @seq: its sequence number
 * @time_ns: when it was, as the DRM core says; 0 if it does not know
 * @handled_ns: when it was seen
 * @unknown: see gpumon_vblank_unknown
 * @estimate_ns: running estimate of the period, 0 if there is none yet
 * @outliers: intervals in a row that were too long for it
 * @period: number of the period that the next two are of
 * @intervals: intervals between consecutive vblanks
 * @sum_ns: their sum
 *
 * The fields from @seen on, but for @off, are changed under the device's event_lock only,
 * which the core holds around all three tracepoints.
 */
struct gpumon_vblank_crtc {
	const struct drm_vblank_crtc *vblank;
	u32 row;
	u32 crtc;
	bool ready;
	bool seen;
	u32 off;
	u32 seq;
	u64 time_ns;
	u64 handled_ns;
	u32 unknown;
	u32 outliers;
	u64 estimate_ns;
	u32 period;
	u64 intervals;
	u64 sum_ns;
};

/**
 * struct gpumon_vblank_client - the requests of a client for events of one crtc
 * @first: number of the first request that has no answer yet
 * @next: number of the next request
 * @lost_seq: if @lost: requests up to this vblank found no room
 * @lost: a request found no room
 * @slot: slot of the crtc in gpumon_vblank_crtc_states[]
 *
 * Changed under the device's event_lock only, which the DRM core holds around both tracepoints.
 */
struct gpumon_vblank_client {
	u32 first;
	u32 next;
	u32 lost_seq;
	bool lost;
	u32 slot;
};
GPUMON_TRACKED_TYPE(struct gpumon_vblank_client);

/**
 * enum gpumon_vblank_join - whether the request for an event is known
 * @VBLANK_JOINED: it is
 * @VBLANK_NO_REQUEST: it was not seen, or there was none
 * @VBLANK_MANY: it may be one of those that found no room
 */
enum gpumon_vblank_join {
	VBLANK_JOINED,
	VBLANK_NO_REQUEST,
	VBLANK_MANY
};

extern struct gpumon_statistics gpumon_vblank_crtcs;
extern struct gpumon_track gpumon_vblank_crtc_track;
extern struct gpumon_track gpumon_vblank_client_track;
extern struct gpumon_track gpumon_vblank_request_track;
extern struct gpumon_vblank_crtc gpumon_vblank_crtc_states[];
/* By number of the crtc: vblanks whose device is unknown. */
extern u32 gpumon_vblank_unknown[VBLANK_MAX_CRTCS];

/* crtc.c */
void gpumon_vblank_forget_crtcs(void);
void gpumon_vblank_forget_device(const struct drm_device *dev);
u32 gpumon_vblank_crtc_of_device(const struct drm_device *dev, u32 crtc, bool end_seen);
u32 gpumon_vblank_crtc_of_file(const struct drm_file *file, u32 crtc, bool end_seen);
u32 gpumon_vblank_unknown_row(u32 crtc);
bool gpumon_vblank_enabled(const struct gpumon_vblank_crtc *state, bool *enabled);
bool gpumon_vblank_time(const struct gpumon_vblank_crtc *state, u32 seq, u64 *time_ns);
u64 gpumon_vblank_follow(struct gpumon_vblank_crtc *state, u64 now, u32 seq, u64 time_ns);

/* request.c */
bool gpumon_vblank_request(const struct drm_file *file, u32 slot, u32 seq, u64 now);
enum gpumon_vblank_join gpumon_vblank_answer(struct gpumon_vblank_client *client, u32 seq,
					     bool end_seen, u64 *asked_ns);
void gpumon_vblank_forget_file(const struct drm_file *file);

/*
 * Key of an object and a crtc. It is unique: the top byte is the same in all kernel addresses, and
 * bit 0 is free.
 */
static __always_inline u64 gpumon_vblank_key(const void *object, u32 crtc)
{
	return ((unsigned long)object ^ ((u64)crtc << 56)) | 1;
}

/* Is a vblank at or after another? The numbers wrap, as the DRM core has it. */
static __always_inline bool gpumon_vblank_passed(u32 seq, u32 wanted)
{
	return seq - wanted <= (1U << 23);
}

/* A client's requests for a crtc, NULL if none was seen. */
static __always_inline struct gpumon_vblank_client *
gpumon_vblank_client_find(const struct drm_file *file, u32 crtc)
{
	return gpumon_track_find(&gpumon_vblank_client_track, gpumon_vblank_key(file, crtc));
}

#endif /* GPUMON_DRM_VBLANK_PRIV_H */
