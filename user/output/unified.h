/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Unified memory: what CUPTI's counters are called, and what their values mean. */
#ifndef GPUMON_OUTPUT_UNIFIED_H
#define GPUMON_OUTPUT_UNIFIED_H

#include <stdbool.h>
#include <stdint.h>

/* As CUpti_ActivityUnifiedMemoryCounterKind; 0 stands for those that are not known. */
enum gpumon_unified_kind {
	GPUMON_UNIFIED_UNKNOWN,
	GPUMON_UNIFIED_TO_DEVICE,
	GPUMON_UNIFIED_TO_HOST,
	GPUMON_UNIFIED_CPU_FAULT, /* its value is the program counter */
	GPUMON_UNIFIED_GPU_FAULT, /* its value is how many */
	GPUMON_UNIFIED_THRASHING,
	GPUMON_UNIFIED_THROTTLING,
	GPUMON_UNIFIED_REMOTE_MAP,
	GPUMON_UNIFIED_BETWEEN_DEVICES,
	GPUMON_UNIFIED_KINDS
};

/**
 * struct gpumon_unified - all of a kind
 * @count: records
 * @bytes: sum, where the kind has bytes
 * @faults: sum, of faults
 * @ns: while it went on; what overlaps counts twice
 */
struct gpumon_unified {
	uint64_t count;
	uint64_t bytes;
	uint64_t faults;
	uint64_t ns;
};

/* A record's kind among these. */
enum gpumon_unified_kind gpumon_unified_kind(uint32_t kind);
/* For people, and for programs. */
const char *gpumon_unified_text(enum gpumon_unified_kind kind);
const char *gpumon_unified_key(enum gpumon_unified_kind kind);
/* Is the value in bytes? */
bool gpumon_unified_has_bytes(enum gpumon_unified_kind kind);
/* Does it go on for a time? Others have whatever CUPTI left in their end. */
bool gpumon_unified_has_end(enum gpumon_unified_kind kind);
bool gpumon_unified_is_fault(enum gpumon_unified_kind kind);

#endif /* GPUMON_OUTPUT_UNIFIED_H */
