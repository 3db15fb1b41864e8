/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The data behind all outputs: a tree of call paths with GPU time at its nodes, and tables by
 * kernel, device and stream. It is built from a stream of joined operations, and its size depends
 * on the paths, not on the length of the recording.
 */
#ifndef GPUMON_REPORT_PROFILE_H
#define GPUMON_REPORT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "budget.h"
#include "capture/capture.h"
#include "capture/correlate.h"
#include "capture/windows.h"
#include "collectives.h"
#include "metrics.h"
#include "stalls.h"
#include "time_range.h"

/* What a node of the tree is. Flame graphs are coloured by it. */
enum gpumon_node_kind {
	GPUMON_NODE_ROOT = 0,
	GPUMON_NODE_PROCESS,
	GPUMON_NODE_THREAD,
	GPUMON_NODE_FUNCTION, /* machine code of the program */
	GPUMON_NODE_PYTHON,
	GPUMON_NODE_API,    /* cudaLaunchKernel and so on */
	GPUMON_NODE_DEVICE, /* optional, "[GPU0]" */
	GPUMON_NODE_STREAM, /* optional */
	GPUMON_NODE_GRAPH,  /* optional */
	GPUMON_NODE_KERNEL, /* leaves: the GPU operations */
	GPUMON_NODE_COPY,
	GPUMON_NODE_SET,
	GPUMON_NODE_WHOLE_GRAPH,
	GPUMON_NODE_REASON, /* "[kernel without stack]" and so on */
	GPUMON_NODE_STATE,  /* what a thread did outside of calls: "[between calls]" and so on */
	GPUMON_NODE_STALL,  /* only in pictures: what a kernel's warps did, a part of its time */
	GPUMON_NODE_KINDS
};

/**
 * struct gpumon_node - a node of the tree
 * @name: readable name; unique below a parent together with @kind and @line
 * @module: its library or file, or ""
 * @line: "file:line" of the call that the path goes through, or "" if unknown; with the option
 *        @functions, of calls from several lines only the file, or "" if these are several
 * @kind: kind of node
 * @count: GPU operations at this node, not below it
 * @gpu_ns: GPU time of these
 * @cpu_ns: duration of their launch calls
 * @process: of a process: its number; otherwise 0
 * @id: number that an output gives it
 * @left_count: estimate of those that were left out: not recorded, or recorded without a path
 * @left_ns: GPU time of these
 * @wall_ns: wall time of threads at this node: in the call, or in the state
 * @wall_left_ns: estimate of that of which no stack was taken
 * @idle_ns: time in which a GPU was idle and its next launching thread was at this node
 * @idle_count: number of these times
 * @idle_longest_ns: the longest of them
 * @idle_long_ns: of @idle_ns: those of GPUMON_IDLE_LONG_NS and more
 * @wait_ns: of a collective: the part of @gpu_ns in which it waited for other ranks
 * @late_ns: of the rank that others waited for most: by how much longer its GPU was idle for this node
 *	     before these collectives than that of the rank that began them first
 * @stalls: of a kernel with one call path in its process, where it was sampled; otherwise NULL
 * @parent: NULL for the root
 * @child: first child, sorted as by gpumon_node_order()
 * @next: next child of its parent
 */
struct gpumon_node {
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
	uint64_t count;
	uint64_t gpu_ns;
	uint64_t cpu_ns;
	uint32_t process;
	uint32_t id;
	uint64_t left_count;
	uint64_t left_ns;
	uint64_t wall_ns;
	uint64_t wall_left_ns;
	uint64_t idle_ns;
	uint64_t idle_count;
	uint64_t idle_longest_ns;
	uint64_t idle_long_ns;
	uint64_t wait_ns;
	uint64_t late_ns;
	const struct gpumon_node_stalls *stalls;
	struct gpumon_node *parent;
	struct gpumon_node *child;
	struct gpumon_node *next;
};

/* The order of siblings: by name, kind, file and line. */
int gpumon_node_order(const struct gpumon_node *a, const struct gpumon_node *b);

/**
 * gpumon_line_file - split "file:line"
 * @line: line of a node
 * @number: out: its number, 0 if it has none
 *
 * Return: length of the file's name.
 */
size_t gpumon_line_file(const char *line, unsigned long *number);

