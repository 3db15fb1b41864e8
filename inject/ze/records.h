/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Records of drivers, devices, contexts and queues: at the first use in a capture. */
#ifndef GPUMON_INJECT_ZE_RECORDS_H
#define GPUMON_INJECT_ZE_RECORDS_H

#include "objects.h"

/* Of a queue, and of all that it belongs to. @thread: caller, within */
void inject_ze_records_queue(struct inject_thread *thread, struct inject_ze_queue *queue);

#endif /* GPUMON_INJECT_ZE_RECORDS_H */
