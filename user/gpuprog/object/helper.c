// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "helper.h"

#define HELPER(number, word, kind, on, a1, a2, a3, a4, a5)                                    \
	{ .id = number,                                                                       \
	  .name = #word,                                                                      \
	  .result = GPUMON_PROBE_RESULT_##kind,                                               \
	  .maps = GPUMON_PROBE_ON_##on,                                                       \
	  .arguments = { GPUMON_PROBE_ARG_##a1, GPUMON_PROBE_ARG_##a2, GPUMON_PROBE_ARG_##a3, \
			 GPUMON_PROBE_ARG_##a4, GPUMON_PROBE_ARG_##a5 } },

static const struct gpumon_probe_helper helpers[] = { GPUMON_PROBE_HELPERS(HELPER) };

const struct gpumon_probe_helper *gpumon_probe_helper_find(uint32_t id)
{
	size_t i;

	for (i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}
