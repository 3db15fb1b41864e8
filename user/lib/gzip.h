/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A stream that compresses what is written to it into another one, as gzip does. */
#ifndef GPUMON_LIB_GZIP_H
#define GPUMON_LIB_GZIP_H

#include <stdio.h>

#include "error.h"

/* 0, or -1 with *err: this build cannot compress. */
int gpumon_gzip_possible(struct gpumon_error *err);

/**
 * gpumon_gzip_open - begin a compressed stream
 * @to: gets the compressed bytes; it stays open
 *
 * What is written is complete after fclose(). A write to @to that fails makes the stream's own one fail, with
 * its errno.
 *
 * Return: the stream, which has no descriptor; never NULL.
 */
FILE *gpumon_gzip_open(FILE *to);

#endif /* GPUMON_LIB_GZIP_H */
