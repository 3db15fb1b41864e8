// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of group i915, from the submission to an engine until they are retired.
 *
 * i915 retires a request when it checks for finished ones, which can be long after the hardware was
 * done with it: the time until then is an upper bound of the request's duration.
 */
#include "attach/probe.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/level.h"
#include "internal.h"

enum {
	COLUMN_ADDED,
	COLUMN_RETIRED,
	COLUMN_IN_FLIGHT,
	COLUMN_RETIRED_WITHIN,
	COLUMN_UNTRACKED,
	COLUMN_TABLE_FULL,
	COLUMN_BACKWARDS,
};

#define REQUESTS (BIT(GPUMON_I915_ROLE_REQUEST_ADD) | BIT(GPUMON_I915_ROLE_REQUEST_RETIRE))

static const struct gpumon_column columns[] = {
	[COLUMN_ADDED] = GPUMON_COUNTER("added"),
	[COLUMN_RETIRED] = GPUMON_COUNTER("retired"),
	[COLUMN_IN_FLIGHT] = GPUMON_GAUGE("in_flight", .roles = REQUESTS),
	[COLUMN_RETIRED_WITHIN] = GPUMON_HISTOGRAM("retired_within_ns", .roles = REQUESTS),
	[COLUMN_UNTRACKED] = GPUMON_COUNTER("untracked"),
	[COLUMN_TABLE_FULL] = GPUMON_COUNTER("requests_table_full"),
	[COLUMN_BACKWARDS] = GPUMON_COUNTER("clock_backwards"),
};

struct gpumon_statistics gpumon_i915_engines = {
	.name = "engines",
	.labels = { "device", "engine" },
	GPUMON_COLUMNS(columns),
	.capacity = 128,
};

/**
 * struct tracked_request - a request that was added and not retired yet
 * @level: in the gauge of requests in flight of its engine's row
 * @since: when it was added, gpumon_clock()
 */
struct tracked_request {
	struct gpumon_level level;
	u64 since;
};
GPUMON_TRACKED_TYPE(struct tracked_request);

/* Requests by their address, which is not reused before the request is retired. */
struct gpumon_track gpumon_i915_requests = {
	.capacity = 4096,
};

/* Row of an engine plus 1, by a key of its address and name. */
struct gpumon_track gpumon_i915_known_engines = {
	.capacity = 64,
};

/* Row of an engine whose key is not known; NULL is the unknown engine. */
static noinline u32 engine_learn(const void *engine, u64 name, u64 known_as)
{
	const struct gpumon_i915_device *device;
	const void *drm = NULL;
	char text[sizeof(name) + 1];
	u64 i915, key;
	u32 number, row;

	if (gpumon_field_read(I915_FIELD(ENGINE_DEVICE), engine, &i915))
		drm = gpumon_field_address(I915_FIELD(DRM), (void *)(unsigned long)i915);
	number = gpumon_i915_device_of(drm);
	if (number == GPUMON_NONE)
		return GPUMON_NONE;
	device = &gpumon_i915_devices[number];
	memcpy(text, &name, sizeof(name));
	text[sizeof(name)] = '\0';
	key = gpumon_key_mix(device->key, name);
	row = gpumon_row_learn(&gpumon_i915_engines, key, device->name,
			       name ? text : GPUMON_DEVICE_UNKNOWN, NULL);
	/* Without a name the address may be of anything but an engine: it is not remembered. */
	if (row != GPUMON_NONE && name && number)
		gpumon_track_remember(&gpumon_i915_known_engines, known_as, I915_KNOWN, row + 1);
	return row;
}

/* Row of a request's engine. */
static __always_inline u32 engine_of(const struct i915_request *request)
{
	u64 engine, name = 0, key;
	u32 number;

	if (unlikely(!request) || !gpumon_field_get(I915_FIELD(REQUEST_ENGINE), request, &engine))
		return GPUMON_UNREADABLE;
	if (likely(engine))
		gpumon_field_read(I915_FIELD(ENGINE_NAME), (void *)(unsigned long)engine, &name);
	/* The address alone could be that of another engine after the device was probed again. */
	key = engine ^ (name * GOLDEN_RATIO_64);
	number = likely(key) ? gpumon_track_known(&gpumon_i915_known_engines, key, I915_KNOWN) : 0;
	return likely(number) ? number - 1 : engine_learn((void *)(unsigned long)engine, name, key);
}

/* Tracepoint i915_request_add: a request is submitted */
GPUMON_TRACEPOINT_BODY(1, gpumon_i915_request_add, struct i915_request *, request)
{
	u64 now = gpumon_clock();
	u32 row = engine_of(request);
	struct tracked_request *entry;
	local64_t *words;

	if (!gpumon_row_begin(ctx, &gpumon_i915_engines, row, COLUMN_ADDED, &words))
		return;
	entry = gpumon_level_begin(&gpumon_i915_requests, (unsigned long)request,
				   &gpumon_i915_engines, row, COLUMN_IN_FLIGHT, 1);
	if (likely(entry))
		entry->since = now;
	else
		gpumon_row_add(words, COLUMN_TABLE_FULL, 1);
	gpumon_process_count(ctx->cpu, GPUMON_PROCESS_SUBMISSIONS, 1);
	gpumon_event_ring_now(GPUMON_EVENT_REQUEST_ADD, row,
			      gpumon_field_read_word(I915_FIELD(REQUEST_CONTEXT), request),
			      gpumon_field_read_word(I915_FIELD(REQUEST_SEQNO), request), 0, 0);
}

/* Tracepoint i915_request_retire: it was found to be over */
GPUMON_TRACEPOINT_BODY(1, gpumon_i915_request_retire, struct i915_request *, request)
{
	u64 now = gpumon_clock();
	struct tracked_request *entry;
	u64 within = GPUMON_WORD_UNKNOWN;
	local64_t *words;
	u32 row;

	entry = likely(request) ? gpumon_track_find(&gpumon_i915_requests, (unsigned long)request) :
				  NULL;
	if (likely(entry)) {
		row = entry->level.row;
		words = gpumon_row_words(&gpumon_i915_engines, row);
		if (!gpumon_clock_elapsed(entry->since, now, &within))
			gpumon_row_add(words, COLUMN_BACKWARDS, 1);
		gpumon_row_observe(&gpumon_i915_engines, words, COLUMN_RETIRED_WITHIN, within);
		gpumon_level_end(&gpumon_i915_requests, &entry->level, &gpumon_i915_engines,
				 COLUMN_IN_FLIGHT);
	} else {
		row = engine_of(request);
		if (!gpumon_probe_found(ctx, row))
			return;
		words = gpumon_row_words(&gpumon_i915_engines, row);
		gpumon_row_add(words, COLUMN_UNTRACKED, 1);
	}
	gpumon_row_add(words, COLUMN_RETIRED, 1);
	gpumon_probe_recorded(ctx);
	gpumon_event_ring_now(GPUMON_EVENT_REQUEST_RETIRE, row,
			      gpumon_field_read_word(I915_FIELD(REQUEST_CONTEXT), request),
			      gpumon_field_read_word(I915_FIELD(REQUEST_SEQNO), request), within, 0);
}
