// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gzip.h"
#include "lib/memory.h"
#include "lib/map.h"
#include "output.h"
#include "protobuf.h"
#include "stall_reasons.h"
#include "view.h"

/* Fields of profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

#define PIECE (1u << 16) /* bytes written at a time */

struct writer {
	FILE *out;
	const struct gpumon_view *view;
	const struct gpumon_profile_period *period; /* NULL: all of the captures */
	struct gpumon_protobuf message;
	struct gpumon_intern kernels; /* names of the view's kernels, in the order of their rows */
	const char **mangled;	      /* of these kernels */
	struct gpumon_intern strings;
	struct gpumon_intern mappings;
	struct gpumon_intern functions;
	struct gpumon_intern locations;
	uint64_t *path;
	size_t path_room;
};

/* Index in the string table, where "" is 0. */
static uint64_t pprof_string(struct writer *writer, const char *text)
{
	return text && *text ? gpumon_intern(&writer->strings, text, NULL) : 0;
}

static void write_piece(struct writer *writer)
{
	fwrite(writer->message.data, 1, writer->message.size, writer->out);
	gpumon_protobuf_clear(&writer->message);
}

static void value_type(struct writer *writer, enum profile_field field, const char *type,
		       const char *unit)
{
	size_t begin = gpumon_protobuf_begin(&writer->message, field);

	gpumon_protobuf_uint(&writer->message, 1, pprof_string(writer, type));
	gpumon_protobuf_uint(&writer->message, 2, pprof_string(writer, unit));
	gpumon_protobuf_end(&writer->message, begin);
}

static uint64_t pprof_mapping(struct writer *writer, const char *module)
{
	struct gpumon_protobuf *message = &writer->message;
	bool added;
	uint64_t number;
	size_t begin;

	if (!*module)
		return 0;
	number = gpumon_intern(&writer->mappings, module, &added);
	if (!added)
		return number;
	begin = gpumon_protobuf_begin(message, PROFILE_MAPPING);
	gpumon_protobuf_uint(message, 1, number);
	gpumon_protobuf_uint(message, 5, pprof_string(writer, module));
	/* Mark everything as known, so that pprof does not look for symbols. */
	for (unsigned int field = 7; field <= 10; field++)
		gpumon_protobuf_uint(message, field, 1);
	gpumon_protobuf_end(message, begin);
	return number;
}

/* By the format, the first mapping is the program, and pprof names the profile after it. */
static void first_mapping(struct writer *writer)
{
	const struct gpumon_scan *scan = writer->view->scan;
	const char *executable = scan && scan->process_count ? scan->processes[0].executable : NULL;
	const char *slash = executable ? strrchr(executable, '/') : NULL;

	if (executable)
		pprof_mapping(writer, slash ? slash + 1 : executable);
}

/* Split "file:line". Without a line, the whole text is the file. */
static unsigned long split_line(const char *text, char *file, size_t len)
{
	const char *colon = strrchr(text, ':');
	size_t size = strlen(text);
	unsigned long line = 0;

	if (colon && isdigit((unsigned char)colon[1])) {
		line = strtoul(colon + 1, NULL, 10);
		size = (size_t)(colon - text);
	}
	if (size >= len)
		size = len - 1;
	memcpy(file, text, size);
	file[size] = '\0';
	return line;
}

/*
 * The mangled name of a kernel, "" for others. As it differs from the name, pprof does not remove
 * template arguments: kernels that only differ by these would become one.
 */
static const char *system_name(const struct writer *writer, const struct gpumon_node *node)
{
	uint32_t number = node->kind == GPUMON_NODE_KERNEL ?
				  gpumon_intern_find(&writer->kernels, node->name) :
				  0;

	return number ? writer->mangled[number - 1] : "";
}

