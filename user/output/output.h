/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What captures become: text and pictures for people, files for other programs.
 *
 * Functions that get a profile write what depends on its paths; those that get
 * captures stream what depends on their length. None closes the stream or
 * flushes it: the caller does, and looks whether the disk was full.
 *
 * Return of all that write: 0, or -1 without memory or where the stream said
 * no, with errno set; errno is 0 where the reason was told already.
 */
#ifndef GPUMON_OUTPUT_H
#define GPUMON_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "correlate/profile/profile.h"
#include "term/format.h"
#include "unified.h"

/* What the width of a frame means. */
enum gpumon_weight {
	GPUMON_WEIGHT_GPU_NS = 0,
	GPUMON_WEIGHT_COUNT, /* GPU operations, or launches of a profile of the CPU side only */
	GPUMON_WEIGHT_CPU_NS,
	GPUMON_WEIGHT_UNTIMED, /* launches of which no time is known, as uprobes see them */
};

/* --- a profile with all that belongs to it */

/**
 * struct gpumon_scan_process - a process of the captures
 * @number: as in the rows of the profile
 * @pid: in its own pid namespace
 * @host_pid: in the recorder's, 0 where not known
 * @rank: of a parallel job, ~0 where there is none
 * @host: where it ran, "" where not known; as the others
 * @executable: path
 * @command: with its arguments
 * @cupti_version: as cuptiGetVersion, 0 where there is none
 * @driver_version: as cuDriverGetVersion, 0 where not known
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

/**
 * struct gpumon_scan_row - what a stream did when
 * @stream: id, ~0 of all of a device
 * @busy_ns: by bin: time in which something of it ran, overlapping work counts once
 */
struct gpumon_scan_row {
	uint32_t process;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint64_t *busy_ns;
};

/**
 * struct gpumon_scan_stream - what is known of a stream beside its work
 * @priority: as CUDA has it: the lower the number, the sooner; 0 is the default
 * @name: that the program gave it, "" for none
 */
struct gpumon_scan_stream {
	uint32_t process;
	uint32_t context;
	uint32_t stream;
	int32_t priority;
	char *name;
};

/**
 * struct gpumon_scan - what a profile does not have: who was recorded, notes, a timeline
 * @created_ns: CLOCK_REALTIME when the first capture began, 0 where not known
 * @ended: all captures were closed, none was cut off
 * @host: of the first capture
 * @command: of the first capture, "" of live processes
 * @notes: of the captures, each once
 * @missing_notes: of them, those that say why something is not recorded
 * @no_gpu: one of them says that of the GPU
 * @lost_records: that did not get onto the disk
 * @totals: as the processes counted themselves, with @totals_known
 * @first_ns: begin of the timeline
 * @bin_ns: length of a bin, 0 without a timeline
 * @bins: how many
 * @rows: sorted by process, device, stream; of devices, and of the streams that were busy longest
 * @rows_left: streams, and devices, that have no row
 * @streams: sorted by process, context, stream
 * @unified: of unified memory, by kind
 */
