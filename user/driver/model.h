/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The data of gpumon.ko, or of the BPF programs that replace it, as plain structures. parse.c or
 * bpf_source.c fill them, and stat, top and the JSON writer print them. Nothing here uses netlink,
 * so that tests can construct models.
 */
#ifndef GPUMON_DRIVER_MODEL_H
#define GPUMON_DRIVER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../kmod/uapi/gpumon_netlink.h"
#include "lib/map.h"
#include "lib/value.h"

/* Strings are allocated; NULL if the kernel sent none. */
static inline bool gpumon_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/**
 * struct gpumon_process - a process that used a driver
 * @id: number for it, which rows of drm_sched.usage refer to
 * @open_handles: currently open handles, of those seen to be opened; unknown before the first
 * @vram_bytes: bytes of the buffers that it created and that are in VRAM now (amdgpu); unknown before
 *              the first, and where that is not counted
 * @live_object_bytes: bytes of the objects that it created and that live now (i915), likewise
 * @container: name of its container, NULL if it is in none; set with @cgroup and @container_pid by
 *             gpumon_containers_resolve(), not by the kernel
 * @cgroup: path of its cgroup
 * @container_pid: its pid in its own pid namespace, unknown after it exited
 *
 * Counters other than @jobs are unknown if no attached group counts them.
 */
struct gpumon_process {
	struct gpumon_value id;
	struct gpumon_value pid;
	struct gpumon_value start_ns;
	char *comm;
	struct gpumon_value alive;
	struct gpumon_value jobs;
	struct gpumon_value submissions;
	struct gpumon_value allocated_bytes;
	struct gpumon_value mapped_bytes;
	struct gpumon_value ioctls;
	struct gpumon_value faults;
	struct gpumon_value opens;
	struct gpumon_value open_handles;
	struct gpumon_value vram_bytes;
	struct gpumon_value live_object_bytes;
	struct gpumon_value cgroup_id;
	char *container;
	char *cgroup;
	struct gpumon_value container_pid;
};

/* An option that the kernel was built without. */
struct gpumon_missing_option {
	char *option; /* with CONFIG_ */
	char *lost;   /* what does not work without it */
};

/**
 * struct gpumon_info - general facts
 * @source: the constant "bpf", or NULL for the module
 */
struct gpumon_info {
	const char *source;
	char *version;
	struct gpumon_value schema;
	char *clock;
	struct gpumon_value now_ns;
	struct gpumon_value since_ns;
	struct gpumon_value period;
	struct gpumon_value possible_cpus;
	struct gpumon_value max_rings;
	struct gpumon_value rings;
	struct gpumon_value rings_retired;
	struct gpumon_value max_processes;
	struct gpumon_value processes;
	struct gpumon_value processes_exited;
	struct gpumon_value jobs_exited;
	struct gpumon_value max_jobs;
	struct gpumon_value jobs_unattributed;
	struct gpumon_value memory_bytes;
	struct gpumon_process exited; /* sums over the processes that were aged out */
	struct gpumon_missing_option *missing_options;
	size_t n_missing_options;
};

struct gpumon_drops {
	struct gpumon_value table_full;
	struct gpumon_value recursion;
	struct gpumon_value unreadable;
	struct gpumon_value missed;
	struct gpumon_value no_memory;
};

struct gpumon_probe {
	char *name;
	char *module;
	char *reason;
	struct gpumon_value kind;  /* enum gpumon_probe_kind, gpumon_probe_kind_name() */
	struct gpumon_value state; /* enum gpumon_attach_state, gpumon_attach_state_name() */
	struct gpumon_value seen;
	struct gpumon_value recorded;
	struct gpumon_drops dropped;
};

struct gpumon_group {
	char *name;
	char *reason;
	struct gpumon_value enabled;
	struct gpumon_value state; /* enum gpumon_attach_state */
	struct gpumon_probe *probes;
	size_t n_probes;
};

struct gpumon_ring {
	struct gpumon_value id;
	char *device;
	char *name;
	struct gpumon_value live;
	struct gpumon_value live_max;
	struct gpumon_value queued;
	struct gpumon_value run;
	struct gpumon_value done;
	struct gpumon_value errors;
	struct gpumon_value killed;
	struct gpumon_value dependency_waits;
	struct gpumon_value untracked;
	struct gpumon_value jobs_table_full;
	struct gpumon_value clock_backwards;
	struct gpumon_value abandoned;
	struct gpumon_value busy_ns;
	struct gpumon_value queue_depth;
	struct gpumon_value queue_depth_max;
	struct gpumon_value hw_depth;
	struct gpumon_value hw_depth_max;
};

