/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The windows in which the GPU operations of a process are recorded. Outside of some, launches are
 * recorded; outside of others, nothing is.
 */
#ifndef GPUMON_CAPTURE_WINDOWS_H
#define GPUMON_CAPTURE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/format.h"

/* Before gpumon_windows_end() an entry is a change, with @end_ns 0 for an end. */
struct gpumon_window {
	uint64_t start_ns;
	uint64_t end_ns;
};

/**
 * struct gpumon_windows - a zeroed one is empty
 * @at: sorted; the last one may end at UINT64_MAX
 * @beginnings: number of times when recording began
 * @sampled: there are several, or ends before that of the recording
 */
struct gpumon_windows {
	struct gpumon_window *at;
	uint32_t used;
	uint32_t room;
	uint32_t beginnings;
	bool sampled;
};

/* Add a record. */
void gpumon_windows_add(struct gpumon_windows *windows, const struct gpumon_record_window *record);
/* Called when all records were added. */
void gpumon_windows_end(struct gpumon_windows *windows);
/*
 * Windows in which all of several processes that use one GPU were recorded, or with @any at least
 * one. Before its first window and after its last one a process counts as recorded: it does nothing
 * then. @of are ended.
 */
void gpumon_windows_join(struct gpumon_windows *to, const struct gpumon_windows *const *of,
			 uint32_t count, bool any);
void gpumon_windows_clear(struct gpumon_windows *windows);

/* Whether a time lies wholly within one of them. */
bool gpumon_windows_cover(const struct gpumon_windows *windows, uint64_t start_ns, uint64_t end_ns);

/*
 * How much of a time they cover, and the @count of those that have a part in it. If operations are
 * not switched on and off, it is the whole time.
 */
uint64_t gpumon_windows_ns(const struct gpumon_windows *windows, uint64_t start_ns, uint64_t end_ns,
			   uint64_t *count);

#endif /* GPUMON_CAPTURE_WINDOWS_H */
