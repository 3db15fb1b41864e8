// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The clocks of several captures: one for each boot of a machine. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "capture_internal.h"

/* How many times a record begins with, behind its head. */
static const uint8_t times_of[] = {
	[GPUMON_RECORD_MAPPING] = 1, [GPUMON_RECORD_UNMAPPING] = 1,
	[GPUMON_RECORD_CLOCK] = 1,   [GPUMON_RECORD_CONTEXT] = 1,
	[GPUMON_RECORD_LAUNCH] = 2,  [GPUMON_RECORD_CALL] = 2,
	[GPUMON_RECORD_HIT] = 1,     [GPUMON_RECORD_RANGE] = 1,
	[GPUMON_RECORD_WAIT] = 2,    [GPUMON_RECORD_OVERHEAD] = 2,
	[GPUMON_RECORD_KERNEL] = 4,  [GPUMON_RECORD_COPY] = 2,
	[GPUMON_RECORD_SET] = 2,     [GPUMON_RECORD_SYNC] = 2,
	[GPUMON_RECORD_MEMORY] = 1,  [GPUMON_RECORD_UNIFIED_MEMORY] = 2,
	[GPUMON_RECORD_GRAPH] = 2,   [GPUMON_RECORD_METRIC_SAMPLE] = 2,
	[GPUMON_RECORD_ALERT] = 1,   [GPUMON_RECORD_LOSS] = 1,
	[GPUMON_RECORD_WINDOW] = 1,  [GPUMON_RECORD_NOTE] = 1,
	[GPUMON_RECORD_TOTALS] = 1,  [GPUMON_RECORD_DROPPED] = 1,
	[GPUMON_RECORD_STALLS] = 1,  [GPUMON_RECORD_STALL_TOTALS] = 1,
	[GPUMON_RECORD_PRESENT] = 2, [GPUMON_RECORD_SWAPCHAIN] = 1,
	[GPUMON_RECORD_SHOWN] = 1,
};

void gpumon_record_shift(struct gpumon_record *record, uint64_t by_ns)
{
	uint32_t n = record->type < sizeof(times_of) ? times_of[record->type] : 0;
	uint64_t *times = (uint64_t *)(record + 1);

	/* The time of an event is behind its size and row. */
	if (record->type == GPUMON_RECORD_DRIVER_EVENT) {
		times++;
		n = 1;
	}
	for (uint32_t i = 0;
	     i < n && (const char *)&times[i + 1] - (const char *)record <= record->size; i++) {
		/* 0 is unknown. */
		if (times[i])
			times[i] += by_ns;
	}
}

/* Identity of a clock, and CLOCK_REALTIME when it was 0; an empty boot if it is not known. */
struct boot {
	char id[40];
	uint64_t began_ns;
};

static void read_boot(const char *path, struct boot *boot)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct gpumon_capture_contents contents;
	const struct gpumon_capture_info *info = &contents.info;

	memset(boot, 0, sizeof(*boot));
	if (directory < 0)
		return;
	if (!gpumon_capture_info_read(directory, &contents) &&
	    info->created_ns > info->created_monotonic_ns && info->created_monotonic_ns) {
		memcpy(boot->id, info->boot_id, sizeof(boot->id));
		boot->began_ns = info->created_ns - info->created_monotonic_ns;
	}
	gpumon_capture_info_free(&contents);
	close(directory);
}

uint64_t *gpumon_capture_shifts(const char *const *paths, unsigned int count)
{
	uint64_t *shifts = gpumon_calloc(count + 1, sizeof(*shifts)), earliest_ns = UINT64_MAX;
	struct boot *boots = gpumon_calloc(count + 1, sizeof(*boots));

	for (unsigned int i = 0; count > 1 && i < count; i++) {
		read_boot(paths[i], &boots[i]);
		/*
		 * A boot has one beginning. The captures differ by a little, because the two clocks
		 * were read one after the other.
		 */
		for (unsigned int k = 0; k < i; k++) {
			if (!strcmp(boots[k].id, boots[i].id)) {
				boots[i].began_ns = boots[k].began_ns;
				break;
			}
		}
		if (*boots[i].id && boots[i].began_ns < earliest_ns)
			earliest_ns = boots[i].began_ns;
	}
	for (unsigned int i = 0; i < count; i++)
		shifts[i] = *boots[i].id ? boots[i].began_ns - earliest_ns : 0;
	free(boots);
	return shifts;
}
