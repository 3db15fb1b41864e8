// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Names of what threads and GPUs spend time on. */
#include "budget.h"

const char *gpumon_spent_text(enum gpumon_spent spent)
{
	static const char *const texts[GPUMON_SPENTS] = {
		[GPUMON_SPENT_BEFORE] = "before the first call",
		[GPUMON_SPENT_LAUNCH] = "in launch calls",
		[GPUMON_SPENT_GPU_WAIT] = "in calls that wait for the GPU",
		[GPUMON_SPENT_CALL] = "in other calls",
		[GPUMON_SPENT_BETWEEN] = "between calls",
		[GPUMON_SPENT_RUNNING] = "running between calls",
		[GPUMON_SPENT_BLOCKED] = "blocked between calls",
		[GPUMON_SPENT_UNRECORDED] = "not recorded",
		[GPUMON_SPENT_AFTER] = "after the last call",
	};

	return texts[spent];
}

const char *gpumon_spent_key(enum gpumon_spent spent)
{
	static const char *const keys[GPUMON_SPENTS] = {
		[GPUMON_SPENT_BEFORE] = "before_first_call",
		[GPUMON_SPENT_LAUNCH] = "launch_calls",
		[GPUMON_SPENT_GPU_WAIT] = "gpu_wait_calls",
		[GPUMON_SPENT_CALL] = "other_calls",
		[GPUMON_SPENT_BETWEEN] = "between_calls",
		[GPUMON_SPENT_RUNNING] = "running",
		[GPUMON_SPENT_BLOCKED] = "blocked",
		[GPUMON_SPENT_UNRECORDED] = "unrecorded",
		[GPUMON_SPENT_AFTER] = "after_last_call",
	};

	return keys[spent];
}

static const char *const wait_texts[GPUMON_WAIT_KINDS] = {
	[GPUMON_WAIT_UNKNOWN] = "blocked",  [GPUMON_WAIT_RUNNING] = "running",
	[GPUMON_WAIT_FUTEX] = "lock",	    [GPUMON_WAIT_SLEEP] = "sleep",
	[GPUMON_WAIT_READ] = "read",	    [GPUMON_WAIT_WRITE] = "write",
	[GPUMON_WAIT_POLL] = "poll",	    [GPUMON_WAIT_CHILD] = "child",
	[GPUMON_WAIT_FAULT] = "page fault", [GPUMON_WAIT_OTHER] = "system call",
};

const char *gpumon_wait_text(enum gpumon_wait_kind kind)
{
	return wait_texts[kind];
}

const char *gpumon_overhead_text(enum gpumon_overhead_kind kind)
{
	static const char *const texts[GPUMON_OVERHEAD_KINDS] = {
		[GPUMON_OVERHEAD_OTHER] = "overhead of the API",
		[GPUMON_OVERHEAD_COMPILER] = "compilation by the driver",
		[GPUMON_OVERHEAD_MODULE_LOADING] = "module loading",
		[GPUMON_OVERHEAD_FUNCTION_LOADING] = "function loading",
		[GPUMON_OVERHEAD_QUEUE_FULL] = "command buffer full",
		[GPUMON_OVERHEAD_PROFILER] = "profiling library",
		[GPUMON_OVERHEAD_UNIFIED_MEMORY] = "unified memory set-up",
	};

	return texts[kind];
}

const char *gpumon_overhead_key(enum gpumon_overhead_kind kind)
{
	static const char *const keys[GPUMON_OVERHEAD_KINDS] = {
		[GPUMON_OVERHEAD_OTHER] = "other",
		[GPUMON_OVERHEAD_COMPILER] = "compiler",
		[GPUMON_OVERHEAD_MODULE_LOADING] = "module_loading",
		[GPUMON_OVERHEAD_FUNCTION_LOADING] = "function_loading",
		[GPUMON_OVERHEAD_QUEUE_FULL] = "queue_full",
		[GPUMON_OVERHEAD_PROFILER] = "profiler",
		[GPUMON_OVERHEAD_UNIFIED_MEMORY] = "unified_memory",
	};

	return keys[kind];
}
