// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/files.h"
#include "lib/launch.h"
#include "lib/wait.h"
#include "environment.h"
#include "unrecorded.h"

#define INJECTION "libgpumon-inject.so"

/* The first look is soon, since many programs are short. */
#define PAUSE_MIN_NS 100000000ULL
#define PAUSE_MAX_NS 1000000000ULL
/* One hundredth of a CPU. */
#define SHARE 100

/* The injection library comes by one of these variables. OpenCL's loaders without layers are told elsewhere. */
static const struct api {
	const char *name;
	const char *library;
	const char *variable;
	const char *value; /* is part of what gpumon has set it to */
} apis[] = {
	{ "CUDA", "libcuda.so", "CUDA_INJECTION64_PATH", "gpumon" },
	{ "HIP", "libamdhip64.so", "LD_PRELOAD", "gpumon" },
	{ "OpenCL", "libOpenCL.so", "OPENCL_LAYERS", "gpumon" },
	{ "Level Zero", "libze_loader.so", "LD_PRELOAD", "gpumon" },
	{ "Vulkan", "libvulkan.so", "VK_INSTANCE_LAYERS", "gpumon" },
	{ "OpenGL", "libEGL.so", "LD_PRELOAD", GPUMON_PRELOAD_OPENGL },
	{ "OpenGL", "libGLX.so", "LD_PRELOAD", GPUMON_PRELOAD_OPENGL },
};

static FILE *open_proc(const char *root, pid_t pid, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name);
	return fopen(path, "re");
}

void gpumon_unrecorded_begin(struct gpumon_unrecorded *unrecorded, char *const *variables)
{
	for (; *variables; variables++)
		for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
			size_t length = strlen(apis[i].variable);

			if (!strncmp(*variables, apis[i].variable, length) &&
			    (*variables)[length] == '=' && strstr(*variables, apis[i].value))
				unrecorded->apis |= 1u << i;
		}
}

/*
 * The first of these APIs whose library a process has, NULL: none. @injection: where the injection
 * library is, 0: it is not there.
 */
static const struct api *find_api(const char *root, pid_t pid, unsigned int wanted,
				  unsigned long *injection)
{
	FILE *maps = open_proc(root, pid, "maps");
	const struct api *found = NULL;
	char *line = NULL;
	size_t room = 0;

	*injection = 0;
	while (maps && getline(&line, &room, maps) > 0) {
		const char *file = strrchr(line, '/');

		if (!file++)
			continue;
		if (!*injection && !strncmp(file, INJECTION, strlen(INJECTION)))
			*injection = strtoul(line, NULL, 16);
		for (size_t i = 0; !found && i < sizeof(apis) / sizeof(apis[0]); i++)
			if (wanted & 1u << i &&
			    !strncmp(file, apis[i].library, strlen(apis[i].library)))
				found = &apis[i];
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* Not of a process of 32 bits. */
static bool is_privileged(const char *root, pid_t pid)
{
	FILE *file = open_proc(root, pid, "auxv");
	Elf64_auxv_t entry;
	bool is_secure = false;

	while (file && fread(&entry, sizeof(entry), 1, file) == 1 && entry.a_type != AT_NULL)
		is_secure |= entry.a_type == AT_SECURE && entry.a_un.a_val;
	if (file)
		fclose(file);
	return is_secure;
}

/* The variable that is not in its environment as gpumon has set it; NULL: all are, or it cannot be read. */
static const char *missing_variable(const char *root, pid_t pid, const struct api *api)
{
	const char *const names[] = { "GPUMON_SOCKET", api->variable };
	const char *const values[] = { "gpumon", api->value };
	FILE *file = open_proc(root, pid, "environ");
	bool found[2] = { !file, !file };
	char *word = NULL;
	size_t room = 0;

	while (file && getdelim(&word, &room, '\0', file) > 0)
		for (size_t i = 0; i < 2; i++)
			found[i] |= !strncmp(word, names[i], strlen(names[i])) &&
				    strstr(word + strlen(names[i]), values[i]);
	free(word);
	if (file)
		fclose(file);
	return !found[0] ? names[0] : !found[1] ? names[1] : NULL;
}

/*
 * A fork has its parent's libraries at the same addresses, and it connects when it first uses the API.
 * After exec the addresses are others.
 */
static bool is_fork(const char *root, pid_t parent, unsigned int wanted, unsigned long injection)
{
	unsigned long of_parent;

	(void)find_api(root, parent, wanted, &of_parent);
	return of_parent == injection;
}

static void look_at_process(struct gpumon_unrecorded *unrecorded, const char *root, pid_t pid,
			    pid_t parent)
{
	struct gpumon_unrecorded_process process = { .pid = pid };
	unsigned long injection;
	const struct api *api;
	char path[PATH_MAX];

	api = find_api(root, pid, unrecorded->apis, &injection);
	if (!api)
		return;
	process.missing = missing_variable(root, pid, api);
	snprintf(path, sizeof(path), "%s/proc/%d/exe", root, (int)pid);
	if (gpumon_launch_is_of_32_bits(path))
		process.reason = GPUMON_UNRECORDED_32_BITS;
	else if (is_privileged(root, pid))
		process.reason = GPUMON_UNRECORDED_PRIVILEGED;
	else if (process.missing)
		process.reason = GPUMON_UNRECORDED_VARIABLE;
	else if (injection && !is_fork(root, parent, unrecorded->apis, injection))
		process.reason = GPUMON_UNRECORDED_SILENT;
	else
		return; /* The API is not used: it would have loaded the injection library, or woken it. */
	process.api = api->name;
	process.library = api->library;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (!gpumon_read_short(root, path, process.name, sizeof(process.name)))
		return;
	process.name[strcspn(process.name, "\n")] = '\0';
	gpumon_map_set(&unrecorded->known, (uint64_t)pid, 1);
	if (unrecorded->count < GPUMON_UNRECORDED_MAX)
		unrecorded->processes[unrecorded->count] = process;
	unrecorded->count++;
}

/* A process and its parent. */
struct relative {
	pid_t pid;
	pid_t parent;
	bool is_ours;
};

static pid_t read_parent(const char *root, pid_t pid)
{
	char path[64], text[512];
	const char *end;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!gpumon_read_short(root, path, text, sizeof(text)))
		return 0;
	/* The name may have any character. */
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static size_t list_processes(const char *root, struct relative **list)
{
	struct dirent *entry;
	size_t count = 0, room = 0;
	char path[PATH_MAX];
	DIR *entries;

	*list = NULL;
	snprintf(path, sizeof(path), "%s/proc", root);
	entries = opendir(path);
	while (entries && (entry = readdir(entries))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0)
			continue;
		if (count == room) {
			room = room ? 2 * room : 256;
			*list = gpumon_reallocarray(*list, room, sizeof(**list));
		}
		(*list)[count++] =
			(struct relative){ .pid = pid, .parent = read_parent(root, pid) };
	}
	if (entries)
		closedir(entries);
	return count;
}

/* The program's children, theirs, and so on. A child may have a lower number than its parent. */
static void find_family(struct relative *list, size_t count, pid_t program)
{
	struct gpumon_map ours = { 0 };
	bool is_more = true;

	gpumon_map_set(&ours, (uint64_t)program, 1);
	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < count; i++) {
			if (list[i].is_ours || (list[i].pid != program &&
						!gpumon_map_get(&ours, (uint64_t)list[i].parent)))
				continue;
			list[i].is_ours = true;
			gpumon_map_set(&ours, (uint64_t)list[i].pid, 1);
			is_more = true;
		}
	}
	gpumon_map_clear(&ours);
}

