// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "elf.h"
#include "flatten.h"
#include "link.h"
#include "map.h"
#include "object.h"

enum targets {
	NONE,
	MAYBE,
	ONE,
	LIST
};

/* The first one that fits is taken. */
static const struct form {
	const char *name;
	enum gpumon_gpuprog_point point;
	enum targets targets;
} forms[] = {
	{ "gpu/entry", GPUMON_GPUPROG_ENTRY, MAYBE },
	{ "gpu/exit", GPUMON_GPUPROG_EXIT, MAYBE },
	{ "gpu/memory", GPUMON_GPUPROG_MEMORY, MAYBE },
	{ "gpu/atomic", GPUMON_GPUPROG_ATOMIC, MAYBE },
	{ "gpu/barrier", GPUMON_GPUPROG_BARRIER, MAYBE },
	{ "gpu/function", GPUMON_GPUPROG_FUNCTION_ENTRY, ONE },
	{ "gpu/function_exit", GPUMON_GPUPROG_FUNCTION_EXIT, ONE },
	{ "gpu/run", GPUMON_GPUPROG_RUN, NONE },
	/* bpftime's */
	{ "kprobe/__memcapture", GPUMON_GPUPROG_MEMORY, NONE },
	{ "kprobe/__directly_run", GPUMON_GPUPROG_RUN, NONE },
	{ "kprobe", GPUMON_GPUPROG_ENTRY, LIST },
	{ "kretprobe", GPUMON_GPUPROG_EXIT, LIST },
};

bool gpumon_gpuprog_section_is_gpu(const char *section, const char *function)
{
	return !strncmp(section, "gpu/", 4) || !strncmp(function, "cuda__", 6);
}

static int refuse(const char *section, const char *function, struct gpumon_error *err,
		  const char *reason)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"%.60s: section \"%.100s\": %s", function, section, reason);
}

/* Kernels may be given demangled, so each printable character can come up. */
static bool is_list(const char *text)
{
	bool empty = true;

	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || (*text == ',' && empty))
			return false;
		empty = *text == ',';
	}
	return !empty;
}

/**
 * section_read - understand a section's name
 * @section: name
 * @function: name of the program, for messages
 * @point: out: where the program runs
 * @targets: out: kernels or the function that it names, a part of @section; "" for none
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
static int section_read(const char *section, const char *function, enum gpumon_gpuprog_point *point,
			const char **targets, struct gpumon_error *err)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t length = strlen(forms[i].name);
		const char *rest = section + length;

		if (strncmp(section, forms[i].name, length) != 0 || (*rest && *rest != '/'))
			continue;
		if (*rest && forms[i].targets == NONE)
			return refuse(section, function, err,
				      "nothing may follow this name: leave it out");
		if (!*rest && forms[i].targets == ONE)
			return refuse(section, function, err,
				      "it names no function: write its name behind a slash");
		if (!*rest && forms[i].targets == LIST)
			return refuse(
				section, function, err,
				"it names no kernel: write its name behind a slash, or use gpu/entry and gpu/exit for all");
		if (*rest && !is_list(rest + 1))
			return refuse(
				section, function, err,
				"behind the slash there have to be printable names with one comma in between: correct it");
		*point = forms[i].point;
		*targets = *rest ? rest + 1 : rest;
		return 0;
	}
	return refuse(
		section, function, err,
		"no such place for a program on the GPU is known: use gpu/entry, gpu/exit, gpu/memory, gpu/atomic, gpu/barrier, gpu/function/NAME, gpu/function_exit/NAME, gpu/run, kprobe/KERNEL or kretprobe/KERNEL");
}

struct reader {
	struct gpumon_gpuprog_object *object;
	struct gpumon_gpuprog_image image;
	struct btf *btf;
	struct gpumon_gpuprog_extra extra;
	struct gpumon_gpuprog_linker linker;
	struct gpumon_error *err;
};

/* libbpf would explain on the program's stderr what is wrong with them. */
static struct btf *read_btf(const struct gpumon_gpuprog_section *section)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);
	struct btf *btf = btf__new(section->data, (uint32_t)section->size);

	libbpf_set_print(before);
	return libbpf_get_error(btf) ? NULL : btf;
}

static int read_types(struct reader *reader)
{
	const struct gpumon_gpuprog_section *section =
		gpumon_gpuprog_image_section(&reader->image, BTF_ELF_SEC);

	if (!section)
		return 0;
	reader->btf = read_btf(section);
	if (!reader->btf)
		return GPUMON_GPUPROG_IMAGE_REFUSE(&reader->image, reader->err,
						   "section .BTF is damaged: compile it again");
	return gpumon_gpuprog_extra_read(&reader->image, reader->btf, &reader->extra, reader->err);
}

