/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Finds the file that was mapped, wherever it is now, and its debug information. A file that has
 * changed is not used.
 */
#ifndef GPUMON_CAPTURE_SYMBOL_FILE_H
#define GPUMON_CAPTURE_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "abi/format.h"

/* The kernel appends this to the path of a deleted file. */
#define GPUMON_DELETED " (deleted)"

/**
 * struct gpumon_symbol_search - where to search files
 * @root: prefix of paths, normally ""
 * @callbacks: callbacks for dwfl_begin()
 */
struct gpumon_symbol_search {
	char *root;
	Dwfl_Callbacks callbacks;
};

/**
 * struct gpumon_symbol_wanted - a file that was mapped
 * @path: path as the process saw it
 * @inode: 0 if unknown
 * @start: address of one of its mappings
 * @end: end of that mapping
 * @build_id: its build id
 * @build_id_size: bytes, 0 if it has none
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

/* Length of a path without GPUMON_DELETED. */
size_t gpumon_symbol_path_length(const char *path);

/**
 * gpumon_symbol_file_open - open the file that was mapped
 * @search: where to search
 * @wanted: file
 * @name: set to its path, to be freed
 *
 * Tries its path; the mapping if the root is that of a live process; the usual places by build id;
 * and debuginfod if DEBUGINFOD_URLS is set. For a vdso with the same build id, our own is used.
 *
 * Return: a descriptor, or -1.
 */
int gpumon_symbol_file_open(struct gpumon_symbol_search *search,
			    const struct gpumon_symbol_wanted *wanted, char **name);

/* Searches debug files of @module with @search from now on. */
void gpumon_symbol_search_use(struct gpumon_symbol_search *search, Dwfl_Module *module);

void gpumon_symbol_search_free(struct gpumon_symbol_search *search);

#endif /* GPUMON_CAPTURE_SYMBOL_FILE_H */