/* A distribution of numbers. Quantiles come from log-linear buckets, exact to 1/16. */
struct gpumon_distribution;
uint64_t gpumon_distribution_count(const struct gpumon_distribution *distribution);
uint64_t gpumon_distribution_sum(const struct gpumon_distribution *distribution);
uint64_t gpumon_distribution_min(const struct gpumon_distribution *distribution);
uint64_t gpumon_distribution_max(const struct gpumon_distribution *distribution);
/* @q: 0 to 1. Returns the upper end of its bucket, at most the maximum; 0 if empty. */
uint64_t gpumon_distribution_quantile(const struct gpumon_distribution *distribution, double q);

/**
 * struct gpumon_kernel_row - a row of the table by kernel
 * @name: demangled name
 * @mangled: name in the capture
 * @count: number of executions
 * @gpu_ns: total GPU time
 * @left_count: estimate of executions that are not recorded
 * @left_ns: GPU time of these
 * @collective: a kernel of NCCL or RCCL, whose time is communication and waiting
 * @matched: those of @count that are matched with kernels of other ranks
 * @wait_ns: the part of the time of these in which they waited for other ranks
 * @not_split: those of @count in which not each rank waits for each other one
 * @duration: distribution of durations
 * @latency: distribution of the time from the beginning of the launch call to the start on the GPU,
 * of executions with a known launch
 * @blocks: of a kernel: the largest grid, in blocks; 0 if unknown
 * @threads: and the largest block, in threads
 * @metrics: samples of the GPU that lie in its executions, NULL if none does
 */
struct gpumon_kernel_row {
	const char *name;
	const char *mangled;
	enum gpumon_work_kind kind;
	uint64_t count;
	uint64_t gpu_ns;
	uint64_t left_count;
	uint64_t left_ns;
	bool collective;
	uint64_t matched;
	uint64_t wait_ns;
	uint64_t not_split;
	const struct gpumon_distribution *duration;
	const struct gpumon_distribution *latency;
	uint64_t blocks;
	uint64_t threads;
	const struct gpumon_kernel_metrics *metrics;
};

/* Room for the text of a UUID. */
#define GPUMON_UUID_TEXT 40

/**
 * struct gpumon_device_row - a row of the table by device, or by stream
 *
 * A GPU that several processes (or APIs of one) use has a row as a whole, followed by one for each
 * of them with its streams.
 *
 * @host: its host
 * @name: name of the device
 * @uuid: UUID as text
 * @type: enum gpumon_device_type
 * @process: number of the process, GPUMON_PROCESS_SEVERAL in the row of a GPU that several use
 * @device: id in that process; of a GPU that several use, in the first of them
 * @context: id of a stream's; of a GPU that several use, @gpu
 * @stream: id, ~0 in the row for all of the device's streams
 * @elapsed_ns: time in which operations were recorded
 * @busy_ns: time with at least one running operation: overlaps count once
 * @first_ns: beginning of the first operation
 * @last_ns: end of the last operation
 * @idle_longest_ns: longest gap in between, within the time in which operations were recorded
 * @missed_ns: duration of operations that arrived too late for @busy_ns; 0 unless a capture is far
 *             out of order
 * @gpu: number of the GPU that it is, from 0
 * @users: of a GPU that several use: how many rows they have; otherwise 0
 * @part: it is one of several users of the GPU, or a stream of one
 * @text: "GPU0", with a part of the UUID where two GPUs have that number; NULL: by number
 * @bins: @busy_ns by parts of the time, if asked for
 */
struct gpumon_device_row {
	const char *host;
	const char *name;
	char uuid[GPUMON_UUID_TEXT];
	uint32_t process;
	uint32_t type;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint64_t count;
	uint64_t gpu_ns;
	uint64_t elapsed_ns;
	uint64_t busy_ns;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t idle_longest_ns;
	uint64_t missed_ns;
	uint32_t gpu;
	uint32_t users;
	bool part;
	const char *text;
	struct gpumon_bins bins;
};

#define GPUMON_PROCESS_SEVERAL 0xfffffffeu

#define GPUMON_DEVICE_TEXT 40

/* "GPU0", "OpenCL CPU0": a device by its id and its enum gpumon_device_type. */
const char *gpumon_device_text(char text[GPUMON_DEVICE_TEXT], uint32_t device, uint32_t type);

/* The UUID of a device, or of its MIG instance; NULL if it is not known. */
const char *gpumon_device_uuid(char text[GPUMON_UUID_TEXT],
			       const struct gpumon_record_device *device);

/* "gpu", "cpu": enum gpumon_device_type in JSON. */
const char *gpumon_device_type_key(uint32_t type);

