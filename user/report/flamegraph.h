/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The data of a flame graph: frames with their positions, from a profile's tree or the difference
 * of two.
 */
#ifndef GPUMON_REPORT_FLAMEGRAPH_H
#define GPUMON_REPORT_FLAMEGRAPH_H

#include "output.h"

/**
 * struct gpumon_frame - a bar of a flame graph
 * @node: the node it was made of, or is a part of; NULL for the difference of two profiles
 * @samples: of a part of a kernel's time: the samples that it is from
 * @self: own weight
 * @left: as @count: the part of the weight that is estimated
 * @count: own GPU operations; after gpumon_flame_layout() including those above it
 * @cpu_ns: as @count: duration of launch calls
 * @before: as @count: weight in the earlier profile
 * @before_left: as @count: the part of @before that is estimated
 * @total: weight including the frames above it
 * @start: weight of everything to its left
 * @line_total: weight of @line, including what is above it
 * @depth: 0 for the root
 * @number: of those that were drawn, in the order of the picture, from 1 on; 0 if it was not
 * @joined: number of unnamed functions joined into it, see gpumon_flame_layout()
 * @last: name of the last one of these
 * @same: the next one with this function but another line, which is part of this frame
 * @merged: the frame that this one is part of; NULL if it is one itself
 *
 * Texts are owned by the caller and must outlive this.
 */
struct gpumon_frame {
	const struct gpumon_node *node;
	const char *name;
	const char *module;
	const char *line;
	enum gpumon_node_kind kind;
	uint64_t samples;
	uint64_t self;
	uint64_t left;
	uint64_t count;
	uint64_t cpu_ns;
	uint64_t before;
	uint64_t before_left;
	uint64_t total;
	uint64_t start;
	uint64_t line_total;
	unsigned int depth;
	unsigned int number;
	unsigned int joined;
	const char *last;
	struct gpumon_frame *same;
	struct gpumon_frame *merged;
	struct gpumon_frame *parent;
	struct gpumon_frame *child;
	struct gpumon_frame *next;
};

/**
 * struct gpumon_flame - the frames of a flame graph
 * @frames: parents before children, also those that are part of others
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

void gpumon_flame_init(struct gpumon_flame *flame, size_t room);
/* Add a frame, zeroed except for its parent. There must be room. */
struct gpumon_frame *gpumon_flame_add(struct gpumon_flame *flame, struct gpumon_frame *parent);
/**
 * gpumon_flame_layout - compute sums and positions
 * @flame: flame graph with all frames
 *
 * A function below one caller becomes one frame, whichever of its lines calls are in. An unnamed
 * function is joined into its caller if that is an unnamed function of the same library and calls
 * nothing else: libraries without symbols would otherwise fill rows with numbers. The heaviest
 * children come first.
 */
void gpumon_flame_layout(struct gpumon_flame *flame);
/* The frame that stands for one of @frames. */
static inline struct gpumon_frame *gpumon_flame_shown(struct gpumon_frame *frame)
{
	while (frame->merged)
		frame = frame->merged;
	return frame;
}

/* The next one in the order of the picture, after a layout; NULL after the last one. */
static inline struct gpumon_frame *gpumon_flame_next(struct gpumon_frame *frame)
{
	if (frame->child)
		return frame->child;
	while (frame && !frame->next)
		frame = frame->parent;
	return frame ? frame->next : NULL;
}

/*
 * Make one from a profile's tree, with layout. Frames are in the order of its nodes. A kernel that was sampled
 * and has one call path has its time in further frames, of GPUMON_NODE_STALL.
 */
void gpumon_flame_of(struct gpumon_flame *flame, const struct gpumon_node *root,
		     enum gpumon_weight weight);
void gpumon_flame_clear(struct gpumon_flame *flame);

/**
 * struct gpumon_flame_page - an HTML page that a flame graph is part of, and that has style and script
 * @frames_max: how many frames it has room for: the narrowest are left out
 * @frame: called with each frame in place of drawing it, in the order of the picture. What it writes is an
 *         attribute of the picture: the script draws it.
 * @data: its first argument
 */
struct gpumon_flame_page {
	size_t frames_max;
	void (*frame)(void *data, const struct gpumon_frame *frame);
	void *data;
};

/**
 * gpumon_flame_write - draw a flame graph
 * @out: stream
 * @flame: flame graph with layout; frames get their number
 * @options: options
 * @page: NULL: it is a file of its own
 */
int gpumon_flame_write(FILE *out, struct gpumon_flame *flame,
		       const struct gpumon_flamegraph_options *options,
		       const struct gpumon_flame_page *page);

#define GPUMON_FLAME_CLASS 4

/* The class of a frame's colour: its kind, and for some kinds a shade. */
const char *gpumon_flame_class(char class[GPUMON_FLAME_CLASS], enum gpumon_node_kind kind,
			       const char *name);

/* A line of a frame, and what went through it. */
struct gpumon_flame_line {
	const char *text;
	uint64_t total;
};

/* The lines of a frame with something in them, the heaviest first, to be freed. */
struct gpumon_flame_line *gpumon_flame_lines(const struct gpumon_frame *frame, size_t *count);

/* Scripts and styles from separate files, without their licence lines. */
enum gpumon_asset {
	GPUMON_ASSET_FLAME_CSS,
	GPUMON_ASSET_FLAME_JS,
	GPUMON_ASSET_REPORT_CSS,
	GPUMON_ASSET_REPORT_JS,
};

void gpumon_asset_write(FILE *out, enum gpumon_asset asset);

#endif /* GPUMON_REPORT_FLAMEGRAPH_H */
