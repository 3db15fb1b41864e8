/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shows what programs have gathered: a view for each tool, and one for any other object, which has a
 * table for each map.
 */
#ifndef GPUMON_GPUPROG_RESULT_VIEW_H
#define GPUMON_GPUPROG_RESULT_VIEW_H

#include "result.h"
#include "capture/findings.h"

/*
 * Tables, what they say in sentences, kernels without programs, losses. As JSON it has the tables "kernels"
 * and "lost" at least. To be freed; NULL without memory.
 */
struct gpumon_findings *gpumon_gpuprog_findings(const struct gpumon_gpuprog_result *result);

#endif /* GPUMON_GPUPROG_RESULT_VIEW_H */
