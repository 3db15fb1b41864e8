// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/memory.h"
#include "capture/symbol.h"
#include "lib/json.h"
#include "lib/files.h"
#include "lib/table.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/ptx/translate.h"
#include "inspect.h"

#define SHARDS 256
#define FUEL   65536

int gpumon_gpuprog_print_ptx(const struct gpumon_gpuprog_check *check, uint32_t i, uint32_t sm,
			     FILE *out, struct gpumon_error *err)
{
	const struct gpumon_gpuprog *program = &check->object.programs[i];
	const struct gpumon_gpuprog_target target = {
		.isa = gpumon_gpuprog_isa(sm), .sm = sm, .shards = SHARDS, .fuel = FUEL
	};

	fprintf(out, "// %s, %s\n", program->name, program->section);
	return gpumon_gpuprog_translate(program, check->verdicts[i].facts, &target, out, err);
}

#define IMAGE_MAX (1u << 30)

/* Reads a file. The caller frees @image, also after an error. */
static int read_image(const char *path, char **image, size_t *size, struct gpumon_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;

	*image = fd >= 0 ? gpumon_read_whole(fd, IMAGE_MAX, size) : NULL;
	error = *image ? 0 : errno;
	if (fd >= 0)
		close(fd);
	if (error == EINVAL || (!error && !*size))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_IO,
					"%s: no file with content; name PTX, a cubin or a fat "
					"binary, as nvcc -ptx and nvcc -fatbin write them",
					path);
	return error ? gpumon_gpuprog_cannot_read(path, error, err) : 0;
}

int gpumon_gpuprog_into(const struct gpumon_gpuprog_check *check, struct gpumon_gpuprog_into *into,
			FILE *out, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_order order = {
		.object = &check->object,
		.facts = check->facts,
		.kernels = into->kernels,
		.kernels_n = into->kernels_n,
		.sm = into->sm,
		.shards = GPUMON_GPUPROG_SHARDS, /* as when the programs are run */
		.fuel = into->fuel,
	};
	size_t size = 0;
	char *image;
	int ret = read_image(into->image, &image, &size, err);

	if (!ret)
		ret = gpumon_gpuprog_exchange(&order, image, size, &into->run, out, &into->outcome,
					      err);
	free(image);
	return ret;
}

static const char *const point_words[GPUMON_GPUPROG_POINTS] = {
	[GPUMON_GPUPROG_ENTRY] = "entry",
	[GPUMON_GPUPROG_EXIT] = "exit",
	[GPUMON_GPUPROG_MEMORY] = "memory",
	[GPUMON_GPUPROG_ATOMIC] = "atomic",
	[GPUMON_GPUPROG_BARRIER] = "barrier",
	[GPUMON_GPUPROG_FUNCTION_ENTRY] = "function",
	[GPUMON_GPUPROG_FUNCTION_EXIT] = "function_exit",
	[GPUMON_GPUPROG_RUN] = "run",
};

static const char *const kinds[] = {
	[GPUMON_GPUPROG_MAP_ARRAY] = "array",
	[GPUMON_GPUPROG_MAP_SM_ARRAY] = "array by SM",
	[GPUMON_GPUPROG_MAP_THREAD_ARRAY] = "array by thread",
	[GPUMON_GPUPROG_MAP_HASH] = "hash",
	[GPUMON_GPUPROG_MAP_HISTOGRAM] = "histogram",
	[GPUMON_GPUPROG_MAP_RING] = "ring",
	[GPUMON_GPUPROG_MAP_DATA] = "data",
};
/* Name of a program's place, for people and JSON: "entry". */
static const char *point_word(enum gpumon_gpuprog_point point)
{
	return point_words[point];
}

static int show_programs(const struct gpumon_gpuprog_check *check, const struct gpumon_term *term,
			 FILE *out)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_column(table, "PROGRAM", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "RUNS AT", 0);
	gpumon_table_column(table, "STEPS", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "CHECKED", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "VERDICT", 0);
	gpumon_table_column(table, "OF", GPUMON_COLUMN_NAME);
	for (uint32_t i = 0; i < check->object.programs_n; i++) {
		const struct gpumon_gpuprog *program = &check->object.programs[i];
		const struct gpumon_gpuprog_verdict *verdict = &check->verdicts[i];

		gpumon_table_text(table, program->name);
		gpumon_table_text(table, point_words[program->point]);
		gpumon_table_count(table, program->steps_n);
		gpumon_table_count(table, verdict->checked);
		gpumon_table_text(table, verdict->facts ? "accepted" : "refused");
		gpumon_table_text(table, *check->object.targets[i] ? check->object.targets[i] :
					 program->point == GPUMON_GPUPROG_RUN ?
								     "a kernel of its own" :
								     "all kernels");
	}
	return gpumon_table_print(table, out);
}

