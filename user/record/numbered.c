// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/folder.h"
#include "numbered.h"
#include "remove.h"

struct names {
	char (*names)[NAME_MAX + 1];
	size_t count;
};

/* Compares what follows the first "-", which no prefix has before its end. */
static const char *after_prefix(const char *name)
{
	const char *dash = strchr(name, '-');

	return dash ? dash + 1 : name;
}

/* The number of a name, 0 for the name of something else. */
static unsigned long number_of(const char *name, const char *prefix)
{
	char *end;
	unsigned long number;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return 0;
	number = strtoul(after_prefix(name), &end, 10);
	return *end == '-' ? number : 0;
}

static int by_number(const void *a, const void *b)
{
	unsigned long x = strtoul(after_prefix(a), NULL, 10);
	unsigned long y = strtoul(after_prefix(b), NULL, 10);

	return x < y ? -1 : x > y;
}

/* By number. Without memory there are fewer. */
static void list_numbered(int directory, const char *prefix, struct names *names)
{
	DIR *dir = gpumon_folder_entries(directory, ".", 0);
	const struct dirent *entry;
	char *added;

	*names = (struct names){ 0 };
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!number_of(entry->d_name, prefix))
			continue;
		added = GPUMON_GROW(names->names, names->count);
		if (!added)
			break;
		snprintf(added, sizeof(*names->names), "%s", entry->d_name);
	}
	closedir(dir);
	if (names->count)
		qsort(names->names, names->count, sizeof(*names->names), by_number);
}

void gpumon_numbered_name(int directory, const char *prefix, const char *suffix, char *name,
			  size_t room)
{
	time_t now = time(NULL);
	unsigned long number = 1;
	struct names names;
	struct tm local;
	char stamp[32];

	list_numbered(directory, prefix, &names);
	if (names.count)
		number = number_of(names.names[names.count - 1], prefix) + 1;
	free(names.names);
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	snprintf(name, room, "%s%04lu-%s%s", prefix, number, stamp, suffix);
}

void gpumon_numbered_limit(int directory, const char *path, const char *prefix, uint32_t most)
{
	char capture[PATH_MAX + NAME_MAX + 2];
	struct names names;

	list_numbered(directory, prefix, &names);
	for (size_t i = 0; i + most < names.count; i++) {
		snprintf(capture, sizeof(capture), "%s/%s", path, names.names[i]);
		if (unlinkat(directory, names.names[i], 0))
			gpumon_remove_capture(capture);
	}
	free(names.names);
}
