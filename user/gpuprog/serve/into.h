/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Exchanges an image in a file, without a GPU: to look at what a module becomes. */
#ifndef GPUMON_GPUPROG_SERVE_INTO_H
#define GPUMON_GPUPROG_SERVE_INTO_H

#include <json.h>

#include "check.h"
#include "gpuprog/image/exchange.h"
#include "lib/format.h"

/**
 * struct gpumon_probe_into - an image and what became of it
 * @image: path
 * @kernels: patterns of kernels
 * @kernels_n: how many; 0: all
 * @sm: architecture of the GPU, or 0: any
 * @fuel: see struct gpumon_probe_order
 * @run: out, its kernels
 * @outcome: out
 */
struct gpumon_probe_into {
	const char *image;
	const char *const *kernels;
	uint32_t kernels_n;
	uint32_t sm;
	uint32_t fuel;
	struct gpumon_probe_run run;
	enum gpumon_probe_outcome outcome;
};

/**
 * gpumon_probe_into - write an image with programs in its kernels
 * @check: checked object; refused programs are left out
 * @into: what to do; its run is to be cleared in both cases
 * @out: stream; nothing is written to it if @outcome is GPUMON_PROBE_UNTOUCHED
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_into(const struct gpumon_probe_check *check, struct gpumon_probe_into *into,
		      FILE *out, struct gpumon_error *err);

/* A line for each kernel. 0, or -1 without memory. */
int gpumon_probe_show_into(const struct gpumon_probe_into *into, const struct gpumon_term *term,
			   FILE *out);
/* {"exchanged","kernels":[…],"lines":[…]}, NULL without memory. */
struct json_object *gpumon_probe_into_json(const struct gpumon_probe_into *into);

#endif /* GPUMON_GPUPROG_SERVE_INTO_H */
