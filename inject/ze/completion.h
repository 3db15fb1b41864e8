/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Conversion of times of events to CLOCK_MONOTONIC. A device tells its time when it is asked; the
 * time that the question takes is the error. Times of events have fewer bits, and wrap around
 * within minutes: they are counted back from the device's time now.
 */
#ifndef GPUMON_INJECT_ZE_COMPLETION_H
#define GPUMON_INJECT_ZE_COMPLETION_H

#include "objects.h"

/*
 * Asks for the times of what has run, and writes its records. The library's own thread does that;
 * the program's threads do it where the times would be lost otherwise, never in a launch that is as
 * it should be.
 */

/* Looks at all that is pending. @thread: caller, within; NULL: no capture wants it */
void inject_ze_completion_look(struct inject_thread *thread);

/**
 * inject_ze_completion_end - the capture ends
 * @thread: caller, within; NULL: write nothing
 * @settle_ms: what has not ended gets this time
 */
void inject_ze_completion_end(struct inject_thread *thread, unsigned int settle_ms);

/*
 * Called in the program's thread, when the program is about to destroy or empty a queue, a list or
 * a context (@gone), of which nothing is pending if true is returned; when it is about to reset or
 * destroy an event, or uses one again; or when a wait has ended: then the work in @queue, if it has
 * no fence, is done.
 */
bool inject_ze_completion_before(const void *gone);
void inject_ze_completion_their_event(struct inject_ze_their_event *theirs);
void inject_ze_completion_fence(ze_fence_handle_t fence);
void inject_ze_completion_after_wait(const struct inject_ze_queue *queue);

/* Called in a child after fork. */
void inject_ze_completion_forked(void);

#endif /* GPUMON_INJECT_ZE_COMPLETION_H */
