/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The data of a flame graph: frames with their positions, from a profile's tree or the difference
 * of two.
 */
#ifndef GPUMON_OUTPUT_FLAME_H
#define GPUMON_OUTPUT_FLAME_H

#include "output/output.h"

/**
 * struct gpumon_frame - a bar of a flame graph
 * @self: own weight
 * @left: as @count: the part of the weight that is estimated
 * @count: own GPU operations; after gpumon_flame_layout() including those above it
 * @cpu_ns: as @count: duration of launch calls
 * @before: as @count: weight in the earlier profile
 * @before_left: as @count: the part of @before that is estimated
 * @total: weight including the frames above it
 * @start: weight of everything to its left
 * @depth: 0 for the root
 * @joined: number of unnamed functions joined into it, see gpumon_flame_of()
 * @last: name of the last one of these
 *
 * Texts are owned by the caller and must outlive this.
 */
struct gpumon_frame {
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
	uint64_t self;
	uint64_t left;
	uint64_t count;
	uint64_t cpu_ns;
	uint64_t before;
	uint64_t before_left;
	uint64_t total;
	uint64_t start;
	unsigned int depth;
	unsigned int joined;
	const char *last;
	struct gpumon_frame *parent;
	struct gpumon_frame *child;
	struct gpumon_frame *next;
};

/**
 * struct gpumon_flame - the frames of a flame graph
 * @frames: parents before children
 * @n: number of @frames
 * @room: size of @frames
 * @differs: frames have @before: colours show the difference instead of the kind
 */
struct gpumon_flame {
	struct gpumon_frame *frames;
	size_t n;
	size_t room;
	bool differs;
};

/* -1 without memory. */
int gpumon_flame_init(struct gpumon_flame *flame, size_t room);
/* Add a frame, zeroed except for its parent. There must be room. */
struct gpumon_frame *gpumon_flame_add(struct gpumon_flame *flame, struct gpumon_frame *parent);
/* Compute sums and positions, and put the heaviest children first. -1 without memory. */
int gpumon_flame_layout(struct gpumon_flame *flame);
/*
 * Make one from a profile's tree, with layout. An unnamed function is joined into its caller if
 * that is an unnamed function of the same library and calls nothing else: libraries without symbols
 * would otherwise fill rows with numbers. -1 without memory.
 */
int gpumon_flame_of(struct gpumon_flame *flame, const struct gpumon_node *root,
		    enum gpumon_weight weight);
void gpumon_flame_clear(struct gpumon_flame *flame);

/**
 * gpumon_flame_write - draw a flame graph
 * @out: stream
 * @flame: flame graph with layout
 * @options: options
 * @part: it is part of an HTML page that already has style and script
 */
int gpumon_flame_write(FILE *out, const struct gpumon_flame *flame,
		       const struct gpumon_flamegraph_options *options, bool part);

/* Scripts and styles from separate files, without their licence lines. */
enum gpumon_asset {
	GPUMON_ASSET_FLAME_CSS,
	GPUMON_ASSET_FLAME_JS,
	GPUMON_ASSET_REPORT_CSS,
	GPUMON_ASSET_REPORT_JS,
};

void gpumon_asset_write(FILE *out, enum gpumon_asset asset);

#endif /* GPUMON_OUTPUT_FLAME_H */
