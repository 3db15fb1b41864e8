/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs whose result is known only when their finished fence signals. */
#ifndef GPUMON_RESULT_H
#define GPUMON_RESULT_H

#include <linux/types.h>

struct dma_fence;

bool gpumon_result_await(struct dma_fence *finished, void *data);
void gpumon_result_stop(void);

/* drm_sched.c: the fence of a job that was awaited has signalled. */
void gpumon_result_known(void *data, struct dma_fence *finished);

#endif /* GPUMON_RESULT_H */
