/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a program means, read off the kernel's documentation (Documentation/bpf/standardization): an
 * interpreter of its steps with one thread and simple maps. Arrays and hashes only.
 */
#ifndef PROBE_REFERENCE_H
#define PROBE_REFERENCE_H

#include "gpuprog/object/program.h"

struct reference_map {
	uint8_t *keys; /* of a hash */
	uint8_t *values;
	bool *used;
};

struct reference {
	const struct gpumon_gpuprog *program;
	struct reference_map *maps;
	uint64_t limit; /* steps that may be run */
	char error[128];
};

void reference_init(struct reference *reference, const struct gpumon_gpuprog *program);
void reference_clear(struct reference *reference);
/* Return: 0, or -1 with @error. */
int reference_run(struct reference *reference);

#endif /* PROBE_REFERENCE_H */
