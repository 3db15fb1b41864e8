/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Stalls of kernels as text and JSON, and the sentences that all outputs have of them. */
#ifndef GPUMON_REPORT_STALLS_PRINT_H
#define GPUMON_REPORT_STALLS_PRINT_H

#include "lib/json.h"
#include "output.h"

#define GPUMON_STALL_TEXT 512

/* "gemm.cu:12", or of an instruction "+0x1f0". @whole: with the path of the source, and the module */
const char *gpumon_stall_place_text(char *buf, size_t len, const struct gpumon_stall_place *place,
				    bool whole);
/* How it was sampled; "" if that is not known. */
const char *gpumon_stalls_how(char *buf, size_t len, const struct gpumon_stalls *stalls);
/* Samples that say nothing of a kernel or of a line, in sentences; "" without any. */
const char *gpumon_stalls_note(char *buf, size_t len, const struct gpumon_stalls *stalls);
/* "theoretical occupancy 50% (32 of 64 warps of a multiprocessor), limited by registers"; "" if unknown. */
const char *gpumon_stall_occupancy_text(char *buf, size_t len,
					const struct gpumon_stall_launch *launch);

/* The section of the summary; @rows: at most so many kernels. 0, or -1 without memory. */
int gpumon_stalls_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view,
			unsigned int rows);
/* The member "stalls" of a profile: null where nothing was sampled. */
void gpumon_stalls_json(FILE *out, const struct gpumon_view *view);
/* Of a node with samples. */
struct json_object *gpumon_node_stalls_json(const struct gpumon_node *node);

/**
 * gpumon_stalls_verdict - one kernel and one reason that most samples are of
 * @view: profile
 * @kernel: set to the kernel
 * @reason: set to the reason
 *
 * Return: whether there are such.
 */
bool gpumon_stalls_verdict(const struct gpumon_view *view, const struct gpumon_stall_row **kernel,
			   const struct gpumon_stall_sum **reason);

#endif /* GPUMON_REPORT_STALLS_PRINT_H */
