/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The outputs of captures: text and pictures, and files for other programs.
 *
 * The size of output from a profile depends on its paths, that of streamed output from captures
 * depends on their length. The functions neither flush nor close the stream. The caller does that,
 * and checks for a full disk.
 *
 * All functions that write return 0, or -1 with errno set if the stream failed.
 * errno is 0 if the reason was already reported.
 */
#ifndef GPUMON_REPORT_OUTPUT_H
#define GPUMON_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile.h"
#include "capture/findings.h"
#include "lib/format.h"

/* The meaning of a frame's width. */
enum gpumon_weight {
	GPUMON_WEIGHT_GPU_NS = 0,
	GPUMON_WEIGHT_COUNT, /* GPU operations, or launches in a profile of the CPU side only */
	GPUMON_WEIGHT_CPU_NS,
	GPUMON_WEIGHT_UNTIMED, /* launches without a known duration, as uprobes see them */
	GPUMON_WEIGHT_WALL_NS,
	GPUMON_WEIGHT_IDLE_NS,
};

/* --- unified memory: names of CUPTI's counters, and the meaning of their values */

/* As CUpti_ActivityUnifiedMemoryCounterKind. 0 stands for unknown kinds. */
enum gpumon_unified_kind {
	GPUMON_UNIFIED_UNKNOWN,
	GPUMON_UNIFIED_TO_DEVICE,
	GPUMON_UNIFIED_TO_HOST,
	GPUMON_UNIFIED_CPU_FAULT, /* its value is the program counter */
	GPUMON_UNIFIED_GPU_FAULT, /* its value is their number */
	GPUMON_UNIFIED_THRASHING,
	GPUMON_UNIFIED_THROTTLING,
	GPUMON_UNIFIED_REMOTE_MAP,
	GPUMON_UNIFIED_BETWEEN_DEVICES,
	GPUMON_UNIFIED_KINDS
};

/**
 * struct gpumon_unified - sums of a kind
 * @count: number of records
 * @bytes: sum of bytes, if the kind has them
 * @faults: sum of faults
 * @ns: sum of durations; overlaps count twice
 */
struct gpumon_unified {
	uint64_t count;
	uint64_t bytes;
	uint64_t faults;
	uint64_t ns;
};

/* The kind of a record. */
enum gpumon_unified_kind gpumon_unified_kind(uint32_t kind);
/* Its name for users, and in JSON. */
const char *gpumon_unified_text(enum gpumon_unified_kind kind);
const char *gpumon_unified_key(enum gpumon_unified_kind kind);
/* True if the value is in bytes. */
bool gpumon_unified_has_bytes(enum gpumon_unified_kind kind);
/* True if it has a duration. For other kinds, CUPTI leaves the end undefined. */
bool gpumon_unified_has_end(enum gpumon_unified_kind kind);
bool gpumon_unified_is_fault(enum gpumon_unified_kind kind);

/* --- a profile with all that belongs to it */

/**
 * struct gpumon_scan_process - a process of the captures
 * @number: number as in the rows of the profile
 * @pid: pid in its own pid namespace
 * @host_pid: pid in the recorder's pid namespace, 0 if unknown
 * @rank: rank in a parallel job, ~0 if there is none
 * @host: its host; "" if unknown, also for the next two
 * @executable: path
 * @command: command with its arguments
 * @cupti_version: as from cuptiGetVersion(), 0 without CUPTI
 * @driver_version: as from cuDriverGetVersion(), 0 if unknown
 */
struct gpumon_scan_process {
	uint32_t number;
	uint32_t pid;
	uint32_t host_pid;
	uint32_t rank;
	char *host;
	char *executable;
	char *command;
	uint32_t cupti_version;
	uint32_t driver_version;
};

/* The pid that is shown. */
static inline uint32_t gpumon_scan_pid(const struct gpumon_scan_process *process)
{
	return process->host_pid ? process->host_pid : process->pid;
}

/**
 * struct gpumon_scan_row - the timeline of a stream
 * @process: as in the row of the table, also the next three
 * @gpu: number of the GPU
 * @of: that row; NULL for a scan made by hand
 * @busy_ns: per bin: time with a running operation; overlaps count once
 * @unknown_ns: per bin: time outside of the windows in which operations were recorded; NULL: none
 */
struct gpumon_scan_row {
	uint32_t process;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t gpu;
	const struct gpumon_device_row *of;
	uint64_t *busy_ns;
	uint64_t *unknown_ns;
};

/**
 * struct gpumon_scan_stream - properties of a stream
 * @priority: CUDA's priority: lower numbers come first, 0 is the default
 * @name: name given by the program, or ""
 */
struct gpumon_scan_stream {
	uint32_t process;
	uint32_t context;
	uint32_t stream;
	int32_t priority;
	char *name;
};

