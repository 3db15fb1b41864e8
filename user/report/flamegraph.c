// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "stall_reasons.h"
#include "view.h"

void gpumon_flame_init(struct gpumon_flame *flame, size_t room)
{
	memset(flame, 0, sizeof(*flame));
	flame->frames = gpumon_calloc(room ? room : 1, sizeof(*flame->frames));
	flame->room = room;
}

void gpumon_flame_clear(struct gpumon_flame *flame)
{
	free(flame->frames);
	memset(flame, 0, sizeof(*flame));
}

struct gpumon_frame *gpumon_flame_add(struct gpumon_flame *flame, struct gpumon_frame *parent)
{
	struct gpumon_frame *frame;

	if (flame->n == flame->room)
		return NULL;
	frame = &flame->frames[flame->n++];
	frame->parent = parent;
	if (parent) {
		frame->next = parent->child;
		parent->child = frame;
	}
	return frame;
}

/* --- sums, and one frame for each function */

static void sum_frames(struct gpumon_flame *flame)
{
	for (size_t i = flame->n; i--;) {
		struct gpumon_frame *frame = &flame->frames[i], *parent = frame->parent;

		/* Children come after their parents, so all of them have been added by now. */
		frame->total = gpumon_add_saturated(frame->total, frame->self);
		frame->line_total = frame->total;
		if (!parent)
			continue;
		parent->total = gpumon_add_saturated(parent->total, frame->total);
		parent->count = gpumon_add_saturated(parent->count, frame->count);
		parent->cpu_ns = gpumon_add_saturated(parent->cpu_ns, frame->cpu_ns);
		parent->left = gpumon_add_saturated(parent->left, frame->left);
		parent->before = gpumon_add_saturated(parent->before, frame->before);
		parent->before_left = gpumon_add_saturated(parent->before_left, frame->before_left);
	}
}

static int compare_functions(const struct gpumon_frame *x, const struct gpumon_frame *y)
{
	int order = x->name == y->name ? 0 : strcmp(x->name, y->name);

	return order ? order : (int)x->kind - (int)y->kind;
}

static int by_function(const void *a, const void *b)
{
	const struct gpumon_frame *x = *(struct gpumon_frame *const *)a;
	const struct gpumon_frame *y = *(struct gpumon_frame *const *)b;
	int order = compare_functions(x, y);

	return order ? order : x < y ? -1 : x > y;
}

/* Make the children of @from children of @to. */
static void move_children(struct gpumon_frame *to, struct gpumon_frame *from)
{
	struct gpumon_frame *child = from->child;

	from->child = NULL;
	while (child) {
		struct gpumon_frame *next = child->next;

		child->parent = to;
		child->next = to->child;
		to->child = child;
		child = next;
	}
}

/* @to stands for both: they are one function, called from different lines. */
static void merge_frame(struct gpumon_frame *to, struct gpumon_frame *from)
{
	to->self = gpumon_add_saturated(to->self, from->self);
	to->total = gpumon_add_saturated(to->total, from->total);
	to->count = gpumon_add_saturated(to->count, from->count);
	to->cpu_ns = gpumon_add_saturated(to->cpu_ns, from->cpu_ns);
	to->left = gpumon_add_saturated(to->left, from->left);
	to->before = gpumon_add_saturated(to->before, from->before);
	to->before_left = gpumon_add_saturated(to->before_left, from->before_left);
	from->merged = to;
	from->same = to->same;
	to->same = from;
	move_children(to, from);
}

static void merge_children(struct gpumon_frame *parent, struct gpumon_frame **room)
{
	struct gpumon_frame *last = NULL;
	size_t n = 0;

	for (struct gpumon_frame *frame = parent->child; frame; frame = frame->next)
		room[n++] = frame;
	if (n < 2)
		return;
	qsort(room, n, sizeof(*room), by_function);
	parent->child = NULL;
	/* The first of equal ones stays: it comes before the children of the others, too. */
	for (size_t i = 0; i < n; i++) {
		if (last && !compare_functions(last, room[i])) {
			merge_frame(last, room[i]);
			continue;
		}
		last = room[i];
		last->next = parent->child;
		parent->child = last;
	}
}

