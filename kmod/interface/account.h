/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts about the module as a whole, for every kind of output. */
#ifndef GPUMON_INFO_H
#define GPUMON_INFO_H

#include <linux/types.h>

/* Module parameters, see main.c. */
extern unsigned int gpumon_max_rings;
extern unsigned int gpumon_max_processes;
extern unsigned int gpumon_max_jobs;

bool gpumon_memory_part(unsigned int part, const char **name, size_t *bytes);
size_t gpumon_memory_bytes(void);

#endif /* GPUMON_INFO_H */
