/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a flame graph is drawn from: frames with their place in it. Made from a
 * profile's tree or from the difference of two.
 */
#ifndef GPUMON_OUTPUT_FLAME_H
#define GPUMON_OUTPUT_FLAME_H

#include "output/output.h"

/**
 * struct gpumon_frame - a bar of a flame graph
 * @self: weight of its own
 * @count: GPU operations of its own; after gpumon_flame_layout() with those above it
 * @cpu_ns: as @count: time of the launches' calls
 * @before: as @count: weight in the profile compared with
 * @total: weight with those above it
 * @start: weight of all that is to the left of it
 * @depth: 0 of the root
 * @joined: functions without a name that lie on it, see gpumon_flame_of()
 * @last: name of the last one of these
 *
 * Texts are the caller's and have to live as long.
 */
struct gpumon_frame {
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
	uint64_t self;
	uint64_t count;
	uint64_t cpu_ns;
	uint64_t before;
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
 * struct gpumon_flame - all of them
 * @frames: parents before children
 * @n: how many
 * @room: for how many
 * @differs: frames have @before: colours tell the difference and not the kind
 */
struct gpumon_flame {
	struct gpumon_frame *frames;
	size_t n;
	size_t room;
	bool differs;
};

/* -1 without memory. */
int gpumon_flame_init(struct gpumon_flame *flame, size_t room);
/* There has to be room. Zeroed but for its parent. */
struct gpumon_frame *gpumon_flame_add(struct gpumon_flame *flame, struct gpumon_frame *parent);
/* Sums, places, and the heaviest children first. -1 without memory. */
int gpumon_flame_layout(struct gpumon_flame *flame);
/*
 * From a profile's tree, laid out. A function without a name on another one of its library, which
 * calls nothing else, is no frame of its own: of libraries without symbols there would be rows of
 * numbers. -1 without memory.
 */
int gpumon_flame_of(struct gpumon_flame *flame, const struct gpumon_node *root,
		    enum gpumon_weight weight);
void gpumon_flame_clear(struct gpumon_flame *flame);

/**
 * gpumon_flame_write - draw it
 * @out: where to
 * @flame: laid out
 * @options: how it looks
 * @part: of an HTML page, which has style and script already
 */
int gpumon_flame_write(FILE *out, const struct gpumon_flame *flame,
		       const struct gpumon_flamegraph_options *options, bool part);

/* Scripts and styles that are files of their own, without their licence lines. */
enum gpumon_asset {
	GPUMON_ASSET_FLAME_CSS,
	GPUMON_ASSET_FLAME_JS,
	GPUMON_ASSET_REPORT_CSS,
	GPUMON_ASSET_REPORT_JS,
};

void gpumon_asset_write(FILE *out, enum gpumon_asset asset);

#endif /* GPUMON_OUTPUT_FLAME_H */
