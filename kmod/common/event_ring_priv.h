/* SPDX-License-Identifier: GPL-2.0-only */
/* Interface between the files of the event ring. */
#ifndef GPUMON_EVENT_RING_PRIV_H
#define GPUMON_EVENT_RING_PRIV_H

#include <linux/types.h>

#include "uapi/gpumon_event.h"

struct trace_buffer;

bool gpumon_event_ring_writing(void);
unsigned int gpumon_event_take(struct trace_buffer *buffer, struct gpumon_event *records,
			       unsigned int room, u64 *events);

#endif /* GPUMON_EVENT_RING_PRIV_H */