static int read_program(struct reader *reader, uint32_t function, const char *section)
{
	struct gpumon_gpuprog_object *object = reader->object;
	const struct gpumon_gpuprog_image *image = &reader->image;
	const char *name = image->symbols[image->functions[function]].name, *targets = "";
	struct gpumon_gpuprog *program = &object->programs[object->programs_n];

	if (object->programs_n == GPUMON_GPUPROG_MAX_PROGRAMS)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, reader->err, "it has more than %d programs for the GPU: split it",
			GPUMON_GPUPROG_MAX_PROGRAMS);
	program->name = gpumon_pool_text(&object->pool, name);
	program->section = gpumon_pool_text(&object->pool, section);
	program->texts = object->texts;
	if (section_read(program->section, program->name, &program->point, &targets, reader->err) ||
	    gpumon_gpuprog_link(&reader->linker, function, program, reader->err))
		return -1;
	object->targets[object->programs_n++] = targets;
	if (gpumon_gpuprog_flatten(program, reader->linker.code, reader->linker.code_n,
				   &object->pool, reader->err))
		return -1;
	gpumon_gpuprog_split_prints(program, &object->pool);
	return 0;
}

/* As for libbpf, a program is a function of a section of its own that others can see. */
static int read_programs(struct reader *reader)
{
	const struct gpumon_gpuprog_image *image = &reader->image;
	struct gpumon_gpuprog_object *object = reader->object;

	for (uint32_t i = 0; i < image->functions_n; i++) {
		const struct gpumon_gpuprog_symbol *symbol = &image->symbols[image->functions[i]];
		const char *section = image->sections[symbol->section].name;

		if (symbol->local || !strcmp(section, ".text"))
			continue;
		if (!gpumon_gpuprog_section_is_gpu(section, symbol->name))
			object->cpu_n++;
		else if (read_program(reader, i, section))
			return -1;
	}
	if (!object->programs_n)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, reader->err,
			"there is no program for the GPU in it: name its section gpu/... or its function cuda__...");
	return 0;
}

static int read_object(struct reader *reader)
{
	struct gpumon_gpuprog_object *object = reader->object;

	object->programs = gpumon_pool_zalloc(&object->pool, GPUMON_GPUPROG_MAX_PROGRAMS *
								     sizeof(*object->programs));
	object->targets = gpumon_pool_zalloc(&object->pool, GPUMON_GPUPROG_MAX_PROGRAMS *
								    sizeof(*object->targets));
	object->texts = gpumon_pool_zalloc(&object->pool, sizeof(*object->texts));
	gpumon_gpuprog_linker_init(&reader->linker, &reader->image);
	reader->linker.btf = reader->btf;
	reader->linker.extra = &reader->extra;
	if (read_programs(reader))
		return -1;
	object->maps = reader->linker.maps;
	object->maps_n = reader->linker.maps_n;
	for (uint32_t i = 0; i < object->programs_n; i++)
		object->programs[i].maps_n = object->maps_n;
	return gpumon_gpuprog_maps_fit(&reader->image, object->maps, object->maps_n, reader->err);
}

int gpumon_gpuprog_object_read(const void *image, size_t size, const char *name,
			       struct gpumon_gpuprog_object *object, struct gpumon_error *err)
{
	struct reader reader = { .object = object,
				 .image = { .name = name, .pool = &object->pool },
				 .err = err };
	int ret;

	memset(object, 0, sizeof(*object));
	ret = gpumon_gpuprog_image_open(&reader.image, image, size, err) || read_types(&reader) ||
			      read_object(&reader) ?
		      -1 :
		      0;
	gpumon_gpuprog_linker_clear(&reader.linker);
	gpumon_gpuprog_extra_clear(&reader.extra);
	btf__free(reader.btf);
	gpumon_gpuprog_image_close(&reader.image);
	return ret;
}

struct gpumon_gpuprog_map *gpumon_gpuprog_object_map(const struct gpumon_gpuprog_object *object,
						     const char *name, size_t length)
{
	for (uint32_t i = 0; i < object->maps_n; i++)
		if (strlen(object->maps[i].name) == length &&
		    !memcmp(object->maps[i].name, name, length))
			return &object->maps[i];
	return NULL;
}

void gpumon_gpuprog_object_clear(struct gpumon_gpuprog_object *object)
{
	gpumon_pool_clear(&object->pool);
	memset(object, 0, sizeof(*object));
}
