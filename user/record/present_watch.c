// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "lib/array.h"
#include "lib/files.h"
#include "lib/launch.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "lib/process_info.h"
#include "lib/wait.h"
#include "present_watch.h"
#include "uprobe.h"
#include "uprobe_program.h"

/* Presents are rare: some thousand bytes a second. */
#define RING_BYTES (256u << 10)
#define THREADS	   64
#define STACKS	   16
#define LOOK_NS	   1000000000u

/**
 * struct session - the probes in one process
 * @number: of the process, the same in @processes of the watch
 * @uprobes: NULL once it has ended
 * @strings: names of functions, by their ids
 * @string_count: number of @strings
 */
struct session {
	struct gpumon_present_watch *watch;
	uint32_t number;
	struct gpumon_uprobes *uprobes;
	char **strings;
	uint32_t string_count;
	uint32_t string_room;
};

/**
 * struct gpumon_present_watch - all of them
 * @pid: the one process, or 0
 * @sessions: pointers, since probes have the address of their session
 * @looked: by pid: the size of the process when it was looked at, and 1. It grows with each library
 * @looked_ns: when processes were looked for
 * @left_out: processes that are counted in @unwatched or @hidden, by pid
 */
struct gpumon_present_watch {
	const char *root;
	pid_t pid;
	struct gpumon_uprobes_options options;
	struct session **sessions;
	uint32_t session_count;
	uint32_t session_room;
	struct gpumon_present_process *processes;
	uint32_t process_count;
	uint32_t process_room;
	uint32_t live;
	struct gpumon_map looked;
	struct gpumon_map left_out;
	uint64_t looked_ns;
	uint32_t unwatched;
	uint32_t hidden;
	char why[256];
	struct gpumon_presents *presents;
	uint64_t began_ns;
	uint64_t lost;
};

/* --- one process */

static void keep_string(struct session *session, const struct gpumon_record *record)
{
	const struct gpumon_record_string *string = (const void *)record;

	while (session->string_count <= string->id)
		GPUMON_ARRAY_ADD(session->strings, session->string_count, session->string_room);
	free(session->strings[string->id]);
	session->strings[string->id] = gpumon_strndup(string->text, string->length);
}

static void on_record(void *data, uint32_t tid, const struct gpumon_record *record)
{
	struct session *session = data;
	struct gpumon_record_loss loss;
	struct gpumon_record_hit hit;

	(void)tid;
	switch (record->type) {
	case GPUMON_RECORD_STRING:
		keep_string(session, record);
		break;
	case GPUMON_RECORD_HIT:
		gpumon_record_copy(&hit, sizeof(hit), record);
		if (hit.function >= session->string_count || !session->strings[hit.function])
			break;
		gpumon_presents_add(session->watch->presents,
				    &(struct gpumon_present){
					    .process = session->number,
					    .tid = hit.tid,
					    .number = hit.number,
					    .time_ns = hit.time_ns,
					    .function = session->strings[hit.function],
				    });
		break;
	case GPUMON_RECORD_LOSS:
		gpumon_record_copy(&loss, sizeof(loss), record);
		if (loss.cause == GPUMON_LOSS_UPROBE_RING ||
		    loss.cause == GPUMON_LOSS_UPROBE_UNDECIDED)
			session->watch->lost += loss.count;
		break;
	}
}

static void read_process(const struct gpumon_present_watch *watch,
			 struct gpumon_present_process *process)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)process->pid);
	if (gpumon_read_short(watch->root, path, process->name, sizeof(process->name)))
		process->name[strcspn(process->name, "\n")] = '\0';
	if (!process->name[0])
		snprintf(process->name, sizeof(process->name), "process");
	snprintf(path, sizeof(path), "%s/proc/%d/exe", watch->root, (int)process->pid);
	process->is_32 = gpumon_launch_is_of_32_bits(path);
}

static void forget_strings(struct session *session)
{
	for (uint32_t i = 0; i < session->string_count; i++)
		free(session->strings[i]);
	session->string_count = 0;
}

static void session_free(struct session *session)
{
	forget_strings(session);
	free(session->strings);
	free(session);
}

static struct session *session_add(struct gpumon_present_watch *watch, pid_t pid,
				   struct gpumon_error *err)
{
	struct gpumon_uprobes *uprobes = gpumon_uprobes_watch(pid, &watch->options, err);
	struct gpumon_present_process *process;
	struct session *session;

