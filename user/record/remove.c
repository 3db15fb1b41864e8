// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/folder.h"
#include "capture/capture.h"
#include "report/kept.h"
#include "remove.h"
#include "lib/sheet_file.h"

static bool has_suffix(const char *name, const char *with)
{
	size_t length = strlen(name), suffix = strlen(with);

	return length > suffix && !strcmp(name + length - suffix, with);
}

/* True for the name of a file of a capture. */
static bool is_ours(const char *name)
{
	if (!strcmp(name, GPUMON_CAPTURE_INFO) || !strcmp(name, GPUMON_CAPTURE_INFO_NEW) ||
	    !strcmp(name, GPUMON_CAPTURE_RESERVE) || !strcmp(name, GPUMON_SHEET_FILE))
		return true;
	if (!strncmp(name, "perf-", 5) && has_suffix(name, ".map"))
		return true;
	return has_suffix(name, GPUMON_CAPTURE_SUFFIX) || has_suffix(name, GPUMON_KEPT_SUFFIX);
}

void gpumon_remove_files(const char *directory)
{
	DIR *entries = gpumon_folder_entries(AT_FDCWD, directory, O_NOFOLLOW);
	struct dirent *entry;

	if (!entries)
		return;
	while ((entry = readdir(entries))) {
		if (is_ours(entry->d_name))
			(void)unlinkat(dirfd(entries), entry->d_name, 0);
		else if (!strcmp(entry->d_name, GPUMON_CAPTURE_RING))
			(void)unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
	}
	closedir(entries);
}

void gpumon_remove_capture(const char *directory)
{
	gpumon_remove_files(directory);
	(void)rmdir(directory);
}
