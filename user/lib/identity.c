// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "identity.h"

/* PROC_PID_INIT_INO, the same on every kernel. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

/* Read the numbers of a line of /proc/PID/status, from our namespace inwards. */
static unsigned int read_numbers(const char *root, pid_t pid, const char *key, pid_t *numbers,
				 unsigned int room)
{
	size_t length = strlen(key);
	unsigned int count = 0;
	char path[PATH_MAX], line[1024];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/proc/%d/status", root, (int)pid);
	stream = fopen(path, "re");
	if (!stream)
		return 0;
	while (fgets(line, sizeof(line), stream)) {
		char *at = line + length, *end;

		if (strncmp(line, key, length))
			continue;
		for (; count < room; at = end) {
			long number = strtol(at, &end, 10);

			/* Reject a line that contains anything but numbers. */
			if (end == at) {
				count = at[strspn(at, " \t\n")] ? 0 : count;
				break;
			}
			numbers[count++] = (pid_t)number;
		}
		break;
	}
	fclose(stream);
	return count;
}

pid_t gpumon_process_of_thread(const char *root, pid_t tid)
{
	pid_t number = 0;

	return read_numbers(root, tid, "Tgid:", &number, 1) ? number : 0;
}

pid_t gpumon_process_inner_pid(const char *root, pid_t pid)
{
	pid_t numbers[32];
	unsigned int count = read_numbers(root, pid, "NSpid:", numbers, 32);

	return count ? numbers[count - 1] : 0;
}

pid_t gpumon_process_inner_parent(const char *root, pid_t pid, pid_t parent)
{
	pid_t own[32], its[32];
	unsigned int count = read_numbers(root, pid, "NSpid:", own, 32);
	unsigned int there = read_numbers(root, parent, "NSpid:", its, 32);
	struct stat a, b;
	char path[PATH_MAX];

	if (!count || there < count)
		return 0;
	/* The same depth does not mean the same namespace. */
	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", root, (int)pid);
	if (stat(path, &a))
		return 0;
	snprintf(path, sizeof(path), "%s/proc/%d/ns/pid", root, (int)parent);
	if (stat(path, &b) || a.st_ino != b.st_ino)
		return 0;
	return its[count - 1];
}

static char thread_state(const char *root, pid_t pid, pid_t tid)
{
	char path[PATH_MAX], line[512], *at = NULL;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", root, (int)pid, (int)tid);
	stream = fopen(path, "re");
	if (!stream)
		return 'X';
	if (fgets(line, sizeof(line), stream))
		at = strrchr(line, ')');
	fclose(stream);
	return at && at[1] == ' ' ? at[2] : 'X';
}

bool gpumon_process_thread_lives(const char *root, pid_t pid, pid_t tid)
{
	return !strchr("ZXx", thread_state(root, pid, tid));
}

pid_t gpumon_process_living_thread(const char *root, pid_t pid)
{
	struct dirent *entry;
	char path[PATH_MAX];
	pid_t found = 0;
	DIR *folder;

	if (gpumon_process_thread_lives(root, pid, pid))
		return pid;
	snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && gpumon_process_thread_lives(root, pid, tid))
			found = tid;
	}
	if (folder)
		closedir(folder);
	return found;
}

bool gpumon_initial_pid_namespace(const char *root)
{
	char path[PATH_MAX], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	return !strcmp(target, INITIAL_PID_NAMESPACE);
}
