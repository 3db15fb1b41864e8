// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "texts.h"
#include "extra.h"
#include "flatten.h"
#include "image.h"
#include "link.h"
#include "map.h"
#include "object.h"
#include "section.h"
#include "split.h"

struct reader {
	struct gpumon_probe_object *object;
	struct gpumon_probe_image image;
	struct btf *btf;
	struct gpumon_probe_extra extra;
	struct gpumon_probe_linker linker;
	struct gpumon_error *err;
};

/* libbpf would explain on the program's stderr what is wrong with them. */
static struct btf *read_btf(const struct gpumon_probe_section *section)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);
	struct btf *btf = btf__new(section->data, (uint32_t)section->size);

	libbpf_set_print(before);
	return libbpf_get_error(btf) ? NULL : btf;
}

static int read_types(struct reader *reader)
{
	const struct gpumon_probe_section *section =
		gpumon_probe_image_section(&reader->image, BTF_ELF_SEC);

	if (!section)
		return 0;
	reader->btf = read_btf(section);
	if (!reader->btf)
		return GPUMON_PROBE_IMAGE_REFUSE(&reader->image, reader->err,
						 "section .BTF is damaged: compile it again");
	return gpumon_probe_extra_read(&reader->image, reader->btf, &reader->extra, reader->err);
}

static int read_program(struct reader *reader, uint32_t function, const char *section)
{
	struct gpumon_probe_object *object = reader->object;
	const struct gpumon_probe_image *image = &reader->image;
	const char *name = image->symbols[image->functions[function]].name, *targets;
	struct gpumon_probe_program *program = &object->programs[object->programs_n];

	if (object->programs_n == GPUMON_PROBE_MAX_PROGRAMS)
		return GPUMON_PROBE_IMAGE_REFUSE(
			image, reader->err, "it has more than %d programs for the GPU: split it",
			GPUMON_PROBE_MAX_PROGRAMS);
	program->name = gpumon_pool_text(&object->pool, name);
	program->section = gpumon_pool_text(&object->pool, section);
	program->texts = object->texts;
	if (!program->name || !program->section)
		return gpumon_error_memory(reader->err);
	if (gpumon_probe_section_read(program->section, program->name, &program->point, &targets,
				      reader->err) ||
	    gpumon_probe_link(&reader->linker, function, program, reader->err))
		return -1;
	object->targets[object->programs_n++] = targets;
	if (gpumon_probe_flatten(program, reader->linker.code, reader->linker.code_n, &object->pool,
				 reader->err))
		return -1;
	return gpumon_probe_split_prints(program, &object->pool) ?
		       gpumon_error_memory(reader->err) :
		       0;
}

/* As for libbpf, a program is a function of a section of its own that others can see. */
static int read_programs(struct reader *reader)
{
	const struct gpumon_probe_image *image = &reader->image;
	struct gpumon_probe_object *object = reader->object;

	for (uint32_t i = 0; i < image->functions_n; i++) {
		const struct gpumon_probe_symbol *symbol = &image->symbols[image->functions[i]];
		const char *section = image->sections[symbol->section].name;

		if (symbol->local || !strcmp(section, ".text"))
			continue;
		if (!gpumon_probe_section_is_gpu(section, symbol->name))
			object->cpu_n++;
		else if (read_program(reader, i, section))
			return -1;
	}
	if (!object->programs_n)
		return GPUMON_PROBE_IMAGE_REFUSE(
			image, reader->err,
			"there is no program for the GPU in it: name its section gpu/... or its function cuda__...");
	return 0;
}

static int read_object(struct reader *reader)
{
	struct gpumon_probe_object *object = reader->object;

	object->programs = gpumon_pool_zalloc(&object->pool, GPUMON_PROBE_MAX_PROGRAMS *
								     sizeof(*object->programs));
	object->targets = gpumon_pool_zalloc(&object->pool,
					     GPUMON_PROBE_MAX_PROGRAMS * sizeof(*object->targets));
	object->texts = gpumon_pool_zalloc(&object->pool, sizeof(*object->texts));
	if (!object->programs || !object->targets || !object->texts ||
	    gpumon_probe_linker_init(&reader->linker, &reader->image))
		return gpumon_error_memory(reader->err);
	reader->linker.btf = reader->btf;
	reader->linker.extra = &reader->extra;
	if (read_programs(reader))
		return -1;
	object->maps = reader->linker.maps;
	object->maps_n = reader->linker.maps_n;
	for (uint32_t i = 0; i < object->programs_n; i++)
		object->programs[i].maps_n = object->maps_n;
	return gpumon_probe_maps_fit(&reader->image, object->maps, object->maps_n, reader->err);
}

int gpumon_probe_object_read(const void *image, size_t size, const char *name,
			     struct gpumon_probe_object *object, struct gpumon_error *err)
{
	struct reader reader = { .object = object,
				 .image = { .name = name, .pool = &object->pool },
				 .err = err };
	int failed;

	memset(object, 0, sizeof(*object));
	failed = gpumon_probe_image_open(&reader.image, image, size, err) || read_types(&reader) ||
		 read_object(&reader);
	gpumon_probe_linker_clear(&reader.linker);
	gpumon_probe_extra_clear(&reader.extra);
	btf__free(reader.btf);
	gpumon_probe_image_close(&reader.image);
	return failed ? -1 : 0;
}

struct gpumon_probe_map *gpumon_probe_object_map(const struct gpumon_probe_object *object,
						 const char *name, size_t length)
{
	for (uint32_t i = 0; i < object->maps_n; i++)
		if (strlen(object->maps[i].name) == length &&
		    !memcmp(object->maps[i].name, name, length))
			return &object->maps[i];
	return NULL;
}

void gpumon_probe_object_clear(struct gpumon_probe_object *object)
{
	gpumon_pool_clear(&object->pool);
	memset(object, 0, sizeof(*object));
}
