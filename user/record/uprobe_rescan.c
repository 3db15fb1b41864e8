// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Follows the mappings of the target and probes new ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "lib/wait.h"
#include "uprobe_function.h"
#include "lib/process_info.h"
#include "uprobe_internal.h"
#include "uprobe_vulkan.h"

#define UNKNOWN_NS 20000000u

/* Number of a function by its name, the same in all libraries. */
static uint32_t number_function(struct gpumon_uprobes *uprobes, const char *name)
{
	uint32_t number;
	char **added;

	for (number = 0; number < uprobes->function_count; number++)
		if (!strcmp(uprobes->functions[number], name))
			return number;
	added = GPUMON_GROW(uprobes->functions, uprobes->function_count);
	*added = gpumon_strdup(name);
	return number;
}

/*
 * Probe the returns first. A return alone is ignored, but a call with only its entry probed would
 * wait for an end that never comes.
 */
static void probe_sites(struct gpumon_uprobes *uprobes, struct gpumon_uprobe_file *file,
			struct gpumon_uprobe_point *points)
{
	const struct gpumon_uprobe_site *sites = file->sites + file->done;
	unsigned int count = file->site_count - file->done, return_count = 0, at = 0;
	struct gpumon_uprobe_point *returns = points + count;
	uint32_t successor;

	for (unsigned int i = 0; i < count; i++) {
		points[i] = (struct gpumon_uprobe_point){ sites[i].offset, sites[i].number, 0 };
		if (sites[i].jumps_to) {
			successor = number_function(uprobes, sites[i].jumps_to);
			points[i].cookie |=
				(uint64_t)(UPROBE_THUNK | successor << UPROBE_THUNK_SHIFT) << 32;
		}
		if (sites[i].kind & GPUMON_FUNCTION_BLOCKING && !uprobes->options.no_blocking)
			returns[return_count++] =
				(struct gpumon_uprobe_point){ sites[i].offset, sites[i].number, 0 };
	}
	gpumon_uprobe_program_probe(uprobes->program, GPUMON_HOOK_LEAVE, uprobes->probe_tid,
				    file->fd, returns, return_count);
	for (unsigned int i = 0; i < return_count; i++) {
		while (points[at].offset != returns[i].offset)
			at++;
		if (returns[i].result)
			continue;
		points[at].cookie |= (uint64_t)UPROBE_BLOCKING << 32;
		uprobes->returns++;
	}
	gpumon_uprobe_program_probe(uprobes->program, GPUMON_HOOK_ENTER, uprobes->probe_tid,
				    file->fd, points, count);
}

static const char *refusal_text(int result)
{
	/* ENOTSUPP, a code of the kernel alone: the instruction cannot be executed out of line. */
	return result == -524 ? "its first instruction cannot be probed" : strerror(-result);
}

static int probe_file(struct gpumon_uprobes *uprobes, struct gpumon_uprobe_file *file, int *last)
{
	unsigned int count = file->site_count - file->done, refused = 0, probed = 0;
	struct gpumon_uprobe_site *sites = file->sites + file->done;
	struct gpumon_uprobe_point *points = gpumon_calloc(2 * (size_t)count, sizeof(*points));
	size_t length;

	for (unsigned int i = 0; i < count; i++)
		sites[i].number = number_function(uprobes, sites[i].name);
	probe_sites(uprobes, file, points);
	for (unsigned int i = 0; i < count; i++) {
		if (!points[i].result) {
			probed++;
			continue;
		}
		*last = points[i].result;
		/* The thread is at its end, as is the process if there is no other one. */
		if (points[i].result == -ESRCH)
			continue;
		if (!refused++)
			snprintf(file->why, sizeof(file->why), "%s: %s", sites[i].name,
				 refusal_text(points[i].result));
	}
	file->done = file->site_count;
	file->probed += probed;
	free(points);
	length = strlen(file->why);
	if (refused > 1)
		snprintf(file->why + length, sizeof(file->why) - length, ", and %u more",
			 refused - 1);
	uprobes->probes += probed;
	uprobes->refused += refused;
	return (int)probed;
}

