/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What code a process has mapped, and what of it is to be probed. */
#ifndef GPUMON_UPROBE_PROCESS_H
#define GPUMON_UPROBE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/format.h"
#include "base/error.h"

/**
 * struct gpumon_uprobe_site - a function to be probed
 * @name: of its symbol
 * @offset: in the file
 * @kind: GPUMON_FUNCTION_*
 * @jumps_to: index of the site that it may jump to, -1 if it is known not to
 */
struct gpumon_uprobe_site {
	char *name;
	uint64_t offset;
	unsigned int kind;
	int jumps_to;
};

/* Code of the API in a file, by offsets. */
struct gpumon_uprobe_span {
	uint64_t start;
	uint64_t end;
};

/**
 * struct gpumon_uprobe_file - a file of which code is mapped
 * @path: as the process sees it
 * @fd: of it, -1 where it could not be opened; kept open only as long as it is needed
 * @mapped: it is still there
 * @sites: functions of the API in it
 * @linker_offset: of the function by which the dynamic linker tells debuggers, 0 if it has none
 * @api: all of its code is the API's
 * @spans: else these parts
 * @probed: sites that have a probe
 * @why: why others have none, "" if all have
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
	unsigned int site_count;
	uint64_t linker_offset;
	bool api;
	struct gpumon_uprobe_span *spans;
	unsigned int span_count;
	unsigned int probed;
	char why[160];
	void *unwind; /* rule.c's */
};

/* Executable memory; @file is NULL of code that was made at run time. */
struct gpumon_uprobe_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	struct gpumon_uprobe_file *file;
	bool seen;
};

/**
 * struct gpumon_uprobe_process - the target
 * @maps: by address
 * @files: all that there ever were
 * @unmapped: by gpumon_uprobe_process_scan(): what was there and is not any more
 */
struct gpumon_uprobe_process {
	pid_t pid;
	const char *root;
	struct gpumon_uprobe_map *maps;
	unsigned int map_count;
	struct gpumon_uprobe_file **files;
	unsigned int file_count;
	struct gpumon_uprobe_map *unmapped;
	unsigned int unmapped_count;
};

/**
 * gpumon_uprobe_process_scan - look at what is mapped now
 * @process: maps have @seen false if they are new; files are added
 * @err: why not: "gone", "permission", "memory", "io"
 *
 * Return: 0 or -1.
 */
int gpumon_uprobe_process_scan(struct gpumon_uprobe_process *process, struct gpumon_error *err);

/* The very file that is mapped there: a descriptor, or a negative errno. */
int gpumon_uprobe_process_open(const struct gpumon_uprobe_process *process,
			       const struct gpumon_uprobe_map *map);

/* Executable memory at an address, NULL if there is none. */
const struct gpumon_uprobe_map *
gpumon_uprobe_process_map(const struct gpumon_uprobe_process *process, uint64_t address);

void gpumon_uprobe_process_free(struct gpumon_uprobe_process *process);

/**
 * gpumon_uprobe_file_read - which functions a file has
 * @file: its fd is open
 *
 * Return: 0, or -1 without memory; a file that cannot be read has no sites.
 */
int gpumon_uprobe_file_read(struct gpumon_uprobe_file *file);

/* Take the sites out that only wait. */
void gpumon_uprobe_file_launches_only(struct gpumon_uprobe_file *file);

#endif /* GPUMON_UPROBE_PROCESS_H */
