/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The contents of "top": top.c turns readings into rates, percentiles and a history for each ring,
 * and top_draw.c turns those into a page of text. Nothing here uses a terminal or netlink, so that
 * tests can check the page.
 */
#ifndef GPUMON_DRIVER_TOP_H
#define GPUMON_DRIVER_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/format.h"
#include "model.h"
#include "usage.h"

/* Number of intervals in the history of a ring. */
#define GPUMON_TOP_HISTORY 60

enum gpumon_top_sort {
	GPUMON_TOP_BUSY,
	GPUMON_TOP_LOAD,
	GPUMON_TOP_JOBS,
	GPUMON_TOP_QUEUED,
	GPUMON_TOP_QUEUE_TIME,
	GPUMON_TOP_RUN_TIME,
	GPUMON_TOP_ERRORS,
	GPUMON_TOP_NAME,
	GPUMON_TOP_SORTS
};

/**
 * struct gpumon_top_ring - a row of the ring table
 * @id: number of the ring
 * @device: its device
 * @name: its name
 * @busy: part of the interval in which a job was on the hardware, 0 to 1; negative if unknown
 * @load: mean number of jobs on the hardware, negative if unknown: the total run time of the jobs
 *	  that ended in the interval, divided by the interval (Little's law). A job counts when it
 *	  ends, so a job longer than the interval shows late and all at once.
 * @done: jobs done in the interval
 * @errors: jobs that ended with an error in the interval
 * @queue_depth: current depth
 * @queue_depth_max: highest depth of the period
 * @hw_depth: current depth on the hardware
 * @hw_depth_max: highest depth of the period
 * @queue_p50: time in the queue of the jobs that left it in the interval, ns
 * @queue_p99: the same
 * @run_p50: time on the hardware of the jobs that ended in the interval, ns
 * @run_p99: the same
 * @history: @busy of the last intervals, oldest first
 * @n_history: number of intervals in @history
 */
struct gpumon_top_ring {
	uint64_t id;
	char *device;
	char *name;
	double busy;
	double load;
	struct gpumon_value done;
	struct gpumon_value errors;
	struct gpumon_value queue_depth;
	struct gpumon_value queue_depth_max;
	struct gpumon_value hw_depth;
	struct gpumon_value hw_depth_max;
	struct gpumon_value queue_p50;
	struct gpumon_value queue_p99;
	struct gpumon_value run_p50;
	struct gpumon_value run_p99;
	double history[GPUMON_TOP_HISTORY];
	size_t n_history;
};

/*
 * A row of the process table. @jobs and @usage in the interval, @total since the period began, and
 * what it has now of what it created.
 */
struct gpumon_top_process {
	struct gpumon_value pid;
	const char *comm;
	bool exited;
	struct gpumon_value jobs;
	struct gpumon_value total;
	struct gpumon_value vram_bytes;
	struct gpumon_value live_object_bytes;
	const struct gpumon_usage_total *usage;
};

/**
 * struct gpumon_top - the state between readings
 * @last: the last reading
 * @diff: difference to the reading before
 * @readings: number of readings; after the first, @diff covers the whole period
 * @rings: sorted
 * @processes: sorted by GPU time, then by jobs in the interval, exited ones last among equals; comm
 *	       points into @last
 * @usage: who used the GPUs in the interval, points into @diff
 * @lost: events not recorded since the period began, by cause
 * @lost_now: the same in the interval
 */
struct gpumon_top {
	struct gpumon_model last;
	struct gpumon_model diff;
	uint64_t readings;
	struct gpumon_top_ring *rings;
	size_t n_rings;
	struct gpumon_top_process *processes;
	size_t n_processes;
	struct gpumon_usage usage;
	struct gpumon_drops lost;
	struct gpumon_drops lost_now;
};

/**
 * gpumon_top_update() - process a reading
 * @top: zeroed before the first reading
 * @reading: moved into @top and zeroed
 */
void gpumon_top_update(struct gpumon_top *top, struct gpumon_model *reading);
void gpumon_top_sort(struct gpumon_top *top, enum gpumon_top_sort sort);
void gpumon_top_free(struct gpumon_top *top);

/* Pages with fixed names. The others are named after groups. */
#define GPUMON_TOP_RINGS     "rings"
#define GPUMON_TOP_PROCESSES "processes"
#define GPUMON_TOP_PAGES     32
#define GPUMON_TOP_PAGE_LEN  32

/* Names of the pages in the order of their numbers, valid until the next reading. */
size_t gpumon_top_pages(const struct gpumon_top *top, const char *names[GPUMON_TOP_PAGES]);
/* Name of the page to show: @wanted, or the first one with data if @wanted is "" or unknown. */
const char *gpumon_top_shown(const struct gpumon_top *top, const char *wanted);

/**
 * struct gpumon_top_view - how to draw
 * @term: columns (0: 132), rows (0: no limit), colours
 * @utf8: the terminal can show more than ASCII
 * @live: draw the line of keys at the bottom
 * @clear: clear what another page left behind the text of each line
 * @paused: readings are paused
 * @sort: sort order of the rings
 * @by_cgroup: containers and cgroups in place of processes
 * @page: name of the wanted page, "" for the first one with data
 * @interval_ns: interval for the line of keys
 * @clock: time of day, may be NULL
 * @note: a line for the user, such as a failed reading, may be NULL
 */
struct gpumon_top_view {
	struct gpumon_term term;
	bool utf8;
	bool live;
	bool clear;
	bool paused;
	enum gpumon_top_sort sort;
	bool by_cgroup;
	char page[GPUMON_TOP_PAGE_LEN];
	uint64_t interval_ns;
	const char *clock;
	const char *note;
};

/* Draw a page of at most @view->term.rows lines, the last one without a newline. */
void gpumon_top_draw(const struct gpumon_top *top, const struct gpumon_top_view *view, FILE *out);

/* Go to the next page (@by 1), the previous one (-1), or a number from 1 on (@number). */
void gpumon_top_turn(const struct gpumon_top *top, struct gpumon_top_view *view, int by,
		     unsigned int number);

/* The sort order that a key selects, GPUMON_TOP_SORTS if none. */
enum gpumon_top_sort gpumon_top_key(int key);

#endif /* GPUMON_DRIVER_TOP_H */
