/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What all outputs are made from: a tree of call paths with GPU time at its
 * nodes, and tables by kernel, device and stream. Built by streaming joined
 * work into it; its size depends on the paths, not on how long was recorded.
 */
#ifndef GPUMON_PROFILE_H
#define GPUMON_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "correlate/correlate.h"

/* What a node of the tree is; flame graphs colour by it. */
enum gpumon_node_kind {
	GPUMON_NODE_ROOT = 0,
	GPUMON_NODE_PROCESS,
	GPUMON_NODE_THREAD,
	GPUMON_NODE_FUNCTION, /* of the program, by machine code */
	GPUMON_NODE_PYTHON,
	GPUMON_NODE_API,    /* cudaLaunchKernel and so on */
	GPUMON_NODE_DEVICE, /* by option, "[GPU0]" */
	GPUMON_NODE_STREAM, /* by option */
	GPUMON_NODE_GRAPH,  /* by option */
	GPUMON_NODE_KERNEL, /* leaves: the work itself */
	GPUMON_NODE_COPY,
	GPUMON_NODE_SET,
	GPUMON_NODE_REASON, /* "[kernel without stack]" and so on */
	GPUMON_NODE_KINDS
};

/**
 * struct gpumon_node - of the tree
 * @name: for people; the same name and kind once below a parent
 * @module: library or file it is in, "" if there is none
 * @line: "file:line" where known, else ""
 * @kind: what it is
 * @count: GPU operations at this very node, not below it
 * @gpu_ns: GPU time of these
 * @cpu_ns: time of their launches' calls
 * @parent: NULL of the root
 * @child: first one, sorted by name once gpumon_profile_finish() was called
 * @next: of its parent's
 */
struct gpumon_node {
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
	uint64_t count;
	uint64_t gpu_ns;
	uint64_t cpu_ns;
	struct gpumon_node *parent;
	struct gpumon_node *child;
	struct gpumon_node *next;
};

/* Numbers of a distribution; quantiles by log-linear buckets, exact to 1/16. */
struct gpumon_distribution;
uint64_t gpumon_distribution_count(const struct gpumon_distribution *distribution);
uint64_t gpumon_distribution_sum(const struct gpumon_distribution *distribution);
uint64_t gpumon_distribution_min(const struct gpumon_distribution *distribution);
uint64_t gpumon_distribution_max(const struct gpumon_distribution *distribution);
/* @q: 0 to 1; the upper end of the bucket that it falls into, at most the maximum; 0 of none. */
uint64_t gpumon_distribution_quantile(const struct gpumon_distribution *distribution, double q);

/**
 * struct gpumon_kernel_row - of the table by kernel
 * @name: demangled
 * @mangled: as in the capture
 * @count: how often it ran
 * @gpu_ns: in all
 * @duration: of each
 * @latency: begin of the launch's call to its start on the GPU, of those with a launch
 */
struct gpumon_kernel_row {
	const char *name;
	const char *mangled;
	enum gpumon_work_kind kind;
	uint64_t count;
	uint64_t gpu_ns;
	const struct gpumon_distribution *duration;
	const struct gpumon_distribution *latency;
};

/**
 * struct gpumon_device_row - of the table by device, and by stream of it
 * @host: where it is
 * @name: of the device
 * @uuid: as text
 * @stream: id, ~0 in the row of all of the device's streams
 * @busy_ns: time in which anything of it ran: overlapping work counts once
 * @first_ns: begin of the first work
 * @last_ns: end of the last
 * @idle_longest_ns: the longest time between in which nothing ran
 * @missed_ns: of work that came too late to be part of @busy_ns; 0 unless a capture is far out of
 *             order
 */
struct gpumon_device_row {
	const char *host;
	const char *name;
	char uuid[40];
	uint32_t process;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint64_t count;
	uint64_t gpu_ns;
	uint64_t busy_ns;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t idle_longest_ns;
	uint64_t missed_ns;
};

/* An NVTX range's share, by text and domain: work launched while it was open on the thread. */
struct gpumon_range_row {
	const char *domain;
	const char *text;
	uint64_t count;	 /* of ranges */
	uint64_t cpu_ns; /* while they were open */
	uint64_t works;
	uint64_t gpu_ns;
};

/* A time in which a device did nothing, with what the launching threads did. */
struct gpumon_gap {
	uint32_t process;
	uint32_t device;
	uint64_t start_ns;
	uint64_t end_ns;
	const char *doing; /* longest blocking call or range of that time, "" if nothing is known */
};

struct gpumon_profile_options {
	bool devices;	/* a level "[GPU0]" below the API call */
	bool streams;	/* "stream 7" */
	bool graphs;	/* "graph 3" */
	bool threads;	/* a level for each thread */
	bool processes; /* for each process; on by itself where there are several */
	bool cpu_only;	/* call paths by launches and the time of their calls */
	bool gpu_only;	/* kernels without call paths */
	bool no_inline;
	bool interpreter;	 /* its own functions beside those of Python */
	const char *symbol_root; /* in front of paths of code, as gpumon_symbols_new(); NULL: none */
};

struct gpumon_profile;

/**
 * gpumon_profile_load - read a capture, or several of one job
 * @paths: directories
 * @count: how many
 * @options: what the tree looks like
 * @profile: set to it
 *
 * Processes are numbered through all captures, in their order: those of the second follow the
 * gpumon_capture_processes() of the first. A capture that is still being written counts as far
 * as it was there when reading it began.
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
/* The longest ones, the longest first. */
const struct gpumon_gap *gpumon_profile_gaps(const struct gpumon_profile *profile,
					     unsigned int *count);
const struct gpumon_distribution *gpumon_profile_latency(const struct gpumon_profile *profile);
const struct gpumon_correlate_counts *gpumon_profile_counts(const struct gpumon_profile *profile);
/* By enum gpumon_loss. */
const uint64_t *gpumon_profile_losses(const struct gpumon_profile *profile);
const struct gpumon_capture_damage *gpumon_profile_damage(const struct gpumon_profile *profile);
/* Nodes of a tree: call paths that are read when it has as many become one. */
#define GPUMON_TREE_NODES_MAX (1u << 20)
/* How many became one. */
uint64_t gpumon_profile_cut_paths(const struct gpumon_profile *profile);
/* First begin and last end of anything. */
void gpumon_profile_times(const struct gpumon_profile *profile, uint64_t *first_ns,
			  uint64_t *last_ns);
void gpumon_profile_free(struct gpumon_profile *profile);

#endif /* GPUMON_PROFILE_H */
