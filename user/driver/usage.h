/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Who used the GPUs: the rows of the table drm_sched.usage joined with the processes, rings and
 * cgroups of a model, and their sums by process, by cgroup or container, and by DRM client. The
 * model is a reading or a difference; the result points into it.
 */
#ifndef GPUMON_DRIVER_USAGE_H
#define GPUMON_DRIVER_USAGE_H

#include "lib/format.h"
#include "model.h"

/**
 * struct gpumon_usage_sum - what jobs took
 * @jobs: jobs done
 * @gpu_ns: their time on the GPU; unknown, as the others, if the source does not count it
 * @queue_ns: the time that they waited in the queue
 * @errors: jobs that ended with an error
 * @share: some of @gpu_ns is of a ring that runs several jobs at once, whose time is divided among
 *	   them
 */
struct gpumon_usage_sum {
	struct gpumon_value jobs;
	struct gpumon_value gpu_ns;
	struct gpumon_value queue_ns;
	struct gpumon_value errors;
	bool share;
};

/**
 * struct gpumon_usage_row - a row of the table
 * @device: label
 * @name: label "ring"
 * @ring: the ring, NULL if the model does not have it
 * @process: the process, NULL for none, and for one that the model does not have
 * @process_id: its number, 0 for none
 * @client: DRM client, 0 if unknown
 * @cgroup_id: without a process, the cgroup whose removed processes are summed up, 0 for none
 * @container: container of the process or the cgroup, NULL if there is none
 * @path: path of the cgroup, NULL if it is not known
 * @other: the row of what found the table full
 * @sum: what its jobs took
 */
struct gpumon_usage_row {
	const char *device;
	const char *name;
	const struct gpumon_ring *ring;
	const struct gpumon_process *process;
	uint64_t process_id;
	uint64_t client;
	uint64_t cgroup_id;
	const char *container;
	const char *path;
	bool other;
	struct gpumon_usage_sum sum;
};

/**
 * struct gpumon_usage_total - the sum of several rows
 * @sum: on all rings and devices
 * @device: the device on which @sum.gpu_ns is longest, NULL if nothing ran
 * @device_ns: that part of @sum.gpu_ns
 * @device_rings: rings of @device that it used
 * @device_share: some of @device_ns is a share
 * @devices: devices that it used
 */
struct gpumon_usage_total {
	struct gpumon_usage_sum sum;
	const char *device;
	uint64_t device_ns;
	unsigned int device_rings;
	bool device_share;
	unsigned int devices;
};

/**
 * struct gpumon_usage_group - a container, or a cgroup outside of containers
 * @container: name of the container, or NULL
 * @path: path of the cgroup, of a container one of them; NULL if it is not known
 * @cgroup_id: its id, unknown for what is of no cgroup
 * @processes: processes of it in the table
 * @alive: those of them that exist
 * @queued: jobs that these have queued
 * @vram_bytes: sum of those of the processes in the table, of which it is known; unknown if of none
 * @live_object_bytes: likewise
 * @dmem_bytes: what the kernel charges to it, of all regions; unknown if it does not
 * @total: of these and of the processes that were removed
 */
struct gpumon_usage_group {
	const char *container;
	const char *path;
	struct gpumon_value cgroup_id;
	uint64_t processes;
	uint64_t alive;
	struct gpumon_value queued;
	struct gpumon_value vram_bytes;
	struct gpumon_value live_object_bytes;
	struct gpumon_value dmem_bytes;
	struct gpumon_usage_total total;
};

/**
 * struct gpumon_usage_client - a DRM client: a device file that was opened once
 * @id: drm-client-id in the fdinfo of the processes that have it open
 * @process: the one of them that used most GPU time by it, or NULL
 * @total: of all of them
 */
struct gpumon_usage_client {
	uint64_t id;
	const struct gpumon_process *process;
	struct gpumon_usage_total total;
};

/**
 * struct gpumon_usage - all of it
 * @known: the source counts by process, and there was a job
 * @share: @sum.share of some row
 * @full: some work found no room in the table, and is of no process
 * @rows: longest time on the GPU first
 * @processes: by the index of the process in the model
 * @groups: longest time on the GPU first
 * @clients: likewise; none where the kernel does not tell clients
 * @parallel: by the index of the ring in the model: it runs several jobs at once
 */
struct gpumon_usage {
	bool known;
	bool share;
	bool full;
	struct gpumon_usage_row *rows;
	size_t n_rows;
	struct gpumon_usage_total *processes;
	size_t n_processes;
	struct gpumon_usage_group *groups;
	size_t n_groups;
	struct gpumon_usage_client *clients;
	size_t n_clients;
	bool *parallel;
	size_t n_rings;
};

/* @usage is overwritten. It lives no longer than @model, which must not change meanwhile. */
void gpumon_usage_init(struct gpumon_usage *usage, const struct gpumon_model *model);
void gpumon_usage_clear(struct gpumon_usage *usage);

/* What the marked numbers are, in one line. */
#define GPUMON_USAGE_SHARE                                                                                  \
	"~ is a share: the ring runs several jobs at once, and its time is divided among them. The shares " \
	"of a ring never add up to more than its busy time."

/**
 * gpumon_usage_part() - the part of a time in which the device that was used most ran these jobs
 * @total: sum
 * @length_ns: the time
 *
 * Rings of a device run at the same time: two rings are up to 2. A job counts when it ends, so one
 * that is longer than the time counts with its whole length: it is cut to 1 for each ring.
 *
 * Return: negative if it is unknown.
 */
double gpumon_usage_part(const struct gpumon_usage_total *total, uint64_t length_ns);

/* True if nothing was done, and nothing waited. */
bool gpumon_usage_is_idle(const struct gpumon_usage_sum *sum);

/* Mean time of a job in the queue, ns; unknown without jobs. */
struct gpumon_value gpumon_usage_wait(const struct gpumon_usage_sum *sum);

/* "62.0%", "~62.0%" for a share, "-". Buffers of GPUMON_FORMAT_LEN bytes, which are returned. */
const char *gpumon_usage_format_part(char *buf, const struct gpumon_usage_total *total,
				     uint64_t length_ns);
/* "1.24s", "~1.24s" for a share, "-". */
const char *gpumon_usage_format_time(char *buf, const struct gpumon_usage_sum *sum);

#define GPUMON_USAGE_NAME_LEN 160

/* "0000:03:00.0", "0000:03:00.0 +1" if one more device was used, "-". Returns @buf. */
const char *gpumon_usage_format_device(char *buf, size_t len,
				       const struct gpumon_usage_total *total);
/* Name of a process, or in parentheses what a row without one sums up. Returns @buf. */
const char *gpumon_usage_format_owner(char *buf, size_t len, const struct gpumon_usage_row *row);
/* The container's name, the path, "cgroup 4711", or "(no cgroup)". Returns @buf. */
const char *gpumon_usage_format_group(char *buf, size_t len,
				      const struct gpumon_usage_group *group);

/* A total of one row, for gpumon_usage_format_part(). */
struct gpumon_usage_total gpumon_usage_total_of(const struct gpumon_usage_row *row);

#endif /* GPUMON_DRIVER_USAGE_H */
