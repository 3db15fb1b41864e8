/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_ENVIRONMENT_H
#define GPUMON_INJECT_ENVIRONMENT_H

#include <limits.h>
#include <stdint.h>

/**
 * struct inject_environment - what the environment said when the library came
 * @listen: GPUMON_LISTEN, a folder
 * @rank: of a parallel job, by the launcher's variables; ~0 where there is none
 */
struct inject_environment {
	char listen[PATH_MAX];
	uint32_t rank;
};

extern struct inject_environment inject_environment;

/**
 * inject_environment_read - once, in the program's own thread
 *
 * Later, and in ours, the program might be changing it.
 */
void inject_environment_read(void);

#endif /* GPUMON_INJECT_ENVIRONMENT_H */
