// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/layout.h"
#include "set.h"

/* Of an array's first content. */
#define BYTES_MAX (64ull << 20)

#define REFUSE(err, ...) \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_REFUSED, __VA_ARGS__)

/* A number up to @end, of which something has to be there. */
static bool read_number(const char *text, char end, uint64_t *number, const char **behind)
{
	char *stop;

	errno = 0;
	*number = *text == '-' ? (uint64_t)strtoll(text, &stop, 0) : strtoull(text, &stop, 0);
	if (errno || stop == text || *stop != end)
		return false;
	*behind = stop + 1;
	return true;
}

static bool read_setting(const char *text, struct gpumon_probe_setting *setting)
{
	const char *at = strchr(text, '['), *end;

	*setting = (struct gpumon_probe_setting){ .name = text, .last = UINT64_MAX };
	if (!at || at == text)
		return false;
	setting->length = (size_t)(at++ - text);
	if (!strncmp(at, "*]", 2)) {
		at += 2;
	} else {
		if (*at == '-' || !read_number(at, ']', &setting->first, &at))
			return false;
		setting->last = setting->first;
	}
	return *at == '=' && read_number(at + 1, '\0', &setting->number, &end);
}

int gpumon_probe_set_read(const char *text, struct gpumon_probe_setting *setting,
			  struct gpumon_error *err)
{
	if (read_setting(text, setting))
		return 0;
	return REFUSE(err, "--set %.80s: say MAP[INDEX]=NUMBER, or MAP[*]=NUMBER for all values",
		      text);
}

int gpumon_probe_set_fits(const struct gpumon_probe_setting *setting, const char *text,
			  uint32_t value_size, uint32_t entries, struct gpumon_error *err)
{
	if (value_size > 8 || value_size & (value_size - 1))
		return REFUSE(err,
			      "--set %.80s: a value of it has %u bytes: only numbers can be set",
			      text, value_size);
	if (setting->first >= entries)
		return REFUSE(err, "--set %.80s: its indexes are 0 to %u", text, entries - 1);
	if (value_size < 8 && setting->number >> 8 * value_size &&
	    ~setting->number >> (8 * value_size - 1))
		return REFUSE(err, "--set %.80s: the number does not fit into %u bytes", text,
			      value_size);
	return 0;
}

static int check_map(const struct gpumon_probe_map *map, const struct gpumon_probe_setting *setting,
		     const char *text, struct gpumon_error *err)
{
	if (!map)
		return REFUSE(err, "--set %.80s: no program for the GPU uses a map of this name",
			      text);
	if (map->kind != GPUMON_PROBE_MAP_ARRAY)
		return REFUSE(err, "--set %.80s: only arrays can be set", text);
	if (gpumon_probe_set_fits(setting, text, map->value_size, map->max_entries, err))
		return -1;
	if (gpumon_probe_map_bytes(map, 1) > BYTES_MAX)
		return REFUSE(err, "--set %.80s: it has more than %llu MiB", text, BYTES_MAX >> 20);
	return 0;
}

int gpumon_probe_set(struct gpumon_probe_object *object, const char *text, struct gpumon_error *err)
{
	struct gpumon_probe_map *map;
	struct gpumon_probe_setting setting;
	uint64_t step;
	uint8_t *data;

	if (gpumon_probe_set_read(text, &setting, err))
		return -1;
	map = gpumon_probe_object_map(object, setting.name, setting.length);
	if (!map && object->cpu_n)
		return 1;
	if (check_map(map, &setting, text, err))
		return -1;
	data = (uint8_t *)(uintptr_t)map->data;
	if (!data)
		data = gpumon_pool_zalloc(&object->pool, gpumon_probe_map_bytes(map, 1));
	if (!data)
		return gpumon_error_memory(err);
	step = gpumon_probe_value_bytes(map);
	for (uint64_t i = setting.first; i <= setting.last && i < map->max_entries; i++)
		memcpy(data + i * step, &setting.number, map->value_size);
	map->data = data;
	return 0;
}
