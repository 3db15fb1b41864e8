/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The mapped code of a process, and what to probe in it. */
#ifndef GPUMON_RECORD_UPROBE_PROCESS_H
#define GPUMON_RECORD_UPROBE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/format.h"
#include "lib/error.h"

/**
 * struct gpumon_uprobe_site - a function to probe
 * @name: name of its symbol
 * @offset: offset in the file
 * @kind: GPUMON_FUNCTION_*
 * @jumps_to: name of the function that it may jump to: of the same name in another library, for a
 * loader's
 * @vulkan_entry: place of that function in the table of a Vulkan device, 0 if it has none
 * @number: the function's number in cookies, set by rescan.c
 */
struct gpumon_uprobe_site {
	char *name;
	uint64_t offset;
	unsigned int kind;
	const char *jumps_to;
	uint32_t vulkan_entry;
	uint32_t number;
};

/* Code of the API in a file, by offsets. */
struct gpumon_uprobe_span {
	uint64_t start;
	uint64_t end;
};

/**
 * struct gpumon_uprobe_file - a file with mapped code
 * @path: as the process sees it
 * @fd: descriptor, -1 if it could not be opened; only kept open as long as needed
 * @mapped: it is still mapped
 * @sites: functions of the API in it
 * @linker_offset: offset of the function that the dynamic linker calls to notify debuggers, 0 if
 * there is none
 * @device_offset: offset of the function that makes a Vulkan device, 0 if there is none
 * @api: all of its code belongs to the API
 * @spans: otherwise, the parts that belong to the API
 * @done: number of sites that were probed or refused
 * @probed: number of sites with a probe
 * @why: why other sites have none, "" if all have one
 */
struct gpumon_uprobe_file {
	uint64_t device;
	uint64_t inode;
	char *path;
	int fd;
	bool mapped;
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	uint8_t build_id_size;
	struct gpumon_uprobe_site *sites;
	size_t site_count;
	uint64_t linker_offset;
	uint64_t device_offset;
	bool api;
	struct gpumon_uprobe_span *spans;
	size_t span_count;
	unsigned int done;
	unsigned int probed;
	char why[160];
	void *unwind; /* owned by rule.c */
};

/* Executable memory. @file is NULL for code generated at run time. */
struct gpumon_uprobe_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	struct gpumon_uprobe_file *file;
	bool seen;
};

/**
 * struct gpumon_uprobe_process - the target
 * @by_name: functions are looked for only in files that are called like a library of an API
 * @maps: mappings, sorted by address
 * @files: all files that were ever mapped
 * @unmapped: set by gpumon_uprobe_process_scan(): mappings that are gone
 */
struct gpumon_uprobe_process {
	pid_t pid;
	const char *root;
	bool by_name;
	struct gpumon_uprobe_map *maps;
	size_t map_count;
	struct gpumon_uprobe_file **files;
	size_t file_count;
	struct gpumon_uprobe_map *unmapped;
	unsigned int unmapped_count;
};

/**
 * gpumon_uprobe_process_scan - read the current mappings
 * @process: new maps have @seen false; files are added
 * @err: out: "gone", "permission", "memory", "io"
 *
 * Return: 0 or -1.
 */
int gpumon_uprobe_process_scan(struct gpumon_uprobe_process *process, struct gpumon_error *err);

/* Open the very file that is mapped there. A descriptor, or a negative errno. */
int gpumon_uprobe_process_open(const struct gpumon_uprobe_process *process,
			       const struct gpumon_uprobe_map *map);

/* The mapping at an address, NULL if there is none. */
const struct gpumon_uprobe_map *
gpumon_uprobe_process_map(const struct gpumon_uprobe_process *process, uint64_t address);

void gpumon_uprobe_process_free(struct gpumon_uprobe_process *process);

/**
 * gpumon_uprobe_file_read - find the functions of a file
 * @file: file with an open @fd
 *
 * A file that cannot be read has no sites.
 */
void gpumon_uprobe_file_read(struct gpumon_uprobe_file *file);

/**
 * gpumon_uprobe_file_add_site - add a function that is known by other means
 * @file: file
 * @site: function; the file owns its name from now on
 */
void gpumon_uprobe_file_add_site(struct gpumon_uprobe_file *file,
				 const struct gpumon_uprobe_site *site);

/* Drop the sites that are of none of these kinds, GPUMON_FUNCTION_*. */
void gpumon_uprobe_file_keep(struct gpumon_uprobe_file *file, unsigned int kinds);

#endif /* GPUMON_RECORD_UPROBE_PROCESS_H */
