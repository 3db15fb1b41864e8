/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the parts of measure. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>
#include <unistd.h>
#include <x86intrin.h>

#include "marker.h"

/* Rounds until entity, ring and process are known, and all pages are present. */
#define WARM_UPS 2

/* For all CPUs together: they take turns, and share a counter. */
static inline uint64_t instructions(void)
{
	return __rdtsc();
}

/* Make QEMU's plugin start, if there is one. */
static inline void arm(void)
{
	MARK(MARKER_ARM);
	/* It translates all code again before the program continues. */
	usleep(10000);
}

void measure_fire(char **files, unsigned int count, unsigned int repeats);
void measure_ioctl(const char *device, unsigned long command, unsigned int cpus, unsigned int calls,
		   unsigned int repeats);
void measure_load(const char *file, const char *parameters);
void measure_unload(const char *module);
void measure_start(const char *text, char **program);

#endif /* BENCH_MEASURE_H */