/**
 * struct gpumon_scan_api - an API of a process, or one of its platforms
 * @platform: "" if it has only one
 */
struct gpumon_scan_api {
	uint32_t process;
	char *name;
	char *version;
	char *platform;
};

/* The last known clock of a device, as in struct gpumon_record_clock. */
struct gpumon_scan_clock {
	uint32_t process;
	uint32_t device;
	uint32_t source;
	int64_t offset_ns;
	uint64_t error_ns;
};

/**
 * struct gpumon_scan - data that a profile lacks: processes, notes, a timeline
 * @created_ns: CLOCK_REALTIME of the beginning of the first capture, 0 if unknown
 * @ended: all captures were closed properly
 * @host: host of the first capture
 * @command: command of the first capture, "" for live processes
 * @notes: notes of the captures, each once
 * @nothing: the likeliest reason why nothing was recorded, NULL if the captures do not say it
 * @missing_notes: notes that say why something is not recorded
 * @no_gpu: a note says that the GPU is not recorded
 * @lost_records: records that could not be written
 * @totals: counts made by the processes, if @totals_known
 * @first_ns: beginning of the timeline
 * @bin_ns: length of a bin, 0 without a timeline
 * @bins: number of bins
 * @rows: devices and the busiest streams, sorted as in the table
 * @rows_left: number of devices and streams without a row
 * @streams: sorted by process, context, stream
 * @unified: activity of unified memory, by kind
 */
struct gpumon_scan {
	uint64_t created_ns;
	bool ended;
	char *host;
	char *command;
	struct gpumon_scan_process *processes;
	unsigned int process_count;
	struct gpumon_scan_api *apis;
	unsigned int api_count;
	struct gpumon_scan_clock *clocks;
	unsigned int clock_count;
	char **notes;
	unsigned int note_count;
	char *nothing;
	unsigned int missing_notes;
	bool no_gpu;
	uint64_t lost_records;
	bool totals_known;
	struct gpumon_record_totals totals;
	uint64_t first_ns;
	uint64_t bin_ns;
	unsigned int bins;
	struct gpumon_scan_row *rows;
	unsigned int row_count;
	unsigned int rows_left;
	struct gpumon_scan_stream *streams;
	unsigned int stream_count;
	struct gpumon_unified unified[GPUMON_UNIFIED_KINDS];
};

struct gpumon_frames;

void gpumon_scan_free(struct gpumon_scan *scan);

/**
 * struct gpumon_view - the contents of a profile; tests can make one by hand
 * @sampling: what was recorded of only a part, NULL if nothing
 * @has_presents: there are presents, and so frames
 * @frames: frames that begin in @range, for the report; NULL: they were not read
 * @hits: calls that uprobes saw
 * @metrics: metrics of GPUs, NULL if none were asked for
 * @losses: GPUMON_LOSS_CAUSES counts
 * @cut_paths: call paths beyond GPUMON_TREE_NODES_MAX
 * @cut_stacks: operations without the outermost callers, see gpumon_profile_cut_stacks()
 * @range: the part of the recording that it is of; NULL: all
 * @no_verdict: outputs have no verdict
 * @stalls: why kernels waited, NULL if that was not sampled
 * @scan: NULL if only the profile is known
 * @findings: what programs in kernels have gathered, of each capture that has it
 * @findings_count: number of @findings
 *
 * Tables are those of profile.h. Pointers may be NULL if their count is 0.
 */
struct gpumon_view {
	const struct gpumon_node *root;
	const struct gpumon_kernel_row *kernels;
	unsigned int kernel_count;
	const struct gpumon_device_row *devices;
	unsigned int device_count;
	const struct gpumon_range_row *ranges;
	unsigned int range_count;
	const struct gpumon_budget_row *budget;
	unsigned int budget_count;
	const struct gpumon_idle_row *idle;
	unsigned int idle_count;
	const struct gpumon_copy_sum *copies;
	const struct gpumon_stalls *stalls;
	const struct gpumon_rank_row *ranks;
	unsigned int rank_count;
	const struct gpumon_gap *gaps;
	unsigned int gap_count;
	const struct gpumon_operation *operations;
	unsigned int operation_count;
	const struct gpumon_distribution *latency;
	const struct gpumon_sampling *sampling;
	const struct gpumon_correlate_counts *counts;
	bool has_presents;
	const struct gpumon_frames *frames;
	uint64_t hits;
	const struct gpumon_metrics *metrics;
	const uint64_t *losses;
	const struct gpumon_capture_damage *damage;
	uint64_t cut_paths;
	uint64_t cut_stacks;
	uint64_t first_ns;
	uint64_t last_ns;
	const struct gpumon_time_range *range;
	bool no_verdict;
	const struct gpumon_scan *scan;
	struct gpumon_findings *const *findings;
	unsigned int findings_count;
};