struct gpumon_bucket {
	uint64_t ge;
	uint64_t lt;
	uint64_t count;
};

struct gpumon_histogram {
	char *group; /* "drm_sched" */
	struct gpumon_value ring_id;
	char *name; /* "queue_ns", "run_ns" */
	struct gpumon_value count;
	struct gpumon_value sum;
	struct gpumon_value min; /* unknown when count is 0, and in a difference */
	struct gpumon_value max;
	struct gpumon_bucket *buckets; /* not empty, in rising order, not overlapping */
	size_t n_buckets;
};

/* Identifies a row of statistics. */
struct gpumon_label {
	char *name;
	char *value;
	bool number; /* the text is a number */
};

/**
 * struct gpumon_column - a column of a row
 * @kind: enum gpumon_column_kind: which of the following is used
 * @value: value of a counter
 * @level: level of a gauge, now or at the end of the closed period
 * @highest: highest level of a gauge in the period
 * @histogram: a histogram without group, ring and name
 */
struct gpumon_column {
	char *name;
	struct gpumon_value kind;
	struct gpumon_value value;
	struct gpumon_level level;
	struct gpumon_value highest;
	struct gpumon_histogram histogram;
};

struct gpumon_row {
	struct gpumon_value number; /* constant while the module is loaded */
	struct gpumon_label *labels;
	size_t n_labels;
	struct gpumon_column *columns;
	size_t n_columns;
};

/**
 * struct gpumon_statistics - a table of a group, as the kernel describes it
 * @by_number: index of a row plus 1, by its number
 *
 * Tables without rows are not sent.
 */
struct gpumon_statistics {
	char *group;
	char *table;
	struct gpumon_row *rows;
	size_t n_rows;
	struct gpumon_map by_number;
};

/* A field of a private type. Offset and size are unknown until it is found in BTF. */
struct gpumon_layout {
	char *group;
	char *module;
	char *type;
	char *member;
	char *reason;
	struct gpumon_value offset;
	struct gpumon_value size;
};

/* The source of an alert, as in JSON. */
#define GPUMON_ALERT_SOURCE_BPF "bpf"
#define GPUMON_ALERT_SOURCE_LOG "log"
#define GPUMON_ALERT_SOURCE_RAS "drm-ras"

/* An alert, or the last one of a kind, device and code. */
struct gpumon_alert {
	const char *source; /* GPUMON_ALERT_SOURCE_*, NULL is the module */
	struct gpumon_value time_ns;
	char *group;
	char *kind;
	char *device;
	struct gpumon_value code;
	const char *meaning; /* of a well-known code, or NULL */
	char *process;	     /* the message names it, or NULL */
	struct gpumon_value pid;
	char *message;
	struct gpumon_value count;
	struct gpumon_value lost;      /* alerts of all kinds that are in no count */
	struct gpumon_value forgotten; /* alerts of all kinds that are not kept any more */
};

/**
 * struct gpumon_cgroup - a cgroup that rows of drm_sched.usage name
 * @id: its id
 * @path: its path, NULL if it is not known
 * @container: name of its container, NULL if it is in none
 */
struct gpumon_cgroup {
	struct gpumon_value id;
	char *path;
	char *container;
};

/**
 * struct gpumon_device - a GPU or accelerator of this machine
 * @address: PCI address, as in the label "device" of tables
 * @model: what it is called, NULL if nothing says it
 * @uuid: its UUID, or the id that its driver gives, NULL if there is none
 * @vendor_id: PCI vendor
 * @device_id: PCI device
 */
struct gpumon_device {
	char *address;
	char *model;
	char *uuid;
	struct gpumon_value vendor_id;
	struct gpumon_value device_id;
};

/**
 * struct gpumon_dmem - memory of a device that the kernel charges to a cgroup
 * @container: name of the container whose own cgroup it is, or NULL
 * @cgroup: path of the cgroup; what is charged to those below it is included
 * @region: what the kernel calls the memory: "drm/0000:03:00.0/vram0"
 * @device: the device in that name, as in the label "device" of tables; NULL if it is another name
 * @bytes: charged now
 * @capacity_bytes: size of the region, unknown where the root of the hierarchy is not visible
 */
