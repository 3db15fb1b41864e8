/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads an object, and verifies and translates its programs for the GPU, without a GPU. */
#ifndef GPUMON_GPUPROG_SERVE_CHECK_H
#define GPUMON_GPUPROG_SERVE_CHECK_H

#include "lib/error.h"
#include "gpuprog/object/fact.h"
#include "gpuprog/object/object.h"
#include "gpuprog/verify/verify.h"

/**
 * struct gpumon_probe_verdict - what came of one program
 * @facts: for the translator, as many as the program has steps; NULL if it was refused
 * @checked: accesses that are checked while the program runs
 * @refusal: why it was refused
 */
struct gpumon_probe_verdict {
	struct gpumon_probe_fact *facts;
	uint32_t checked;
	struct gpumon_error refusal;
};

/**
 * struct gpumon_probe_check - an object file and the verdicts on its programs
 * @object: the file
 * @verdicts: by number of the program
 * @facts: those of the verdicts: struct gpumon_probe_order's @facts
 * @refused: how many programs were refused
 * @bytes: of the file, NULL of a tool
 * @size: how many
 */
struct gpumon_probe_check {
	struct gpumon_probe_object object;
	struct gpumon_probe_verdict *verdicts;
	const struct gpumon_probe_fact *facts[GPUMON_PROBE_MAX_PROGRAMS];
	uint32_t refused;
	char *bytes;
	size_t size;
};

/**
 * gpumon_probe_check - read an object; verify each program in it, and that it can be translated
 * @name: a tool's name, or else an object file, GPUMON_PROBE_MAX_OBJECT bytes at most
 * @rules: see there
 * @check: out, to be cleared in both cases
 * @err: why it cannot be read; a refused program is not an error
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_check(const char *name, const struct gpumon_probe_rules *rules,
		       struct gpumon_probe_check *check, struct gpumon_error *err);
void gpumon_probe_check_clear(struct gpumon_probe_check *check);

/* Set err to "PATH: why" for an errno. Return: -1. */
int gpumon_probe_cannot_read(const char *path, int error, struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVE_CHECK_H */
