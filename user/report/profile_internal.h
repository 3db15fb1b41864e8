/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The inside of a profile, only for profile*.c. */
#ifndef GPUMON_REPORT_PROFILE_INTERNAL_H
#define GPUMON_REPORT_PROFILE_INTERNAL_H

#include "budget_engine.h"
#include "captures.h"
#include "distribution.h"
#include "lib/map.h"
#include "metric_sets.h"
#include "capture/gpu.h"
#include "profile.h"
#include "profile_busy.h"
#include "profile_longest.h"
#include "profile_ranges.h"
#include "profile_tree.h"
#include "scale.h"

/* Maximum number of idle gaps. */
#define GPUMON_GAPS_MAX 100

/* A row of the table by kernel under construction. */
struct gpumon_kernel_growing {
	struct gpumon_kernel_row row; /* without distributions */
	struct gpumon_distribution duration;
	struct gpumon_distribution latency;
	struct gpumon_kernel_metrics *metrics;
};

/* A row of a device or of one of its streams, or of a GPU that several use. */
struct gpumon_device_growing {
	struct gpumon_device_row row;
	struct gpumon_busy busy;
	struct gpumon_bins bins;
	struct gpumon_profile *profile;
};

/**
 * struct gpumon_gpu_growing - a GPU
 * @identity: that of its first user
 * @users: devices of processes that it is, sorted by process and number
 * @whole: if there are several: the row of all of them; its busy time needs a pass of its own
 * @any: if there are several: when at least one of them was recorded
 * @recorded: if there are several: when all of them were
 * @text: "GPU0"
 */
struct gpumon_gpu_growing {
	struct gpumon_gpu identity;
	struct gpumon_device_growing **users;
	uint32_t user_count;
	uint32_t users_room;
	struct gpumon_device_growing whole;
	struct gpumon_windows any;
	struct gpumon_windows recorded;
	const char *text;
};

/* A part of an idle time, and what the thread that launched next did. */
struct gpumon_rank_idle {
	uint64_t start_ns;
	uint64_t end_ns;
	struct gpumon_node *node;
	uint32_t process;
	uint32_t gpu;
};

/* What a thread did during a gap: the longest call and the longest range. */
struct gpumon_gap_doing {
	const char *call;
	uint64_t call_ns;
	uint32_t caller; /* numbers of processes */
	uint32_t range_process;
	const char *range;
	uint64_t range_ns;
	uint64_t range_start_ns;
};

/**
 * struct gpumon_metrics_growing - metrics of GPUs, see profile_metrics.c
 * @sets: which metrics samples have
 * @source_keys: process and device to its place in @sources
 * @gpus: GPUs with samples
 * @slot_count: number of samples
 * @steps: how often an operation was looked at in a sample
 * @of: what outputs get
 */
struct gpumon_metrics_growing {
	struct gpumon_metric_sets sets;
	struct gpumon_keys source_keys;
	struct gpumon_metric_source *sources;
	uint32_t source_room;
	struct gpumon_metric_gpu *gpus;
	uint32_t gpu_count;
	uint32_t gpu_room;
	uint32_t slot_count;
	uint64_t steps;
	struct gpumon_metrics of;
};

/**
 * struct gpumon_profile - a profile
 * @windows: per process, once the captures are read
 * @launched_ids: process and string id of the kernels of launches without operations, to number in @launched
 * @launched: their names with the reason
 * @kernel_ids: process and string id to number in @kernels, to demangle names only once
 * @kernel_keys: mangled name and kind to number in @kernels
 * @kernel_count: rows in @kernel_rows
 * @range_count: rows of @ranges that are shown
 * @device_keys: process, device, context, stream to number in @devices
 * @gpus: the GPUs that these devices are, once the definitions are known
 * @device_count: rows in @device_rows
 * @launchers: process, device and tid: threads that launched work on a device
 * @cut_stacks: operations, or calls where there are none, whose stack has lost its outermost frames
 * @first_ns: first beginning of all activity, shown or not
 * @last_ns: its last end
 * @from_ns: the same of the part that is shown
 * @until_ns: its end
 * @range: what was asked for, if it was
 * @gap_spans: the time that the gaps cover, sorted, once they are known
 * @scan: what the captures say beside it
 * @bin_ns: length of a part of the time, 0 without a timeline
 * @ahead: reads NVTX ranges before the operations in them
 */