struct gpumon_scan {
	uint64_t created_ns;
	bool ended;
	char *host;
	char *command;
	struct gpumon_scan_process *processes;
	unsigned int process_count;
	char **notes;
	unsigned int note_count;
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

/**
 * gpumon_scan_load - read captures once more, for what their profile does not have
 * @paths: directories, as for gpumon_profile_load()
 * @count: how many
 * @profile: of them, for the times; NULL: no timeline
 * @bins: of the timeline, 0 for none
 * @scan: set to it
 *
 * Return: 0, or -1 as all of this header.
 */
int gpumon_scan_load(const char *const *paths, unsigned int count,
		     const struct gpumon_profile *profile, unsigned int bins,
		     struct gpumon_scan **scan);
void gpumon_scan_free(struct gpumon_scan *scan);

/**
 * struct gpumon_view - a profile laid open, so that one can be made by hand
 * @losses: GPUMON_LOSS_CAUSES of them
 * @cut_paths: call paths beyond GPUMON_TREE_NODES_MAX
 * @scan: NULL where only the profile is known
 *
 * Tables are as profile.h has them; pointers may be NULL with a count of 0.
 */
struct gpumon_view {
	const struct gpumon_node *root;
	const struct gpumon_kernel_row *kernels;
	unsigned int kernel_count;
	const struct gpumon_device_row *devices;
	unsigned int device_count;
	const struct gpumon_range_row *ranges;
	unsigned int range_count;
	const struct gpumon_gap *gaps;
	unsigned int gap_count;
	const struct gpumon_distribution *latency;
	const struct gpumon_correlate_counts *counts;
	const uint64_t *losses;
	const struct gpumon_capture_damage *damage;
	uint64_t cut_paths;
	uint64_t first_ns;
	uint64_t last_ns;
	const struct gpumon_scan *scan;
};

/* What paths are weighed by where nobody says: GPU time, or else launches, by number or by time. */
enum gpumon_weight gpumon_view_weight(const struct gpumon_view *view);

void gpumon_view_of(const struct gpumon_profile *profile, const struct gpumon_scan *scan,
		    struct gpumon_view *view);

/* --- from a profile */

/**
 * gpumon_output_folded - folded stacks, as flamegraph.pl and others read them
 * @out: where to
 * @root: of the tree; its own name is left out
 * @weight: what the number at the end of a line is
 *
 * "main;train;cudaLaunchKernel;gemm 1234", one line for each path with a weight
 * of its own. In names ';' becomes ':' and control characters blanks.
 */
int gpumon_output_folded(FILE *out, const struct gpumon_node *root, enum gpumon_weight weight);

/**
 * struct gpumon_flamegraph_options - how a flame graph looks
 * @weight: what widths mean
 * @title: NULL: "GPU time by call path" and so on, by the weight
 * @subtitle: what it is of, NULL for none
 * @losses: what is missing in it, one line, NULL where nothing is
 * @icicle: the root on top
 */
struct gpumon_flamegraph_options {
	enum gpumon_weight weight;
	const char *title;
	const char *subtitle;
	const char *losses;
	bool icicle;
};

/**
 * gpumon_output_flamegraph - an SVG that needs nothing else: zoom, search, hover
 * @out: where to
 * @root: of the tree
 * @options: how it looks
 */
int gpumon_output_flamegraph(FILE *out, const struct gpumon_node *root,
			     const struct gpumon_flamegraph_options *options);

/* The same with the title's lines taken from what the view knows. */
int gpumon_output_flamegraph_view(FILE *out, const struct gpumon_view *view,
				  enum gpumon_weight weight, bool icicle);

#define GPUMON_SUMMARY_ROWS_MAX 1000

/**
 * struct gpumon_summary_options - what is printed for people
 * @rows: of each table at most, up to GPUMON_SUMMARY_ROWS_MAX; 0: 10
 */
struct gpumon_summary_options {
	unsigned int rows;
};

/* For a terminal, or a pipe where term->columns is 0: no line longer than that. */
int gpumon_output_summary(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view,
			  const struct gpumon_summary_options *options);

/* Documentation/reference/correlate-json.md. */
int gpumon_output_json(FILE *out, const struct gpumon_view *view);

/* profile.proto, gzipped: for pprof and what else reads it. */
int gpumon_output_pprof(FILE *out, const struct gpumon_view *view);

/* One page that needs no network. */
int gpumon_output_report(FILE *out, const struct gpumon_view *view);

/* --- two profiles */

struct gpumon_diff;

/**
 * gpumon_diff_new - compare two profiles
 * @before: the one
 * @after: the other
 *
 * Both views have to live as long as the comparison.
 *
 * Return: it, NULL without memory.
 */
struct gpumon_diff *gpumon_diff_new(const struct gpumon_view *before,
				    const struct gpumon_view *after);
int gpumon_diff_print(FILE *out, const struct gpumon_term *term, const struct gpumon_diff *diff,
		      const struct gpumon_summary_options *options);
int gpumon_diff_json(FILE *out, const struct gpumon_diff *diff);
/* Widths are of after; red where it got slower, blue where faster. */
int gpumon_diff_flamegraph(FILE *out, const struct gpumon_diff *diff);
void gpumon_diff_free(struct gpumon_diff *diff);

/* --- from captures, by the length of what was recorded */

/* The trace format of chrome://tracing, JSON; @options are those of call paths. */
int gpumon_output_chrome(FILE *out, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options);

/* Perfetto's own, protobuf. */
int gpumon_output_perfetto(FILE *out, const char *const *paths, unsigned int count,
			   const struct gpumon_profile_options *options);

#endif /* GPUMON_OUTPUT_H */
