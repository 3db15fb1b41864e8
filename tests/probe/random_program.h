/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Random programs, of which many are accepted. */
#ifndef GPUMON_TESTS_PROBE_RANDOM_PROGRAM_H
#define GPUMON_TESTS_PROBE_RANDOM_PROGRAM_H

#include "assemble.h"
#include "dice.h"

/**
 * struct random_kind - what the programs may have
 * @loops: jumps backwards
 * @functions: more than one frame
 * @kernel: without what the kernel's verifier follows less closely: quotients, sign extension,
 *          addresses minus numbers
 * @changes: fields of single steps changed at random
 */
struct random_kind {
	bool loops;
	bool functions;
	bool kernel;
	bool changes;
};

/* A program with the maps of probe_maps. */
void random_program(struct dice *dice, const struct random_kind *kind, struct assembled *out);

#endif /* GPUMON_TESTS_PROBE_RANDOM_PROGRAM_H */
