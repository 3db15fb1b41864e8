// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group drm_vblank: requests for events, from when a client makes one to when its
 * event is delivered.
 *
 * The number that an event is delivered with need not be the one that was asked
 * for: that vblank may have been missed, or over already. The DRM core walks
 * its list of requests in the order in which they came and delivers those whose
 * vblank has passed. So it is done here, with a list for each client and crtc,
 * numbered from a first to a next; what was asked and when is found by
 * that number.
 */
#include "internal.h"

/* Events that one client may wait for at a time. The DRM core refuses more. */
#define MAX_REQUESTS 128

/* In gpumon_tracked.owner of a client: requests up to the number in the low half had no room. */
#define LOST BIT_ULL(32)

/* Two CPUs may not agree on the time to the nanosecond. */
#define CLOCK_SLACK_NS 1000000

struct gpumon_track gpumon_vblank_client_track = { .capacity = 64 };
struct gpumon_track gpumon_vblank_request_track = { .capacity = 512 };

static __always_inline u32 first_of(const struct gpumon_tracked *client)
{
	return client->value;
}

static __always_inline u32 next_of(const struct gpumon_tracked *client)
{
	return client->value >> 32;
}

static __always_inline void set_list(struct gpumon_tracked *client, u32 first, u32 next)
{
	/* Numbers are used again when the list has been empty. */
	client->value = first == next ? 0 : (u64)next << 32 | first;
}

static __always_inline u64 vblank_request_key(const struct gpumon_tracked *client, u32 number)
{
	return (u64)(client - gpumon_vblank_client_track.entries + 1) << 32 | number;
}

static __always_inline struct gpumon_tracked *
vblank_request_find(const struct gpumon_tracked *client, u32 number)
{
	return gpumon_track_find(&gpumon_vblank_request_track, vblank_request_key(client, number));
}

/* Once the crtc is past them, all requests that had no room have been answered. */
static void forget_lost(struct gpumon_tracked *client, const struct gpumon_vblank_crtc *state,
			u32 seq)
{
	u32 lost = client->owner;

	if ((state->seen && gpumon_vblank_passed(state->seq, lost)) ||
	    (seq != lost && gpumon_vblank_passed(seq, lost)))
		client->owner = 0;
}

static bool vblank_request_lose(struct gpumon_tracked *client, u32 seq)
{
	if (!(client->owner & LOST) || gpumon_vblank_passed(seq, client->owner))
		client->owner = LOST | seq;
	return false;
}

/* A client asks for an event; under the device's event_lock. False if there is no room. */
bool gpumon_vblank_request(const struct drm_file *file, u32 slot, u32 seq, u64 now)
{
	const struct gpumon_vblank_crtc *state = &gpumon_vblank_crtc_states[slot];
	struct gpumon_tracked *client, *request;
	bool known;
	u32 next;

	client = gpumon_track_begin(&gpumon_vblank_client_track,
				    gpumon_vblank_key(file, state->crtc), &known);
	if (unlikely(!client))
		return false;
	if (!known) {
		client->value = 0;
		client->owner = 0;
	}
	client->row = state->row;
	client->process = slot;

	/* After a request that is not in the list no other may follow: the order would be wrong. */
	if (unlikely(client->owner & LOST)) {
		if (state->seen && gpumon_vblank_passed(state->seq, client->owner))
			client->owner = 0;
		else
			return vblank_request_lose(client, seq);
	}
	next = next_of(client);
	if (unlikely(next - first_of(client) >= MAX_REQUESTS))
		return vblank_request_lose(client, seq);
	request = gpumon_track_begin(&gpumon_vblank_request_track, vblank_request_key(client, next),
				     &known);
	if (unlikely(!request))
		return vblank_request_lose(client, seq);
	request->since = now;
	request->value = seq;
	set_list(client, first_of(client), next + 1);
	return true;
}

/* Its client went without a sign, and another one has that address now. */
static bool is_stale(const struct gpumon_tracked *request, const struct gpumon_vblank_crtc *state)
{
	return state->seen && gpumon_vblank_passed(state->seq, request->value) &&
	       (s64)(state->handled_ns - request->since) > CLOCK_SLACK_NS;
}

/*
 * An event is delivered to a client; under the device's event_lock. Sets when it was asked for, if
 * that is known. @end_seen: the end of a client would be seen, its place is given back then.
 */
enum gpumon_vblank_join gpumon_vblank_answer(struct gpumon_tracked *client, u32 seq, bool end_seen,
					     u64 *asked_ns)
{
	const struct gpumon_vblank_crtc *state = &gpumon_vblank_crtc_states[client->process];
	enum gpumon_vblank_join join = VBLANK_NO_REQUEST;
	u32 number, first = first_of(client), next = next_of(client);
	struct gpumon_tracked *request;
	bool enabled = true;

	if (unlikely(client->owner & LOST))
		forget_lost(client, state, seq);
	/* Before a display is switched off, all waiting clients get their events at once. */
	gpumon_vblank_enabled(state, &enabled);
	for (number = first; number != next && join != VBLANK_JOINED; number++) {
		request = vblank_request_find(client, number);
		if (request && (!enabled || gpumon_vblank_passed(seq, request->value))) {
			if (likely(!is_stale(request, state))) {
				*asked_ns = request->since;
				join = VBLANK_JOINED;
			}
			gpumon_track_end(&gpumon_vblank_request_track, request);
			request = NULL;
		}
		if (!request && number == first)
			first++;
	}
	set_list(client, first, next);
	if (join == VBLANK_NO_REQUEST && client->owner & LOST)
		join = VBLANK_MANY;
	if (unlikely(first == next && !client->owner && !end_seen))
		gpumon_track_end(&gpumon_vblank_client_track, client);
	return join;
}

/* A client is gone: another one may get its address. None of its requests can be answered. */
void gpumon_vblank_forget_file(const struct drm_file *file)
{
	struct gpumon_tracked *client, *request;
	u32 crtc, number;

	for (crtc = 0; crtc < VBLANK_MAX_CRTCS; crtc++) {
		client = gpumon_vblank_client(file, crtc);
		if (!client)
			continue;
		for (number = first_of(client); number != next_of(client); number++) {
			request = vblank_request_find(client, number);
			if (request)
				gpumon_track_end(&gpumon_vblank_request_track, request);
		}
		gpumon_track_end(&gpumon_vblank_client_track, client);
	}
}
