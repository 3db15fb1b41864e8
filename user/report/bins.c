// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "bins.h"
#include "lib/memory.h"

static void make_room(struct gpumon_bins *bins, uint32_t columns, uint64_t part)
{
	uint32_t room = bins->room ? bins->room : 4;

	while (room <= part)
		room *= 2;
	bins->busy_ns = gpumon_reallocarray(bins->busy_ns, room, columns * sizeof(*bins->busy_ns));
	memset(bins->busy_ns + (size_t)bins->room * columns, 0,
	       (size_t)(room - bins->room) * columns * sizeof(*bins->busy_ns));
	bins->room = room;
}

void gpumon_bins_add(struct gpumon_bins *bins, const struct gpumon_bins_scale *scale,
		     uint32_t column, uint64_t start_ns, uint64_t end_ns)
{
	start_ns = start_ns > scale->from_ns ? start_ns : scale->from_ns;
	while (start_ns < end_ns) {
		uint64_t part = (start_ns - scale->from_ns) / scale->bin_ns;
		uint64_t until_ns = scale->from_ns + (part + 1) * scale->bin_ns;

		if (part >= scale->count)
			return;
		if (!bins->room)
			bins->first = (uint32_t)part;
		part = part > bins->first ? part - bins->first : 0;
		if (part >= bins->room)
			make_room(bins, scale->columns, part);
		until_ns = until_ns < end_ns ? until_ns : end_ns;
		bins->busy_ns[part * scale->columns + column] += until_ns - start_ns;
		start_ns = until_ns;
	}
}