struct gpumon_profile {
	struct gpumon_profile_options options;
	struct gpumon_pool pool;
	struct gpumon_captures captures;
	struct gpumon_scan_reader *scan_reader;
	struct gpumon_scan *scan;
	struct gpumon_tree tree;
	struct gpumon_ranges ranges;
	struct gpumon_scale scale;
	struct gpumon_budget budget;
	struct gpumon_collectives collectives;
	struct gpumon_rank_idle *rank_idles;
	uint32_t rank_idle_used;
	uint32_t rank_idle_room;
	struct gpumon_stalls_reader *stalls_reader;
	const struct gpumon_stalls *stalls;
	struct gpumon_copy_sum copies[GPUMON_COPY_WAYS];
	struct gpumon_longest longest;
	struct gpumon_metrics_growing metrics;
	struct gpumon_sampling sampling;
	struct gpumon_ranges_ahead ahead;
	struct gpumon_windows *windows;
	uint32_t window_count;
	struct gpumon_correlate *correlate;
	struct gpumon_correlate_counts counts;
	bool has_presents;
	uint64_t hits;
	struct gpumon_capture_damage damage;
	uint64_t losses[GPUMON_LOSS_CAUSES];
	struct gpumon_keys launched_ids;
	const char **launched;
	uint32_t launched_room;
	struct gpumon_keys kernel_ids;
	uint32_t *kernel_of_id;
	uint32_t kernel_of_id_room;
	struct gpumon_keys kernel_keys;
	struct gpumon_kernel_growing *kernels;
	uint32_t kernels_room;
	struct gpumon_kernel_row *kernel_rows;
	uint32_t kernel_count;
	uint32_t range_count;
	struct gpumon_keys device_keys;
	struct gpumon_device_growing **devices;
	uint32_t devices_room;
	struct gpumon_gpu_growing *gpus;
	uint32_t gpu_count;
	uint32_t gpus_room;
	struct gpumon_device_row *device_rows;
	uint32_t device_count;
	struct gpumon_keys launchers;
	struct gpumon_gap gaps[GPUMON_GAPS_MAX];
	struct gpumon_gap_doing doing[GPUMON_GAPS_MAX];
	unsigned int gap_count;
	struct gpumon_window gap_spans[GPUMON_GAPS_MAX];
	unsigned int gap_span_count;
	uint64_t gap_shortest_ns; /* shortest kept gap, once @gaps is full */
	struct gpumon_distribution latency;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t from_ns;
	uint64_t until_ns;
	struct gpumon_time_range range;
	uint64_t bin_ns;
	uint64_t cut_stacks;
};

/* When activity of a process was. False of a record that has none, such as a definition. */
bool gpumon_activity_times(const struct gpumon_record *record, uint64_t *start_ns,
			   uint64_t *end_ns);
/* Whether a moment is in the part of the time that is shown. */
static inline bool gpumon_profile_within(const struct gpumon_profile *profile, uint64_t time_ns)
{
	return gpumon_time_within(profile->options.from_ns, profile->options.until_ns, time_ns);
}

/* The part of a time that is shown. False if nothing is. */
static inline bool gpumon_profile_clip(const struct gpumon_profile *profile, uint64_t *start_ns,
				       uint64_t *end_ns)
{
	return gpumon_time_clip(profile->options.from_ns, profile->options.until_ns, start_ns,
				end_ns);
}

static inline bool gpumon_profile_is_part(const struct gpumon_profile *profile)
{
	return profile->options.from_ns || profile->options.until_ns;
}

/* "memcpy HtoD" */
const char *gpumon_copy_name(const struct gpumon_record_copy *copy);

#define GPUMON_GRAPH_NAME 64
/* "graph 5" */
const char *gpumon_graph_name(char name[GPUMON_GRAPH_NAME], uint32_t graph);

/* profile_rows.c: rows of kernels and ranges in order, without those of which nothing is shown. */
void gpumon_profile_rows(struct gpumon_profile *profile);

/* scale.c: enter the estimates of what was left out. */
void gpumon_profile_scale(struct gpumon_profile *profile);

/* profile_devices.c: the two passes for busy times, and gaps. */
void gpumon_devices_look(struct gpumon_profile *profile, uint32_t number,
			 const struct gpumon_record *record);
void gpumon_devices_turn(struct gpumon_profile *profile);
void gpumon_devices_add(struct gpumon_profile *profile, uint32_t number,
			const struct gpumon_record *record);
void gpumon_devices_end(struct gpumon_profile *profile);
/* An operation that is shown. */
void gpumon_devices_count(struct gpumon_profile *profile, uint32_t process,
			  const struct gpumon_work_fields *fields, uint64_t gpu_ns);
/* The row of a device in a process; NULL if nothing ran on it. */
struct gpumon_device_growing *gpumon_devices_find(struct gpumon_profile *profile, uint32_t process,
						  uint32_t device);
void gpumon_gpus_clear(struct gpumon_profile *profile);
/* What was done in the gaps: a third pass, once the gaps are known. */
void gpumon_gaps_read(struct gpumon_profile *profile);

/* profile_ranks.c: collectives, and a further pass for what the last rank did. */
void gpumon_ranks_add(struct gpumon_profile *profile, const struct gpumon_work *work,
		      struct gpumon_node *leaf, uint32_t row, bool shown);
void gpumon_ranks_begin(struct gpumon_profile *profile);
int gpumon_ranks_read(struct gpumon_profile *profile);
/* Free all but the rows. */
void gpumon_ranks_clear(struct gpumon_profile *profile);

/* profile_metrics.c: in the first pass sets and samples, in the second one operations, then the values. */
void gpumon_metrics_look(struct gpumon_profile *profile, uint32_t number,
			 const struct gpumon_record *record);
void gpumon_metrics_turn(struct gpumon_profile *profile);
void gpumon_metrics_work(struct gpumon_profile *profile, uint32_t process, uint32_t row,
			 const struct gpumon_work_fields *fields);
/* A time in which a process had something running on a device: each moment once. */
void gpumon_metrics_busy(struct gpumon_profile *profile, uint32_t process, uint32_t device,
			 uint64_t start_ns, uint64_t end_ns);
int gpumon_metrics_read(struct gpumon_profile *profile);
/* With the option @metric_samples: what ran alone in a sample, NULL: nothing did. */
const struct gpumon_kernel_row *gpumon_metrics_row(struct gpumon_profile *profile, uint32_t process,
						   uint32_t device, uint64_t start_ns,
						   uint64_t end_ns);
/* Free all but what outputs get. */
void gpumon_metrics_free_samples(struct gpumon_profile *profile);
void gpumon_metrics_clear(struct gpumon_profile *profile);

#endif /* GPUMON_REPORT_PROFILE_INTERNAL_H */