/* Bytes that a map takes on each GPU. */
static uint64_t gpu_bytes(const struct gpumon_gpuprog_map *map)
{
	return gpumon_gpuprog_map_bytes(map, GPUMON_GPUPROG_SHARDS);
}

static int show_maps(const struct gpumon_gpuprog_check *check, const struct gpumon_term *term,
		     FILE *out)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_column(table, "MAP", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "KIND", 0);
	gpumon_table_column(table, "KEY", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "VALUE", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "ENTRIES", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "ON EACH GPU", GPUMON_COLUMN_RIGHT);
	for (uint32_t i = 0; i < check->object.maps_n; i++) {
		const struct gpumon_gpuprog_map *map = &check->object.maps[i];
		char bytes[32];

		gpumon_table_text(table, map->name);
		gpumon_table_text(table, kinds[map->kind]);
		gpumon_table_count(table, map->key_size);
		gpumon_table_count(table, map->value_size);
		gpumon_table_count(table, map->max_entries);
		gpumon_table_text(table, gpumon_format_bytes(bytes, sizeof(bytes),
							     gpumon_value_of(gpu_bytes(map))));
	}
	return gpumon_table_print(table, out);
}

int gpumon_gpuprog_show(const struct gpumon_gpuprog_check *check, const struct gpumon_term *term,
			FILE *out)
{
	if (show_programs(check, term, out))
		return -1;
	if (!check->object.maps_n)
		return 0;
	fputc('\n', out);
	return show_maps(check, term, out);
}

static struct json_object *program_json(const struct gpumon_gpuprog_check *check, uint32_t i)
{
	const struct gpumon_gpuprog *program = &check->object.programs[i];
	const struct gpumon_gpuprog_verdict *verdict = &check->verdicts[i];
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "name", program->name);
	gpumon_json_add_string(object, "section", program->section);
	gpumon_json_add_string(object, "runs_at", point_words[program->point]);
	gpumon_json_add_string(object, "of", check->object.targets[i]);
	gpumon_json_add_u64(object, "steps", program->steps_n);
	gpumon_json_add_u64(object, "checked", verdict->checked);
	gpumon_json_add_bool(object, "accepted", verdict->facts);
	gpumon_json_add_string(object, "refusal", verdict->facts ? NULL : verdict->refusal.message);
	return object;
}

static struct json_object *map_json(const struct gpumon_gpuprog_map *map)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_string(object, "name", map->name);
	gpumon_json_add_string(object, "kind", kinds[map->kind]);
	gpumon_json_add_u64(object, "type", map->type);
	gpumon_json_add_u64(object, "key_bytes", map->key_size);
	gpumon_json_add_u64(object, "value_bytes", map->value_size);
	gpumon_json_add_u64(object, "max_entries", map->max_entries);
	gpumon_json_add_u64(object, "gpu_bytes", gpu_bytes(map));
	return object;
}

struct json_object *gpumon_gpuprog_json(const struct gpumon_gpuprog_check *check)
{
	struct json_object *object = gpumon_json_object();
	struct json_object *programs = gpumon_json_array(), *maps = gpumon_json_array();

	for (uint32_t i = 0; i < check->object.programs_n; i++)
		gpumon_json_append(programs, program_json(check, i));
	for (uint32_t i = 0; i < check->object.maps_n; i++)
		gpumon_json_append(maps, map_json(&check->object.maps[i]));
	gpumon_json_add(object, "programs", programs);
	gpumon_json_add(object, "maps", maps);
	gpumon_json_add_u64(object, "programs_for_the_cpu", check->object.cpu_n);
	return object;
}

int gpumon_gpuprog_show_tools(const struct gpumon_term *term, FILE *out)
{
	struct gpumon_table *table = gpumon_table_new(term);
	size_t n;
	const struct gpumon_gpuprog_tool *tools = gpumon_gpuprog_tools(&n);

	gpumon_table_column(table, "TOOL", GPUMON_COLUMN_KEY);
	gpumon_table_column(table, "FINDS OUT", 0);
	for (size_t i = 0; i < n; i++) {
		gpumon_table_text(table, tools[i].name);
		gpumon_table_text(table, tools[i].summary);
	}
	return gpumon_table_print(table, out);
}

