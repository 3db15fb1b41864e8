/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUPTI is found at run time: which one depends on the program, and a program
 * without CUPTI has to run as well. Only its headers are used in the build.
 */
#ifndef GPUMON_INJECT_CUPTI_LIBRARY_H
#define GPUMON_INJECT_CUPTI_LIBRARY_H

#include <limits.h>

#include <cupti.h>

#include "channel/process.h"

#define INJECT_CUPTI_REQUIRED(f)                                                          \
	f(cuptiSubscribe) f(cuptiUnsubscribe) f(cuptiEnableCallback) f(cuptiEnableDomain) \
		f(cuptiGetVersion) f(cuptiGetCallbackName) f(cuptiGetResultString)        \
			f(cuptiSetThreadIdType) f(cuptiActivityRegisterTimestampCallback) \
				f(cuptiActivityRegisterCallbacks) f(cuptiActivityEnable)  \
					f(cuptiActivityDisable) f(cuptiActivityFlushAll)  \
						f(cuptiActivityGetNextRecord)             \
							f(cuptiActivityGetNumDroppedRecords)

/* Headers of CUDA 11 lack it. */
CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId);

/* Without one of these, something is not recorded. */
#define INJECT_CUPTI_OPTIONAL(f)                                                              \
	f(cuptiActivityEnableAndDump) f(cuptiActivityEnableLatencyTimestamps)                 \
		f(cuptiActivityConfigureUnifiedMemoryCounter) f(cuptiActivityGetAttribute)    \
			f(cuptiActivitySetAttribute) f(cuptiFinalize) f(cuptiGetContextId)    \
				f(cuptiGetDeviceId) f(cuptiGetGraphId) f(cuptiGetGraphNodeId) \
					f(cuptiGetStreamIdEx) f(cuptiGetGraphExecId)

/**
 * struct inject_cupti - CUPTI's functions, by their names
 * @handle: of dlopen, NULL while none is loaded
 * @version: of cuptiGetVersion, 0 before it may be called
 */
struct inject_cupti {
	void *handle;
	uint32_t version;
#define INJECT_CUPTI_MEMBER(name) __typeof__(&name) name;
	INJECT_CUPTI_REQUIRED(INJECT_CUPTI_MEMBER)
	INJECT_CUPTI_OPTIONAL(INJECT_CUPTI_MEMBER)
#undef INJECT_CUPTI_MEMBER
};

extern struct inject_cupti inject_cupti;

/**
 * struct inject_cupti_state - what the parts of cupti/ know of CUDA in this process
 * @captures_open: streams being captured into graphs, in the whole process
 * @contexts: that are alive, as far as seen; below 0 as long as records of ended ones were not read
 * @has_graphs: a graph was made or launched while CUPTI was subscribed to
 * @launches_graphs: a graph was launched in this capture
 * @from_start: CUPTI was there before the program used CUDA
 * @context_bytes: of the GPU's memory that CUPTI takes for each, as far as it says so
 */
struct inject_cupti_state {
	_Atomic int captures_open;
	_Atomic int contexts;
	_Atomic bool has_graphs;
	_Atomic bool launches_graphs;
	bool from_start;
	uint64_t context_bytes;
};

extern struct inject_cupti_state inject_cupti_state INJECT_HIDDEN;

/**
 * struct inject_cupti_environment - the environment's variables for this backend
 * @path: GPUMON_CUPTI: of the CUPTI to use if the program has loaded none
 * @runtime_too: GPUMON_LAUNCHES=all
 * @no_internal: GPUMON_NO_INTERNAL
 * @late: GPUMON_LATE
 * @since_ns: when they were read, before the program has launched anything
 */
struct inject_cupti_environment {
	char path[PATH_MAX];
	bool runtime_too;
	bool no_internal;
	bool late;
	uint64_t since_ns;
};

extern struct inject_cupti_environment inject_cupti_environment;

/* Once, in the program's own thread. */
void inject_cupti_read_environment(void);

/**
 * inject_cupti_load - find CUPTI; one that is already loaded goes first
 * @why: set to a text where there is none; valid until the next call
 *
 * Calls no function of CUPTI.
 *
 * Return: true if inject_cupti is filled in.
 */
bool inject_cupti_load(const char **why);

/* As cuDriverGetVersion(), 0 where it cannot be asked. */
uint32_t inject_cupti_driver(void);

/* Which CUPTI was loaded and which CUDA the driver is for, for messages about a mismatch. */
void inject_cupti_describe(char *text, size_t size);

/* More than there are in either domain: 523 and 807 in CUDA 13.0. */
#define INJECT_FUNCTIONS 2048

/* Calls @each for each function of a domain of callbacks, the driver's or the runtime's. */
void inject_cupti_functions(CUpti_CallbackDomain domain,
			    void (*each)(CUpti_CallbackDomain domain, uint32_t id,
					 const char *name));

/* The name of a result, or "unknown". */
const char *inject_cupti_result(CUptiResult result);

/**
 * inject_cuda_symbol - a function of the driver's library, which is loaded already
 *
 * Return: NULL where there is none.
 */
void *inject_cuda_symbol(const char *name);

/* Where the code of CUPTI and the driver is. Returns how many of @room were filled. */
unsigned int inject_cupti_code(struct inject_code *code, unsigned int room);

/* Versions, such as 13000, of CUPTI, of the driver, and of a libcudart.so that is loaded, by the name of its file. */
void inject_cupti_versions(struct inject_versions *versions);

/* The versions as text, in an API record. */
void inject_cupti_write_api(struct inject_thread *thread);

#endif /* GPUMON_INJECT_CUPTI_LIBRARY_H */
