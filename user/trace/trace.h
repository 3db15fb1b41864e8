/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What "trace" does with records between reading and printing: merged by time, joined by job,
 * filtered, written as lines. No file and no netlink in here, so that a test can feed it.
 */
#ifndef GPUMON_USER_TRACE_H
#define GPUMON_USER_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event/event_join.h"
#include "event/event_merge.h"
#include "term/format.h"
#include "model/model.h"

/**
 * struct gpumon_trace_options - what to print and how
 * @json: JSON lines, not a table
 * @term: colours of the table
 * @ring: only this ring, "NAME" or "DEVICE/NAME", or rows with this label; NULL for all
 * @group: only events of this group, NULL for all
 * @pid: only what this process did, 0 for all
 * @count: stop after so many lines, 0 for no end
 * @start_ns: time 0 of the table
 * @end_ns: records of later times are not printed, 0 for no end
 * @cpus: CPUs that can record, 0 if unknown
 * @window_ns: see gpumon_event_merge_new()
 * @held_max: records held for sorting at most
 * @jobs_max: jobs remembered for joining at most
 * @ring_width: columns for the ring, 0 for a usual width
 * @source: "bpf", as in "stat --json", NULL for the module: whose lines do not say it
 * @find_ring: name of a ring by its number; NULL if unknown
 * @find_row: labels of a row of a table of statistics, with '/' between; NULL if unknown
 * @find_ring_data: for @find_ring and @find_row
 */
struct gpumon_trace_options {
	bool json;
	struct gpumon_term term;
	const char *ring;
	const char *group;
	uint32_t pid;
	uint64_t count;
	uint64_t start_ns;
	uint64_t end_ns;
	unsigned int cpus;
	uint64_t window_ns;
	size_t held_max;
	size_t jobs_max;
	unsigned int ring_width;
	const char *source;
	const struct gpumon_ring *(*find_ring)(void *data, unsigned int id);
	const char *(*find_row)(void *data, const char *group, const char *table, unsigned int row);
	void *find_ring_data;
};

/**
 * struct gpumon_trace_totals - where the records went
 * @printed: lines written, losses not counted
 * @hidden: records that the filters, the end or the count kept from being printed
 * @overwritten: sum of the losses told by records
 * @merge: see struct gpumon_event_merge_stats
 * @join: see struct gpumon_event_join_stats
 */
struct gpumon_trace_totals {
	uint64_t printed;
	uint64_t hidden;
	uint64_t overwritten;
	struct gpumon_event_merge_stats merge;
	struct gpumon_event_join_stats join;
};

struct gpumon_trace;

/* NULL without memory. @options is copied, what it points to is not. */
struct gpumon_trace *gpumon_trace_new(const struct gpumon_trace_options *options, FILE *out);
void gpumon_trace_free(struct gpumon_trace *trace);

/* The line above the table; nothing with JSON. */
void gpumon_trace_header(struct gpumon_trace *trace);

/**
 * gpumon_trace_feed() - take in records as read
 * @trace: prints none of them as long as it can hold them all
 * @events: records, any number of CPUs mixed
 * @n: how many
 *
 * Return: 0, or a negative errno (-ENOMEM).
 */
int gpumon_trace_feed(struct gpumon_trace *trace, const struct gpumon_event *events, size_t n);

/**
 * gpumon_trace_print() - print what can be printed in order
 * @trace: has been fed
 * @most: records at most; what fills the ring goes on meanwhile
 *
 * Return: 0 if nothing more is due, 1 if something may be, or a negative errno (-ENOMEM).
 */
int gpumon_trace_print(struct gpumon_trace *trace, size_t most);

/* See gpumon_event_merge_drained(). */
void gpumon_trace_drained(struct gpumon_trace *trace, uint64_t time_ns);

/* The count was reached, or a record later than the end came by: nothing more will be printed. */
bool gpumon_trace_finished(const struct gpumon_trace *trace);

void gpumon_trace_get_totals(const struct gpumon_trace *trace, struct gpumon_trace_totals *totals);

/* "QUEUE", "COMPLETE", … as the table has it, NULL if unknown or not of the DRM scheduler. */
const char *gpumon_trace_event_label(unsigned int event);

#endif /* GPUMON_USER_TRACE_H */
