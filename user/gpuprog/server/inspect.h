/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Results for an object without a GPU: verdicts as tables or JSON, PTX, images with programs in
 * them.
 */
#ifndef GPUMON_GPUPROG_SERVER_INSPECT_H
#define GPUMON_GPUPROG_SERVER_INSPECT_H

#include <json.h>
#include <stdio.h>

#include "lib/format.h"
#include "gpuprog/image/exchange.h"
#include "load.h"

/**
 * gpumon_gpuprog_print_ptx - print the block of one program
 * @check: checked object
 * @i: number of the program; it was not refused
 * @sm: architecture without the point, 90 for sm_90
 * @out: stream; in case of an error it has the program's name only
 * @err: why it cannot be translated
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_print_ptx(const struct gpumon_gpuprog_check *check, uint32_t i, uint32_t sm,
			     FILE *out, struct gpumon_error *err);

/**
 * struct gpumon_gpuprog_into - an image and what became of it
 * @image: path
 * @kernels: patterns of kernels
 * @kernels_n: how many; 0: all
 * @sm: architecture of the GPU, or 0: any
 * @fuel: see struct gpumon_gpuprog_order
 * @run: out, its kernels
 * @outcome: out
 */
struct gpumon_gpuprog_into {
	const char *image;
	const char *const *kernels;
	uint32_t kernels_n;
	uint32_t sm;
	uint32_t fuel;
	struct gpumon_gpuprog_run run;
	enum gpumon_gpuprog_outcome outcome;
};

/**
 * gpumon_gpuprog_into - write an image with programs in its kernels
 * @check: checked object; refused programs are left out
 * @into: what to do; its run is to be cleared in both cases
 * @out: stream; nothing is written to it if @outcome is GPUMON_GPUPROG_UNTOUCHED
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_into(const struct gpumon_gpuprog_check *check, struct gpumon_gpuprog_into *into,
			FILE *out, struct gpumon_error *err);

/* A line for each kernel. 0, or -1 without memory. */
int gpumon_gpuprog_show_into(const struct gpumon_gpuprog_into *into, const struct gpumon_term *term,
			     FILE *out);
/* {"exchanged","kernels":[…],"lines":[…]}, NULL without memory. */
struct json_object *gpumon_gpuprog_into_json(const struct gpumon_gpuprog_into *into);

/* Programs with their verdicts, then maps. 0, or -1 without memory. */
int gpumon_gpuprog_show(const struct gpumon_gpuprog_check *check, const struct gpumon_term *term,
			FILE *out);
/* {"programs":[…],"maps":[…],"programs_for_the_cpu":N}, NULL without memory. */
struct json_object *gpumon_gpuprog_json(const struct gpumon_gpuprog_check *check);

/* The tools of gpumon, a line each. 0, or -1 without memory. */
int gpumon_gpuprog_show_tools(const struct gpumon_term *term, FILE *out);
/* {"tools":[{"name","summary","built"}]}, NULL without memory. */
struct json_object *gpumon_gpuprog_tools_json(void);

#endif /* GPUMON_GPUPROG_SERVER_INSPECT_H */
