/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A command's output file: private, complete or absent, and it never replaces something else. */
#ifndef GPUMON_LIB_OUTPUT_FILE_H
#define GPUMON_LIB_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "error.h"

/**
 * enum gpumon_output_content - what is written
 * @GPUMON_OUTPUT_TEXT: text
 * @GPUMON_OUTPUT_BINARY: nothing for a terminal
 * @GPUMON_OUTPUT_GZIP: likewise, and it is compressed already
 */
enum gpumon_output_content {
	GPUMON_OUTPUT_TEXT,
	GPUMON_OUTPUT_BINARY,
	GPUMON_OUTPUT_GZIP,
};

/**
 * struct gpumon_output_file - where a command's result goes
 * @stream: stream to write to
 * @inner: the file itself, if @stream compresses; otherwise NULL
 * @path: its final path, "-" for standard output
 * @parent: descriptor of its folder, or -1
 * @name: its name in that folder
 * @temporary: its name until it is complete, "" if it has none until then
 * @force: it may replace a file
 * @shown: it already has its final name
 */
struct gpumon_output_file {
	FILE *stream;
	FILE *inner;
	const char *path;
	int parent;
	const char *name;
	char temporary[PATH_MAX];
	bool force;
	bool shown;
};

/**
 * gpumon_output_file_open - open an output file
 * @file: filled in
 * @path: path; "-" or NULL for @standard
 * @force: may replace a regular file
 * @content: what is written; nothing but text goes to a terminal
 * @standard: standard output
 * @err: out
 *
 * The mode is 0600. Symbolic links, other users' files and folders in which anyone could replace
 * the file are refused. The contents of a file whose name ends in ".gz" are compressed.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_output_file_open(struct gpumon_output_file *file, const char *path, bool force,
			    enum gpumon_output_content content, FILE *standard,
			    struct gpumon_error *err);

/* Whether the contents of a file of that name are compressed: it ends in ".gz". */
bool gpumon_output_file_is_gzip(const char *path);

/**
 * gpumon_output_file_same - find out whether two paths are the same output file
 * @one: path
 * @other: path
 *
 * Return: true if the names in their folders are equal and the folders are the same.
 */
bool gpumon_output_file_same(const char *one, const char *other);

/**
 * gpumon_output_file_show - give the file its final name now, so that it can be watched as it grows
 * @file: opened and still empty
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_output_file_show(struct gpumon_output_file *file, struct gpumon_error *err);

/**
 * gpumon_output_file_close - close the file and give it its final name
 * @file: output file
 * @good: the contents are complete; otherwise the file is removed
 * @err: out, only set if @good
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_output_file_close(struct gpumon_output_file *file, bool good, struct gpumon_error *err);

#endif /* GPUMON_LIB_OUTPUT_FILE_H */
