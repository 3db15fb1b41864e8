/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Output that programs have printed. */
#ifndef GPUMON_GPUPROG_RESULT_PRINTED_H
#define GPUMON_GPUPROG_RESULT_PRINTED_H

#include "result.h"
#include "capture/findings.h"

#define GPUMON_GPUPROG_LINE_BYTES 256

/**
 * gpumon_gpuprog_print_text - write a printed line as text
 * @object: has the text that it begins with
 * @print: record of the print ring; not trusted
 * @buf: out, GPUMON_GPUPROG_LINE_BYTES, without a newline at its end
 *
 * Of a format there are d, i, u, x, X, o, c and p, with flags, a width and a length. What else is in it
 * stays as it is.
 *
 * Return: @buf.
 */
const char *gpumon_gpuprog_print_text(const struct gpumon_gpuprog_object *object,
				      const struct gpumon_gpuprog_print *print, char *buf);

/*
 * Add the table "printed", if something was. Lines that are the same and follow each other are one row,
 * with their number. People see the newest ones.
 */
void gpumon_gpuprog_show_prints(struct gpumon_findings *findings,
				const struct gpumon_gpuprog_result *result);

#endif /* GPUMON_GPUPROG_RESULT_PRINTED_H */