static bool is_unnamed(const struct gpumon_frame *frame)
{
	const struct gpumon_node node = {
		.name = frame->name,
		.module = frame->module,
		.kind = frame->kind,
	};

	return gpumon_tree_unnamed(&node);
}

/* Join an unnamed function and the only one that it calls, if that has no name either. */
static bool join_unnamed(struct gpumon_frame *frame)
{
	struct gpumon_frame *child = frame->child;

	if (!child || child->next || !frame->parent || frame->self ||
	    frame->before != child->before || frame->count != child->count ||
	    frame->cpu_ns != child->cpu_ns || frame->left != child->left || !is_unnamed(child) ||
	    !is_unnamed(frame) || strcmp(frame->module, child->module) != 0)
		return false;
	frame->self = child->self;
	frame->joined++;
	frame->last = child->name;
	frame->child = NULL;
	child->merged = frame;
	move_children(frame, child);
	return true;
}

/* --- positions */

/* The heaviest first, and by name for equal weights, so that equal input gives equal output. */
static int compare_weights(const void *a, const void *b)
{
	const struct gpumon_frame *x = *(struct gpumon_frame *const *)a;
	const struct gpumon_frame *y = *(struct gpumon_frame *const *)b;
	int order;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	order = strcmp(x->name, y->name);
	return order ? order : x < y ? -1 : x > y;
}

static void sort_children(struct gpumon_frame *parent, struct gpumon_frame **room)
{
	uint64_t start = parent->start;
	size_t n = 0;

	for (struct gpumon_frame *frame = parent->child; frame; frame = frame->next)
		room[n++] = frame;
	qsort(room, n, sizeof(*room), compare_weights);
	for (size_t i = 0; i < n; i++) {
		room[i]->next = i + 1 < n ? room[i + 1] : NULL;
		room[i]->start = start;
		room[i]->depth = parent->depth + 1;
		start = gpumon_add_saturated(start, room[i]->total);
	}
	parent->child = n ? room[0] : NULL;
}

void gpumon_flame_layout(struct gpumon_flame *flame)
{
	struct gpumon_frame **room =
		gpumon_malloc((flame->n ? flame->n : 1) * sizeof(struct gpumon_frame *));

	sum_frames(flame);
	for (size_t i = 0; i < flame->n; i++) {
		struct gpumon_frame *frame = &flame->frames[i];

		if (frame->merged || !frame->child)
			continue;
		do
			merge_children(frame, room);
		while (join_unnamed(frame));
		sort_children(frame, room);
	}
	free(room);
}

/* The time of a kernel by what its warps did, as samples have it. */
static void add_stalls(struct gpumon_flame *flame, struct gpumon_frame *kernel)
{
	const struct gpumon_node_stalls *stalls = kernel->node->stalls;
	uint64_t self = kernel->self, left = kernel->left;

	for (unsigned int i = 0; i < stalls->count; i++) {
		struct gpumon_frame *frame;

		if (!stalls->sums[i].samples)
			continue;
		frame = gpumon_flame_add(flame, kernel);
		frame->node = kernel->node;
		frame->kind = GPUMON_NODE_STALL;
		frame->name = gpumon_stall_text(stalls->sums[i].reason);
		frame->module = "from samples of its warps";
		frame->line = "";
		frame->samples = stalls->sums[i].samples;
		frame->self = gpumon_stall_part(stalls, i, self);
		frame->left = gpumon_stall_part(stalls, i, left);
	}
	kernel->self = kernel->left = 0;
}

void gpumon_flame_of(struct gpumon_flame *flame, const struct gpumon_node *root,
		     enum gpumon_weight weight)
{
	const struct gpumon_node *node = root;
	struct gpumon_frame *frame = NULL;
	size_t n = 0;

