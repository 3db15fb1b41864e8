/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Why a warp issues no instruction: the reasons of CUPTI's samples in plain words. */
#ifndef GPUMON_REPORT_STALL_REASONS_H
#define GPUMON_REPORT_STALL_REASONS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct gpumon_stall_reason - a reason
 * @name: as CUPTI names it, without prefix
 * @text: what a warp does in these samples, such as "waits at a barrier"
 * @helps: what usually helps, a sentence; "" if there is nothing to do about it
 * @issued: it is no stall: the warp issued an instruction
 */
struct gpumon_stall_reason {
	const char *name;
	const char *text;
	const char *helps;
	bool issued;
};

/* The reason of this name, NULL if it is not known. */
const struct gpumon_stall_reason *gpumon_stall_reason(const char *name);

/* What a warp does in samples of a reason; of an unknown one "name". */
const char *gpumon_stall_text(const char *name);

/* Whether these are samples of warps that issued an instruction. */
bool gpumon_stall_issued(const char *name);

/**
 * gpumon_stall_name - the name of a reason in a capture without CUPTI's prefix
 * @name: such as smsp__pcsamp_warps_issue_stalled_wait_not_issued
 * @length: set to the length without _not_issued, too
 *
 * Return: where the name begins. What is behind @length is nothing or _not_issued.
 */
const char *gpumon_stall_name(const char *name, size_t *length);

#endif /* GPUMON_REPORT_STALL_REASONS_H */
