/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_STATE_H
#define GPUMON_INJECT_CUPTI_STATE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/inject.h"

/**
 * struct inject_cupti_state - what the parts of cupti/ know of CUDA in this process
 * @captures_open: streams being captured into graphs, in the whole process
 * @contexts: that are alive, as far as seen
 * @context_bytes: of the GPU's memory that CUPTI takes for each, as far as it says so
 */
struct inject_cupti_state {
	_Atomic int captures_open;
	_Atomic int contexts;
	uint64_t context_bytes;
};

extern struct inject_cupti_state inject_cupti_state INJECT_HIDDEN;

/**
 * struct inject_cupti_environment - what the environment said when the library came
 * @path: GPUMON_CUPTI: of the CUPTI to be used, if none is loaded
 * @runtime_too: GPUMON_LAUNCHES=all
 * @no_internal: GPUMON_NO_INTERNAL
 */
struct inject_cupti_environment {
	char path[PATH_MAX];
	bool runtime_too;
	bool no_internal;
};

extern struct inject_cupti_environment inject_cupti_environment;

#endif /* GPUMON_INJECT_CUPTI_STATE_H */
