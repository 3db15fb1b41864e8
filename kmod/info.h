/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts about the module as a whole, for every kind of output. */
#ifndef GPUMON_INFO_H
#define GPUMON_INFO_H

#include <linux/types.h>

/* Module parameters, see main.c. */
extern unsigned int gpumon_max_rings;
extern unsigned int gpumon_max_processes;
extern unsigned int gpumon_max_jobs;

size_t gpumon_memory_bytes(void);
u64 gpumon_jobs_unattributed(bool closed);

#endif /* GPUMON_INFO_H */
