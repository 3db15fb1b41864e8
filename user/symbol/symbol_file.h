/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Finding the file that was mapped, wherever it is by now, and the one with its
 * debug information. One that is another file today is not taken for it.
 */
#ifndef GPUMON_SYMBOL_FILE_H
#define GPUMON_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "capture/format.h"

/* What the kernel puts behind the path of a file without a name. */
#define GPUMON_DELETED " (deleted)"

/**
 * struct gpumon_symbol_search - where files are looked for
 * @root: in front of paths, "" for ours
 * @callbacks: for dwfl_begin()
 */
struct gpumon_symbol_search {
	char *root;
	Dwfl_Callbacks callbacks;
};

/**
 * struct gpumon_symbol_wanted - a file that was mapped
 * @path: as the process saw it
 * @inode: 0 where not known
 * @start: address of a mapping of it
 * @end: end of that
 * @build_id: what it said
 * @build_id_size: bytes, 0 where it said nothing
 */
struct gpumon_symbol_wanted {
	const char *path;
	uint64_t inode;
	uint64_t start;
	uint64_t end;
	const uint8_t *build_id;
	size_t build_id_size;
};

/* 0, or -1 without memory. */
int gpumon_symbol_search_init(struct gpumon_symbol_search *search, const char *root);

/* Bytes of a path without GPUMON_DELETED. */
size_t gpumon_symbol_path_length(const char *path);

/**
 * gpumon_symbol_file_open - open the file that was mapped
 * @search: where to look
 * @wanted: which
 * @name: set to its path, to be freed
 * @why: set to a sentence on failure, to be freed, NULL without memory: why, and what to do
 *
 * At its path; as the mapping of a live process if that is what the root is
 * of; by build id in the usual places; from debuginfod if DEBUGINFOD_URLS is set.
 * The vdso is ours, if its build id is that of the wanted one.
 *
 * Return: a descriptor, or -1.
 */
int gpumon_symbol_file_open(struct gpumon_symbol_search *search,
			    const struct gpumon_symbol_wanted *wanted, char **name, char **why);

/* Debug files of @module are looked for in @search from now on. */
void gpumon_symbol_search_use(struct gpumon_symbol_search *search, Dwfl_Module *module);

void gpumon_symbol_search_free(struct gpumon_symbol_search *search);

#endif /* GPUMON_SYMBOL_FILE_H */
