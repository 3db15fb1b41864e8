/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The part of "trace" between reading and printing: merge records by time, join them by job, put
 * alerts between them, filter, write lines. Nothing here uses files or netlink, so that tests can feed
 * it.
 */
#ifndef GPUMON_DRIVER_TRACE_H
#define GPUMON_DRIVER_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event_join.h"
#include "event_merge.h"
#include "lib/format.h"
#include "model.h"

/**
 * struct gpumon_trace_options - what to print and how
 * @json: JSON lines, not a table
 * @term: colours of the table
 * @ring: only this ring, "NAME" or "DEVICE/NAME", or rows with this label; NULL for all
 * @group: only events of this group, NULL for all
 * @pid: only events and alerts of this process, 0 for all
 * @count: stop after this number of lines, 0 for no end
 * @start_ns: time 0 of the table
 * @end_ns: later records are not printed, 0 for no end
 * @cpus: number of CPUs, 0 if unknown
 * @window_ns: see gpumon_event_merge_new()
 * @held_max: maximum number of records held for sorting
 * @jobs_max: maximum number of jobs remembered for joining
 * @ring_width: columns for the ring, 0 for the default
 * @source: "bpf", as in "stat --json"; NULL for the module, which lines do not mention
 * @find_ring: finds a ring by its number; NULL if unknown
 * @find_row: finds the labels of a row of statistics, separated by '/'; NULL if unknown
 * @find_ring_data: passed to @find_ring and @find_row
 * @take_event: gets what would be the line of an event or a loss, with the name of its row, or NULL; NULL: lines
 *		are printed
 * @take_alert: likewise that of an alert; with @take_event only
 * @take_data: passed to @take_event and @take_alert
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
	void (*take_event)(void *data, const struct gpumon_event_joined *joined, const char *row);
	void (*take_alert)(void *data, const struct gpumon_alert *alert);
	void *take_data;
};

/**
 * struct gpumon_trace_totals - counts of records
 * @printed: lines written or taken, without those about losses
 * @alerts: those of them that are alerts
 * @hidden: records not printed because of the filters, the end or the count
 * @overwritten: sum of the losses that records report
 * @merge: see struct gpumon_event_merge_stats
 * @join: see struct gpumon_event_join_stats
 */
struct gpumon_trace_totals {
	uint64_t printed;
	uint64_t alerts;
	uint64_t hidden;
	uint64_t overwritten;
	struct gpumon_event_merge_stats merge;
	struct gpumon_event_join_stats join;
};

struct gpumon_trace;

/* NULL without memory. @options is copied, but not the data that it points to. */
struct gpumon_trace *gpumon_trace_new(const struct gpumon_trace_options *options, FILE *out);
void gpumon_trace_free(struct gpumon_trace *trace);

/* Print the heading of the table. Nothing with JSON. */
void gpumon_trace_header(struct gpumon_trace *trace);

/**
 * gpumon_trace_feed() - add records that were read
 * @trace: prints only if it cannot hold all records
 * @events: records of any CPUs
 * @n: number of records
 */
void gpumon_trace_feed(struct gpumon_trace *trace, const struct gpumon_event *events, size_t n);

/**
 * gpumon_trace_feed_alerts() - add alerts that were read
 * @trace: prints each where its time is between records; one that comes later than records of its time
 *	   were printed follows these
 * @alerts: a model whose alerts are taken out
 *
 * To be called before gpumon_trace_print() prints the records that were read meanwhile.
 */
void gpumon_trace_feed_alerts(struct gpumon_trace *trace, struct gpumon_model *alerts);

/**
 * gpumon_trace_print() - print the records whose order is certain
 * @trace: trace with records
 * @most: maximum number of records, since the ring fills up meanwhile
 *
 * Return: false if nothing is left to print.
 */
bool gpumon_trace_print(struct gpumon_trace *trace, size_t most);

/* See gpumon_event_merge_drained(). Of the alerts, too, all were fed that are earlier. */
void gpumon_trace_drained(struct gpumon_trace *trace, uint64_t time_ns);

/*
 * True once the count is reached or a record after the end arrived: nothing more will be printed.
 */
bool gpumon_trace_finished(const struct gpumon_trace *trace);

void gpumon_trace_get_totals(const struct gpumon_trace *trace, struct gpumon_trace_totals *totals);

#endif /* GPUMON_DRIVER_TRACE_H */
