/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A temporary capture, which is removed however we end. */
#ifndef GPUMON_RECORD_TEMPORARY_H
#define GPUMON_RECORD_TEMPORARY_H

#include <limits.h>
#include <sys/types.h>

#include "lib/error.h"

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

#endif /* GPUMON_RECORD_TEMPORARY_H */
