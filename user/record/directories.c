// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "directories.h"
#include "lib/array.h"
#include "lib/files.h"
#include "capture/findings.h"
#include "report/stored_names.h"

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

/* Compares directories by number. */
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

static bool has_suffix(const char *name, const char *with)
{
	size_t length = strlen(name), suffix = strlen(with);

	return length > suffix && !strcmp(name + length - suffix, with);
}

/* True for the name of a file of a capture. */
static bool is_ours(const char *name)
{
	if (!strcmp(name, GPUMON_CAPTURE_INFO) || !strcmp(name, GPUMON_CAPTURE_INFO_NEW) ||
	    !strcmp(name, GPUMON_CAPTURE_RESERVE) || !strcmp(name, GPUMON_FINDINGS_FILE))
		return true;
	if (!strncmp(name, "perf-", 5) && has_suffix(name, ".map"))
		return true;
	return has_suffix(name, GPUMON_CAPTURE_SUFFIX) ||
	       has_suffix(name, GPUMON_STORED_NAMES_SUFFIX);
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

/*
 * A process that waits for our end and then removes the capture. It ignores signals and has a
 * session of its own, so that Ctrl-C does not reach it.
 */
static _Noreturn void run_keeper(const char *path, int end)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte;

	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	dup2(end, 3);
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	close_range(4, ~0U, 0);
	while (read(3, &byte, 1) < 0 && errno == EINTR)
		;
	gpumon_remove_capture(path);
	_exit(0);
}

static void start_keeper(struct gpumon_temporary *temporary)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	/* Flush first, or the child could write the same buffered text again. */
	fflush(NULL);
	temporary->keeper = fork();
	if (!temporary->keeper) {
		close(ends[1]);
		run_keeper(temporary->path, ends[0]);
	}
	close(ends[0]);
	if (temporary->keeper < 0) {
		temporary->keeper = 0;
		close(ends[1]);
		return;
	}
	temporary->pipe = ends[1];
}

int gpumon_temporary_make(struct gpumon_temporary *temporary, struct gpumon_error *err)
{
	const char *parent = getenv("TMPDIR");

	const char *name, *problem;
	int folder;

	memset(temporary, 0, sizeof(*temporary));
	temporary->pipe = -1;
	snprintf(temporary->path, sizeof(temporary->path), "%s/gpumon-XXXXXX",
		 parent && *parent ? parent : "/tmp");
	folder = gpumon_folder_of(temporary->path, &name);
	problem = folder < 0 ? NULL : gpumon_folder_problem(folder);
	if (folder >= 0)
		close(folder);
	if (problem) {
		gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -EPERM, GPUMON_ERROR_IO,
			"no directory for the capture (%s): %s, say where with -o DIR, or by TMPDIR",
			temporary->path, problem);
		temporary->path[0] = '\0';
		return -1;
	}
	if (!mkdtemp(temporary->path)) {
		gpumon_error_set(
			err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
			"no directory for the capture (%s): %s, say where with -o DIR, or by TMPDIR",
			temporary->path, strerror(errno));
		temporary->path[0] = '\0';
		return -1;
	}
	start_keeper(temporary);
	return 0;
}

void gpumon_temporary_remove(struct gpumon_temporary *temporary)
{
	if (!temporary->path[0])
		return;
	if (temporary->pipe >= 0)
		close(temporary->pipe);
	while (temporary->keeper && waitpid(temporary->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	/* The keeper could not be started, or was killed. */
	gpumon_remove_capture(temporary->path);
	temporary->path[0] = '\0';
}
