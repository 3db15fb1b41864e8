// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>

#include "lib/json.h"
#include "into.h"
#include "show.h"
#include "capture/symbol.h"
#include "lib/table.h"

/* "entry 1, exit 3" */
static char *list_points(const struct gpumon_probe_kernel *kernel)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *comma = "";

	if (!out)
		return NULL;
	for (int i = 0; i < GPUMON_PROBE_POINTS; i++) {
		if (!kernel->points[i])
			continue;
		fprintf(out, "%s%s %" PRIu64, comma, gpumon_probe_point_word(i), kernel->points[i]);
		comma = ", ";
	}
	if (!*comma)
		fputc('-', out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static uint64_t count_left(const struct gpumon_probe_kernel *kernel)
{
	uint64_t left = 0;

	for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++)
		left += kernel->left[i];
	return left;
}

int gpumon_probe_show_into(const struct gpumon_probe_into *into, const struct gpumon_term *term,
			   FILE *out)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_column(table, "NUMBER", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "PROGRAMS AT", 0);
	gpumon_table_column(table, "LEFT OUT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "BECAME", 0);
	gpumon_table_column(table, "KERNEL", GPUMON_COLUMN_NAME);
	for (uint32_t i = 0; i < into->run.kernels_n; i++) {
		const struct gpumon_probe_kernel *kernel = &into->run.kernels[i];
		char *name = gpumon_demangle(kernel->name), *points = list_points(kernel);

		gpumon_table_count(table, i);
		gpumon_table_text(table, points);
		gpumon_table_count(table, count_left(kernel));
		gpumon_table_text(table, gpumon_probe_kernel_why(kernel));
		gpumon_table_text(table, name ? name : kernel->name);
		free(points);
		free(name);
	}
	return gpumon_table_print(table, out);
}

static struct json_object *kernel_json(const struct gpumon_probe_kernel *kernel)
{
	struct json_object *object = json_object_new_object();
	struct json_object *points = json_object_new_object(), *left = json_object_new_object();
	bool bad = !object || !points || !left;

	for (int i = 0; !bad && i < GPUMON_PROBE_POINTS; i++)
		bad |= gpumon_json_add_u64(points, gpumon_probe_point_word(i), kernel->points[i]);
	for (int i = 0; !bad && i < GPUMON_EDIT_CAUSES_N; i++)
		bad |= kernel->left[i] &&
		       gpumon_json_add_u64(left, gpumon_edit_cause_text(i), kernel->left[i]);
	bad |= gpumon_json_add_string(object, "name", kernel->name);
	bad |= gpumon_json_add_string(object, "way", gpumon_probe_way_word(kernel->way));
	bad |= gpumon_json_add_string(object, "why", *kernel->why ? kernel->why : NULL);
	bad |= gpumon_json_add(object, "points", points);
	bad |= gpumon_json_add(object, "left", left);
	return gpumon_json_finish(object, bad);
}

static struct json_object *line_json(const struct gpumon_probe_line_of *line)
{
	struct json_object *object = json_object_new_object();
	bool bad = !object;

	bad |= gpumon_json_add_u64(object, "kernel", line->kernel);
	bad |= gpumon_json_add_string(object, "file", line->file);
	bad |= gpumon_json_add_u64(object, "line", line->line);
	return gpumon_json_finish(object, bad);
}

struct json_object *gpumon_probe_into_json(const struct gpumon_probe_into *into)
{
	struct json_object *object = json_object_new_object();
	struct json_object *kernels = json_object_new_array(), *lines = json_object_new_array();
	bool bad = !object || !kernels || !lines;

	for (uint32_t i = 0; !bad && i < into->run.kernels_n; i++)
		bad |= gpumon_json_append(kernels, kernel_json(&into->run.kernels[i]));
	for (uint32_t i = 0; !bad && i < into->run.lines_n; i++)
		bad |= gpumon_json_append(lines, line_json(&into->run.lines[i]));
	bad |= gpumon_json_add_bool(object, "exchanged", into->outcome == GPUMON_PROBE_EXCHANGED);
	bad |= gpumon_json_add_u64(object, "unread", into->run.unread);
	bad |= gpumon_json_add(object, "kernels", kernels);
	bad |= gpumon_json_add(object, "lines", lines);
	return gpumon_json_finish(object, bad);
}
