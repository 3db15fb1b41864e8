// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "environment.h"

struct inject_environment inject_environment;

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

void inject_environment_read(void)
{
	const char *launches = getenv("GPUMON_LAUNCHES");

	memset(&inject_environment, 0, sizeof(inject_environment));
	copy(inject_environment.listen, "GPUMON_LISTEN");
	copy(inject_environment.cupti, "GPUMON_CUPTI");
	inject_environment.rank = find_rank();
	inject_environment.runtime_too = launches && strcmp(launches, "all") == 0;
	inject_environment.no_internal = getenv("GPUMON_NO_INTERNAL");
}
