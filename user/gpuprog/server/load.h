/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Loads an object, a tool of gpumon or a file, verifies its programs, and sets values of its maps. */
#ifndef GPUMON_GPUPROG_SERVER_LOAD_H
#define GPUMON_GPUPROG_SERVER_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"
#include "gpuprog/object/object.h"
#include "gpuprog/object/program.h"
#include "gpuprog/verify/verify.h"

/**
 * struct gpumon_gpuprog_tool - a tool
 * @name: as users write it
 * @summary: what it finds out
 * @object: its object file; NULL if this gpumon-user was built without clang
 * @end: behind it
 */
struct gpumon_gpuprog_tool {
	const char *name;
	const char *summary;
	const uint8_t *object;
	const uint8_t *end;
};

/* Tools by name; *@n: set to their number. */
const struct gpumon_gpuprog_tool *gpumon_gpuprog_tools(size_t *n);

/* Whether there is a tool with this name, in any build. */
bool gpumon_gpuprog_is_tool(const char *name);

/**
 * gpumon_gpuprog_tool_find - find a tool by its name
 * @name: name
 * @tool: out, with its object
 * @err: there is no such tool: the names that there are, and that which is nearest. Or this build has
 *       none: GPUMON_ERROR_NOT_BUILT
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_tool_find(const char *name, const struct gpumon_gpuprog_tool **tool,
			     struct gpumon_error *err);

/**
 * struct gpumon_gpuprog_verdict - what came of one program
 * @facts: for the translator, as many as the program has steps; NULL if it was refused
 * @checked: accesses that are checked while the program runs
 * @refusal: why it was refused
 */
struct gpumon_gpuprog_verdict {
	struct gpumon_gpuprog_fact *facts;
	uint32_t checked;
	struct gpumon_error refusal;
};

/**
 * struct gpumon_gpuprog_check - an object file and the verdicts on its programs
 * @object: the file
 * @verdicts: by number of the program
 * @facts: those of the verdicts: struct gpumon_gpuprog_order's @facts
 * @refused: how many programs were refused
 * @bytes: of the file, NULL of a tool
 * @size: how many
 */
struct gpumon_gpuprog_check {
	struct gpumon_gpuprog_object object;
	struct gpumon_gpuprog_verdict *verdicts;
	const struct gpumon_gpuprog_fact *facts[GPUMON_GPUPROG_MAX_PROGRAMS];
	uint32_t refused;
	char *bytes;
	size_t size;
};

/**
 * gpumon_gpuprog_check - read an object; verify each program in it, and that it can be translated
 * @name: a tool's name, or else an object file, GPUMON_GPUPROG_MAX_OBJECT bytes at most
 * @rules: see there
 * @check: out, to be cleared in both cases
 * @err: why it cannot be read; a refused program is not an error
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_check(const char *name, const struct gpumon_gpuprog_rules *rules,
			 struct gpumon_gpuprog_check *check, struct gpumon_error *err);
void gpumon_gpuprog_check_clear(struct gpumon_gpuprog_check *check);

/* Set err to "PATH: why" for an errno. Return: -1. */
int gpumon_gpuprog_cannot_read(const char *path, int error, struct gpumon_error *err);

/**
 * struct gpumon_gpuprog_setting - what --set says
 * @name: of the map
 * @length: of @name
 * @first: index
 * @last: index; UINT64_MAX: to the last one that there is
 * @number: value
 */
struct gpumon_gpuprog_setting {
	const char *name;
	size_t length;
	uint64_t first;
	uint64_t last;
	uint64_t number;
};

/* "MAP[INDEX]=NUMBER", or "MAP[*]=NUMBER": 0, or -1 with @err. */
int gpumon_gpuprog_set_read(const char *text, struct gpumon_gpuprog_setting *setting,
			    struct gpumon_error *err);
/* Whether an array of these sizes can have it: 0, or -1 with @err. */
int gpumon_gpuprog_set_fits(const struct gpumon_gpuprog_setting *setting, const char *text,
			    uint32_t value_size, uint32_t entries, struct gpumon_error *err);

/**
 * gpumon_gpuprog_set - set values of an array
 * @object: its map gets a first content
 * @text: "MAP[INDEX]=NUMBER", or "MAP[*]=NUMBER" for all values; numbers in C's ways, also negative
 * @err: what is wrong with it
 *
 * Return: 0, or -1 with @err; 1: it may be a map of the programs for the CPU alone.
 */
int gpumon_gpuprog_set(struct gpumon_gpuprog_object *object, const char *text,
		       struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVER_LOAD_H */
