/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Own declarations of CUPTI's PC sampling, as it is since CUDA 12.4: older headers lack members, and an
 * older library steps through its records by another size.
 */
#ifndef GPUMON_INJECT_CUPTI_PC_SAMPLING_H
#define GPUMON_INJECT_CUPTI_PC_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "base/inject.h"

/* Room for the name of a stall reason. */
#define INJECT_PC_NAME 128

/**
 * struct inject_pc_stall - samples of an instruction that have the same reason
 * @reason: CUPTI's number of it
 * @samples: how many
 */
struct inject_pc_stall {
	uint32_t reason;
	uint32_t samples;
};

/**
 * struct inject_pc - samples of an instruction
 * @size: of this struct
 * @module: CRC of the cubin
 * @offset: in the function, bytes
 * @function: index of its symbol in the module
 * @name: of the function. From malloc(), and perhaps that of activity records as well
 * @count: in: room of @stalls; out: how many there are
 * @stalls: by reason
 * @correlation: 0 in continuous mode
 */
struct inject_pc {
	size_t size;
	uint64_t module;
	uint64_t offset;
	uint32_t function;
	uint32_t padding;
	char *name;
	size_t count;
	struct inject_pc_stall *stalls;
	uint32_t correlation;
	uint32_t more_padding;
};

/**
 * struct inject_pc_data - what was sampled since it was read last
 * @size: of this struct, without what pads it
 * @room: of @pcs
 * @samples: all, also dropped ones, and those of kernels that are not the user's
 * @dropped: by the hardware
 * @count: how many of @pcs there are
 * @remaining: that CUPTI still has
 * @range: number of the range
 * @pcs: instructions
 * @other: of kernels that are not the user's
 * @is_full: the hardware's buffer was full: nothing more is sampled
 */
struct inject_pc_data {
	size_t size;
	size_t room;
	uint64_t samples;
	uint64_t dropped;
	size_t count;
	size_t remaining;
	uint64_t range;
	struct inject_pc *pcs;
	uint64_t other;
	uint8_t is_full;
	uint8_t padding[7];
};

/* Attributes of struct inject_pc_attribute. */
enum inject_pc_attribute_type {
	INJECT_PC_PERIOD = 1,	      /* 2^n cycles: uint32_t */
	INJECT_PC_REASONS = 2,	      /* size_t and uint32_t * */
	INJECT_PC_SCRATCH_BUFFER = 3, /* bytes: size_t */
	INJECT_PC_DEVICE_BUFFER = 4,  /* bytes: size_t */
	INJECT_PC_MODE = 5,	      /* enum */
	INJECT_PC_DATA = 8,	      /* struct inject_pc_data * */
};

#define INJECT_PC_CONTINUOUS 1

struct inject_pc_attribute {
	uint32_t type;
	uint32_t status; /* out: CUptiResult */
	union {
		uint64_t words[3];
		uint32_t number;
		size_t bytes;
		void *data;
		struct {
			size_t count;
			uint32_t *numbers;
		} list;
	} value;
};

/* Parameters of the functions: each begins with its size, and a NULL. */
struct inject_pc_context {
	size_t size;
	void *private_data;
	CUcontext context;
};

struct inject_pc_configuration {
	struct inject_pc_context of;
	size_t count;
	struct inject_pc_attribute *attributes;
};

struct inject_pc_get {
	struct inject_pc_context of;
	struct inject_pc_data *data;
};

struct inject_pc_count_reasons {
	struct inject_pc_context of;
	size_t *count;
};

struct inject_pc_get_reasons {
	struct inject_pc_context of;
	size_t count;
	uint32_t *numbers;
	char **names;
};

/**
 * struct inject_pc_line - where an instruction comes from
 * @size: of this struct
 * @cubin: that the function is in
 * @function: name
 * @cubin_size: bytes
 * @line: out
 * @offset: in the function, bytes
 * @file: out: from malloc(), to be freed
 * @folder: out: likewise
 */
struct inject_pc_line {
	size_t size;
	const void *cubin;
	const char *function;
	size_t cubin_size;
	uint32_t line;
	uint32_t padding;
	uint64_t offset;
	char *file;
	char *folder;
};

struct inject_pc_crc {
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};

/* X(member, symbol, type of the parameter) */
#define INJECT_PC_SAMPLING(X)                                                                      \
	X(enable, "cuptiPCSamplingEnable", struct inject_pc_context *)                             \
	X(disable, "cuptiPCSamplingDisable", struct inject_pc_context *)                           \
	X(configure, "cuptiPCSamplingSetConfigurationAttribute", struct inject_pc_configuration *) \
	X(get, "cuptiPCSamplingGetData", struct inject_pc_get *)                                   \
	X(count_reasons, "cuptiPCSamplingGetNumStallReasons", struct inject_pc_count_reasons *)    \
	X(get_reasons, "cuptiPCSamplingGetStallReasons", struct inject_pc_get_reasons *)           \
	X(find_line, "cuptiGetSassToSourceCorrelation", struct inject_pc_line *)                   \
	X(find_crc, "cuptiGetCubinCrc", struct inject_pc_crc *)

/* CUPTI's functions for PC sampling. */
struct inject_pc_sampling {
#define INJECT_PC_MEMBER(member, symbol, type) CUptiResult (*member)(type);
	INJECT_PC_SAMPLING(INJECT_PC_MEMBER)
#undef INJECT_PC_MEMBER
};

extern struct inject_pc_sampling inject_pc_sampling INJECT_HIDDEN;

/* After inject_cupti_load() and cuptiGetVersion(). False: this CUPTI does not have them as above. */
bool inject_pc_sampling_load(void);

#endif /* GPUMON_INJECT_CUPTI_PC_SAMPLING_H */
