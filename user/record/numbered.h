/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbered files or captures in a directory, of which the oldest are removed. */
#ifndef GPUMON_RECORD_NUMBERED_H
#define GPUMON_RECORD_NUMBERED_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

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

/* Remove the oldest of them beyond @most. @path: of the directory. */
void gpumon_numbered_limit(int directory, const char *path, const char *prefix, uint32_t most);

#endif /* GPUMON_RECORD_NUMBERED_H */