	for (; node; node = gpumon_tree_next(node, root))
		n += 1 + (weight == GPUMON_WEIGHT_GPU_NS && node->stalls ? node->stalls->count : 0);
	gpumon_flame_init(flame, n);
	for (node = root; node;) {
		frame = gpumon_flame_add(flame, frame);
		frame->node = node;
		frame->name = node->name;
		frame->module = node->module ? node->module : "";
		frame->line = node->line ? node->line : "";
		frame->kind = node->kind;
		frame->self = gpumon_tree_weight(node, weight);
		frame->count = weight == GPUMON_WEIGHT_WALL_NS ? 0 :
			       weight == GPUMON_WEIGHT_IDLE_NS ? node->idle_count :
								 node->count + node->left_count;
		frame->left = weight == GPUMON_WEIGHT_COUNT   ? node->left_count :
			      weight == GPUMON_WEIGHT_GPU_NS  ? node->left_ns :
			      weight == GPUMON_WEIGHT_WALL_NS ? node->wall_left_ns :
								0;
		frame->cpu_ns = node->cpu_ns;
		if (weight == GPUMON_WEIGHT_GPU_NS && node->stalls && !node->child)
			add_stalls(flame, frame);
		if (node->child) {
			node = node->child;
			continue;
		}
		/* Go to the frame of the next node's parent. */
		while (node != root && !node->next) {
			frame = frame->parent;
			node = node->parent;
		}
		if (node == root)
			break;
		node = node->next;
		frame = frame->parent;
	}
	gpumon_flame_layout(flame);
}

/* --- drawing */

#define WIDTH		1200
#define MARGIN		10
#define ROW		18
#define HEADER		56 /* without the lines below the title */
#define LINE		18
#define FOOTER		34
#define NARROWEST	0.1 /* px; narrower frames are left out and count for the caller */
#define TEXT_MARGIN	4
#define LINES_SHOWN	8
#define CHARACTER_WIDTH 7.25 /* px, of common monospaced fonts at 12 px */

struct drawing {
	FILE *out;
	const struct gpumon_flame *flame;
	const struct gpumon_flamegraph_options *options;
	uint64_t total;
	double scale; /* px per unit of weight */
	double least; /* weight of the narrowest frame */
	unsigned int header;
	size_t narrow;
	bool seen[GPUMON_NODE_KINDS];
};

/* The CSS class of each kind, whether it has shades, and its text in the legend. */
static const struct {
	const char *letter;
	bool shades;
	const char *legend;
} kinds[GPUMON_NODE_KINDS] = {
	[GPUMON_NODE_ROOT] = { "s", false, NULL },
	[GPUMON_NODE_PROCESS] = { "s", false, "" },
	[GPUMON_NODE_THREAD] = { "s", false, "" },
	[GPUMON_NODE_FUNCTION] = { "c", true, "machine code" },
	[GPUMON_NODE_PYTHON] = { "p", true, "Python" },
	[GPUMON_NODE_API] = { "a", true, "GPU API" },
	[GPUMON_NODE_DEVICE] = { "s", false, "" },
	[GPUMON_NODE_STREAM] = { "s", false, "" },
	[GPUMON_NODE_GRAPH] = { "s", false, "" },
	[GPUMON_NODE_KERNEL] = { "k", true, "kernel" },
	[GPUMON_NODE_COPY] = { "y", true, "copy" },
	[GPUMON_NODE_SET] = { "m", true, "memset" },
	[GPUMON_NODE_WHOLE_GRAPH] = { "g", true, "whole graph" },
	[GPUMON_NODE_REASON] = { "r", false, "no call path, or no work" },
	[GPUMON_NODE_STATE] = { "r", false, "outside of calls" },
	[GPUMON_NODE_STALL] = { "w", true, "what its warps did" },
};

/* Neighbours get different shades, but a name always gets the same one. */
static unsigned int shade_of_name(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return (hash >> 8) % 3;
}

static bool is_number(enum gpumon_weight weight)
{
	return weight == GPUMON_WEIGHT_COUNT || weight == GPUMON_WEIGHT_UNTIMED;
}

