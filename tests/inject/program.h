/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the program that uses CUDA in all the ways that the tests need. */
#ifndef GPUMON_TESTS_INJECT_PROGRAM_H
#define GPUMON_TESTS_INJECT_PROGRAM_H

#include <stdbool.h>

/* Not inlined or merged: each must be a separate caller. */
#define PLACE __attribute__((noinline, noclone, noipa))

/* Called by name from generated code. */
void launch_from_jit(void);

/*
 * Like a runtime with a JIT compiler: code in anonymous memory, and a line that names it. Launches
 * @count times, with @pause ms in between. False if that is not possible here.
 */
bool run_jit(unsigned int count, unsigned int pause);

#endif /* GPUMON_TESTS_INJECT_PROGRAM_H */