static void give_ranges(struct gpumon_uprobes *uprobes)
{
	struct uprobe_range ranges[UPROBE_RANGES + 1];
	unsigned int count = 0;

	for (unsigned int i = 0; i < uprobes->process.map_count; i++) {
		const struct gpumon_uprobe_map *map = &uprobes->process.maps[i];
		const struct gpumon_uprobe_file *file = map->file;
		unsigned int spans = !file ? 0 : file->api ? 1 : file->span_count;

		for (unsigned int j = 0; j < spans && count <= UPROBE_RANGES; j++) {
			uint64_t start = map->offset, end = map->offset + (map->end - map->start);

			if (!file->api) {
				if (file->spans[j].start > start)
					start = file->spans[j].start;
				if (file->spans[j].end < end)
					end = file->spans[j].end;
			}
			if (start < end)
				ranges[count++] = (struct uprobe_range){
					map->start + (start - map->offset),
					map->start + (end - map->offset),
					(uintptr_t)file,
				};
		}
	}
	if (gpumon_uprobe_program_ranges(uprobes->program, ranges, count) || uprobes->ranges_told)
		return;
	uprobes->ranges_told = true;
	gpumon_uprobes_note(
		uprobes,
		"uprobes: code of the API is in more than %u places: some calls may count twice",
		UPROBE_RANGES);
}

static bool is_driver(const struct gpumon_uprobe_file *file)
{
	return file->site_count && !strncmp(file->sites[0].name, "cu", 2) &&
	       strncmp(file->sites[0].name, "cuda", 4);
}

static int probe_file_once(struct gpumon_uprobes *uprobes, struct gpumon_uprobe_file *file,
			   int *last)
{
	struct gpumon_uprobe_point linker = { .offset = file->linker_offset };
	struct gpumon_uprobe_point device = { .offset = file->device_offset,
					      .cookie = UPROBE_DEVICE };
	int probed = 0;

	gpumon_uprobe_program_probe(uprobes->program, GPUMON_HOOK_LINKER, uprobes->probe_tid,
				    file->fd, &linker, file->linker_offset != 0);
	gpumon_uprobe_program_probe(uprobes->program, GPUMON_HOOK_DEVICE, uprobes->probe_tid,
				    file->fd, &device, file->device_offset != 0);
	if (file->site_count > file->done) {
		probed = probe_file(uprobes, file, last);
		if (uprobes->began && (probed > 0 || *file->why))
			gpumon_uprobes_note(uprobes, "uprobes: %s: %d functions%s%s", file->path,
					    probed, *file->why ? "; " : "", file->why);
	}
	/* Reopen the file later if it is needed, since there can be hundreds. */
	close(file->fd);
	file->fd = -1;
	return probed;
}

/* The memory is searched when the loader is there, and after each device that is made later. */
static void probe_vulkan(struct gpumon_uprobes *uprobes)
{
	uint64_t made = gpumon_uprobe_program_devices(uprobes->program) + 1;
	int found;

	if (uprobes->vulkan_made == made)
		return;
	found = gpumon_uprobe_vulkan_devices(&uprobes->process, uprobes->kinds);
	if (found != -ENOENT)
		uprobes->vulkan_made = made;
	if (found > 0)
		uprobes->vulkan_devices = (unsigned int)found;
}

int gpumon_uprobes_probe(struct gpumon_uprobes *uprobes, struct gpumon_error *err)
{
	int total = 0, last = 0;
	bool any = false;

	for (unsigned int i = 0; i < uprobes->process.file_count; i++)
		gpumon_uprobe_file_keep(uprobes->process.files[i], uprobes->kinds);
	probe_vulkan(uprobes);
	give_ranges(uprobes);
	/* Runtimes come first, or their calls to the driver would count as the program's. */
	for (int driver = 0; driver < 2; driver++) {
		for (unsigned int i = 0; i < uprobes->process.file_count; i++) {
			struct gpumon_uprobe_file *file = uprobes->process.files[i];

			if (file->fd < 0 || is_driver(file) != driver)
				continue;
			any |= file->site_count > file->done;
			total += probe_file_once(uprobes, file, &last);
		}
	}
	if (any && !total)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, last,
					last == -EACCES || last == -EPERM ?
						GPUMON_ERROR_PERMISSION :
						GPUMON_ERROR_KERNEL,
					"the kernel refused every uprobe in process %d: %s",
					(int)uprobes->pid, strerror(-last));
	return total;
}