struct json_object *gpumon_gpuprog_tools_json(void)
{
	struct json_object *object = gpumon_json_object(), *array = gpumon_json_array();
	size_t n;
	const struct gpumon_gpuprog_tool *tools = gpumon_gpuprog_tools(&n);

	for (size_t i = 0; i < n; i++) {
		struct json_object *tool = gpumon_json_object();

		gpumon_json_add_string(tool, "name", tools[i].name);
		gpumon_json_add_string(tool, "summary", tools[i].summary);
		gpumon_json_add_bool(tool, "built", tools[i].object);
		gpumon_json_append(array, tool);
	}
	gpumon_json_add(object, "tools", array);
	return object;
}

/* "entry 1, exit 3" */
static char *list_points(const struct gpumon_gpuprog_kernel *kernel)
{
	char *text;
	size_t size;
	FILE *out = gpumon_memstream_open(&text, &size);
	const char *comma = "";

	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++) {
		if (!kernel->points[i])
			continue;
		fprintf(out, "%s%s %" PRIu64, comma, point_word(i), kernel->points[i]);
		comma = ", ";
	}
	if (!*comma)
		fputc('-', out);
	gpumon_memstream_close(out);
	return text;
}

static uint64_t count_left(const struct gpumon_gpuprog_kernel *kernel)
{
	uint64_t left = 0;

	for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++)
		left += kernel->left[i];
	return left;
}

int gpumon_gpuprog_show_into(const struct gpumon_gpuprog_into *into, const struct gpumon_term *term,
			     FILE *out)
{
	struct gpumon_table *table = gpumon_table_new(term);

	gpumon_table_column(table, "NUMBER", GPUMON_COLUMN_KEY | GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "PROGRAMS AT", 0);
	gpumon_table_column(table, "LEFT OUT", GPUMON_COLUMN_RIGHT);
	gpumon_table_column(table, "BECAME", 0);
	gpumon_table_column(table, "KERNEL", GPUMON_COLUMN_NAME);
	for (uint32_t i = 0; i < into->run.kernels_n; i++) {
		const struct gpumon_gpuprog_kernel *kernel = &into->run.kernels[i];
		char *name = gpumon_demangle(kernel->name), *points = list_points(kernel);

		gpumon_table_count(table, i);
		gpumon_table_text(table, points);
		gpumon_table_count(table, count_left(kernel));
		gpumon_table_text(table, gpumon_gpuprog_kernel_why(kernel));
		gpumon_table_text(table, name ? name : kernel->name);
		free(points);
		free(name);
	}
	return gpumon_table_print(table, out);
}

static struct json_object *kernel_json(const struct gpumon_gpuprog_kernel *kernel)
{
	struct json_object *object = gpumon_json_object();
	struct json_object *points = gpumon_json_object(), *left = gpumon_json_object();

	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++)
		gpumon_json_add_u64(points, point_word(i), kernel->points[i]);
	for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++)
		if (kernel->left[i])
			gpumon_json_add_u64(left, gpumon_edit_cause_text(i), kernel->left[i]);
	gpumon_json_add_string(object, "name", kernel->name);
	gpumon_json_add_string(object, "way", gpumon_gpuprog_way_word(kernel->way));
	gpumon_json_add_string(object, "why", *kernel->why ? kernel->why : NULL);
	gpumon_json_add(object, "points", points);
	gpumon_json_add(object, "left", left);
	return object;
}

static struct json_object *line_json(const struct gpumon_gpuprog_line_of *line)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "kernel", line->kernel);
	gpumon_json_add_string(object, "file", line->file);
	gpumon_json_add_u64(object, "line", line->line);
	return object;
}

struct json_object *gpumon_gpuprog_into_json(const struct gpumon_gpuprog_into *into)
{
	struct json_object *object = gpumon_json_object();
	struct json_object *kernels = gpumon_json_array(), *lines = gpumon_json_array();

	for (uint32_t i = 0; i < into->run.kernels_n; i++)
		gpumon_json_append(kernels, kernel_json(&into->run.kernels[i]));
	for (uint32_t i = 0; i < into->run.lines_n; i++)
		gpumon_json_append(lines, line_json(&into->run.lines[i]));
	gpumon_json_add_bool(object, "exchanged", into->outcome == GPUMON_GPUPROG_EXCHANGED);
	gpumon_json_add_u64(object, "unread", into->run.unread);
	gpumon_json_add(object, "kernels", kernels);
	gpumon_json_add(object, "lines", lines);
	return object;
}
