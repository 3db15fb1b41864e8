/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Adds up the maps of contexts that have ended, so that many of them need no more memory than one. */
#ifndef GPUMON_GPUPROG_SERVE_FOLD_H
#define GPUMON_GPUPROG_SERVE_FOLD_H

#include "plan.h"

/**
 * gpumon_probe_fold - add the memory of a context to another's
 * @object: maps
 * @plan: where they lie
 * @to: memory, which begins with the plan's content
 * @from: memory; written by a process, and not trusted
 *
 * Numbers are added: values with the same index or key, global data, losses; of arrays and data with a first
 * content, what was added to it. Rings are left out, and maps whose memory is elsewhere.
 */
void gpumon_probe_fold(const struct gpumon_probe_object *object,
		       const struct gpumon_probe_plan *plan, uint8_t *to, const uint8_t *from);

#endif /* GPUMON_GPUPROG_SERVE_FOLD_H */
