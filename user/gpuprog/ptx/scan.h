/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where things are in a PTX text. */
#ifndef GPUMON_GPUPROG_PTX_SCAN_H
#define GPUMON_GPUPROG_PTX_SCAN_H

#include <sys/types.h>

#include "lib/map.h"
#include "edit.h"
#include "lex.h"

/**
 * struct gpumon_ptx_place - where a function is, as offsets in the text
 * @begin: its linkage (".visible"), or @directive
 * @directive: ".entry" or ".func"
 * @name: its name
 * @parameters_end: ")" of its parameters; 0: it has no brackets for them
 * @has_parameters: there is something between these
 * @body: "{"
 * @end: after "}"
 * @body_line: line of "{"
 */
struct gpumon_ptx_place {
	size_t begin;
	size_t directive;
	size_t name;
	size_t parameters_end;
	size_t body;
	size_t end;
	uint32_t body_line;
	bool has_parameters;
};

/**
 * struct gpumon_edit_inner - a scanned text
 * @text: all of it
 * @functions: as in struct gpumon_edit_module
 * @places: the same functions
 * @names: hash of a name to 1 + index of its function
 * @files: number of a source file to 1 + index into @file_names
 * @file_names: without quotes
 */
struct gpumon_edit_inner {
	struct gpumon_ptx_slice text;
	struct gpumon_edit_function *functions;
	size_t functions_n;
	struct gpumon_ptx_place *places;
	size_t places_n;
	struct gpumon_map names;
	struct gpumon_map files;
	struct gpumon_ptx_slice *file_names;
	size_t file_names_n;
};

/* The index of a function with a body, or -1. */
ssize_t gpumon_ptx_find_function(const struct gpumon_edit_inner *inner,
				 struct gpumon_ptx_slice name);

#endif /* GPUMON_GPUPROG_PTX_SCAN_H */
