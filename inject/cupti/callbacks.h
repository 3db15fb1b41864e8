/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_CALLBACKS_H
#define GPUMON_INJECT_CUPTI_CALLBACKS_H

#include "channel/thread.h"
#include "library.h"

/* CUPTI calls this, in the program's threads. */
void CUPTIAPI inject_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data);

#endif /* GPUMON_INJECT_CUPTI_CALLBACKS_H */
