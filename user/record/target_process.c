// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/files.h"
#include "lib/wait.h"
#include "target_process.h"

/* Ids of names of threads. Libraries count theirs from 1 on, the recorder's others are higher. */
#define STRING_NAMES	 0xfff00000u
#define STRING_NAMES_MAX 0xffff0000u

/* How often all names are read again. */
#define NAMES_NS 1000000000ull

/* Clocks that are so far apart cannot be the same one. The hello takes much less. */
#define CLOCK_APART_NS 1000000000ll

static bool read_proc(const struct gpumon_looks *looks, pid_t task, const char *name, char *text,
		      size_t room)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)looks->pid, (int)task, name);
	return gpumon_read_short(looks->root, path, text, room);
}

/* The last number of a line, which for NSpid is the innermost. */
static bool find_number(const char *text, const char *line, unsigned int *number)
{
	const char *at = strstr(text, line);
	char *end;

	if (!at)
		return false;
	at += strlen(line);
	*number = 0;
	for (;;) {
		unsigned long value;

		at += strspn(at, " \t");
		value = strtoul(at, &end, 10);
		if (end == at)
			return true;
		*number = (unsigned int)value;
		at = end;
	}
}

/* The thread of the process that has this tid in its own pid namespace. 0: there is none. */
static pid_t find_task(const struct gpumon_looks *looks, uint32_t tid)
{
	char path[PATH_MAX], text[4096];
	struct dirent *entry;
	unsigned int inner;
	pid_t found = 0;
	DIR *tasks;

	if (!looks->pid || !tid)
		return 0;
	if (!looks->is_other_namespace)
		return (pid_t)tid;
	snprintf(path, sizeof(path), "%s/proc/%d/task", looks->root, (int)looks->pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);

		if (task > 0 && read_proc(looks, task, "status", text, sizeof(text)) &&
		    find_number(text, "\nNSpid:", &inner) && inner == tid)
			found = task;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

bool gpumon_looks_filters(const char *root, pid_t pid, pid_t task, unsigned int *filters)
{
	char path[PATH_MAX], text[4096];
	unsigned int mode;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)task);
	if (!gpumon_read_short(root, path, text, sizeof(text)) ||
	    !find_number(text, "\nSeccomp:", &mode))
		return false;
	*filters = mode != 0;
	(void)find_number(text, "\nSeccomp_filters:", filters);
	return true;
}

/* The addresses that the kernel gave to the program differ with each exec(). */
static uint64_t hash_image(const struct gpumon_looks *looks)
{
	char path[PATH_MAX], text[1024];
	ssize_t length = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/proc/%d/auxv", looks->root, (int)looks->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, text, sizeof(text));
		close(fd);
	}
	return length > 0 ? gpumon_hash_bytes(text, (size_t)length) : 0;
}

void gpumon_looks_begin(struct gpumon_looks *looks, const char *root, pid_t pid,
			const struct gpumon_message_hello *hello)
{
	*looks = (struct gpumon_looks){ .root = root, .pid = pid, .last_id = STRING_NAMES };
	if (!pid)
		return;
	looks->is_other_namespace = hello->pid != (uint32_t)pid;
	looks->library = find_task(looks, hello->tid);
	looks->image = hash_image(looks);
	(void)gpumon_looks_filters(root, pid, looks->library ? looks->library : pid,
				   &looks->filters);
}

static struct gpumon_look_thread *find_thread(struct gpumon_looks *looks, uint32_t tid)
{
	size_t place = (size_t)gpumon_map_get(&looks->places, tid);

	return place ? &looks->threads[place - 1] : NULL;
}

static struct gpumon_look_thread *add_thread(struct gpumon_looks *looks, uint32_t tid)
{
	if (looks->count == looks->room) {
		looks->room = looks->room ? 2 * looks->room : 64;
		looks->threads =
			gpumon_reallocarray(looks->threads, looks->room, sizeof(*looks->threads));
	}
	gpumon_map_set(&looks->places, tid, looks->count + 1);
	return &looks->threads[looks->count++];
}