	if (!uprobes)
		return NULL;
	process = GPUMON_ARRAY_ADD(watch->processes, watch->process_count, watch->process_room);
	process->pid = pid;
	read_process(watch, process);
	session = gpumon_calloc(1, sizeof(*session));
	session->watch = watch;
	session->uprobes = uprobes;
	session->number = watch->process_count - 1;
	*(struct session **)GPUMON_ARRAY_ADD(watch->sessions, watch->session_count,
					     watch->session_room) = session;
	watch->live++;
	return session;
}

static void session_end(struct session *session)
{
	struct gpumon_present_watch *watch = session->watch;

	if (!session->uprobes)
		return;
	gpumon_uprobes_detach(session->uprobes, on_record, session);
	session->uprobes = NULL;
	watch->processes[session->number].ended = true;
	watch->live--;
	gpumon_presents_end(watch->presents, session->number);
}

/* It is another program from now on. */
static void session_again(struct session *session)
{
	struct gpumon_present_watch *watch = session->watch;
	struct gpumon_present_process *process = &watch->processes[session->number];
	struct gpumon_error err;

	gpumon_uprobes_detach(session->uprobes, on_record, session);
	gpumon_presents_end(watch->presents, session->number);
	forget_strings(session);
	session->uprobes = gpumon_uprobes_watch(process->pid, &watch->options, &err);
	read_process(watch, process);
	if (session->uprobes)
		return;
	process->ended = true;
	watch->live--;
}

static void session_poll(struct session *session)
{
	struct gpumon_present_process *process = &session->watch->processes[session->number];
	struct gpumon_uprobes_counts counts;

	if (!session->uprobes)
		return;
	(void)gpumon_uprobes_poll(session->uprobes, 0, on_record, session);
	gpumon_uprobes_get_counts(session->uprobes, &counts);
	process->functions = counts.functions;
	process->vulkan = counts.vulkan;
	process->vulkan_devices = counts.vulkan_devices;
	if (gpumon_uprobes_state(session->uprobes) == GPUMON_UPROBES_EXITED)
		session_end(session);
	else if (gpumon_uprobes_state(session->uprobes) == GPUMON_UPROBES_EXEC)
		session_again(session);
}

static void drain(struct gpumon_present_watch *watch)
{
	for (uint32_t i = 0; i < watch->session_count; i++)
		session_poll(watch->sessions[i]);
}

/* --- all processes */

static bool is_watched(const struct gpumon_present_watch *watch, pid_t pid)
{
	for (uint32_t i = 0; i < watch->process_count; i++)
		if (watch->processes[i].pid == pid && !watch->processes[i].ended)
			return true;
	return false;
}

/* A library with functions that present. Drivers of EGL and GLX have none of their own. */
static bool presents_by(const char *path)
{
	static const char *const names[] = { "libEGL", "libGL.", "libGLX", "libvulkan" };
	const char *slash = strrchr(path, '/');

	for (unsigned int i = 0; slash && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(slash + 1, names[i], strlen(names[i])))
			return true;
	return false;
}

/* True the first time. */
static bool leave_out(struct gpumon_present_watch *watch, pid_t pid)
{
	if (gpumon_map_get(&watch->left_out, (uint64_t)pid))
		return false;
	gpumon_map_set(&watch->left_out, (uint64_t)pid, 1);
	return true;
}

static bool has_library(struct gpumon_present_watch *watch, pid_t pid)
{
	char path[128], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "%s/proc/%d/maps", watch->root, (int)pid);
	maps = fopen(path, "re");
	if (!maps && (errno == EACCES || errno == EPERM))
		watch->hidden += leave_out(watch, pid);
	while (maps && !found && getline(&line, &room, maps) > 0)
		found = presents_by(line);
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* The size of its memory in pages, which a new library changes; 0: it is gone, or the kernel's. */
static uint64_t size_of(const struct gpumon_present_watch *watch, pid_t pid)
{
	uint64_t pages = 0;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!gpumon_read_short(watch->root, path, text, sizeof(text)))
		return 0;
	return sscanf(text, "%" SCNu64, &pages) == 1 ? pages : 0;
}

