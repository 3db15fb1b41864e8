/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names of what events are about, which say only a number: read again as things come and go. */
#ifndef GPUMON_USER_TRACE_NAMES_H
#define GPUMON_USER_TRACE_NAMES_H

#include <stdint.h>

#include "source/source.h"

/**
 * struct gpumon_trace_names - what is known of rings and rows
 * @source: where to read them; the caller's
 * @model: as they were read last
 * @read_ns: when that was, CLOCK_MONOTONIC
 * @events_ns: when events were last read, by the caller
 * @row_text: labels of the row that was last looked up
 */
struct gpumon_trace_names {
	struct gpumon_source *source;
	struct gpumon_model model;
	uint64_t read_ns;
	uint64_t events_ns;
	char row_text[128];
};

/* All of them. 0, or -1 with a reason. */
int gpumon_trace_names_read(struct gpumon_trace_names *names, struct gpumon_error *err);
void gpumon_trace_names_free(struct gpumon_trace_names *names);

/* For struct gpumon_trace_options, with the names as @data. */
const struct gpumon_ring *gpumon_trace_names_ring(void *data, unsigned int id);
const char *gpumon_trace_names_row(void *data, const char *group, const char *table,
				   unsigned int number);

#endif /* GPUMON_USER_TRACE_NAMES_H */
