// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "unified.h"

static const struct {
	const char *key;
	const char *text;
	bool has_bytes;
} kinds[GPUMON_UNIFIED_KINDS] = {
	[GPUMON_UNIFIED_UNKNOWN] = { "unknown", "of a kind that is not known", false },
	[GPUMON_UNIFIED_TO_DEVICE] = { "to_device", "moved to a GPU", true },
	[GPUMON_UNIFIED_TO_HOST] = { "to_host", "moved to the host", true },
	[GPUMON_UNIFIED_CPU_FAULT] = { "cpu_fault", "page faults of the CPU", false },
	[GPUMON_UNIFIED_GPU_FAULT] = { "gpu_fault", "page faults of a GPU", false },
	[GPUMON_UNIFIED_THRASHING] = { "thrashing", "thrashing", true },
	[GPUMON_UNIFIED_THROTTLING] = { "throttling", "throttled for thrashing", false },
	[GPUMON_UNIFIED_REMOTE_MAP] = { "remote_map", "mapped where it is", true },
	[GPUMON_UNIFIED_BETWEEN_DEVICES] = { "between_devices", "moved between GPUs", true },
};

enum gpumon_unified_kind gpumon_unified_kind(uint32_t kind)
{
	return kind < GPUMON_UNIFIED_KINDS ? (enum gpumon_unified_kind)kind :
					     GPUMON_UNIFIED_UNKNOWN;
}

const char *gpumon_unified_text(enum gpumon_unified_kind kind)
{
	return kinds[kind].text;
}

const char *gpumon_unified_key(enum gpumon_unified_kind kind)
{
	return kinds[kind].key;
}

bool gpumon_unified_has_bytes(enum gpumon_unified_kind kind)
{
	return kinds[kind].has_bytes;
}

bool gpumon_unified_has_end(enum gpumon_unified_kind kind)
{
	switch (kind) {
	case GPUMON_UNIFIED_TO_DEVICE:
	case GPUMON_UNIFIED_TO_HOST:
	case GPUMON_UNIFIED_BETWEEN_DEVICES:
	case GPUMON_UNIFIED_GPU_FAULT:
	case GPUMON_UNIFIED_THROTTLING:
		return true;
	default:
		return false;
	}
}

bool gpumon_unified_is_fault(enum gpumon_unified_kind kind)
{
	return kind == GPUMON_UNIFIED_CPU_FAULT || kind == GPUMON_UNIFIED_GPU_FAULT;
}