/* "OpenCL" of an id of a device, context or stream. */
const char *gpumon_api_name(uint32_t id);

/* Ways of a copy between memory of the host and of a device. */
enum gpumon_copy_way {
	GPUMON_COPY_PAGEABLE_IN = 0, /* to the device, from memory that is not pinned */
	GPUMON_COPY_PAGEABLE_OUT,
	GPUMON_COPY_PINNED_IN,
	GPUMON_COPY_PINNED_OUT,
	GPUMON_COPY_ELSEWHERE, /* within a device, or between two */
	GPUMON_COPY_WAYS
};

/* Sums over the copies of a way. */
struct gpumon_copy_sum {
	uint64_t count;
	uint64_t gpu_ns;
	uint64_t bytes;
};

/* An NVTX range by text and domain: operations launched while it was open on the thread. */
struct gpumon_range_row {
	const char *domain;
	const char *text;
	uint64_t count;	 /* number of ranges */
	uint64_t cpu_ns; /* while the ranges were open */
	uint64_t works;
	uint64_t gpu_ns;
	uint64_t left_works; /* estimate of operations that are not recorded */
	uint64_t left_ns;
};

/**
 * struct gpumon_sampling - what was recorded of only a part, in all processes together
 * @windows: windows in which operations were recorded, where that was done in windows
 * @windows_ns: their length
 * @paused: between some of them not even launches were recorded
 * @recorded: launches with operations in processes with windows
 * @left_out: launches outside of windows
 * @no_sample: those of @left_out of which no similar one was recorded: not part of estimates
 * @sampled: operations whose call path was sampled, where that was done
 * @unsampled: operations whose call path was left out
 * @no_path: those of @unsampled of whose kernel no other call path was sampled
 */
struct gpumon_sampling {
	uint64_t windows;
	uint64_t windows_ns;
	bool paused;
	uint64_t recorded;
	uint64_t left_out;
	uint64_t no_sample;
	uint64_t sampled;
	uint64_t unsampled;
	uint64_t no_path;
};

/**
 * struct gpumon_gap - a time in which a GPU was idle, with the activity of the launching threads
 * @process: as in the row of the GPU: GPUMON_PROCESS_SEVERAL if several use it
 * @type: enum gpumon_device_type
 * @doing: longest blocking call or range of that time, "" if unknown
 * @doer: number of the process that did it
 * @gpu: number of the GPU
 */
struct gpumon_gap {
	uint32_t process;
	uint32_t device;
	uint32_t type;
	uint64_t start_ns;
	uint64_t end_ns;
	const char *doing;
	uint32_t doer;
	uint32_t gpu;
};

/**
 * struct gpumon_operation - a GPU operation that is one of the longest of its part of the time
 * @name: as in the table by kernel, also @kind
 */
struct gpumon_operation {
	uint32_t process;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint64_t start_ns;
	uint64_t end_ns;
	enum gpumon_work_kind kind;
	const char *name;
};

/* Maximum number of parts of the time in a timeline. */
#define GPUMON_BINS_MAX (1u << 16)

struct gpumon_profile_options {
	bool devices;	     /* add a level "[GPU0]" below the API call */
	bool streams;	     /* add "stream 7" */
	bool graphs;	     /* add "graph 3" */
	bool threads;	     /* add a level for each thread */
	bool processes;	     /* add one for each process; always on with several */
	bool join_processes; /* it is not on with several unless asked for: their names have pids */
	bool cpu_only;	     /* call paths by launches and the duration of their calls */
	bool gpu_only;	     /* kernels without call paths */
	bool functions;	     /* join calls from different lines of a function */
	bool no_inline;
	bool interpreter;	 /* show the interpreter's own functions besides those of Python */
	const char *symbol_root; /* prefix of code paths, see gpumon_symbols_new(); may be NULL */
	struct gpumon_asked_range asked; /* which part of the time: gives @from_ns and @until_ns */
	uint64_t from_ns;		 /* operations that began, and times, since then */
	uint64_t until_ns;		 /* and before then; 0: no limit */
	bool by_end; /* operations that ended then: one that still runs is in a later period */
	bool metric_samples; /* keep what ran in samples of metrics, for gpumon_metrics_row() */
	unsigned int bins;   /* parts of the time, for a timeline of devices and streams; 0: none */
};

struct gpumon_profile;
struct gpumon_scan;

