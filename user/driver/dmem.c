// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "dmem.h"
#include "lib/array.h"
#include "lib/files.h"
#include "lib/memory.h"

/* Enough for a thousand regions. Of a larger file nothing is taken. */
#define FILE_MOST (64 << 10)

/**
 * struct place - a cgroup of the reading
 * @container: name of its container, NULL for none
 * @path: its path
 * @length: part of @path that is the cgroup whose memory is wanted
 * @id: number of the cgroup at @path
 */
struct place {
	const char *container;
	const char *path;
	size_t length;
	uint64_t id;
};

struct places {
	struct place *at;
	size_t n;
};

static void add_place(struct places *places, const char *path, const char *container,
		      struct gpumon_value id)
{
	struct place *place;
	char name[256];

	if (!path || *path != '/' || !id.known)
		return;
	place = GPUMON_GROW(places->at, places->n);
	place->container = container;
	place->path = path;
	place->length = container ? gpumon_container_name(path, name, sizeof(name)) : 0;
	if (!place->length)
		place->length = strlen(path);
	place->id = id.v;
}

/* Rows of a container come together, whatever it nests. */
static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->container ? x->container : "", y->container ? y->container : "");

	if (!order)
		order = strncmp(x->path, y->path, x->length < y->length ? x->length : y->length);
	return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

/* Opens a folder below another one; "/" is that one. */
static int open_below(int hierarchy, const char *path, size_t length)
{
	char *below = gpumon_strndup(path, length);
	const char *name = below + strspn(below, "/");
	int fd = openat(hierarchy, *name ? name : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	free(below);
	return fd;
}

/*
 * The path is from an earlier time, or from the module: another cgroup may have it by now. The number
 * of a cgroup, which is that of its folder's inode, is never used again.
 */
static bool is_still_there(int hierarchy, const struct place *place)
{
	int fd = open_below(hierarchy, place->path, strlen(place->path));
	struct stat status;
	bool there;

	if (fd < 0)
		return false;
	there = !fstat(fd, &status) && status.st_ino == place->id;
	close(fd);
	return there;
}

/* Files of the kernel say no size. NULL if there is none, or it is too long. */
static char *read_text(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *text;
	ssize_t n;

	if (fd < 0)
		return NULL;
	text = gpumon_malloc(FILE_MOST + 1);
	n = gpumon_read_at(fd, text, FILE_MOST + 1, 0);
	close(fd);
	if (n < 0 || n > FILE_MOST) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* Takes "REGION NUMBER" from a line: the region, and the number, unknown if it is none ("max"). */
static char *take_region(char *line, struct gpumon_value *bytes)
{
	char *blank = strrchr(line, ' '), *end;

	*bytes = (struct gpumon_value){ 0 };
	if (!blank || blank == line)
		return NULL;
	*blank = '\0';
	if (isdigit((unsigned char)blank[1])) {
		errno = 0;
		bytes->v = strtoull(blank + 1, &end, 10);
		bytes->known = !errno && !*end;
		bytes->v = bytes->known ? bytes->v : 0;
	}
	return line;
}

/* "0000:03:00.0" of "drm/0000:03:00.0/vram0", or NULL. */
static char *device_of(const char *region)
{
	const char *begin, *end;

	if (strncmp(region, "drm/", 4) != 0)
		return NULL;
	begin = region + 4;
	end = strchr(begin, '/');
	return end && end > begin ? gpumon_strndup(begin, (size_t)(end - begin)) : NULL;
}

/* The size of a region in dmem.capacity, which only the root has. @capacity is NULL without it. */
static struct gpumon_value capacity_of(const char *capacity, const char *region)
{
	struct gpumon_value bytes = { 0 };
	size_t length = strlen(region);

	for (const char *line = capacity; line && *line; line += strcspn(line, "\n")) {
		line += strspn(line, "\n");
		if (strncmp(line, region, length) == 0 && line[length] == ' ') {
			char *copy = gpumon_strndup(line, strcspn(line, "\n"));

			take_region(copy, &bytes);
			free(copy);
			break;
		}
	}
	return bytes;
}

static void add_regions(struct gpumon_model *model, const struct place *place, char *text,
			const char *capacity)
{
	struct gpumon_value bytes;
	char *save, *region;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct gpumon_dmem *dmem;

		region = take_region(line, &bytes);
		if (!region)
			continue;
		dmem = gpumon_model_add_dmem(model);
		dmem->container = place->container ? gpumon_strdup(place->container) : NULL;
		dmem->cgroup = gpumon_strndup(place->path, place->length);
		dmem->region = gpumon_strdup(region);
		dmem->device = device_of(region);
		dmem->bytes = bytes;
		dmem->capacity_bytes = capacity_of(capacity, region);
	}
}

static void read_place(struct gpumon_model *model, int hierarchy, const struct place *place,
		       const char *capacity)
{
	int folder = open_below(hierarchy, place->path, place->length);
	char *text;

	if (folder < 0)
		return;
	text = read_text(folder, "dmem.current");
	close(folder);
	if (text)
		add_regions(model, place, text, capacity);
	free(text);
}

void gpumon_dmem_resolve(struct gpumon_model *model, int hierarchy)
{
	struct places places = { 0 };
	const struct place *last = NULL;
	struct stat current;
	char *capacity;

	gpumon_model_clear_dmem(model);
	/* Where the root has none, the kernel has no such controller. */
	if (fstatat(hierarchy, "dmem.current", &current, 0))
		return;
	capacity = read_text(hierarchy, "dmem.capacity");
	for (size_t i = 0; i < model->n_processes; i++)
		add_place(&places, model->processes[i].cgroup, model->processes[i].container,
			  model->processes[i].cgroup_id);
	for (size_t i = 0; i < model->n_cgroups; i++)
		add_place(&places, model->cgroups[i].path, model->cgroups[i].container,
			  model->cgroups[i].id);
	if (places.n)
		qsort(places.at, places.n, sizeof(*places.at), compare_places);
	for (size_t i = 0; i < places.n; i++) {
		if (last && !compare_places(last, &places.at[i]))
			continue;
		if (!is_still_there(hierarchy, &places.at[i]))
			continue;
		read_place(model, hierarchy, &places.at[i], capacity);
		last = &places.at[i];
	}
	free(places.at);
	free(capacity);
}
