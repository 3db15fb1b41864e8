// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "left_behind.h"

static bool has_variable(const char *root, pid_t pid, const char *variable)
{
	char path[PATH_MAX], *word = NULL;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%d/environ", root, (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getdelim(&word, &room, '\0', file) > 0)
		found = !strcmp(word, variable);
	free(word);
	fclose(file);
	return found;
}

unsigned int gpumon_left_behind(const char *root, const char *variable, pid_t *first)
{
	unsigned int count = 0;
	struct dirent *entry;
	char path[PATH_MAX];
	DIR *entries;

	snprintf(path, sizeof(path), "%s/proc", root);
	entries = opendir(path);
	while (entries && (entry = readdir(entries))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0 || pid == getpid() || !has_variable(root, pid, variable))
			continue;
		if (!count++)
			*first = pid;
	}
	if (entries)
		closedir(entries);
	return count;
}
