/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Puts programs into one PTX text. */
#ifndef GPUMON_GPUPROG_IMAGE_TEXT_H
#define GPUMON_GPUPROG_IMAGE_TEXT_H

#include "gpuprog/ptx/translate.h"
#include "names.h"

/* Treatment of a function. */
struct gpumon_exchange_function {
	uint32_t number; /* of the kernel in the run, or GPUMON_GPUPROG_NO_NUMBER: not asked for */
	uint32_t programs; /* that it gets, a bit each; 0: it is refused, or not asked for */
	struct gpumon_edit_plan plan;
	struct gpumon_edit_counts counts;
};

/**
 * struct gpumon_exchange_text - a PTX text
 * @module: open text; without functions if none is asked for, or if it cannot be read
 * @functions: one for each of @module
 * @kernels: hash of the name of each kernel
 * @all_kernels: programs are in a device function, which each of its kernels may call
 * @compact: it would be large: blocks are functions, and device functions are copied once
 * @no_functions: device functions get no programs: with them it would still be too large, or not load
 * @changed: the new text, or NULL
 * @changed_size: bytes of it
 */
struct gpumon_exchange_text {
	struct gpumon_edit_module module;
	struct gpumon_exchange_function *functions;
	struct gpumon_map kernels;
	bool all_kernels;
	bool compact;
	bool no_functions;
	char *changed;
	size_t changed_size;
};

/**
 * gpumon_exchange_text_edit - put programs into a text
 * @exchange: exchange
 * @source: PTX; it stays until gpumon_exchange_text_clear()
 * @size: bytes of it
 * @text: out, to be cleared in any case
 *
 * What is refused is said in the run. What is changed is not yet: see gpumon_exchange_text_tell().
 */
void gpumon_exchange_text_edit(struct gpumon_exchange *exchange, const char *source, size_t size,
			       struct gpumon_exchange_text *text);

/**
 * gpumon_exchange_text_tell - say in the run what became of the kernels of a changed text
 * @exchange: exchange
 * @text: text
 * @why: why the text is not used, or NULL: it is
 */
void gpumon_exchange_text_tell(struct gpumon_exchange *exchange,
			       const struct gpumon_exchange_text *text, const char *why);

/* The way in which a text has a kernel. */
enum gpumon_exchange_has {
	GPUMON_EXCHANGE_ABSENT,
	GPUMON_EXCHANGE_PLAIN,
	GPUMON_EXCHANGE_EDITED, /* or it is one of @all_kernels */
};

enum gpumon_exchange_has gpumon_exchange_text_has(const struct gpumon_exchange_text *text,
						  const char *kernel);
void gpumon_exchange_text_clear(struct gpumon_exchange_text *text);

#endif /* GPUMON_GPUPROG_IMAGE_TEXT_H */