static const char *value_text(char *buf, size_t len, enum gpumon_weight weight, uint64_t value)
{
	return is_number(weight) ? gpumon_text_count(buf, len, value) :
				   gpumon_text_ns(buf, len, value);
}

static const char *unit_text(enum gpumon_weight weight)
{
	switch (weight) {
	case GPUMON_WEIGHT_COUNT:
	case GPUMON_WEIGHT_UNTIMED:
		return "times";
	case GPUMON_WEIGHT_CPU_NS:
		return "in the calls";
	case GPUMON_WEIGHT_WALL_NS:
		return "of wall time";
	case GPUMON_WEIGHT_IDLE_NS:
		return "of idle GPU time";
	case GPUMON_WEIGHT_GPU_NS:
		break;
	}
	return "of GPU time";
}

static void put_difference(const struct drawing *drawing, const struct gpumon_frame *frame)
{
	enum gpumon_weight weight = drawing->options->weight;
	char before[GPUMON_TEXT_NUMBER], change[GPUMON_TEXT_NUMBER];
	bool more = frame->total >= frame->before;
	uint64_t by = more ? frame->total - frame->before : frame->before - frame->total;

	fprintf(drawing->out, "\nbefore %s%s, %s%s%s", frame->before_left ? "~" : "",
		value_text(before, sizeof(before), weight, frame->before),
		frame->left || frame->before_left ? "~" : "", more ? "+" : "-",
		value_text(change, sizeof(change), weight, by));
	if (frame->before)
		fprintf(drawing->out, " (%+.1f%%)",
			100.0 * (double)by / (double)frame->before * (more ? 1 : -1));
	else
		fputs(" (new)", drawing->out);
}

const char *gpumon_flame_class(char class[GPUMON_FLAME_CLASS], enum gpumon_node_kind kind,
			       const char *name)
{
	const char *letter = kinds[kind].letter ? kinds[kind].letter : "r";

	if (kinds[kind].shades)
		snprintf(class, GPUMON_FLAME_CLASS, "%.1s%u", letter,
			 shade_of_name(*name ? name : "all") % 10);
	else
		snprintf(class, GPUMON_FLAME_CLASS, "%.1s", letter);
	return class;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct gpumon_flame_line *)a)->text,
		      ((const struct gpumon_flame_line *)b)->text);
}

static int by_total(const void *a, const void *b)
{
	const struct gpumon_flame_line *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->text, y->text);
}

struct gpumon_flame_line *gpumon_flame_lines(const struct gpumon_frame *frame, size_t *count)
{
	const struct gpumon_frame *same;
	struct gpumon_flame_line *lines;
	size_t n = 0, used = 0;

	for (same = frame; same; same = same->same)
		n++;
	lines = gpumon_calloc(n, sizeof(*lines));
	n = 0;
	for (same = frame; same; same = same->same) {
		if (same->line_total)
			lines[n++] = (struct gpumon_flame_line){ same->line, same->line_total };
	}
	/* The same line is there once for each line of the caller. */
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		if (used && !strcmp(lines[used - 1].text, lines[i].text))
			lines[used - 1].total =
				gpumon_add_saturated(lines[used - 1].total, lines[i].total);
		else
			lines[used++] = lines[i];
	}
	qsort(lines, used, sizeof(*lines), by_total);
	*count = used;
	return lines;
}

static void put_place(FILE *out, const char *line, const char *module)
{
	if (!*line && !*module)
		return;
	putc('\n', out);
	gpumon_text_xml(out, line);
	if (*line && *module)
		fputs(" · ", out);
	gpumon_text_xml(out, module);
}

