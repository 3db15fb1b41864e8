/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Watches live processes for presents, by uprobes (uprobe.h): one process, or all that have a library which presents,
 * also those that come later. Nothing is loaded into them.
 */
#ifndef GPUMON_RECORD_PRESENT_WATCH_H
#define GPUMON_RECORD_PRESENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/error.h"
#include "presents.h"

/* Processes that are watched at a time: further ones are counted. */
#define GPUMON_PRESENT_PROCESSES_MAX 64

struct gpumon_present_watch;

/**
 * struct gpumon_present_process - a process that is watched
 * @pid: in our pid namespace
 * @name: as /proc has it
 * @functions: functions of it that are watched
 * @vulkan: Vulkan's loader is in it
 * @vulkan_devices: devices whose functions are watched
 * @is_32: its program is of 32 bits: nothing in it can be watched
 * @ended: it is gone
 */
struct gpumon_present_process {
	pid_t pid;
	char name[32];
	unsigned int functions;
	bool vulkan;
	unsigned int vulkan_devices;
	bool is_32;
	bool ended;
};

/**
 * struct gpumon_present_interval - what was seen in an interval; valid until the next one
 * @length_ns: its length
 * @rows: threads that present, see gpumon_presents_close()
 * @row_count: number of @rows
 * @lost: presents that were lost because nothing read them in time, or may have been a part of another one
 * @left_out: presents of threads beyond GPUMON_PRESENTS_ROWS_MAX
 * @processes: those that are watched, by number: @process of the rows
 * @process_count: number of @processes; those that have ended are among them
 * @watched: processes that live and are watched
 * @unwatched: processes with a library that presents that are not watched: there are too many, or they are refused
 * @hidden: processes of others whose libraries may not be seen
 * @why: of one that is refused, "" if none is
 */
struct gpumon_present_interval {
	uint64_t length_ns;
	const struct gpumon_presents_row *rows;
	uint32_t row_count;
	uint64_t lost;
	uint64_t left_out;
	const struct gpumon_present_process *processes;
	uint32_t process_count;
	uint32_t watched;
	uint32_t unwatched;
	uint32_t hidden;
	const char *why;
};

/**
 * gpumon_present_watch_open - begin to watch
 * @root: prefix of /proc and /sys; must outlive the watch
 * @pid: process; 0: all
 * @err: out: see gpumon_uprobes_supported() and gpumon_uprobes_attach()
 *
 * Return: the watch, or NULL with @err.
 */
struct gpumon_present_watch *gpumon_present_watch_open(const char *root, pid_t pid,
						       struct gpumon_error *err);

/* Take what was seen, and look for new processes. Never waits; to be called at least ten times a second. */
void gpumon_present_watch_poll(struct gpumon_present_watch *watch);

/* False once the one process that is watched has ended. */
bool gpumon_present_watch_lives(const struct gpumon_present_watch *watch);

/* Take what was seen, end an interval, and begin the next one. The first one begins with gpumon_present_watch_open()'s end. */
void gpumon_present_watch_close_interval(struct gpumon_present_watch *watch,
					 struct gpumon_present_interval *interval);

void gpumon_present_watch_free(struct gpumon_present_watch *watch);

#endif /* GPUMON_RECORD_PRESENT_WATCH_H */
