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

void inject_environment_read(void)
{
	const char *folder = getenv("GPUMON_LISTEN");

	memset(&inject_environment, 0, sizeof(inject_environment));
	if (folder && strlen(folder) < sizeof(inject_environment.listen))
		strcpy(inject_environment.listen, folder);
	inject_environment.rank = find_rank();
}