/* Threads come and go: what has ended is not looked for again. */
static void forget_ended(struct gpumon_looks *looks)
{
	size_t kept = 0;

	gpumon_map_clear(&looks->places);
	for (size_t i = 0; i < looks->count; i++) {
		if (looks->threads[i].has_ended)
			continue;
		gpumon_map_set(&looks->places, looks->threads[i].tid, kept + 1);
		looks->threads[kept++] = looks->threads[i];
	}
	looks->count = kept;
}

/* @name: 0 where the library leaves it to this side. Another thread may have had the same number. */
static void see_thread(struct gpumon_looks *looks, uint32_t tid, uint32_t name)
{
	struct gpumon_look_thread *thread = find_thread(looks, tid);

	if (!thread)
		thread = add_thread(looks, tid);
	*thread = (struct gpumon_look_thread){ .tid = tid, .is_named = name };
	looks->unnamed |= !name;
}

static void see_string(struct gpumon_looks *looks, const struct gpumon_record *record)
{
	const struct gpumon_record_string *string = (const void *)record;

	if (record->size < sizeof(*string) || string->length > record->size - sizeof(*string) ||
	    !string->length || string->text[0] != '/' || string->length >= PATH_MAX ||
	    gpumon_map_get(&looks->paths, string->id))
		return;
	gpumon_map_set(&looks->paths, string->id,
		       (uintptr_t)gpumon_strndup(string->text, string->length));
}

/* The file as the process sees it, which may have another root. */
static void fill_mapping(const struct gpumon_looks *looks, struct gpumon_record_mapping *mapping)
{
	const char *path = (const char *)(uintptr_t)gpumon_map_get(&looks->paths, mapping->path);
	char full[2 * PATH_MAX];
	struct stat status;

	if (!path || mapping->inode || !looks->pid)
		return;
	snprintf(full, sizeof(full), "%s/proc/%d/root%s", looks->root, (int)looks->pid, path);
	if (stat(full, &status))
		return;
	mapping->inode = status.st_ino;
	mapping->device = status.st_dev;
}

void gpumon_looks_record(struct gpumon_looks *looks, struct gpumon_record *record)
{
	struct gpumon_record_thread thread;

	if (record->type == GPUMON_RECORD_STRING)
		see_string(looks, record);
	else if (record->type == GPUMON_RECORD_MAPPING &&
		 record->size >= sizeof(struct gpumon_record_mapping))
		fill_mapping(looks, (struct gpumon_record_mapping *)record);
	if (record->type != GPUMON_RECORD_THREAD)
		return;
	gpumon_record_copy(&thread, sizeof(thread), record);
	see_thread(looks, thread.tid, thread.name);
}

/* Writes each name once. Returns 0 if there are too many. */
static uint32_t name_id(struct gpumon_looks *looks, struct gpumon_capture_file *file,
			const char *name)
{
	uint64_t hash = gpumon_hash_bytes(name, strlen(name)) | 1;
	uint32_t id = (uint32_t)gpumon_map_get(&looks->names, hash);

	if (id || looks->last_id >= STRING_NAMES_MAX)
		return id;
	id = ++looks->last_id;
	gpumon_map_set(&looks->names, hash, id);
	gpumon_capture_append_string(file, id, name);
	return id;
}

static void write_name(struct gpumon_looks *looks, struct gpumon_capture_file *file,
		       struct gpumon_look_thread *thread)
{
	struct gpumon_record_thread record = {
		.head = { .type = GPUMON_RECORD_THREAD, .size = sizeof(record) },
		.tid = thread->tid,
	};
	char name[sizeof(thread->name)];
	size_t length;

