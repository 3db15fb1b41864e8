// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/perf_map.h"
#include "lib/process_info.h"
#include "lib/wait.h"
#include "target_perf_map.h"

#define LOOK_NS 1000000000ULL

void gpumon_runtime_map_begin(struct gpumon_runtime_map *map, const char *root, pid_t pid)
{
	char path[PATH_MAX];

	*map = (struct gpumon_runtime_map){ .root = -1, .file = -1 };
	if (pid <= 0 || gpumon_process_owner(root, pid, &map->owner))
		return;
	map->pid = (unsigned int)(gpumon_process_inner_pid(root, pid) ?: pid);
	snprintf(path, sizeof(path), "%s/proc/%d/root", root, (int)pid);
	map->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A descriptor or a negative errno. */
static int open_now(const struct gpumon_runtime_map *map)
{
	char root[64];

	snprintf(root, sizeof(root), "/proc/self/fd/%d", map->root);
	return gpumon_perf_map_open(root, map->pid, &map->owner);
}

void gpumon_runtime_map_look(struct gpumon_runtime_map *map)
{
	uint64_t now;

	if (map->root < 0 || map->file >= 0)
		return;
	now = gpumon_monotonic_ns();
	if (now < map->next_ns)
		return;
	map->next_ns = now + LOOK_NS;
	map->file = open_now(map);
	if (map->file < 0)
		map->file = -1;
}

static int make_map_copy(void *data)
{
	return gpumon_capture_make_map(data);
}

static const char *copy_error_text(int error)
{
	switch (error) {
	case -EPERM:
		return "it is not that user's";
	case -ELOOP:
		return "it is a link";
	case -EINVAL:
		return "it is no ordinary file";
	case -EFBIG:
		return "of more than 256 MiB the rest was left out";
	default:
		return strerror(-error);
	}
}

struct copy_place {
	const struct gpumon_capture_file *file;
	int directory;
};

static int make_map_at(void *data)
{
	const struct copy_place *place = data;

	return gpumon_capture_make_map_at(place->file, place->directory);
}

void gpumon_runtime_map_copy(const struct gpumon_runtime_map *map,
			     const struct gpumon_capture_file *file, int directory)
{
	struct copy_place place = { file, directory };
	int now = map->root >= 0 ? open_now(map) : -1;

	/* Without the map, generated code has no names: the process may end meanwhile. */
	if (now >= 0 || map->file >= 0)
		(void)gpumon_perf_map_write(now >= 0 ? now : map->file, make_map_at, &place);
	if (now >= 0)
		close(now);
}

int gpumon_runtime_map_end(struct gpumon_runtime_map *map, struct gpumon_capture_file *file,
			   pid_t pid, struct gpumon_error *err)
{
	int ret = 0, now;

	if (map->root >= 0 && file) {
		/* If the file was replaced since, use the new one. */
		now = open_now(map);
		if (now >= 0) {
			if (map->file >= 0)
				close(map->file);
			map->file = now;
		}
		if (map->file >= 0)
			ret = gpumon_perf_map_write(map->file, make_map_copy, file);
		else if (now != -ENOENT)
			ret = now;
	}
	if (map->file >= 0)
		close(map->file);
	if (map->root >= 0)
		close(map->root);
	map->file = map->root = -1;
	if (ret >= 0)
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, ret, GPUMON_ERROR_IO,
				"/tmp/perf-%u.map of process %d was not copied: %s", map->pid,
				(int)pid, copy_error_text(ret));
}