/* Where it is: its line, or its lines with their shares. */
static void put_lines(const struct drawing *drawing, const struct gpumon_frame *frame)
{
	struct gpumon_flame_line *lines = NULL;
	char percent[GPUMON_TEXT_NUMBER], number[GPUMON_TEXT_NUMBER];
	FILE *out = drawing->out;
	size_t n = 0;

	if (frame->same)
		lines = gpumon_flame_lines(frame, &n);
	if (n < 2) {
		put_place(out, n ? lines[0].text : frame->line, frame->module);
		free(lines);
		return;
	}
	put_place(out, "", frame->module);
	for (size_t i = 0; i < n && i < LINES_SHOWN; i++) {
		putc('\n', out);
		gpumon_text_xml(out, gpumon_text_percent(percent, sizeof(percent), lines[i].total,
							 frame->total));
		fputs(" in ", out);
		gpumon_text_xml(out, *lines[i].text ? lines[i].text : "an unknown line");
	}
	if (n > LINES_SHOWN)
		fprintf(out, "\nand %s more lines",
			gpumon_text_count(number, sizeof(number), n - LINES_SHOWN));
	free(lines);
}

/* The first line is the name, which the script reads from here. */
static void put_title(const struct drawing *drawing, const struct gpumon_frame *frame)
{
	enum gpumon_weight weight = drawing->options->weight;
	char value[GPUMON_TEXT_NUMBER], percent[GPUMON_TEXT_NUMBER], count[GPUMON_TEXT_NUMBER];
	FILE *out = drawing->out;

	fputs("<title>", out);
	gpumon_text_xml(out, *frame->name ? frame->name : "all");
	if (frame->joined) {
		fputs(frame->joined > 1 ? " … " : ", ", out);
		gpumon_text_xml(out, frame->last + strlen(frame->module));
		fprintf(out, "\n%u functions without a name", frame->joined + 1);
	}
	put_lines(drawing, frame);
	fprintf(out, "\n%s%s %s · %s of all", frame->left ? "~" : "",
		value_text(value, sizeof(value), weight, frame->total), unit_text(weight),
		gpumon_text_percent(percent, sizeof(percent), frame->total, drawing->total));
	if (!is_number(weight) && frame->count)
		fprintf(out, " · %s%s %s", frame->left ? "~" : "",
			gpumon_text_count(count, sizeof(count), frame->count),
			frame->count == 1 ? "time" : "times");
	if (frame->samples)
		fprintf(out, "\n%s %s: its share of the kernel's time",
			gpumon_text_count(count, sizeof(count), frame->samples),
			frame->samples == 1 ? "sample" : "samples");
	if (frame->left)
		fprintf(out, "\n%s of it estimated",
			value_text(value, sizeof(value), weight, frame->left));
	if (frame->child && frame->self && frame->self != frame->total)
		fprintf(out, "\n%s of it here and not further on",
			value_text(value, sizeof(value), weight, frame->self));
	if (weight == GPUMON_WEIGHT_GPU_NS && frame->cpu_ns)
		fprintf(out, "\n%s in the calls that launched it",
			gpumon_text_ns(value, sizeof(value), frame->cpu_ns));
	if (drawing->flame->differs)
		put_difference(drawing, frame);
	fputs("</title>", out);
}

/* Full colour for twice as slow, or half as fast. */
static void put_colour(const struct drawing *drawing, const struct gpumon_frame *frame)
{
	bool worse = frame->total > frame->before;
	uint64_t by = worse ? frame->total - frame->before : frame->before - frame->total;
	uint64_t of = frame->total > frame->before ? frame->total : frame->before;
	double part = of ? 2 * (double)by / (double)of : 0;

	/* Two runs of the same program differ by up to one percent. */
	if (part < 0.02)
		fputs(" class=\"neutral\"", drawing->out);
	else
		fprintf(drawing->out, " class=\"%s\" fill-opacity=\"%.2f\"",
			worse ? "worse" : "better", 0.15 + 0.65 * (part > 1 ? 1 : part));
}

static bool is_wide(const struct drawing *drawing, const struct gpumon_frame *frame)
{
	return (double)frame->total >= drawing->least && frame->total;
}

