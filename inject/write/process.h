/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_PROCESS_H
#define GPUMON_INJECT_PROCESS_H

#include "thread.h"

/**
 * struct inject_versions - of an API's libraries, in their own format; 0 where not known
 * @tracing: of the interface that reports calls and operations
 * @driver: that is loaded
 * @runtime: that the program uses
 */
struct inject_versions {
	uint32_t tracing;
	uint32_t driver;
	uint32_t runtime;
};

/* Writes the PROCESS record and the strings in it. */
void inject_process_write(struct inject_thread *thread, const struct inject_versions *versions);

#endif /* GPUMON_INJECT_PROCESS_H */
