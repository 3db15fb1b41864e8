/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A capture that nobody asked to keep: it is removed however we end. */
#ifndef GPUMON_RECORD_TEMPORARY_H
#define GPUMON_RECORD_TEMPORARY_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * struct gpumon_temporary - a directory of ours alone
 * @path: below TMPDIR or /tmp, "" for none
 * @pipe: who removes it waits for its end
 * @keeper: process that removes it, 0 where there could be none
 */
struct gpumon_temporary {
	char path[PATH_MAX];
	int pipe;
	pid_t keeper;
};

/* 0, or -1 with @err. */
int gpumon_temporary_make(struct gpumon_temporary *temporary, struct gpumon_error *err);

/* It is gone when this returns; one that was never made is nothing. */
void gpumon_temporary_remove(struct gpumon_temporary *temporary);

#endif /* GPUMON_RECORD_TEMPORARY_H */