/**
 * gpumon_profile_load - read a capture, or several of one job
 * @paths: directories
 * @count: number of @paths
 * @options: options of the tree
 * @profile: out
 *
 * Processes are numbered through all captures in order: those of the second one follow the
 * gpumon_capture_processes() of the first one. A capture that is still being written is read up to
 * its state at the start.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_profile_load(const char *const *paths, unsigned int count,
			const struct gpumon_profile_options *options,
			struct gpumon_profile **profile);

const struct gpumon_node *gpumon_profile_root(const struct gpumon_profile *profile);
/* Sorted by GPU time, the longest first. */
const struct gpumon_kernel_row *gpumon_profile_kernels(const struct gpumon_profile *profile,
						       unsigned int *count);
const struct gpumon_device_row *gpumon_profile_devices(const struct gpumon_profile *profile,
						       unsigned int *count);
const struct gpumon_range_row *gpumon_profile_ranges(const struct gpumon_profile *profile,
						     unsigned int *count);
/* Copies by enum gpumon_copy_way. */
const struct gpumon_copy_sum *gpumon_profile_copies(const struct gpumon_profile *profile);
/* Why kernels waited; NULL where that was not sampled. */
const struct gpumon_stalls *gpumon_profile_stalls(const struct gpumon_profile *profile);
/* Ranks that ran collectives, by number. */
const struct gpumon_rank_row *gpumon_profile_ranks(const struct gpumon_profile *profile,
						   unsigned int *count);
/* Threads that call a GPU API, the one with most launches first. */
const struct gpumon_budget_row *gpumon_profile_budget(const struct gpumon_profile *profile,
						      unsigned int *count);
/* Idle times by GPU. */
const struct gpumon_idle_row *gpumon_profile_idle(const struct gpumon_profile *profile,
						  unsigned int *count);
/* The longest gaps, the longest first. */
const struct gpumon_gap *gpumon_profile_gaps(const struct gpumon_profile *profile,
					     unsigned int *count);
/* With a timeline: the longest operations of each part of the time on each GPU, by their start. */
const struct gpumon_operation *gpumon_profile_operations(const struct gpumon_profile *profile,
							 unsigned int *count);
const struct gpumon_distribution *gpumon_profile_latency(const struct gpumon_profile *profile);
const struct gpumon_sampling *gpumon_profile_sampling(const struct gpumon_profile *profile);
const struct gpumon_correlate_counts *gpumon_profile_counts(const struct gpumon_profile *profile);
/* Metrics of GPUs; NULL if none were asked for. */
const struct gpumon_metrics *gpumon_profile_metrics(const struct gpumon_profile *profile);
/* Whether there are presents, for gpumon_frames_read(). */
bool gpumon_profile_has_presents(const struct gpumon_profile *profile);
/* Calls that uprobes saw. */
uint64_t gpumon_profile_hits(const struct gpumon_profile *profile);
/* Counts by enum gpumon_loss. */
const uint64_t *gpumon_profile_losses(const struct gpumon_profile *profile);
const struct gpumon_capture_damage *gpumon_profile_damage(const struct gpumon_profile *profile);
/* Maximum number of nodes of a tree. Call paths beyond it are merged into one. */
#define GPUMON_TREE_NODES_MAX (1u << 20)
/* Number of merged paths. */
uint64_t gpumon_profile_cut_paths(const struct gpumon_profile *profile);
/*
 * Number of operations whose path lacks its outermost callers: the stack was deeper than --stack-depth, or
 * has a frame without a rule how to go on. Without operations, of calls.
 */
uint64_t gpumon_profile_cut_stacks(const struct gpumon_profile *profile);
/* First beginning and last end of all activity that is shown. */
void gpumon_profile_times(const struct gpumon_profile *profile, uint64_t *first_ns,
			  uint64_t *last_ns);
/* The part of the recording that is shown; NULL: all. */
const struct gpumon_time_range *gpumon_profile_range(const struct gpumon_profile *profile);
/* Length of a part of the time, 0 without a timeline. */
uint64_t gpumon_profile_bin_ns(const struct gpumon_profile *profile);
/* What the captures say beside it, as long as the profile. */
const struct gpumon_scan *gpumon_profile_scan(const struct gpumon_profile *profile);
/* In which operations of a device or stream were recorded; of a GPU that several use, of at least one. */
const struct gpumon_windows *gpumon_profile_windows(const struct gpumon_profile *profile,
						    const struct gpumon_device_row *row);
void gpumon_profile_free(struct gpumon_profile *profile);

#endif /* GPUMON_REPORT_PROFILE_H */
