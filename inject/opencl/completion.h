/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Asks the driver for the times of commands that have ended, and writes their records. */
#ifndef GPUMON_INJECT_OPENCL_COMPLETION_H
#define GPUMON_INJECT_OPENCL_COMPLETION_H

#include "command.h"

/**
 * inject_opencl_completion_look - look at all commands once
 * @thread: caller, within; NULL: no capture wants them
 *
 * Gives the events of commands that have ended back to the driver.
 */
void inject_opencl_completion_look(struct inject_thread *thread);

/**
 * inject_opencl_completion_end - the capture ends
 * @thread: caller, within; NULL: write nothing
 * @settle_ms: commands that have not ended get this time
 * @program_goes_on: the events of those that still have not are given back
 */
void inject_opencl_completion_end(struct inject_thread *thread, unsigned int settle_ms,
				  bool program_goes_on);

/**
 * inject_opencl_completion_now - in the program's thread: what it does next is as without the layer
 * @is_asked: it asks for a number of references: waits a little where another thread is completing.
 *            Otherwise it releases something, and the library's thread can do it as well
 *
 * Never waits long: this may be a callback of the driver, under its locks.
 */
void inject_opencl_completion_now(bool is_asked);

/**
 * inject_opencl_completion_waited - in the program's thread: it has waited, and may end in any way from now on
 * @handle: whose commands were waited for
 * @count: of @events
 * @events: that were waited for; NULL: all commands of the queue
 *
 * Writes the operations of what is known to have ended.
 */
void inject_opencl_completion_waited(cl_command_queue handle, cl_uint count,
				     const cl_event *events);

/* inject_opencl_completion_waited() for events, each of which says its queue. */
void inject_opencl_completion_waited_for(cl_uint count, const cl_event *events);

/*
 * The look for one event, in a callback of the driver, perhaps under its locks: never waits long.
 */
void inject_opencl_completion_told(cl_event event);

/* How many references to an event are this library's. */
cl_uint inject_opencl_completion_references(cl_event event);

void inject_opencl_completion_forked(void);

#endif /* GPUMON_INJECT_OPENCL_COMPLETION_H */