void gpumon_unrecorded_look(struct gpumon_unrecorded *unrecorded, const char *root, pid_t program,
			    const struct gpumon_recorder *recorder)
{
	uint64_t now = gpumon_monotonic_ns(), used_ns;
	struct relative *list;
	size_t count;

	if (!unrecorded->next_ns)
		unrecorded->next_ns = now + PAUSE_MIN_NS;
	if (now < unrecorded->next_ns)
		return;
	used_ns = gpumon_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	count = list_processes(root, &list);
	find_family(list, count, program);
	for (size_t i = 0; i < count; i++)
		if (list[i].is_ours && !gpumon_recorder_is_recording(recorder, list[i].pid) &&
		    !gpumon_map_get(&unrecorded->known, (uint64_t)list[i].pid))
			look_at_process(unrecorded, root, list[i].pid, list[i].parent);
	free(list);
	used_ns = gpumon_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
	unrecorded->pause_ns = unrecorded->pause_ns ? 2 * unrecorded->pause_ns : PAUSE_MIN_NS;
	if (unrecorded->pause_ns > PAUSE_MAX_NS)
		unrecorded->pause_ns = PAUSE_MAX_NS;
	unrecorded->next_ns = gpumon_monotonic_ns() + unrecorded->pause_ns + SHARE * used_ns;
}

bool gpumon_unrecorded_text(const struct gpumon_unrecorded *unrecorded, unsigned int i,
			    const struct gpumon_recorder *recorder, char *text, size_t room)
{
	const struct gpumon_unrecorded_process *process;
	int length;

	if (i >= unrecorded->count || i > GPUMON_UNRECORDED_MAX)
		return false;
	if (i == GPUMON_UNRECORDED_MAX) {
		snprintf(text, room,
			 "%u more processes have the library of an API and are not recorded",
			 unrecorded->count - i);
		return true;
	}
	process = &unrecorded->processes[i];
	if (process->reason == GPUMON_UNRECORDED_SILENT &&
	    gpumon_recorder_has_met(recorder, process->pid))
		return false;
	length = snprintf(
		text, room,
		"process %d (%s) has loaded %s and is not recorded, so what it does with %s is not known: ",
		(int)process->pid, process->name, process->library, process->api);
	text += length;
	room -= (size_t)length;
	switch (process->reason) {
	case GPUMON_UNRECORDED_VARIABLE:
		snprintf(text, room,
			 "%s is not in its environment (leave it there, or use record -p)",
			 process->missing);
		break;
	case GPUMON_UNRECORDED_32_BITS:
		snprintf(
			text, room,
			"it is of 32 bits, and the injection library is not (record its build of 64 bits)");
		break;
	case GPUMON_UNRECORDED_PRIVILEGED:
		snprintf(
			text, room,
			"it is setuid, setgid or has capabilities (record a copy, which has no such rights)");
		break;
	default:
		snprintf(
			text, room,
			"the injection library is in it and did not connect (a sandbox, or a limit of memory or threads, may forbid what it needs)");
		break;
	}
	return true;
}

void gpumon_unrecorded_free(struct gpumon_unrecorded *unrecorded)
{
	gpumon_map_clear(&unrecorded->known);
}