static void look_at(struct gpumon_present_watch *watch, pid_t pid)
{
	uint64_t pages = size_of(watch, pid);
	struct gpumon_error err;

	if (!pages || gpumon_map_get(&watch->looked, (uint64_t)pid) == pages + 1)
		return;
	gpumon_map_set(&watch->looked, (uint64_t)pid, pages + 1);
	if (is_watched(watch, pid) || !has_library(watch, pid))
		return;
	if (watch->live >= GPUMON_PRESENT_PROCESSES_MAX) {
		/* There may be room next time. */
		gpumon_map_set(&watch->looked, (uint64_t)pid, 1);
	} else {
		/* That takes long enough for the rings of the others to fill up. */
		drain(watch);
		if (session_add(watch, pid, &err) || err.sys == -ESRCH)
			return;
		snprintf(watch->why, sizeof(watch->why), "%.255s", err.message);
	}
	watch->unwatched += leave_out(watch, pid);
}

static void look_for_processes(struct gpumon_present_watch *watch)
{
	struct dirent *entry;
	char path[128];
	DIR *folder;

	watch->looked_ns = gpumon_monotonic_ns();
	snprintf(path, sizeof(path), "%s/proc", watch->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid > 0 && pid != getpid())
			look_at(watch, pid);
	}
	if (folder)
		closedir(folder);
}

/* --- the watch */

struct gpumon_present_watch *gpumon_present_watch_open(const char *root, pid_t pid,
						       struct gpumon_error *err)
{
	struct gpumon_present_interval before;
	struct gpumon_present_watch *watch;

	/* Of one process, attaching says the rest. */
	if (pid ? gpumon_uprobe_program_possible(root, err) : gpumon_uprobes_supported(root, err))
		return NULL;
	watch = gpumon_calloc(1, sizeof(*watch));
	watch->root = root;
	watch->pid = pid;
	watch->presents = gpumon_presents_new();
	watch->options = (struct gpumon_uprobes_options){
		.root = root,
		.ring_bytes = RING_BYTES,
		.threads = THREADS,
		.stacks = STACKS,
		.presents = true,
		.by_name = !pid,
	};
	if (!pid) {
		look_for_processes(watch);
	} else if (!session_add(watch, pid, err)) {
		gpumon_present_watch_free(watch);
		return NULL;
	}
	/* What was seen meanwhile is of no interval. */
	gpumon_present_watch_close_interval(watch, &before);
	return watch;
}

void gpumon_present_watch_poll(struct gpumon_present_watch *watch)
{
	uint32_t left = 0;

	if (!watch->pid && gpumon_monotonic_ns() - watch->looked_ns >= LOOK_NS)
		look_for_processes(watch);
	drain(watch);
	if (watch->pid)
		return;
	for (uint32_t i = 0; i < watch->session_count; i++) {
		struct session *session = watch->sessions[i];

		if (session->uprobes) {
			watch->sessions[left++] = session;
			continue;
		}
		session_free(session);
	}
	watch->session_count = left;
}

bool gpumon_present_watch_lives(const struct gpumon_present_watch *watch)
{
	return !watch->pid || watch->live;
}

void gpumon_present_watch_close_interval(struct gpumon_present_watch *watch,
					 struct gpumon_present_interval *interval)
{
	uint64_t now_ns;

	/* The first time may take long, for new libraries. */
	drain(watch);
	drain(watch);
	now_ns = gpumon_monotonic_ns();
	*interval = (struct gpumon_present_interval){
		.length_ns = now_ns - watch->began_ns,
		.lost = watch->lost,
		.processes = watch->processes,
		.process_count = watch->process_count,
		.watched = watch->live,
		.unwatched = watch->unwatched,
		.hidden = watch->hidden,
		.why = watch->why,
	};
	interval->row_count = gpumon_presents_close(watch->presents, now_ns, &interval->rows,
						    &interval->left_out);
	watch->began_ns = now_ns;
	watch->lost = 0;
}

void gpumon_present_watch_free(struct gpumon_present_watch *watch)
{
	if (!watch)
		return;
	for (uint32_t i = 0; i < watch->session_count; i++) {
		session_end(watch->sessions[i]);
		session_free(watch->sessions[i]);
	}
	free(watch->sessions);
	free(watch->processes);
	gpumon_map_clear(&watch->looked);
	gpumon_map_clear(&watch->left_out);
	gpumon_presents_free(watch->presents);
	free(watch);
}
