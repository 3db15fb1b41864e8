// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "continuous_options.h"
#include "period.h"

#define KEEP_NS	       600000000000ULL
#define KEEP_MIN_NS    1000000000ULL
#define KEEP_BYTES     (1ULL << 30)
#define KEEP_BYTES_MAX (1ULL << 40)
#define CAPTURES       8
#define SAMPLE_LOW     100
#define EVERY_MIN_NS   1000000000ULL

/* "1G" is a size, "10m" a time. */
static bool is_size(const char *text)
{
	return strpbrk(text, "KMGB") != NULL;
}

static int take_limit(struct gpumon_context *context, const char *text,
		      struct gpumon_ring_limits *limits)
{
	if (is_size(text)) {
		if (limits->bytes) {
			gpumon_usage(context, "--keep: two sizes");
			return -1;
		}
		return gpumon_argument_size(context, "--keep", text, GPUMON_RING_BYTES_MIN,
					    KEEP_BYTES_MAX, &limits->bytes);
	}
	if (limits->age_ns) {
		gpumon_usage(context, "--keep: two times (a size is written as 64M or 1G)");
		return -1;
	}
	if (!strspn(text, "0123456789.")) {
		gpumon_usage(context,
			     "--keep: \"%s\" is neither a time such as 10m nor a size such as 1G",
			     text);
		return -1;
	}
	if (gpumon_argument_duration(context, "--keep", text, &limits->age_ns))
		return -1;
	if (limits->age_ns >= KEEP_MIN_NS)
		return 0;
	gpumon_usage(context, "--keep: \"%s\" is less than a second", text);
	return -1;
}

int gpumon_continuous_take_keep(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_continuous_choice *choice = value;
	struct gpumon_ring_limits limits = { 0 };
	char part[64];

	for (;;) {
		size_t length = strcspn(text, ",");

		snprintf(part, sizeof(part), "%.*s", (int)length, text);
		if (length >= sizeof(part) || take_limit(context, part, &limits)) {
			if (length >= sizeof(part))
				gpumon_usage(context, "--keep: neither a time nor a size");
			return -1;
		}
		text += length;
		if (!*text)
			break;
		text++;
	}
	choice->continuous.keep = limits;
	return 0;
}

static void reduce_overhead(struct gpumon_session_options *session)
{
	struct gpumon_message_settings *settings = &session->recorder.settings;

	if (!session->graphs_said)
		settings->graphs = GPUMON_GRAPHS_WINDOWS;
	if (!session->records_said)
		settings->operations_sampled = 1;
	if (!settings->sample)
		settings->sample = SAMPLE_LOW;
}

int gpumon_continuous_options_check(struct gpumon_context *context,
				    struct gpumon_continuous_choice *choice,
				    struct gpumon_session_options *session)
{
	struct gpumon_continuous_options *options = &choice->continuous;

	if (!options->on && (options->keep.bytes || options->keep.age_ns || options->captures ||
			     options->slow_ns || options->every_ns))
		return gpumon_usage(
			context, "--keep, --captures, --on-slow and --every go with --continuous");
	if (options->on && session->recorder.max_bytes)
		return gpumon_usage(
			context, "--max-size ends a recording: with --continuous, say --keep SIZE");
	if (choice->low_overhead)
		reduce_overhead(session);
	if (!options->on)
		return 0;
	if (!session->graphs_said)
		session->recorder.settings.graphs = GPUMON_GRAPHS_WINDOWS;
	if (!options->keep.bytes && !options->keep.age_ns)
		options->keep.age_ns = KEEP_NS;
	if (!options->keep.bytes)
		options->keep.bytes = KEEP_BYTES;
	if (!options->captures)
		options->captures = CAPTURES;
	if (options->every_ns && options->every_ns < EVERY_MIN_NS)
		return gpumon_usage(context, "--every: a second is the shortest");
	if (options->every_ns && options->keep.age_ns &&
	    options->keep.age_ns <
		    options->every_ns + GPUMON_PERIOD_BEFORE_NS + GPUMON_PERIOD_AFTER_NS)
		return gpumon_usage(context, "--keep must be at least %llus longer than --every",
				    (GPUMON_PERIOD_BEFORE_NS + GPUMON_PERIOD_AFTER_NS) /
					    1000000000);
	if (options->slow_ns)
		session->recorder.settings.record |= GPUMON_RECORD_RANGES;
	options->no_names = session->no_names;
	session->continuous = *options;
	return 0;
}
