/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CHANNEL_PROCESS_H
#define GPUMON_INJECT_CHANNEL_PROCESS_H

#include "thread.h"

/**
 * struct inject_versions - of CUDA's libraries, in their own format; 0 where not known
 * @tracing: CUPTI's
 * @driver: that is loaded
 * @runtime: that the program uses
 */
struct inject_versions {
	uint32_t tracing;
	uint32_t driver;
	uint32_t runtime;
};

/**
 * inject_api_write - write an API record
 * @thread: caller, within
 * @api: enum gpumon_api
 * @name: of it
 * @version: as the API says it; NULL where not known
 * @platform: the implementation, NULL where there is only one
 */
void inject_api_write(struct inject_thread *thread, uint32_t api, const char *name,
		      const char *version, const char *platform);

/* Writes the PROCESS record and the strings in it. */
void inject_process_write(struct inject_thread *thread, const struct inject_versions *versions);

#endif /* GPUMON_INJECT_CHANNEL_PROCESS_H */
