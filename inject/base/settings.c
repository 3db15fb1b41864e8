// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "settings.h"

#define FLUSH_MS_DEFAULT 500
#define FLUSH_MS_MIN	 20
#define FLUSH_MS_MAX	 10000

#define STACK_DEPTH_DEFAULT 128

#define BUFFER_MIB_DEFAULT 64
#define BUFFER_MIB_MIN	   4
#define BUFFER_MIB_MAX	   4096

struct inject_environment inject_environment;

static uint32_t bound(uint32_t value, uint32_t instead_of_0, uint32_t least, uint32_t most)
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
		bound(settings->flush_ms, FLUSH_MS_DEFAULT, FLUSH_MS_MIN, FLUSH_MS_MAX);
	settings->stack_depth =
		bound(settings->stack_depth, STACK_DEPTH_DEFAULT, 1, GPUMON_STACK_DEPTH_MAX);
	settings->buffer_mib =
		bound(settings->buffer_mib, BUFFER_MIB_DEFAULT, BUFFER_MIB_MIN, BUFFER_MIB_MAX);
	settings->range[sizeof(settings->range) - 1] = '\0';
	if (settings->window > GPUMON_WINDOW_RANGE ||
	    (settings->window == GPUMON_WINDOW_RANGE && !settings->range[0]))
		settings->window = GPUMON_WINDOW_ALWAYS;
}

static uint32_t find_rank(void)
{
	static const char *const names[] = { "RANK",
					     "OMPI_COMM_WORLD_RANK",
					     "PMIX_RANK",
					     "PMI_RANK",
					     "MV2_COMM_WORLD_RANK",
					     "SLURM_PROCID",
					     "JSM_NAMESPACE_RANK" };
	const char *text;
	unsigned long rank;
	char *end;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		text = getenv(names[i]);
		if (!text || *text < '0' || *text > '9')
			continue;
		rank = strtoul(text, &end, 10);
		if (!*end && rank < UINT32_MAX)
			return (uint32_t)rank;
	}
	return UINT32_MAX;
}

static void copy(char *to, const char *name)
{
	const char *text = getenv(name);

	if (text && strlen(text) < PATH_MAX)
		strcpy(to, text);
}

void inject_settings_read_environment(void)
{
	const char *launches = getenv("GPUMON_LAUNCHES");

	memset(&inject_environment, 0, sizeof(inject_environment));
	copy(inject_environment.listen, "GPUMON_LISTEN");
	copy(inject_environment.cupti, "GPUMON_CUPTI");
	inject_environment.rank = find_rank();
	inject_environment.runtime_too = launches && strcmp(launches, "all") == 0;
	inject_environment.no_internal = getenv("GPUMON_NO_INTERNAL");
}