static int by_weight(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Narrower frames are left out. A caller is at least as wide as what it calls, so that frames stay on theirs. */
static double least_weight(const struct drawing *drawing, size_t frames_max)
{
	double least = drawing->scale > 0 ? NARROWEST / drawing->scale : 0;
	uint64_t *weights = gpumon_calloc(drawing->flame->n + 1, sizeof(*weights));
	struct gpumon_frame *frame = drawing->flame->n ? drawing->flame->frames : NULL;
	size_t n = 0;

	for (; frame; frame = gpumon_flame_next(frame))
		weights[n++] = frame->total;
	qsort(weights, n, sizeof(*weights), by_weight);
	if (n > frames_max && (double)weights[frames_max] >= least)
		least = (double)weights[frames_max] + 1;
	free(weights);
	return least;
}

static void put_frame(struct drawing *drawing, const struct gpumon_frame *frame, unsigned int rows)
{
	double x = MARGIN + (double)frame->start * drawing->scale;
	double width = (double)frame->total * drawing->scale;
	unsigned int row = drawing->options->icicle ? frame->depth : rows - 1 - frame->depth;
	unsigned int y = drawing->header + row * ROW;
	int room = (int)((width - 2 * TEXT_MARGIN) / CHARACTER_WIDTH);
	const char *name = *frame->name ? frame->name : "all";
	char label[1024], cut[1024], class[GPUMON_FLAME_CLASS];
	FILE *out = drawing->out;

	if (frame->joined)
		snprintf(label, sizeof(label), "%.900s, %u functions", frame->module,
			 frame->joined + 1);
	else
		gpumon_text_function(label, sizeof(label), name);
	fprintf(out, "<g class=\"f\" data-s=\"%" PRIu64 "\" data-v=\"%" PRIu64 "\" data-d=\"%u\"",
		frame->start, frame->total, frame->depth);
	if (strcmp(label, name)) {
		fputs(" data-n=\"", out);
		gpumon_text_xml(out, label);
		putc('"', out);
	}
	putc('>', out);
	put_title(drawing, frame);
	fprintf(out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"1.5\"", x, y,
		width, ROW - 1);
	if (drawing->flame->differs)
		put_colour(drawing, frame);
	else
		fprintf(out, " class=\"%s\"", gpumon_flame_class(class, frame->kind, name));
	fputs("/>", out);
	/* One or two letters say nothing. */
	if (room >= 3) {
		fprintf(out, "<text x=\"%.2f\" y=\"%u\">", x + TEXT_MARGIN, y + 13);
		gpumon_text_xml(out, gpumon_text_fit(cut, sizeof(cut), label, (unsigned int)room));
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
}

static void put_line(FILE *out, const char *class, unsigned int y, const char *text,
		     unsigned int columns)
{
	char cut[1024];

	fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%u\"", class, MARGIN, y);
	gpumon_text_cut(cut, sizeof(cut), text, columns);
	if (strcmp(cut, text)) {
		fputs(" data-full=\"", out);
		gpumon_text_xml(out, text);
		putc('"', out);
	}
	putc('>', out);
	gpumon_text_xml(out, cut);
	fputs("</text>\n", out);
}

static const char *default_title(const struct drawing *drawing)
{
	if (drawing->flame->differs)
		return "Change of GPU time by call path";
	switch (drawing->options->weight) {
	case GPUMON_WEIGHT_COUNT:
		return "GPU work by call path, by number";
	case GPUMON_WEIGHT_UNTIMED:
		return "Launches without GPU time by call path, by number";
	case GPUMON_WEIGHT_CPU_NS:
		return "Time in launch calls by call path";
	case GPUMON_WEIGHT_WALL_NS:
		return "Wall time of threads that use a GPU, by call path";
	case GPUMON_WEIGHT_IDLE_NS:
		return "Idle GPU: what the threads that launched next did, by call path";
	case GPUMON_WEIGHT_GPU_NS:
		break;
	}
	return "GPU time by call path";
}

/* The legend text for processes, threads, devices, streams and graphs, which share a colour. */
static const char *structure_text(const struct drawing *drawing, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < GPUMON_NODE_KINDS && at < len; i++) {
		if (drawing->seen[i] && kinds[i].legend && !*kinds[i].legend)
			at += (size_t)snprintf(buf + at, len - at, "%s%s", at ? ", " : "",
					       gpumon_node_kind_name(i));
	}
	return buf;
}

