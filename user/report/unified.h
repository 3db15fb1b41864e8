/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Unified memory: names of CUPTI's counters, and the meaning of their values. */
#ifndef GPUMON_REPORT_UNIFIED_H
#define GPUMON_REPORT_UNIFIED_H

#include <stdbool.h>
#include <stdint.h>

/* As CUpti_ActivityUnifiedMemoryCounterKind. 0 stands for unknown kinds. */
enum gpumon_unified_kind {
	GPUMON_UNIFIED_UNKNOWN,
	GPUMON_UNIFIED_TO_DEVICE,
	GPUMON_UNIFIED_TO_HOST,
	GPUMON_UNIFIED_CPU_FAULT, /* its value is the program counter */
	GPUMON_UNIFIED_GPU_FAULT, /* its value is their number */
	GPUMON_UNIFIED_THRASHING,
	GPUMON_UNIFIED_THROTTLING,
	GPUMON_UNIFIED_REMOTE_MAP,
	GPUMON_UNIFIED_BETWEEN_DEVICES,
	GPUMON_UNIFIED_KINDS
};

/**
 * struct gpumon_unified - sums of a kind
 * @count: number of records
 * @bytes: sum of bytes, if the kind has them
 * @faults: sum of faults
 * @ns: sum of durations; overlaps count twice
 */
struct gpumon_unified {
	uint64_t count;
	uint64_t bytes;
	uint64_t faults;
	uint64_t ns;
};

/* The kind of a record. */
enum gpumon_unified_kind gpumon_unified_kind(uint32_t kind);
/* Its name for users, and in JSON. */
const char *gpumon_unified_text(enum gpumon_unified_kind kind);
const char *gpumon_unified_key(enum gpumon_unified_kind kind);
/* True if the value is in bytes. */
bool gpumon_unified_has_bytes(enum gpumon_unified_kind kind);
/* True if it has a duration. For other kinds, CUPTI leaves the end undefined. */
bool gpumon_unified_has_end(enum gpumon_unified_kind kind);
bool gpumon_unified_is_fault(enum gpumon_unified_kind kind);

#endif /* GPUMON_REPORT_UNIFIED_H */
