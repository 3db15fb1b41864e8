// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "session_data.h"
#include "totals.h"

void inject_totals_add(struct inject_totals *totals)
{
	struct gpumon_channel *channel = inject_session.map.channel;

	if (!gpumon_channel_is_alive(&inject_session.map))
		return;
	if (totals->kernels)
		__atomic_fetch_add(&channel->kernels, totals->kernels, __ATOMIC_RELAXED);
	if (totals->copies)
		__atomic_fetch_add(&channel->copies, totals->copies, __ATOMIC_RELAXED);
	if (totals->sets)
		__atomic_fetch_add(&channel->sets, totals->sets, __ATOMIC_RELAXED);
	memset(totals, 0, sizeof(*totals));
}
