/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Texts that a program prints. */
#ifndef GPUMON_PROBE_TEXT_H
#define GPUMON_PROBE_TEXT_H

#include <stddef.h>

/**
 * gpumon_text_conversions - numbers that a format prints
 * @text: format, NUL-terminated
 *
 * Conversions are d, i, u, x, X, c and p, with flags, width, and h, l or z. %% is none.
 *
 * Return: how many, or -1 if there is another one, also %s.
 */
int gpumon_text_conversions(const char *text);

#endif /* GPUMON_PROBE_TEXT_H */
