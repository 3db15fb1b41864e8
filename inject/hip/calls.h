/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The program's calls, and the API's functions. */
#ifndef GPUMON_INJECT_HIP_CALLS_H
#define GPUMON_INJECT_HIP_CALLS_H

#include "hip.h"

/**
 * inject_hip_call_begin - a call begins
 * @function: the API's number of it
 * @call: of the library
 * @layout: of @call
 *
 * Return: INJECT_HIP_YES if the library is to call back at the end of the call.
 */
int inject_hip_call_begin(uint32_t function, void *call, const struct inject_hip_layout *layout);

/* Called in a child after fork. */
void inject_hip_calls_forked(void);

/* Places of the arguments of a launch. @stream: bytes before the stream. */
enum inject_hip_arguments {
	INJECT_HIP_ARGUMENTS_UNKNOWN,
	INJECT_HIP_ARGUMENTS_HOST,   /* the kernel by the address of its stub; numbers of groups */
	INJECT_HIP_ARGUMENTS_MODULE, /* by its handle; numbers of groups */
	INJECT_HIP_ARGUMENTS_ITEMS,  /* by its handle; numbers of work-items */
};

/**
 * struct inject_hip_function - one of the API's
 * @name: the API's; NULL: no function has this number
 * @class: INJECT_CLASS_*
 * @arguments: of a launch
 * @captures: from now on, launches may go into a graph
 * @name_id: for inject_string_again()
 */
struct inject_hip_function {
	const char *name;
	uint16_t class;
	uint8_t arguments;
	bool captures;
	_Atomic uint64_t name_id;
};

/* Finds the numbers of functions, which differ by version, by the names that the library has. */
void inject_hip_functions_find(void);

/* The function with a number; NULL: there is none. */
struct inject_hip_function *inject_hip_function(uint32_t number);

#endif /* GPUMON_INJECT_HIP_CALLS_H */
