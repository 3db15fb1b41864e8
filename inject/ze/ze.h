/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the files of the Level Zero backend: the loader's functions, and the function list. */
#ifndef GPUMON_INJECT_ZE_ZE_H
#define GPUMON_INJECT_ZE_ZE_H

#include <level_zero/ze_api.h>

/* These headers need the one before. */
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#include "channel/call.h"
#include "channel/thread.h"

/* The number of an object, as an id in the capture. */
#define INJECT_ZE_ID(number) ((uint32_t)GPUMON_API_LEVEL_ZERO << GPUMON_API_SHIFT | (number))

/* Functions of the loader that are called here. */
#define INJECT_ZE_CALLED(f)		\
	f(zelTracerCreate)		\
	f(zelTracerSetPrologues)	\
	f(zelTracerSetEpilogues)	\
	f(zelTracerSetEnabled)		\
	f(zeDriverGetApiVersion)	\
	f(zeDriverGetProperties)	\
	f(zeDeviceGetProperties)	\
	f(zeDeviceGetGlobalTimestamps)	\
	f(zeDeviceGetMemoryProperties)	\
	f(zeMemGetAllocProperties)	\
	f(zeKernelGetName)		\
	f(zeEventPoolCreate)		\
	f(zeEventPoolDestroy)		\
	f(zeEventCreate)		\
	f(zeEventDestroy)		\
	f(zeEventHostReset)		\
	f(zeEventQueryStatus)		\
	f(zeEventQueryKernelTimestamp)	\
	f(zeFenceCreate)		\
	f(zeFenceDestroy)		\
	f(zeFenceReset)			\
	f(zeFenceQueryStatus)

/* Functions that an old loader may not have: NULL then. */
#define INJECT_ZE_OPTIONAL(f)							\
	f(zeDevicePciGetPropertiesExt)						\
	f(zelTracerCommandListAppendImageCopyToMemoryExtRegisterCallback)	\
	f(zelTracerCommandListAppendImageCopyFromMemoryExtRegisterCallback)

struct inject_ze {
#define INJECT_ZE_FIELD(name) __typeof__(&(name)) name;
	INJECT_ZE_CALLED(INJECT_ZE_FIELD)
	INJECT_ZE_OPTIONAL(INJECT_ZE_FIELD)
#undef INJECT_ZE_FIELD
};

/* Functions of the loader, found by their names. */
extern struct inject_ze inject_ze;

/* Functions that are recorded, with what they do. */
#define INJECT_ZE_FUNCTIONS(f)								\
	f(zeCommandListAppendLaunchKernel, INJECT_CLASS_KERNEL)				\
	f(zeCommandListAppendLaunchCooperativeKernel, INJECT_CLASS_KERNEL)		\
	f(zeCommandListAppendLaunchKernelIndirect, INJECT_CLASS_KERNEL)			\
	f(zeCommandListAppendLaunchMultipleKernelsIndirect, INJECT_CLASS_KERNEL)	\
	f(zeCommandListAppendMemoryCopy, INJECT_CLASS_COPY)				\
	f(zeCommandListAppendMemoryCopyRegion, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendMemoryCopyFromContext, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendImageCopy, INJECT_CLASS_COPY)				\
	f(zeCommandListAppendImageCopyRegion, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendImageCopyToMemory, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendImageCopyFromMemory, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendImageCopyToMemoryExt, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendImageCopyFromMemoryExt, INJECT_CLASS_COPY)			\
	f(zeCommandListAppendMemoryFill, INJECT_CLASS_SET)				\
	f(zeCommandQueueExecuteCommandLists, INJECT_CLASS_GRAPH)			\
	f(zeCommandQueueSynchronize, INJECT_CLASS_BLOCKING)				\
	f(zeFenceHostSynchronize, INJECT_CLASS_BLOCKING)				\
	f(zeEventHostSynchronize, INJECT_CLASS_BLOCKING)				\
	f(zeCommandListHostSynchronize, INJECT_CLASS_BLOCKING)				\
	f(zeCommandListAppendBarrier, 0)						\
	f(zeCommandListAppendMemoryRangesBarrier, 0)					\
	f(zeCommandListAppendMemoryPrefetch, 0)						\
	f(zeCommandListAppendSignalEvent, 0)						\
	f(zeCommandListAppendWaitOnEvents, 0)						\
	f(zeCommandListAppendEventReset, 0)

enum inject_ze_function {
#define INJECT_ZE_NUMBER(name, class) INJECT_##name,
	INJECT_ZE_FUNCTIONS(INJECT_ZE_NUMBER)
#undef INJECT_ZE_NUMBER
	INJECT_ZE_COUNT
};

#endif /* GPUMON_INJECT_ZE_ZE_H */
