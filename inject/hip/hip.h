/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * HIP's tracer interface, of which there is no header: what is declared here is what this library
 * reads and writes of it. The same in 5.4 to 7.2 but for what struct inject_hip_layout says.
 */
#ifndef GPUMON_INJECT_HIP_HIP_H
#define GPUMON_INJECT_HIP_HIP_H

#include <stddef.h>

#include "channel/call.h"
#include "channel/thread.h"

/* The number of an object, as an id in the capture. */
#define INJECT_HIP_ID(number) ((uint32_t)GPUMON_API_HIP << GPUMON_API_SHIFT | (number))

/* Domains: the tracer's callback is called for these. */
#define INJECT_HIP_DOMAIN_OPERATION 2
#define INJECT_HIP_DOMAIN_CALL	    3

/* Operations. There are also barriers. */
#define INJECT_HIP_KERNEL 0
#define INJECT_HIP_COPY	  1

/* Answers of the callback. */
#define INJECT_HIP_YES 0
#define INJECT_HIP_NO  1

/**
 * struct inject_hip_layout - of a call, which the callback gets, by the version of the library
 * @version: from this one on, major * 100 + minor
 * @before: and below this one
 * @enter: bytes before the address of what the library calls when the call begins, with its arguments
 *         filled in; NULL: nothing. Behind it is that of the end
 *
 * At the begin there is the correlation id, which this library sets, at INJECT_HIP_ARGUMENTS the call's
 * arguments. Between arguments and @enter is room for those of the call that has most.
 */
struct inject_hip_layout {
	unsigned int version;
	unsigned int before;
	size_t enter;
};

#define INJECT_HIP_ARGUMENTS 16

typedef void (*inject_hip_phase)(uint32_t function, void *call);

/**
 * struct inject_hip_record - an operation that ended
 * @domain: INJECT_HIP_DOMAIN_OPERATION
 * @kind: OpenCL's number for such a command
 * @operation: INJECT_HIP_*
 * @correlation: of the call that launched it
 * @begin_ns: CLOCK_BOOTTIME
 * @end_ns: likewise
 * @node: the kernel driver's number of the device
 * @queue: of the device, from 0 on
 * @bytes: of a copy
 * @name: of a kernel, valid within the callback
 */
struct inject_hip_record {
	uint32_t domain;
	uint32_t kind;
	uint32_t operation;
	uint64_t correlation;
	uint64_t begin_ns;
	uint64_t end_ns;
	int32_t node;
	uint64_t queue;
	union {
		uint64_t bytes;
		const char *name;
	};
};

/* Functions of the library that are called here. None of them is waited for by a launch. */
#define INJECT_HIP_CALLED(f)                                                                      \
	f(void, hipRegisterTracerCallback,                                                        \
	  (int (*)(uint32_t, uint32_t, void *))) f(int, hipRuntimeGetVersion, (int *))            \
		f(int, hipPeekAtLastError, (void)) f(int, hipStreamIsCapturing, (void *, int *))  \
			f(int, hipGetStreamDeviceId, (void *)) f(int, hipDeviceGetName,           \
								 (char *, int, int))              \
				f(int, hipDeviceGetPCIBusId,                                      \
				  (char *, int, int)) f(int, hipDeviceTotalMem, (size_t *, int))  \
					f(const char *, hipApiName, (uint32_t))                   \
						f(const char *, hipKernelNameRef, (const void *)) \
							f(const char *, hipKernelNameRefByPtr,    \
							  (const void *, void *))

struct inject_hip {
#define DECLARE(type, name, arguments) type(*name) arguments;
	INJECT_HIP_CALLED(DECLARE)
#undef DECLARE
	/* The function exists from HIP 6.0 on. */
	int (*hipExtGetLastError)(void);
	/* The library's version, as hipRuntimeGetVersion() says it. */
	int version;
};

extern struct inject_hip inject_hip INJECT_HIDDEN;

#endif /* GPUMON_INJECT_HIP_HIP_H */
