/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names of rings and rows by their numbers in events, read again as they come and go. */
#ifndef GPUMON_DRIVER_TRACE_NAMES_H
#define GPUMON_DRIVER_TRACE_NAMES_H

#include <stdint.h>

#include "source.h"

/**
 * struct gpumon_trace_names - known rings and rows
 * @source: source of the names, owned by the caller
 * @model: the last reading
 * @read_ns: its time on CLOCK_MONOTONIC
 * @events_ns: time when the caller last read events
 * @row_text: labels of the row of the last look-up
 */
struct gpumon_trace_names {
	struct gpumon_source *source;
	struct gpumon_model model;
	uint64_t read_ns;
	uint64_t events_ns;
	char row_text[128];
};

/* Read all names. 0, or -1 with @err. */
int gpumon_trace_names_read(struct gpumon_trace_names *names, struct gpumon_error *err);
void gpumon_trace_names_free(struct gpumon_trace_names *names);

/* For struct gpumon_trace_options, with the struct gpumon_trace_names as @data. */
const struct gpumon_ring *gpumon_trace_names_ring(void *data, unsigned int id);
const char *gpumon_trace_names_row(void *data, const char *group, const char *table,
				   unsigned int number);

#endif /* GPUMON_DRIVER_TRACE_NAMES_H */
