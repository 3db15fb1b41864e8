/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Runs the steps of a verified program, and compares what happens with each of its facts: where
 * addresses lead, what registers and bytes of the stack have, which way jumps go.
 */
#ifndef GPUMON_TESTS_PROBE_RUN_STEPS_H
#define GPUMON_TESTS_PROBE_RUN_STEPS_H

#include "dice.h"
#include "gpuprog/object/program.h"

/* What a run has done, to see that it was worth it. */
struct run_counts {
	uint64_t steps;
	uint64_t loads;
	uint64_t stores;
	uint64_t atomics;
	uint64_t calls;
	uint64_t outside; /* accesses that a check has to stop */
};

/**
 * run_steps - run a program once
 * @program: program
 * @facts: what is proved of it
 * @dice: for all that a program reads
 * @fuel: steps at most
 * @counts: added to
 *
 * Return: NULL, or what contradicts the facts, with the step, in a static buffer.
 */
const char *run_steps(const struct gpumon_gpuprog *program, const struct gpumon_gpuprog_fact *facts,
		      struct dice *dice, unsigned int fuel, struct run_counts *counts);

#endif /* GPUMON_TESTS_PROBE_RUN_STEPS_H */
