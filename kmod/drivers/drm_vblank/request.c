// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group drm_vblank: requests for events, from the request of a client to the delivery of its event.
 *
 * An event need not be delivered with the number of the vblank that was asked for: that vblank may
 * have been missed, or over already. The DRM core walks its list of requests in the order in which
 * they came and delivers those whose vblank has passed. So does this file, with a list for each
 * client and crtc, numbered from a first to a next; the entry of a request is found by that number.
 */
#include "internal.h"

/* Events that one client may wait for at a time. The DRM core refuses more. */
#define MAX_REQUESTS 128

/* Two CPUs may not agree on the time to the nanosecond. */
#define CLOCK_SLACK_NS 1000000

/**
 * struct vblank_request - a request for an event
 * @asked_ns: when the client made it, CLOCK_MONOTONIC
 * @seq: number of the vblank that it is for
 */
struct vblank_request {
	u64 asked_ns;
	u32 seq;
};
GPUMON_TRACKED_TYPE(struct vblank_request);

/* Clients by gpumon_vblank_key() of their file and the crtc. */
struct gpumon_track gpumon_vblank_client_track;
/* Requests by vblank_request_key(). */
struct gpumon_track gpumon_vblank_request_track;

static __always_inline void vblank_client_set_list(struct gpumon_vblank_client *client, u32 first,
						   u32 next)
{
	/* Numbers are used again when the list has been empty. */
	client->first = first == next ? 0 : first;
	client->next = first == next ? 0 : next;
}

static __always_inline u64 vblank_request_key(const struct gpumon_vblank_client *client, u32 number)
{
	return (u64)(gpumon_track_slot(&gpumon_vblank_client_track, client) + 1) << 32 | number;
}

static __always_inline struct vblank_request *
vblank_request_find(const struct gpumon_vblank_client *client, u32 number)
{
	return gpumon_track_find(&gpumon_vblank_request_track, vblank_request_key(client, number));
}

/* Forgets the requests that had no room once the crtc is past them: all have been answered. */
static void vblank_client_forget_lost(struct gpumon_vblank_client *client,
				      const struct gpumon_vblank_crtc *state, u32 seq)
{
	u32 lost_seq = client->lost_seq;

	if ((state->seen && gpumon_vblank_passed(state->seq, lost_seq)) ||
	    (seq != lost_seq && gpumon_vblank_passed(seq, lost_seq)))
		client->lost = false;
}

static bool vblank_request_lose(struct gpumon_vblank_client *client, u32 seq)
{
	if (!client->lost || gpumon_vblank_passed(seq, client->lost_seq))
		client->lost_seq = seq;
	client->lost = true;
	return false;
}

/*
 * Notes that a client asks for an event; under the device's event_lock. Returns false if there is
 * no room.
 */
bool gpumon_vblank_request(const struct drm_file *file, u32 slot, u32 seq, u64 now)
{
	const struct gpumon_vblank_crtc *state = &gpumon_vblank_crtc_states[slot];
	struct gpumon_vblank_client *client;
	struct vblank_request *request;
	bool known;
	u32 next;

	client = gpumon_track_begin(&gpumon_vblank_client_track,
				    gpumon_vblank_key(file, state->crtc), &known);
	if (unlikely(!client))
		return false;
	if (!known) {
		vblank_client_set_list(client, 0, 0);
		client->lost = false;
	}
	client->slot = slot;

	/* No request may follow one that is not in the list: the order would be wrong. */
	if (unlikely(client->lost)) {
		if (state->seen && gpumon_vblank_passed(state->seq, client->lost_seq))
			client->lost = false;
		else
			return vblank_request_lose(client, seq);
	}
	next = client->next;
	if (unlikely(next - client->first >= MAX_REQUESTS))
		return vblank_request_lose(client, seq);
	request = gpumon_track_begin(&gpumon_vblank_request_track, vblank_request_key(client, next),
				     &known);
	if (unlikely(!request))
		return vblank_request_lose(client, seq);
	request->asked_ns = now;
	request->seq = seq;
	vblank_client_set_list(client, client->first, next + 1);
	return true;
}

/*
 * Was a request made by an earlier client at this address? That client's end was not seen, and the
 * crtc is past the vblank that it asked for.
 */
static bool vblank_request_stale(const struct vblank_request *request,
				 const struct gpumon_vblank_crtc *state)
{
	return state->seen && gpumon_vblank_passed(state->seq, request->seq) &&
	       (s64)(state->handled_ns - request->asked_ns) > CLOCK_SLACK_NS;
}

/*
 * Finds the request for an event that is delivered; under the device's event_lock. @asked_ns: set
 * to when the client asked for it, if that is known. @end_seen: the end of a client would be seen,
 * and gives its place back.
 */
enum gpumon_vblank_join gpumon_vblank_answer(struct gpumon_vblank_client *client, u32 seq,
					     bool end_seen, u64 *asked_ns)
{
	const struct gpumon_vblank_crtc *state = &gpumon_vblank_crtc_states[client->slot];
	enum gpumon_vblank_join join = VBLANK_NO_REQUEST;
	u32 number, first = client->first, next = client->next;
	struct vblank_request *request;
	bool enabled = true;

	if (unlikely(client->lost))
		vblank_client_forget_lost(client, state, seq);
	/* Before a display is switched off, all waiting clients get their events at once. */
	gpumon_vblank_enabled(state, &enabled);
	for (number = first; number != next && join != VBLANK_JOINED; number++) {
		request = vblank_request_find(client, number);
		if (request && (!enabled || gpumon_vblank_passed(seq, request->seq))) {
			if (likely(!vblank_request_stale(request, state))) {
				*asked_ns = request->asked_ns;
				join = VBLANK_JOINED;
			}
			gpumon_track_end(&gpumon_vblank_request_track, request);
			request = NULL;
		}
		if (!request && number == first)
			first++;
	}
	vblank_client_set_list(client, first, next);
	if (join == VBLANK_NO_REQUEST && client->lost)
		join = VBLANK_MANY;
	if (unlikely(first == next && !client->lost && !end_seen))
		gpumon_track_end(&gpumon_vblank_client_track, client);
	return join;
}

/* Forgets a client that is gone, with its requests: another one may get its address. */
void gpumon_vblank_forget_file(const struct drm_file *file)
{
	struct gpumon_vblank_client *client;
	struct vblank_request *request;
	u32 crtc, number;

	for (crtc = 0; crtc < VBLANK_MAX_CRTCS; crtc++) {
		client = gpumon_vblank_client_find(file, crtc);
		if (!client)
			continue;
		for (number = client->first; number != client->next; number++) {
			request = vblank_request_find(client, number);
			if (request)
				gpumon_track_end(&gpumon_vblank_request_track, request);
		}
		gpumon_track_end(&gpumon_vblank_client_track, client);
	}
}