static void probe_more(struct gpumon_uprobes *uprobes)
{
	struct gpumon_error err;

	if (gpumon_uprobes_probe(uprobes, &err) < 0 && err.sys != -ESRCH)
		gpumon_uprobes_note(uprobes, "uprobes: %s", err.message);
}

static void reprobe_process(struct gpumon_uprobes *uprobes, pid_t tid)
{
	gpumon_uprobe_program_unprobe(uprobes->program);
	uprobes->probe_tid = tid;
	uprobes->probes = uprobes->returns = uprobes->refused = 0;
	for (unsigned int i = 0; i < uprobes->process.map_count; i++) {
		struct gpumon_uprobe_map *map = &uprobes->process.maps[i];

		if (!map->file || map->file->fd >= 0 ||
		    (!map->file->site_count && !map->file->linker_offset))
			continue;
		map->file->probed = map->file->done = 0;
		map->file->why[0] = '\0';
		map->file->fd = gpumon_uprobe_process_open(&uprobes->process, map);
	}
	probe_more(uprobes);
}

/*
 * The probes and the folder in /proc belong to one thread of the process. When it ends, move to
 * another one. Multi links belong to the first thread and survive its end.
 */
static void follow_thread(struct gpumon_uprobes *uprobes)
{
	pid_t tid = gpumon_process_living_thread(uprobes->root, uprobes->pid);

	if (!tid || tid == uprobes->probe_tid ||
	    (uprobes->probe_tid != uprobes->pid &&
	     gpumon_process_thread_lives(uprobes->root, uprobes->pid, uprobes->probe_tid)))
		return;
	uprobes->process.pid = tid;
	if (gpumon_uprobe_program_one_by_one(uprobes->program)) {
		reprobe_process(uprobes, tid);
		return;
	}
	uprobes->probe_tid = tid;
	gpumon_uprobes_note(
		uprobes,
		"uprobes: the first thread has ended: libraries that are loaded from now on are not probed");
}

void gpumon_uprobes_rescan(struct gpumon_uprobes *uprobes, enum gpumon_rescan why)
{
	/* Read this first, so that changes during the scan cause another one. */
	uint64_t changes = gpumon_uprobe_program_changes(uprobes->program);
	uint64_t now = gpumon_monotonic_ns();
	struct gpumon_error err;

	if (uprobes->state != GPUMON_UPROBES_RUNNING ||
	    (why == GPUMON_RESCAN_UNKNOWN && now - uprobes->scanned_ns < UNKNOWN_NS))
		return;
	uprobes->scanned_ns = now;
	follow_thread(uprobes);
	/* A dying process has no mappings. Its end is noticed elsewhere. */
	if (gpumon_uprobe_process_scan(&uprobes->process, &err))
		return;
	for (unsigned int i = 0; i < uprobes->process.unmapped_count; i++)
		if (uprobes->process.unmapped[i].file)
			gpumon_uprobes_give_unmap(uprobes, &uprobes->process.unmapped[i], now);
	for (unsigned int i = 0; i < uprobes->process.map_count; i++) {
		struct gpumon_uprobe_map *map = &uprobes->process.maps[i];

		if (map->file && !map->seen)
			gpumon_uprobes_give_map(uprobes, map, now);
		map->seen = true;
	}
	if (uprobes->process.unmapped_count) {
		gpumon_uprobes_forget(uprobes);
		gpumon_uprobe_program_new_generation(uprobes->program);
	}
	probe_more(uprobes);
	gpumon_uprobe_program_settle(uprobes->program, changes);
}