/* Of several rows with one name, use the first one whose mangled name differs. */
static void index_kernels(struct writer *writer)
{
	const struct gpumon_view *view = writer->view;

	writer->mangled = gpumon_calloc((size_t)view->kernel_count + 1, sizeof(*writer->mangled));
	for (unsigned int i = 0; i < view->kernel_count; i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];
		bool added;
		uint32_t number;

		if (!row->mangled || !strcmp(row->name, row->mangled))
			continue;
		number = gpumon_intern(&writer->kernels, row->name, &added);
		if (added)
			writer->mangled[number - 1] = row->mangled;
	}
}

static uint64_t pprof_function(struct writer *writer, const struct gpumon_node *node,
			       const char *name, const char *file)
{
	struct gpumon_protobuf *message = &writer->message;
	const char *const parts[] = { name, file };
	bool added;
	uint64_t number = gpumon_intern_parts(&writer->functions, parts, 2, &added);
	size_t begin;

	if (!added)
		return number;
	begin = gpumon_protobuf_begin(message, PROFILE_FUNCTION);
	gpumon_protobuf_uint(message, 1, number);
	gpumon_protobuf_uint(message, 2, pprof_string(writer, name));
	gpumon_protobuf_uint(message, 3, pprof_string(writer, system_name(writer, node)));
	gpumon_protobuf_uint(message, 4, pprof_string(writer, file));
	gpumon_protobuf_end(message, begin);
	return number;
}

static uint64_t pprof_location(struct writer *writer, const struct gpumon_node *node)
{
	struct gpumon_protobuf *message = &writer->message;
	const char *name = *node->name ? node->name : "[unknown]";
	const char *const parts[] = { name, node->module ? node->module : "",
				      node->line ? node->line : "" };
	bool added;
	uint64_t number = gpumon_intern_parts(&writer->locations, parts, 3, &added);
	uint64_t of_mapping, of_function;
	size_t begin, line_begin;
	unsigned long line;
	char file[1024];

	if (!added)
		return number;
	line = split_line(parts[2], file, sizeof(file));
	/* These are separate messages, which cannot begin within that of the location. */
	of_mapping = node->kind == GPUMON_NODE_PYTHON ? 0 : pprof_mapping(writer, parts[1]);
	of_function = pprof_function(writer, node, name, file);
	begin = gpumon_protobuf_begin(message, PROFILE_LOCATION);
	gpumon_protobuf_uint(message, 1, number);
	if (of_mapping)
		gpumon_protobuf_uint(message, 2, of_mapping);
	line_begin = gpumon_protobuf_begin(message, 4);
	gpumon_protobuf_uint(message, 1, of_function);
	if (line)
		gpumon_protobuf_uint(message, 2, line);
	gpumon_protobuf_end(message, line_begin);
	gpumon_protobuf_end(message, begin);
	return number;
}

