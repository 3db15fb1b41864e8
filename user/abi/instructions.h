/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Instructions around an address in a thread that is blocked, of which only two registers are known: where
 * the frame pointer is. inject/ uses this, too. Nothing is found on processors other than x86-64.
 */
#ifndef GPUMON_ABI_INSTRUCTIONS_H
#define GPUMON_ABI_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest call. */
#define GPUMON_CALL_MAX 7

/* Addresses of a program are below. */
#define GPUMON_CODE_USER_END (1ull << 56)

/* @copy: copies memory of the process; false where it cannot be read. */
struct gpumon_code_reader {
	bool (*copy)(void *data, uint64_t address, void *to, size_t size);
	void *data;
};

/* Is there a call at the end of these bytes? */
bool gpumon_code_ends_with_call(const uint8_t bytes[GPUMON_CALL_MAX]);

/**
 * gpumon_code_frame_size - how far below rbp rsp is, in a function that keeps a frame pointer
 * @reader: memory
 * @set: behind the instruction that has set rbp to rsp, by call frame information
 * @end: where the thread is, behind a call
 * @size: set to it, in bytes
 *
 * Return: false where the instructions do not say it, or cannot be read.
 */
bool gpumon_code_frame_size(const struct gpumon_code_reader *reader, uint64_t set, uint64_t end,
			    uint64_t *size);

/* What is known of a call in front of a return address. */
enum gpumon_code_call {
	GPUMON_CODE_NO_CALL = 0,   /* there is none, or it calls something else */
	GPUMON_CODE_ANY_CALL = 1,  /* of an address that is no more known */
	GPUMON_CODE_THIS_CALL = 2, /* of the function */
};

/* Does a call in front of an address go to a function? */
enum gpumon_code_call gpumon_code_call_to(const struct gpumon_code_reader *reader, uint64_t address,
					  uint64_t function);

#endif /* GPUMON_ABI_INSTRUCTIONS_H */
