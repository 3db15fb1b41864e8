/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Strings of many processes' captures with numbers from one table. */
#ifndef GPUMON_REPORT_RECORD_NAMES_H
#define GPUMON_REPORT_RECORD_NAMES_H

#include "abi/format.h"
#include "lib/map.h"
#include "lib/text_intern.h"

/**
 * struct gpumon_record_names - the table
 * @numbers: process and string id to a number in @texts
 * @kernels: number to the number of the demangled text
 * @functions: number to the number of the API function without version and variant
 */
struct gpumon_record_names {
	struct gpumon_intern texts;
	struct gpumon_map numbers;
	struct gpumon_map kernels;
	struct gpumon_map functions;
};

/* Add a record from a file, whose text lies within it. -1 without memory. */
int gpumon_names_add(struct gpumon_record_names *names, uint32_t process,
		     const struct gpumon_record_string *string);

/* Numbers of texts, from 1 on; 0 for an unknown string, or without memory. */
uint32_t gpumon_names_string(const struct gpumon_record_names *names, uint32_t process,
			     uint32_t string);
uint32_t gpumon_names_kernel(struct gpumon_record_names *names, uint32_t process, uint32_t string);
uint32_t gpumon_names_function(struct gpumon_record_names *names, uint32_t process,
			       uint32_t string);
uint32_t gpumon_names_text(struct gpumon_record_names *names, const char *text);

/* The text of a number; the given one for 0. */
const char *gpumon_names_of(const struct gpumon_record_names *names, uint32_t number,
			    const char *unknown);
/* A printable copy of a text from a file, to free. NULL without memory. */
char *gpumon_names_printable(const char *text);
/* The same of a string, "" of an unknown one. */
char *gpumon_names_copy(const struct gpumon_record_names *names, uint32_t process, uint32_t string);
void gpumon_names_clear(struct gpumon_record_names *names);

#endif /* GPUMON_REPORT_RECORD_NAMES_H */