static double put_entry(FILE *out, double x, unsigned int y, const char *class, const char *text)
{
	fprintf(out,
		"<g class=\"entry\"><rect x=\"%.0f\" y=\"%u\" width=\"11\" height=\"11\" rx=\"2\" class=\"%s\"/><text x=\"%.0f\" y=\"%u\">%s</text></g>",
		x, y - 10, class, x + 16, y, text);
	return x + 34 + 6.7 * (double)strlen(text);
}

static void put_legend(const struct drawing *drawing, unsigned int y)
{
	FILE *out = drawing->out;
	char structure[128], class[8];
	char count[GPUMON_TEXT_NUMBER];
	double x = MARGIN;

	fputs("<g class=\"legend\">", out);
	if (drawing->flame->differs) {
		x = put_entry(out, x, y, "worse", "slower");
		x = put_entry(out, x, y, "better", "faster");
		put_entry(out, x, y, "neutral", "as before");
	}
	if (!drawing->flame->differs && *structure_text(drawing, structure, sizeof(structure)))
		x = put_entry(out, x, y, "s", structure);
	for (unsigned int i = 0; i < GPUMON_NODE_KINDS && !drawing->flame->differs; i++) {
		if (!drawing->seen[i] || !kinds[i].legend || !*kinds[i].legend)
			continue;
		snprintf(class, sizeof(class), "%s%s", kinds[i].letter, kinds[i].shades ? "0" : "");
		x = put_entry(out, x, y, class, kinds[i].legend);
	}
	if (drawing->narrow) {
		fprintf(out, "<text class=\"narrow\" x=\"%d\" y=\"%u\" text-anchor=\"end\">",
			WIDTH - MARGIN, y);
		fprintf(out, "%s %s too narrow to draw</text>",
			gpumon_text_count(count, sizeof(count), drawing->narrow),
			drawing->narrow == 1 ? "frame" : "frames");
	}
	fputs("</g>\n", out);
}

static void put_head(const struct drawing *drawing, unsigned int height, bool page)
{
	const struct gpumon_flamegraph_options *options = drawing->options;
	FILE *out = drawing->out;
	unsigned int y = 44;

	if (!page)
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gpumon-flame\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" data-total=\"%" PRIu64
		"\" data-weight=\"%s\" data-icicle=\"%d\"",
		WIDTH, height, WIDTH, height, drawing->total,
		is_number(options->weight) ? "count" : gpumon_weight_key(options->weight),
		options->icicle);
	if (page)
		fprintf(out, " data-header=\"%u\" data-unit=\"%s\"", drawing->header,
			unit_text(options->weight));
	fputs(">\n", out);
	if (!page) {
		fputs("<style>\n", out);
		gpumon_asset_write(out, GPUMON_ASSET_FLAME_CSS);
		fputs("</style>\n", out);
	}
	fprintf(out, "<rect class=\"paper\" width=\"100%%\" height=\"%u\"/>\n", height);
	put_line(out, "title", 24, options->title ? options->title : default_title(drawing), 90);
	if (options->subtitle && *options->subtitle) {
		put_line(out, "subtitle", y, options->subtitle, 135);
		y += LINE;
	}
	if (options->sampling && *options->sampling) {
		put_line(out, "subtitle", y, options->sampling, 165);
		y += LINE;
	}
	if (options->losses && *options->losses)
		put_line(out, "losses", y, options->losses, 165);
	fprintf(out, "<text class=\"hint\" x=\"%d\" y=\"%u\"></text>\n", MARGIN,
		drawing->header - 10);
}

static void put_frames(struct drawing *drawing, const struct gpumon_flame_page *page,
		       unsigned int rows)
{
	struct gpumon_frame *frame = drawing->flame->n ? drawing->flame->frames : NULL;
	unsigned int number = 0;

	fprintf(drawing->out, "<g class=\"frames\"%s", page ? " data-frames=\"" : ">\n");
	/* All children of a parent that is too narrow are too narrow. */
	for (; frame && drawing->total; frame = gpumon_flame_next(frame)) {
		if (!is_wide(drawing, frame))
			continue;
		frame->number = ++number;
		if (page)
			page->frame(page->data, frame);
		else
			put_frame(drawing, frame, rows);
	}
	fputs(page ? "\"></g>\n" : "</g>\n", drawing->out);
}

