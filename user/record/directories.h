/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbered files or captures in a directory, of which the oldest are removed. */
#ifndef GPUMON_RECORD_DIRECTORIES_H
#define GPUMON_RECORD_DIRECTORIES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/error.h"

/**
 * gpumon_numbered_name - the name of the next one
 * @directory: descriptor of the directory
 * @prefix: what the names begin with: "capture-"
 * @suffix: what they end with
 * @name: out: "capture-NNNN-YYYYMMDD-HHMMSS", one more than the highest number there is
 * @room: size of @name
 */
void gpumon_numbered_name(int directory, const char *prefix, const char *suffix, char *name,
			  size_t room);

/* Remove the oldest numbered files beyond @most. @path: of the directory. */
void gpumon_numbered_limit(int directory, const char *path, const char *prefix, uint32_t most);

/* Removes captures that we made. */

/* Remove the files of a capture in a directory, and no others. */
void gpumon_remove_files(const char *directory);

/* gpumon_remove_files(), and then the directory, if it is empty. */
void gpumon_remove_capture(const char *directory);

/* A temporary capture, which is removed however we end. */

/**
 * struct gpumon_temporary - a private directory
 * @path: directory below TMPDIR or /tmp, "" for none
 * @pipe: pipe whose closing tells the keeper to remove it
 * @keeper: process that removes it, 0 if it could not be started
 */
struct gpumon_temporary {
	char path[PATH_MAX];
	int pipe;
	pid_t keeper;
};

/* 0, or -1 with @err. */
int gpumon_temporary_make(struct gpumon_temporary *temporary, struct gpumon_error *err);

/* Remove it before returning. Does nothing if it was never made. */
void gpumon_temporary_remove(struct gpumon_temporary *temporary);

#endif /* GPUMON_RECORD_DIRECTORIES_H */
