// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>

#include "losses.h"

static const char *const words[GPUMON_LOSS_CAUSES] = {
	[GPUMON_LOSS_CHANNEL_FULL] = "records dropped (channel full): raise --buffer",
	[GPUMON_LOSS_API_DROPPED] = "records that the API dropped: raise --cupti-buffer",
	[GPUMON_LOSS_WITHHELD] = "launches whose work was not reported when the process ended",
	[GPUMON_LOSS_NO_TIMESTAMP] = "kernels and copies to which the API gave no time",
	[GPUMON_LOSS_STACK_TABLE] = "stacks dropped (table full): lower --stack-depth",
	[GPUMON_LOSS_STRING_TABLE] = "names dropped (table full)",
	[GPUMON_LOSS_UPROBE_RING] = "uprobe hits dropped (ring full)",
	[GPUMON_LOSS_UPROBE_STACK] = "stacks of uprobe hits",
	[GPUMON_LOSS_DRIVER_RING] =
		"events of the module, overwritten before they were read: gpumon-user set event-ring on --size",
	[GPUMON_LOSS_UNKNOWN_RECORD] = "records of the API of a kind that is not known",
	[GPUMON_LOSS_RECORDER] = "records that could not be written",
	[GPUMON_LOSS_INTERRUPTED] =
		"records of signal handlers that interrupted another record of their thread",
	[GPUMON_LOSS_BROKEN] = "places in a process's memory that held no record",
	[GPUMON_LOSS_TOO_LONG] = "records that were too long",
	[GPUMON_LOSS_ACROSS_WINDOWS] =
		"nodes of graphs that ran at the end of a window, of which CUPTI mixes up the times",
	[GPUMON_LOSS_MAX_SIZE] = "records beyond the largest size: raise --max-size",
	[GPUMON_LOSS_UPROBE_UNDECIDED] =
		"calls of which uprobes could not decide whether they are nested in another call",
};

void gpumon_losses_print(FILE *out, const uint64_t lost[GPUMON_LOSS_CAUSES],
			 const struct gpumon_capture_writer *writer)
{
	for (unsigned int cause = 1; cause < GPUMON_LOSS_CAUSES; cause++) {
		uint64_t count = lost[cause];

		if (writer && cause == GPUMON_LOSS_RECORDER)
			count += gpumon_capture_lost(writer);
		if (writer && cause == GPUMON_LOSS_MAX_SIZE)
			count += gpumon_capture_beyond(writer);
		if (count)
			fprintf(out, "gpumon-user: lost: %" PRIu64 " %s\n", count,
				words[cause] ? words[cause] : "records");
	}
}
