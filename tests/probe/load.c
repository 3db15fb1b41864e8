// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

void *load_bytes(const char *folder, const char *name, size_t *size)
{
	char path[512];
	FILE *file;
	void *bytes;

	snprintf(path, sizeof(path), OBJECTS "/bpf/%s/%s.bpf.o", folder, name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s is missing", path);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

void load_object(const char *folder, const char *name, struct gpumon_gpuprog_object *object)
{
	struct gpumon_error err = { 0 };
	size_t size;
	void *bytes = load_bytes(folder, name, &size);
	int failed = gpumon_gpuprog_object_read(bytes, size, name, object, &err);

	/* Nothing may point into the file. */
	free(bytes);
	if (failed)
		fail_msg("%s/%s is refused: %s", folder, name, err.message);
}

const struct gpumon_gpuprog *find_program(const struct gpumon_gpuprog_object *object,
					  const char *name)
{
	for (uint32_t i = 0; i < object->programs_n; i++) {
		if (!strcmp(object->programs[i].name, name))
			return &object->programs[i];
	}
	fail_msg("there is no program %s", name);
	return NULL;
}

const struct gpumon_gpuprog_map *find_map(const struct gpumon_gpuprog_object *object,
					  const char *name)
{
	for (uint32_t i = 0; i < object->maps_n; i++) {
		if (!strcmp(object->maps[i].name, name))
			return &object->maps[i];
	}
	fail_msg("there is no map %s", name);
	return NULL;
}
