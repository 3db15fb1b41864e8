// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "spread.h"

int gpumon_probe_spread(const uint64_t *numbers, uint32_t n, struct gpumon_probe_spread *spread)
{
	uint64_t *used = malloc(((size_t)n + 1) * sizeof(*used));

	memset(spread, 0, sizeof(*spread));
	if (!used)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		if (!numbers[i])
			continue;
		used[spread->n++] = numbers[i];
		if (numbers[i] > spread->most) {
			spread->most = numbers[i];
			spread->most_at = i;
		}
	}
	if (spread->n) {
		qsort(used, spread->n, sizeof(*used), gpumon_by_value);
		spread->least = used[0];
		spread->median = used[(spread->n - 1) / 2];
	}
	free(used);
	return 0;
}
