/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A file that a command writes: ours alone, whole or not there, and never something else's. */
#ifndef GPUMON_RECORD_OUTPUT_FILE_H
#define GPUMON_RECORD_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "error.h"

/**
 * struct gpumon_output_file - where a command's result goes
 * @stream: to write to
 * @path: what it will be called, "-" for standard output
 * @parent: the folder that it is in, -1 for none
 * @name: its name in there
 * @temporary: what it is called there until it is whole, "" where it has no name until then
 * @force: it may replace a file
 * @shown: it has its name already
 */
struct gpumon_output_file {
	FILE *stream;
	const char *path;
	int parent;
	const char *name;
	char temporary[PATH_MAX];
	bool force;
	bool shown;
};

/**
 * gpumon_output_file_open - begin to write
 * @file: filled in
 * @path: name, "-" or NULL: @standard
 * @force: may replace a file, but nothing that is no file
 * @text: people can read it; what they cannot is refused on a terminal
 * @standard: standard output
 * @err: why not
 *
 * Mode 0600. A link is not followed, another user's file not replaced, and nothing is made in a
 * folder where everybody could put something else in its place.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_output_file_open(struct gpumon_output_file *file, const char *path, bool force,
			    bool text, FILE *standard, struct gpumon_error *err);

/**
 * gpumon_output_file_show - give it its name now, for what people look at while it grows
 * @file: opened, nothing is in it yet
 * @err: why not
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_output_file_show(struct gpumon_output_file *file, struct gpumon_error *err);

/**
 * gpumon_output_file_close - end it
 * @file: file
 * @good: what should be in it is; else it is removed
 * @err: why it is not there, only looked at where @good
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_output_file_close(struct gpumon_output_file *file, bool good, struct gpumon_error *err);

#endif /* GPUMON_RECORD_OUTPUT_FILE_H */