struct gpumon_dmem {
	char *container;
	char *cgroup;
	char *region;
	char *device;
	struct gpumon_value bytes;
	struct gpumon_value capacity_bytes;
};

struct gpumon_event_ring {
	struct gpumon_value enabled;
	struct gpumon_value size_kib;
	struct gpumon_value written;
	struct gpumon_value overwritten;
	struct gpumon_value delivered;
	struct gpumon_value pending;
	struct gpumon_value dropped;
};

/* Of jobs that hang or starve, 0 is off. */
struct gpumon_limits {
	struct gpumon_value hang_ms;
	struct gpumon_value starved_ms;
};

/* The reply to a reset. */
struct gpumon_period {
	struct gpumon_value closed;
	struct gpumon_value closed_since_ns;
	struct gpumon_value closed_at_ns;
};

/* Parts of a model, as a mask of what to read or what is flagged. */
#define GPUMON_PART_INFO       (1U << 0)
#define GPUMON_PART_GROUPS     (1U << 1)
#define GPUMON_PART_RINGS      (1U << 2)
#define GPUMON_PART_HISTOGRAMS (1U << 3)
#define GPUMON_PART_PROCESSES  (1U << 4)
#define GPUMON_PART_EVENT_RING (1U << 5)
#define GPUMON_PART_STATISTICS (1U << 6)
#define GPUMON_PART_LAYOUTS    (1U << 7)
#define GPUMON_PART_ALERTS     (1U << 8)
#define GPUMON_PART_ALL	       0x1ffU

/**
 * struct gpumon_model - everything that the module knew at one time
 * @parts: GPUMON_PART_* that were read
 * @inconsistent: GPUMON_PART_* that kept changing while they were read, even after retries
 * @interval_ns: time covered by a difference (gpumon_model_diff()), otherwise 0
 * @reset_between: the difference spans a reset and counts from that reset
 *
 * Initialise it with zeroes and free it with gpumon_model_free().
 */
struct gpumon_model {
	unsigned int parts;
	unsigned int inconsistent;
	uint64_t interval_ns;
	bool reset_between;
	struct gpumon_info info;
	struct gpumon_event_ring event_ring;
	struct gpumon_group *groups;
	size_t n_groups;
	struct gpumon_ring *rings;
	size_t n_rings;
	struct gpumon_histogram *histograms;
	size_t n_histograms;
	struct gpumon_process *processes;
	size_t n_processes;
	struct gpumon_statistics *statistics;
	size_t n_statistics;
	struct gpumon_layout *layouts;
	size_t n_layouts;
	struct gpumon_alert *alerts;
	size_t n_alerts;
	struct gpumon_cgroup *cgroups; /* set by gpumon_containers_resolve() */
	size_t n_cgroups;
	struct gpumon_dmem *dmem; /* likewise; those of a container or cgroup come together */
	size_t n_dmem;
	struct gpumon_device *devices; /* set by gpumon_devices_resolve() */
	size_t n_devices;
	struct gpumon_value sched_policy; /* likewise: gpumon_sched_policy_name() */
};

void gpumon_model_free(struct gpumon_model *model);

/* Clear one part (GPUMON_PART_*), for a dump that has to restart. */
void gpumon_model_clear(struct gpumon_model *model, unsigned int parts);

void gpumon_model_clear_dmem(struct gpumon_model *model);

/* Free the contents and zero it. */
void gpumon_info_clear(struct gpumon_info *info);
struct gpumon_missing_option *gpumon_info_add_missing_option(struct gpumon_info *info);
/* Is anything lost without this option (with CONFIG_)? */
bool gpumon_option_costs(const char *option);
void gpumon_group_clear(struct gpumon_group *group);
void gpumon_histogram_clear(struct gpumon_histogram *histogram);
void gpumon_row_clear(struct gpumon_row *row);

/* Append one zeroed element. Without memory the program ends: lib/memory.h. */
struct gpumon_group *gpumon_model_add_group(struct gpumon_model *model);
struct gpumon_probe *gpumon_group_add_probe(struct gpumon_group *group);
struct gpumon_ring *gpumon_model_add_ring(struct gpumon_model *model);
struct gpumon_histogram *gpumon_model_add_histogram(struct gpumon_model *model);
void gpumon_histogram_add_bucket(struct gpumon_histogram *histogram, uint64_t ge, uint64_t lt,
				 uint64_t count);