	if (!thread->task)
		thread->task = find_task(looks, thread->tid);
	thread->has_ended = !thread->task ||
			    !read_proc(looks, thread->task, "comm", name, sizeof(name));
	if (thread->has_ended)
		return;
	/* The kernel adds one end of line. */
	length = strlen(name);
	if (length && name[length - 1] == '\n')
		name[length - 1] = '\0';
	if (!strcmp(name, thread->name))
		return;
	memcpy(thread->name, name, sizeof(name));
	record.name = name_id(looks, file, name);
	if (record.name)
		(void)gpumon_capture_append(file, 0, &record, sizeof(record));
}

void gpumon_looks_names(struct gpumon_looks *looks, struct gpumon_capture_file *file, uint64_t now,
			bool all)
{
	all |= now >= looks->next_ns;
	if (!looks->pid || (!looks->unnamed && !all))
		return;
	for (size_t i = 0; i < looks->count; i++)
		if (!looks->threads[i].is_named && (all || !looks->threads[i].name[0]))
			write_name(looks, file, &looks->threads[i]);
	looks->unnamed = false;
	if (!all)
		return;
	forget_ended(looks);
	looks->next_ns = now + NAMES_NS;
}

enum gpumon_channel_sandbox gpumon_looks_sandbox(struct gpumon_looks *looks)
{
	unsigned int of_main = 0, of_library = 0;

	if (!looks->pid || looks->sandbox == GPUMON_SANDBOX_NEW)
		return looks->sandbox;
	/* The main thread may have ended, the library's may be one that the program's filter is not for. */
	if (!gpumon_looks_filters(looks->root, looks->pid, looks->pid, &of_main) && !looks->library)
		return looks->sandbox;
	if (looks->library)
		(void)gpumon_looks_filters(looks->root, looks->pid, looks->library, &of_library);
	looks->sandbox = of_main > looks->filters || of_library > looks->filters ?
				 GPUMON_SANDBOX_NEW :
				 GPUMON_SANDBOX_NONE;
	return looks->sandbox;
}

bool gpumon_looks_library(const struct gpumon_looks *looks)
{
	char path[PATH_MAX];

	if (!looks->pid || !looks->library)
		return true;
	snprintf(path, sizeof(path), "%s/proc/%d/task/%d", looks->root, (int)looks->pid,
		 (int)looks->library);
	return !access(path, F_OK);
}

bool gpumon_looks_program(const struct gpumon_looks *looks)
{
	return looks->pid && looks->image && hash_image(looks) == looks->image;
}

void gpumon_looks_end(struct gpumon_looks *looks)
{
	for (size_t i = 0; looks->paths.slots && i <= looks->paths.mask; i++)
		free((char *)(uintptr_t)looks->paths.slots[i].value);
	gpumon_map_clear(&looks->paths);
	gpumon_map_clear(&looks->names);
	gpumon_map_clear(&looks->places);
	free(looks->threads);
	looks->threads = NULL;
	looks->count = looks->room = 0;
}

/* How far a namespace's CLOCK_MONOTONIC is ahead of the machine's. */
static bool namespace_offset(const char *root, const char *process, int64_t *offset_ns)
{
	char path[PATH_MAX], text[256];
	long long seconds, ns;
	const char *line;

	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	if (!gpumon_read_short(root, path, text, sizeof(text)))
		return false;
	line = strstr(text, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &seconds, &ns) != 2)
		return false;
	*offset_ns = seconds * 1000000000ll + ns;
	return true;
}

int64_t gpumon_looks_clock(const char *root, pid_t pid, const struct gpumon_message_hello *hello)
{
	int64_t ours, theirs, apart = (int64_t)(gpumon_monotonic_ns() - hello->monotonic_ns);
	char process[16];

	snprintf(process, sizeof(process), "%d", (int)pid);
	if (pid && namespace_offset("", "self", &ours) && namespace_offset(root, process, &theirs))
		return ours - theirs;
	return hello->monotonic_ns && llabs(apart) > CLOCK_APART_NS ? apart : 0;
}
