/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring_buffer_unlock_commit() lost its second argument in 6.3:
 * 04aabc32fb72 ("ring_buffer: Remove unused "event" parameter").
 */
#ifndef GPUMON_COMPAT_RING_BUFFER_H
#define GPUMON_COMPAT_RING_BUFFER_H

#include <linux/ring_buffer.h>

static inline void gpumon_compat_ring_buffer_unlock_commit(struct trace_buffer *buffer,
							   struct ring_buffer_event *event)
{
#ifdef GPUMON_HAVE_RING_BUFFER_COMMIT_EVENT
	ring_buffer_unlock_commit(buffer, event);
#else
	ring_buffer_unlock_commit(buffer);
#endif
}

#endif /* GPUMON_COMPAT_RING_BUFFER_H */
