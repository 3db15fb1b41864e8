// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Data about the machine: drivers, major numbers, GPUs by minor number, live processes. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "lib/files.h"
#include "lib/process_info.h"
#include "bpf_fill.h"

/* /proc reports start times in hundredths of a second, on every machine. */
#define TICK_NS 10000000ULL

bool gpumon_source_loaded(const char *root, const char *module)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/module/%s", root, module);
	return !access(path, F_OK);
}

bool gpumon_source_has_tracepoint(const struct btf *kernel, const char *name)
{
	char type[128];

	/* The kernel has a function type with this name for each of its tracepoints. */
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

unsigned int gpumon_source_major(const char *root, enum source_nvidia_family family)
{
	static const char *const names[SOURCE_NVIDIA_FAMILIES][3] = {
		/* 535 uses the first, 550 the second or third. */
		[SOURCE_NVIDIA] = { "nvidia-frontend", "nvidia", "nvidiactl" },
		[SOURCE_NVIDIA_UVM] = { "nvidia-uvm", NULL, NULL },
	};
	unsigned int number, found = 0;
	char line[256], path[PATH_MAX];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/proc/devices", root);
	stream = fopen(path, "re");
	if (!stream)
		return 0;
	while (!found && fgets(line, sizeof(line), stream)) {
		char name[128];

		/* Block devices have numbers of their own. */
		if (!strncmp(line, "Block", 5))
			break;
		if (sscanf(line, "%u %127s", &number, name) != 2)
			continue;
		for (size_t i = 0; i < 3 && names[family][i]; i++) {
			if (!strcmp(name, names[family][i]))
				found = number;
		}
	}
	fclose(stream);
	return found;
}

static bool read_minor(const char *path, unsigned int *minor)
{
	FILE *stream = fopen(path, "re");
	bool found = false;
	char line[256];

	if (!stream)
		return false;
	while (!found && fgets(line, sizeof(line), stream))
		found = sscanf(line, "Device Minor: %u", minor) == 1;
	fclose(stream);
	return found;
}

void gpumon_source_gpus(const char *root, struct gpumon_source_gpus *gpus)
{
	char path[PATH_MAX], file[PATH_MAX];
	const struct dirent *entry;
	unsigned int minor;
	DIR *folder;

	memset(gpus, 0, sizeof(*gpus));
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= SOURCE_NAME_LEN)
			continue;
		if ((size_t)snprintf(file, sizeof(file), "%s/%s/information", path,
				     entry->d_name) >= sizeof(file))
			continue;
		if (read_minor(file, &minor) && minor < GPUMON_SOURCE_GPUS)
			snprintf(gpus->name[minor], sizeof(gpus->name[minor]), "%.*s",
				 SOURCE_NAME_LEN - 1, entry->d_name);
	}
	closedir(folder);
}

static void read_comm(const char *root, unsigned long long pid, char **comm)
{
	char name[64], text[64], *copy;

	snprintf(name, sizeof(name), "/proc/%llu/comm", pid);
	if (!gpumon_read_short(root, name, text, sizeof(text)) || !*text)
		return;
	text[strcspn(text, "\n")] = '\0';
	copy = strdup(text);
	if (copy) {
		free(*comm);
		*comm = copy;
	}
}

void gpumon_source_alive(struct gpumon_model *model, const char *root,
			 const struct source_process *processes, size_t n)
{
	if (!gpumon_initial_pid_namespace(root))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct source_process *from = &processes[i];
		uint64_t ticks;

		if (!from->ready)
			continue;
		for (size_t k = 0; k < model->n_processes; k++) {
			struct gpumon_process *process = &model->processes[k];

			if (process->pid.v != from->pid || process->start_ns.v != from->start_ns)
				continue;
			process->alive = gpumon_value_of(
				gpumon_process_start_ticks(root, (pid_t)from->pid, &ticks) &&
				ticks == from->start_boottime_ns / TICK_NS);
			if (process->alive.v)
				read_comm(root, from->pid, &process->comm);
		}
	}
}
