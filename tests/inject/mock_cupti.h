/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Stand-in for libcupti, in two generations built from the same files. 12 writes records of
 * CUpti_ActivityKernel9 and Memcpy5 into one buffer for all threads, 13 those of Kernel10 and
 * Memcpy6 into a buffer per thread. If the headers lack a record, the newest available one is used.
 */
#ifndef GPUMON_TESTS_INJECT_MOCK_CUPTI_H
#define GPUMON_TESTS_INJECT_MOCK_CUPTI_H

#include <cupti.h>

#include "mock.h"

#define MOCK_NEW_RECORDS (MOCK_GENERATION == 13 && CUPTI_API_VERSION >= 130000)
#if MOCK_NEW_RECORDS
typedef CUpti_ActivityKernel10 mock_kernel;
typedef CUpti_ActivityMemcpy6 mock_copy;
typedef CUpti_ActivityDevice5 mock_device;
typedef CUpti_ActivityContext3 mock_context_record;
typedef CUpti_ActivitySynchronization2 mock_sync;
typedef CUpti_ActivityMemory4 mock_memory;
typedef CUpti_ActivityUnifiedMemoryCounter3 mock_unified;
#else
#if CUPTI_API_VERSION >= 22
typedef CUpti_ActivityKernel9 mock_kernel;
#else
typedef CUpti_ActivityKernel8 mock_kernel;
#endif
typedef CUpti_ActivityMemcpy5 mock_copy;
typedef CUpti_ActivityDevice4 mock_device;
typedef CUpti_ActivityContext mock_context_record;
typedef CUpti_ActivitySynchronization mock_sync;
typedef CUpti_ActivityMemory3 mock_memory;
typedef CUpti_ActivityUnifiedMemoryCounter2 mock_unified;
#endif
#define MOCK_CUPTI_VERSION (MOCK_GENERATION == 13 ? 130001 : 24)

/* MOCK_CUPTI_VERSION, or that of MOCK_VERSION. */
uint32_t mock_version(void);

/* As CUPTI 12.4 has it. 12.0 has it without what comes after @base, 12.2 without @data. */
struct mock_overhead {
	CUpti_ActivityOverhead base;
	uint32_t correlation;
	uint32_t reserved;
	void *data;
};

size_t mock_overhead_size(void);

/*
 * The failure of a function from MOCK_FAIL: "cuptiActivityEnable:8" or "cuptiActivityEnable@10:8".
 */
CUptiResult mock_failure(const char *function, int argument);

/* Add a broken rule of CUPTI to the account. */
void mock_broken(unsigned int rule);

enum {
	MOCK_RULE_CALL_IN_BUFFER_CALLBACK = 1, /* CUPTI's lock is held in that callback */
	MOCK_RULE_CLOCK_TWICE = 2,
	MOCK_RULE_CLOCK_AFTER_ENABLE = 3,
	MOCK_RULE_BEFORE_SUBSCRIBE = 4,
	MOCK_RULE_NOT_ZEROED = 5,
	MOCK_RULE_FOREIGN_SUBSCRIBER = 6,
	MOCK_RULE_FINALIZE_OUTSIDE = 7, /* not at the exit of a call */
	MOCK_RULE_METRICS_TWICE = 8,	/* added to a host object that has some */
	MOCK_RULE_FINALIZE_SAMPLES = 9, /* while a GPU's performance monitors are sampled */
	MOCK_RULE_SAMPLED_CONTEXT = 10, /* a context goes that is still sampled */
	MOCK_RULE_SAMPLED_DETACH = 11,	/* cuptiFinalize() with one */
	MOCK_RULE_SAMPLED_TWICE = 12,
	MOCK_RULE_NOT_SAMPLED = 13,
	MOCK_RULE_SAMPLES_IN_PROGRAM = 14, /* read in a thread of the program's */
	MOCK_RULE_SAMPLING_ROOM = 15,	   /* no room for the reasons of an instruction */
};

extern _Atomic bool mock_is_subscribed;

/* activity */
struct mock_buffer;

void mock_lock(void);
void mock_unlock(void);
uint64_t mock_now(void);

/* Get a record in one of the library's buffers, or NULL. Called under the lock. */
void *mock_put(CUpti_ActivityKind kind, struct mock_buffer **in);

/* Let the GPU work on it. Called under the lock. */
void mock_add_task(struct mock_buffer *buffer, enum mock_account_type type, uint64_t *start,
		   uint64_t *end, uint32_t correlation, uint64_t node, bool is_stuck);
void mock_put_device(void);
bool mock_kind_enabled(CUpti_ActivityKind kind);
void mock_do_work(enum mock_work work, const char *name, uint32_t correlation, CUstream stream,
		  uint64_t node, uint32_t graph, uint64_t bytes);
void mock_put_context(void);
bool mock_in_buffer_callback(void);
void mock_wait_for_gpu(uint32_t correlation, CUstream stream);
void mock_put_stream(uint32_t id);
void mock_allocate_memory(uint32_t correlation, uint64_t address, uint64_t bytes);
void mock_prepare_for_fork(void);
void mock_forget_activity(void);

/* Samples of performance monitors, which older generations lack. */
bool mock_pm_is_enabled(void) __attribute__((weak));

/* sampling. Called under the lock: a kernel runs. */
void mock_sample_kernel(const char *name);
void mock_module_loaded(const struct mock_image *module);

/* Add a broken rule if a context is still sampled. */
void mock_sampling_ends(unsigned int rule);

#endif /* GPUMON_TESTS_INJECT_MOCK_CUPTI_H */
