// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "uprobe_function.h"
#include "uprobe_rule.h"
#include "uprobe_vulkan.h"

#define PAGE	   4096
#define PART_PAGES 256
#define PART	   (PART_PAGES * PAGE)
/* A program makes its device early, so the loader's memory is not behind more than this. */
#define MEMORY_MAX (UINT64_C(4) << 30)
/* Larger regions are address space that is only reserved (AddressSanitizer's, for example). */
#define REGION_MAX (UINT64_C(64) << 30)
/* PAGE_PRESENT and PAGE_SWAPPED in /proc/PID/pagemap */
#define PAGE_USED (UINT64_C(3) << 62)

struct search {
	struct gpumon_uprobe_process *process;
	unsigned int kinds;
	int memory;
	int pagemap;
	uint64_t read;
	int devices;
	uint8_t part[PART];
};

static bool loader_site(const struct gpumon_uprobe_file *file, unsigned int index)
{
	return file->mapped && file->device_offset && file->sites[index].vulkan_entry;
}

static bool uses_loader(const struct gpumon_uprobe_process *process)
{
	for (unsigned int i = 0; i < process->file_count; i++)
		for (unsigned int j = 0; j < process->files[i]->site_count; j++)
			if (loader_site(process->files[i], j))
				return true;
	return false;
}

/* Open the file again if it was done with, so that the new site is probed. */
static void add_site(struct search *search, uint64_t address, const struct gpumon_uprobe_site *like)
{
	const struct gpumon_uprobe_map *map = gpumon_uprobe_process_map(search->process, address);
	struct gpumon_uprobe_file *file = map->file;
	struct gpumon_uprobe_site site = {
		.offset = address - map->start + map->offset,
		.kind = like->kind,
	};

	for (unsigned int i = 0; i < file->site_count; i++)
		if (file->sites[i].offset == site.offset)
			return;
	if (!(site.kind & search->kinds))
		return;
	if (file->fd < 0)
		file->fd = gpumon_uprobe_process_open(search->process, map);
	if (file->fd < 0)
		return;
	site.name = gpumon_strdup(like->name);
	file->api = true;
	gpumon_uprobe_file_add_site(file, &site);
}

/*
 * Is this the table of a device that lives? Memory that was freed may keep a part of one. A probe
 * anywhere but at the beginning of an instruction would break the process.
 */
static bool is_table(const struct search *search, const uint8_t *table,
		     const struct gpumon_uprobe_file *loader)
{
	bool any = false;

	for (unsigned int i = 0; i < loader->site_count; i++) {
		uint64_t address;

		if (!loader_site(loader, i))
			continue;
		memcpy(&address, table + loader->sites[i].vulkan_entry, sizeof(address));
		/* A driver has no functions of later versions than its own. */
		if (!address)
			continue;
		if (!gpumon_uprobe_begins_row(search->process, address))
			return false;
		any = true;
	}
	return any;
}

static void add_table(struct search *search, const uint8_t *table,
		      const struct gpumon_uprobe_file *loader)
{
	if (!is_table(search, table, loader))
		return;
	search->devices++;
	for (unsigned int i = 0; i < loader->site_count; i++) {
		/* A copy, since the array can move if the function is the loader's own. */
		struct gpumon_uprobe_site like = loader->sites[i];
		uint64_t address;

		if (!loader_site(loader, i))
			continue;
		memcpy(&address, table + like.vulkan_entry, sizeof(address));
		if (address)
			add_site(search, address, &like);
	}
}

static void look_at_number(struct search *search, uint64_t address)
{
	uint8_t table[GPUMON_VULKAN_TABLE_MAX + sizeof(uint64_t)] = { 0 };

	if (pread(search->memory, table, sizeof(table), (off_t)address) <= 0)
		return;
	for (unsigned int i = 0; i < search->process->file_count; i++)
		add_table(search, table, search->process->files[i]);
}

/* Reading a page that was never used would make it exist. */
static bool part_used(const struct search *search, uint64_t start, uint64_t bytes)
{
	uint64_t pages[PART_PAGES];
	ssize_t n = pread(search->pagemap, pages, bytes / PAGE * sizeof(*pages),
			  (off_t)(start / PAGE * sizeof(*pages)));

	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*pages); i++)
		if (pages[i] & PAGE_USED)
			return true;
	return n <= 0;
}

static void search_region(struct search *search, uint64_t start, uint64_t end)
{
	const uint64_t number = GPUMON_VULKAN_TABLE;

	for (; start < end && search->read < MEMORY_MAX; start += PART) {
		uint64_t bytes = end - start < PART ? end - start : PART;
		ssize_t n;

		if (!part_used(search, start, bytes))
			continue;
		n = pread(search->memory, search->part, bytes, (off_t)start);
		if (n <= 0)
			continue;
		search->read += (uint64_t)n;
		for (ssize_t at = 0; at + (ssize_t)sizeof(number) <= n; at += sizeof(number))
			if (!memcmp(search->part + at, &number, sizeof(number)))
				look_at_number(search, start + (uint64_t)at);
	}
}

/* The loader allocates devices: they are in private memory of no file. */
static void search_process(struct search *search, FILE *maps)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, maps) > 0) {
		uint64_t start, end, inode;
		char access[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64, &start, &end,
			   access, &inode) == 4 &&
		    !strcmp(access, "rw-p") && !inode && end - start <= REGION_MAX)
			search_region(search, start, end);
	}
	free(line);
}

static int open_of(const struct gpumon_uprobe_process *process, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/proc/%d/%s", process->root, (int)process->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int gpumon_uprobe_vulkan_devices(struct gpumon_uprobe_process *process, unsigned int kinds)
{
	struct search *search;
	FILE *maps = NULL;
	int result = 0, fd;

	if (!uses_loader(process))
		return -ENOENT;
	search = gpumon_calloc(1, sizeof(*search));
	search->process = process;
	search->kinds = kinds;
	search->memory = open_of(process, "mem");
	search->pagemap = open_of(process, "pagemap");
	fd = open_of(process, "maps");
	if (fd >= 0)
		maps = fdopen(fd, "r");
	if (search->memory < 0)
		result = search->memory;
	else if (!maps)
		result = fd < 0 ? fd : -ENOMEM;
	else
		search_process(search, maps);
	if (!result)
		result = search->devices;
	if (maps)
		fclose(maps);
	else if (fd >= 0)
		close(fd);
	if (search->memory >= 0)
		close(search->memory);
	if (search->pagemap >= 0)
		close(search->pagemap);
	free(search);
	return result;
}