/* Values are signed in this format. */
static uint64_t pprof_limited(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

static void label_text(struct writer *writer, const char *key, const char *text)
{
	size_t begin = gpumon_protobuf_begin(&writer->message, 3);

	gpumon_protobuf_uint(&writer->message, 1, pprof_string(writer, key));
	gpumon_protobuf_uint(&writer->message, 2, pprof_string(writer, text));
	gpumon_protobuf_end(&writer->message, begin);
}

static void label_number(struct writer *writer, const char *key, uint64_t number)
{
	char text[32];

	/* As text: collectors index only that. */
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	label_text(writer, key, text);
}

/* Those of the process that a path begins with. */
static void sample_labels(struct writer *writer, const struct gpumon_node *top)
{
	const struct gpumon_scan *scan = writer->view->scan;

	if (!writer->period || !scan || top->kind != GPUMON_NODE_PROCESS)
		return;
	for (unsigned int i = 0; i < scan->process_count; i++) {
		const struct gpumon_scan_process *process = &scan->processes[i];

		if (process->number != top->process)
			continue;
		if (process->host && *process->host)
			label_text(writer, "host", process->host);
		label_number(writer, "pid", gpumon_scan_pid(process));
		if (process->rank != UINT32_MAX)
			label_number(writer, "rank", process->rank);
		return;
	}
}

/* A sample of the path in @path, with a part of the node's GPU time, or with the rest of it. */
static void put_sample(struct writer *writer, const struct gpumon_node *of,
		       const struct gpumon_node *top, size_t n, uint64_t gpu_ns, const char *stall)
{
	struct gpumon_protobuf *message = &writer->message;
	size_t begin = gpumon_protobuf_begin(message, PROFILE_SAMPLE);
	size_t packed = gpumon_protobuf_begin(message, 1);

	for (size_t i = 0; i < n; i++)
		gpumon_protobuf_varint(message, writer->path[i]);
	gpumon_protobuf_end(message, packed);
	packed = gpumon_protobuf_begin(message, 2);
	gpumon_protobuf_varint(message, pprof_limited(gpu_ns));
	gpumon_protobuf_varint(
		message, stall ? 0 : pprof_limited(gpumon_tree_weight(of, GPUMON_WEIGHT_COUNT)));
	gpumon_protobuf_varint(message, stall ? 0 : pprof_limited(of->cpu_ns));
	gpumon_protobuf_varint(
		message, stall ? 0 : pprof_limited(gpumon_tree_weight(of, GPUMON_WEIGHT_WALL_NS)));
	gpumon_protobuf_varint(message, stall ? 0 : pprof_limited(of->idle_ns));
	gpumon_protobuf_end(message, packed);
	sample_labels(writer, top);
	if (stall)
		label_text(writer, "stall", stall);
	gpumon_protobuf_end(message, begin);
}

static void pprof_sample(struct writer *writer, const struct gpumon_node *of,
			 const struct gpumon_node *root)
{
	uint64_t gpu_ns = gpumon_tree_weight(of, GPUMON_WEIGHT_GPU_NS);
	const struct gpumon_node *top = of;
	size_t n = 0;

	while (top->parent != root)
		top = top->parent;
	/* Labels say which process it is. */
	if (writer->period && top->kind == GPUMON_NODE_PROCESS)
		root = top;
	for (const struct gpumon_node *node = of; node != root; node = node->parent) {
		if (n == writer->path_room) {
			writer->path_room = 2 * n + 64;
			writer->path = gpumon_reallocarray(writer->path, writer->path_room,
							   sizeof(*writer->path));
		}
		writer->path[n++] = pprof_location(writer, node);
	}
	/*
	 * What a kernel's warps did is a label, so that its time stays its own: pprof -tagleaf=stall makes
	 * leaves of it. Collectors would make a series of each.
	 */
	for (unsigned int i = 0; of->stalls && !writer->period && i < of->stalls->count; i++) {
		uint64_t part = gpumon_stall_part(of->stalls, i, gpu_ns);

		if (part)
			put_sample(writer, of, top, n, part,
				   gpumon_stall_text(of->stalls->sums[i].reason));
	}
	put_sample(writer, of, top, n, of->stalls && !writer->period ? 0 : gpu_ns, NULL);
}

/* When it was, and what it is about. */
static void pprof_about(struct writer *writer, const struct gpumon_view_totals *totals)
{
	const struct gpumon_profile_period *period = writer->period;
	const struct gpumon_view *view = writer->view;
	struct gpumon_protobuf *message = &writer->message;
	const char *comment = period ? period->comment : NULL;
	char sampling[512], line[512] = "Missing: ";
	struct gpumon_missing missing;
	size_t at = strlen(line);

	if (period)
		gpumon_protobuf_uint(message, PROFILE_TIME_NANOS, period->time_ns);
	else if (view->scan && view->scan->created_ns)
		gpumon_protobuf_uint(message, PROFILE_TIME_NANOS,
				     view->scan->created_ns + view->first_ns -
					     gpumon_view_began(view));
	gpumon_protobuf_uint(message, PROFILE_DURATION_NANOS,
			     period ? period->duration_ns : totals->wall_ns);
	/* Collectors name what they show after it. Each nanosecond is counted. */
	value_type(writer, PROFILE_PERIOD_TYPE, "gpu", "nanoseconds");
	gpumon_protobuf_uint(message, PROFILE_PERIOD, 1);
	if (*gpumon_view_command(view))
		gpumon_protobuf_uint(message, PROFILE_COMMENT,
				     pprof_string(writer, gpumon_view_command(view)));
	if (*gpumon_view_range(sampling, sizeof(sampling), view))
		gpumon_protobuf_uint(message, PROFILE_COMMENT, pprof_string(writer, sampling));
	if (*gpumon_view_sampling(sampling, sizeof(sampling), view))
		gpumon_protobuf_uint(message, PROFILE_COMMENT, pprof_string(writer, sampling));
	if (*gpumon_view_budget_note(sampling, sizeof(sampling), view))
		gpumon_protobuf_uint(message, PROFILE_COMMENT, pprof_string(writer, sampling));
	gpumon_missing_of(view, &missing);
	/* What the launches at the end of a period did is in the next one. */
	if (period)
		missing.unmatched_launches = 0;
	if (*gpumon_missing_line(line + at, sizeof(line) - at, &missing))
		gpumon_protobuf_uint(message, PROFILE_COMMENT, pprof_string(writer, line));
	if (comment)
		gpumon_protobuf_uint(message, PROFILE_COMMENT, pprof_string(writer, comment));
	gpumon_protobuf_uint(message, PROFILE_DEFAULT_SAMPLE_TYPE,
			     pprof_string(writer, totals->gpu_ns || !totals->cpu_ns ?
							  "gpu_nanoseconds" :
							  "cpu_nanoseconds"));
}

int gpumon_output_pprof(FILE *out, const struct gpumon_view *view)
{
	return gpumon_output_pprof_period(out, view, NULL);
}

int gpumon_output_pprof_period(FILE *out, const struct gpumon_view *view,
			       const struct gpumon_profile_period *period)
{
	struct writer writer = { .out = gpumon_gzip_open(out), .view = view, .period = period };
	struct gpumon_protobuf *message = &writer.message;
	struct gpumon_view_totals totals;

	gpumon_view_totals(view, &totals);
	index_kernels(&writer);
	value_type(&writer, PROFILE_SAMPLE_TYPE, "gpu_nanoseconds", "nanoseconds");
	value_type(&writer, PROFILE_SAMPLE_TYPE, "count", "count");
	value_type(&writer, PROFILE_SAMPLE_TYPE, "cpu_nanoseconds", "nanoseconds");
	/* Behind those that were there first: some readers know values by their place. */
	value_type(&writer, PROFILE_SAMPLE_TYPE, "wall_nanoseconds", "nanoseconds");
	value_type(&writer, PROFILE_SAMPLE_TYPE, "idle_nanoseconds", "nanoseconds");
	first_mapping(&writer);
	for (const struct gpumon_node *node = view->root; node;
	     node = gpumon_tree_next(node, view->root)) {
		if (node != view->root &&
		    (node->gpu_ns || node->count || node->cpu_ns || node->wall_ns ||
		     node->idle_ns || gpumon_tree_is_estimate(node)))
			pprof_sample(&writer, node, view->root);
		if (message->size > PIECE)
			write_piece(&writer);
	}
	pprof_about(&writer, &totals);
	/* Only now are all strings known. By the format, the first one is "". */
	gpumon_protobuf_string(message, PROFILE_STRING, "");
	for (uint32_t i = 0; i < writer.strings.n; i++)
		gpumon_protobuf_string(message, PROFILE_STRING, writer.strings.texts[i]);
	write_piece(&writer);
	fclose(writer.out);
	gpumon_protobuf_free(message);
	gpumon_intern_clear(&writer.kernels);
	free(writer.mangled);
	gpumon_intern_clear(&writer.strings);
	gpumon_intern_clear(&writer.mappings);
	gpumon_intern_clear(&writer.functions);
	gpumon_intern_clear(&writer.locations);
	free(writer.path);
	return ferror(out) ? -1 : 0;
}