/* The default weight of paths: GPU time, or otherwise launches, by number or by time. */
enum gpumon_weight gpumon_view_weight(const struct gpumon_view *view);

void gpumon_view_of(const struct gpumon_profile *profile, struct gpumon_view *view);

/* --- from a profile */

/**
 * gpumon_output_folded - write folded stacks for flamegraph.pl and others
 * @out: stream
 * @root: root of the tree; its own name is omitted
 * @weight: meaning of the number at the end of a line
 * @lines: names have the lines of calls behind them
 *
 * "main (train.cc:12);train;cudaLaunchKernel;gemm 1234", one line for each path with a weight of its
 * own. In names, ';' becomes ':' and control characters become blanks.
 */
int gpumon_output_folded(FILE *out, const struct gpumon_node *root, enum gpumon_weight weight,
			 bool lines);

/**
 * struct gpumon_flamegraph_options - options of a flame graph
 * @weight: meaning of widths
 * @title: NULL: depends on the weight, such as "GPU time by call path"
 * @subtitle: recorded program and the like, may be NULL
 * @sampling: one line about estimates, NULL if there are none
 * @losses: one line about missing data, NULL if there is none
 * @icicle: the root is on top
 */
struct gpumon_flamegraph_options {
	enum gpumon_weight weight;
	const char *title;
	const char *subtitle;
	const char *sampling;
	const char *losses;
	bool icicle;
};

/**
 * gpumon_output_flamegraph - write a self-contained SVG with zoom, search and hover
 * @out: stream
 * @root: root of the tree
 * @options: options
 */
int gpumon_output_flamegraph(FILE *out, const struct gpumon_node *root,
			     const struct gpumon_flamegraph_options *options);

/* The same with title lines made from the view. */
int gpumon_output_flamegraph_view(FILE *out, const struct gpumon_view *view,
				  enum gpumon_weight weight, bool icicle);

#define GPUMON_SUMMARY_ROWS_MAX 1000

/**
 * struct gpumon_summary_options - options of the summary
 * @rows: maximum number of rows of each table, up to GPUMON_SUMMARY_ROWS_MAX; 0: 10, or 5 of those
 *        about wall and idle time
 */
struct gpumon_summary_options {
	unsigned int rows;
};

/* The width is term->columns, 0 for a pipe. No line is longer. */
int gpumon_output_summary(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view,
			  const struct gpumon_summary_options *options);

/* Documentation/reference/correlate-json.md. */
int gpumon_output_json(FILE *out, const struct gpumon_view *view);

/* profile.proto, gzipped, for pprof and other programs. */
int gpumon_output_pprof(FILE *out, const struct gpumon_view *view);

/**
 * struct gpumon_profile_period - a part of a long time
 * @time_ns: its beginning, CLOCK_REALTIME
 * @duration_ns: its length
 * @comment: what else is to be known, or NULL
 */
struct gpumon_profile_period {
	uint64_t time_ns;
	uint64_t duration_ns;
	const char *comment;
};

/*
 * The same for a period, for programs that collect profiles: samples have the labels host, pid and
 * rank instead of a level for processes, which the tree of @view must have.
 */
int gpumon_output_pprof_period(FILE *out, const struct gpumon_view *view,
			       const struct gpumon_profile_period *period);

/* A page that needs no network. */
int gpumon_output_report(FILE *out, const struct gpumon_view *view);

/* --- two profiles */

struct gpumon_diff;

/**
 * gpumon_diff_new - compare two profiles
 * @before: earlier profile
 * @after: later profile
 *
 * Both views must outlive the comparison.
 */
struct gpumon_diff *gpumon_diff_new(const struct gpumon_view *before,
				    const struct gpumon_view *after);
int gpumon_diff_print(FILE *out, const struct gpumon_term *term, const struct gpumon_diff *diff,
		      const struct gpumon_summary_options *options);
int gpumon_diff_json(FILE *out, const struct gpumon_diff *diff);
/* Widths are those of @after. Red frames got slower, blue ones faster. */
int gpumon_diff_flamegraph(FILE *out, const struct gpumon_diff *diff);
void gpumon_diff_free(struct gpumon_diff *diff);

/* --- from captures, by the length of what was recorded */

/* JSON in the trace format of chrome://tracing. @options are those of call paths. */
int gpumon_output_chrome(FILE *out, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options);

/* Perfetto's own format, protobuf. */
int gpumon_output_perfetto(FILE *out, const char *const *paths, unsigned int count,
			   const struct gpumon_profile_options *options);

/* False if the program was built without SQLite. */
bool gpumon_output_has_sqlite(void);

/* Tables for SQL, Documentation/reference/sqlite.md. @out: an empty file that can be read, too */
int gpumon_output_sqlite(FILE *out, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options);

#endif /* GPUMON_REPORT_OUTPUT_H */
