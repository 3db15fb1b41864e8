/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_LIB_SENTENCE_H
#define GPUMON_LIB_SENTENCE_H

#include <stdio.h>

#include "format.h"

/**
 * gpumon_sentence_print - print a text that is never cut, since its end often is the remedy
 * @out: stream
 * @term: its width
 * @colour: a gpumon_term_*() sequence, or ""
 * @taken: columns of the first line that are already printed
 * @indent: of the second and later lines
 * @sentence: words; one that has no room in a line is shortened
 */
void gpumon_sentence_print(FILE *out, const struct gpumon_term *term, const char *colour,
			   unsigned int taken, unsigned int indent, const char *sentence);

#endif /* GPUMON_LIB_SENTENCE_H */
