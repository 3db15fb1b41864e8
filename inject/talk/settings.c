// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "settings.h"

#define FLUSH_MS_DEFAULT 500
#define FLUSH_MS_MIN	 20
#define FLUSH_MS_MAX	 10000

#define STACK_DEPTH_DEFAULT 128

#define BUFFER_MIB_DEFAULT 64

/* CUPTI 13 uses a buffer for each thread of the program, so they are rather small. */
#define BUFFER_KIB_DEFAULT 512

#define SAMPLE_MAX 1000000

#define WINDOW_MS_DEFAULT 1000
#define WINDOW_MS_MIN	  10
#define PERIOD_MS_DEFAULT 30000
#define PERIOD_MS_MAX	  86400000

static uint32_t bound_setting(uint32_t value, uint32_t instead_of_0, uint32_t least, uint32_t most)
{
	if (!value)
		return instead_of_0;
	if (value < least)
		return least;
	return value > most ? most : value;
}

void inject_settings_bound(struct gpumon_message_settings *settings)
{
	settings->flush_ms =
		bound_setting(settings->flush_ms, FLUSH_MS_DEFAULT, FLUSH_MS_MIN, FLUSH_MS_MAX);
	settings->stack_depth = bound_setting(settings->stack_depth, STACK_DEPTH_DEFAULT, 1,
					      GPUMON_STACK_DEPTH_MAX);
	settings->buffer_mib = bound_setting(settings->buffer_mib, BUFFER_MIB_DEFAULT,
					     GPUMON_BUFFER_MIB_MIN, GPUMON_BUFFER_MIB_MAX);
	settings->buffer_kib = bound_setting(settings->buffer_kib, BUFFER_KIB_DEFAULT,
					     GPUMON_BUFFER_KIB_MIN,
					     settings->buffer_mib * 1024 / GPUMON_BUFFERS_MIN);
	settings->sample = bound_setting(settings->sample, 1, 1, SAMPLE_MAX);
	settings->window_ms =
		bound_setting(settings->window_ms, WINDOW_MS_DEFAULT, WINDOW_MS_MIN, PERIOD_MS_MAX);
	settings->period_ms = bound_setting(settings->period_ms, PERIOD_MS_DEFAULT,
					    settings->window_ms, PERIOD_MS_MAX);
	if (settings->graphs > GPUMON_GRAPHS_WHOLE)
		settings->graphs = GPUMON_GRAPHS_NODES;
	settings->range[sizeof(settings->range) - 1] = '\0';
	if (settings->window > GPUMON_WINDOW_RANGE ||
	    (settings->window == GPUMON_WINDOW_RANGE && !settings->range[0]))
		settings->window = GPUMON_WINDOW_ALWAYS;
}