struct gpumon_process *gpumon_model_add_process(struct gpumon_model *model);
struct gpumon_statistics *gpumon_model_add_statistics(struct gpumon_model *model);
void gpumon_model_remove_statistics(struct gpumon_model *model,
				    struct gpumon_statistics *statistics);
struct gpumon_row *gpumon_statistics_add_row(struct gpumon_statistics *statistics,
					     struct gpumon_value number);
struct gpumon_label *gpumon_row_add_label(struct gpumon_row *row);
struct gpumon_column *gpumon_row_add_column(struct gpumon_row *row);
struct gpumon_layout *gpumon_model_add_layout(struct gpumon_model *model);
struct gpumon_alert *gpumon_model_add_alert(struct gpumon_model *model);
struct gpumon_cgroup *gpumon_model_add_cgroup(struct gpumon_model *model);
struct gpumon_dmem *gpumon_model_add_dmem(struct gpumon_model *model);
struct gpumon_device *gpumon_model_add_device(struct gpumon_model *model);

/* NULL if there is no such group. */
const struct gpumon_group *gpumon_model_group(const struct gpumon_model *model, const char *name);
/* It is switched off, or waits for its driver. */
static inline bool gpumon_group_is_idle(const struct gpumon_group *group)
{
	return group->state.known && (group->state.v == GPUMON_ATTACH_STATE_OFF ||
				      group->state.v == GPUMON_ATTACH_STATE_WAITING);
}

const struct gpumon_ring *gpumon_model_ring(const struct gpumon_model *model, uint64_t id);
const struct gpumon_histogram *gpumon_model_histogram(const struct gpumon_model *model,
						      uint64_t ring_id, const char *name);
struct gpumon_statistics *gpumon_model_statistics(const struct gpumon_model *model,
						  const char *group, const char *table);
/* The row with this number, or NULL. */
struct gpumon_row *gpumon_statistics_row(const struct gpumon_statistics *statistics,
					 uint64_t number);
struct gpumon_column *gpumon_row_column(const struct gpumon_row *row, const char *name);
/* Orders rows by labels, with numbers compared as numbers. For qsort() of row pointers. */
int gpumon_row_compare(const void *a, const void *b);
/* The text of a label, or NULL if the row has no such label. */
const char *gpumon_row_label(const struct gpumon_row *row, const char *name);
/* The number of a label, or 0 if the row has no such label, or it is none. */
uint64_t gpumon_row_number(const struct gpumon_row *row, const char *name);
/* True of the row of all that found no row of a ring, or of usage. */
bool gpumon_is_other(const struct gpumon_row *row);
/* True of drm_sched.usage: the time of jobs by process. */
bool gpumon_is_usage(const struct gpumon_statistics *statistics);

/**
 * gpumon_model_diff() - the difference of two readings
 * @diff: out, zeroed by the caller; free it with gpumon_model_free()
 * @before: the earlier reading
 * @after: the later one
 *
 * Counters and buckets are subtracted. States, depths, limits and names are those of @after. min
 * and max of a histogram are unknown. Rings match by id, device and name, rows by number and
 * labels. A ring, histogram, row or process that @before does not have counts from its own
 * beginning. Counts of removed processes, which a row of drm_sched.usage sums up, do not count again.
 * If the period changed in between, @after is used as it is.
 */
void gpumon_model_diff(struct gpumon_model *diff, const struct gpumon_model *before,
		       const struct gpumon_model *after);

/**
 * gpumon_histogram_percentile() - estimate a percentile from buckets
 * @histogram: may be NULL
 * @permille: 500 for p50, 990 for p99
 *
 * Finds the value of rank ceil(count * permille / 1000). The values of a bucket are assumed to be
 * evenly spread, and the result is clamped to [min, max] if these are known. The error is at most
 * the width of that bucket.
 *
 * Return: unknown if there are no values.
 */
struct gpumon_value gpumon_histogram_percentile(const struct gpumon_histogram *histogram,
						unsigned int permille);

/* "off", "waiting", "attached", …; "unknown" for a state that this program does not know. */
const char *gpumon_attach_state_name(struct gpumon_value state);
/*
 * By which rule the DRM scheduler picks the next job, a number of the kernel's: "RR", "FIFO", "FAIR";
 * NULL if it is unknown, or newer than this program.
 */
const char *gpumon_sched_policy_name(struct gpumon_value policy);
/* "tracepoint", "kprobe", "kretprobe", "unknown". */
const char *gpumon_probe_kind_name(struct gpumon_value kind);

#endif /* GPUMON_DRIVER_MODEL_H */
