/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the program that uses CUDA in all ways that tests ask for. */
#ifndef GPUMON_TESTS_INJECT_PROGRAM_H
#define GPUMON_TESTS_INJECT_PROGRAM_H

#include <stdbool.h>

/* Not inlined and not merged: each is a caller of its own. */
#define PLACE __attribute__((noinline, noclone, noipa))

/* Calls it, by its name, from memory. */
void launch_from_jit(void);

/*
 * As a runtime that compiles while it runs: code in memory of no file, and a line that names it. Launches
 * @count times, with @pause ms between. False where that cannot be done here.
 */
bool run_jit(unsigned int count, unsigned int pause);

#endif /* GPUMON_TESTS_INJECT_PROGRAM_H */