/* What a picture without frames lacks. */
static const char *nothing_text(enum gpumon_weight weight)
{
	return weight == GPUMON_WEIGHT_CPU_NS  ? "launch" :
	       weight == GPUMON_WEIGHT_WALL_NS ? "thread that calls a GPU API" :
	       weight == GPUMON_WEIGHT_IDLE_NS ? "idle time of a GPU" :
						 "work of a GPU";
}

int gpumon_flame_write(FILE *out, struct gpumon_flame *flame,
		       const struct gpumon_flamegraph_options *options,
		       const struct gpumon_flame_page *page)
{
	struct drawing drawing = { .out = out, .flame = flame, .options = options };
	struct gpumon_frame *first = flame->n ? flame->frames : NULL, *frame;
	unsigned int rows = 1, height;

	if (flame->n)
		drawing.total = flame->frames[0].total;
	if (drawing.total)
		drawing.scale = (WIDTH - 2 * MARGIN) / (double)drawing.total;
	drawing.least = least_weight(&drawing, page ? page->frames_max : SIZE_MAX);
	for (frame = first; frame; frame = gpumon_flame_next(frame)) {
		frame->number = 0;
		if (!is_wide(&drawing, frame)) {
			drawing.narrow += frame->total ? 1 : 0;
			continue;
		}
		drawing.seen[frame->kind] = true;
		if (frame->depth >= rows)
			rows = frame->depth + 1;
	}
	drawing.header = HEADER + LINE * ((options->subtitle && *options->subtitle) +
					  (options->sampling && *options->sampling) +
					  (options->losses && *options->losses));
	height = drawing.header + rows * ROW + FOOTER;
	put_head(&drawing, height, page);
	if (!drawing.total)
		fprintf(out, "<text x=\"%d\" y=\"%u\">Nothing to show: no %s in it.</text>\n",
			MARGIN, drawing.header + 13, nothing_text(options->weight));
	put_frames(&drawing, page, rows);
	put_legend(&drawing, height - 12);
	if (!page) {
		fputs("<script><![CDATA[\n", out);
		gpumon_asset_write(out, GPUMON_ASSET_FLAME_JS);
		fputs("gpumonFlame(document.documentElement);\n]]></script>\n", out);
	}
	fputs("</svg>\n", out);
	return ferror(out) ? -1 : 0;
}

int gpumon_output_flamegraph(FILE *out, const struct gpumon_node *root,
			     const struct gpumon_flamegraph_options *options)
{
	struct gpumon_flame flame;
	int ret;

	gpumon_flame_of(&flame, root, options->weight);
	ret = gpumon_flame_write(out, &flame, options, NULL);
	gpumon_flame_clear(&flame);
	return ret;
}

int gpumon_output_flamegraph_view(FILE *out, const struct gpumon_view *view,
				  enum gpumon_weight weight, bool icicle)
{
	struct gpumon_missing missing;
	char subtitle[512], losses[512] = "", sampling[512];
	struct gpumon_flamegraph_options options = {
		.weight = weight,
		.subtitle = gpumon_view_subtitle(subtitle, sizeof(subtitle), view),
		.sampling = gpumon_view_sampling(sampling, sizeof(sampling), view),
		.losses = losses,
		.icicle = icicle,
	};
	size_t at;

	/* Without any GPU times, use the launches. */
	if (weight == GPUMON_WEIGHT_GPU_NS)
		options.weight = gpumon_view_weight(view);
	options.title = gpumon_view_title(view, options.weight);
	gpumon_missing_of(view, &missing);
	at = (size_t)snprintf(losses, sizeof(losses), "Missing: ");
	if (!*gpumon_missing_line(losses + at, sizeof(losses) - at, &missing))
		losses[0] = '\0';
	return gpumon_output_flamegraph(out, view->root, &options);
}
