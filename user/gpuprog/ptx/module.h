/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Structure of a PTX text: its version and target, functions, source files; which function calls
 * which.
 */
#ifndef GPUMON_GPUPROG_PTX_MODULE_H
#define GPUMON_GPUPROG_PTX_MODULE_H

#include <sys/types.h>

#include "lib/map.h"
#include "access.h"
#include "edit.h"
#include "statement.h"

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

/* Beside points: blocks wait for each other. They find out where from the driver. */
#define GPUMON_PTX_WAITS (1u << 31)
/* Beside points: warps change how many registers they have (setmaxnreg), which leaves none for calls. */
#define GPUMON_PTX_NO_CALLS (1u << 30)

struct gpumon_ptx_call {
	uint32_t from;
	uint32_t to;
};

/**
 * struct gpumon_ptx_calls - calls between the functions of a text
 * @calls: by @from, and by their places
 * @calls_n: how many
 * @first: of each function and one after them: index of its first call
 * @points: of each function: those that it or what it calls has, 1 << enum gpumon_gpuprog_point, and
 *          GPUMON_PTX_WAITS, GPUMON_PTX_NO_CALLS
 * @own: of each function: how many of each kind it has itself
 * @reached: of each function: the last look that reached it
 * @look: number of the present look
 * @stack: functions that are still to be visited
 */
struct gpumon_ptx_calls {
	struct gpumon_ptx_call *calls;
	size_t calls_n;
	size_t *first;
	uint32_t *points;
	uint32_t (*own)[GPUMON_GPUPROG_POINTS];
	uint32_t *reached;
	uint32_t look;
	uint32_t *stack;
};

/**
 * gpumon_ptx_calls_open - look through the device functions and some kernels
 * @inner: scanned text
 * @plans: of each function: a kernel without one is left out
 * @calls: out, to be closed in any case
 * @err: what is wrong in a body
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_ptx_calls_open(const struct gpumon_edit_inner *inner,
			  const struct gpumon_edit_plan *const *plans,
			  struct gpumon_ptx_calls *calls, struct gpumon_error *err);
void gpumon_ptx_calls_close(struct gpumon_ptx_calls *calls);

/**
 * gpumon_ptx_calls_reach - find the functions that a kernel reaches and that have points
 * @calls: calls
 * @kernel: index of the kernel
 * @points: points of interest
 * @n: functions that are in @stack already, from this kernel or others; 0: a new look begins
 *
 * Return: how many there are then; @stack has their indices.
 */
size_t gpumon_ptx_calls_reach(struct gpumon_ptx_calls *calls, uint32_t kernel, uint32_t points,
			      size_t n);

/* The name that a call has, as far as it has one. */
struct gpumon_ptx_slice gpumon_ptx_called(const struct gpumon_ptx_statement *statement);

/* The points that an instruction is, of a kernel. */
uint32_t gpumon_ptx_points_of(const struct gpumon_ptx_access *access);

/* A lexer that has read the "{" of a function. */
int gpumon_ptx_enter(const struct gpumon_edit_inner *inner, size_t function,
		     struct gpumon_ptx_lexer *lexer, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_PTX_MODULE_H */
