/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * When command buffers end: their times are asked for by the library's thread, and by a thread of the program
 * that has waited.
 */
#ifndef GPUMON_INJECT_VULKAN_COMPLETION_H
#define GPUMON_INJECT_VULKAN_COMPLETION_H

#include "channel/operation.h"
#include "passes.h"

/* What is recorded of a command buffer that has no times. */
void inject_vulkan_completion_untimed(struct inject_thread *thread,
				      const struct inject_vulkan_queue *queue, uint32_t correlation,
				      uint32_t name, struct inject_totals *totals);

/**
 * inject_vulkan_completion_look - look at all command buffers once
 * @thread: caller, within; NULL: no capture wants them
 */
void inject_vulkan_completion_look(struct inject_thread *thread);

/**
 * inject_vulkan_completion_end - the capture ends
 * @thread: caller, within; NULL: write nothing
 * @settle_ms: command buffers that have not ended get this time
 */
void inject_vulkan_completion_end(struct inject_thread *thread, unsigned int settle_ms);

/**
 * inject_vulkan_completion_waited - in the program's thread: it has waited, and may end in any way from now on
 * @device: on which
 */
void inject_vulkan_completion_waited(struct inject_vulkan_device *device);

/**
 * inject_vulkan_completion_read - the times inside of a command buffer, before the program uses it again
 * @device: device
 * @commands: command buffer. Its last submission has ended, as the program knows
 *
 * Where they cannot be read, its submission has a time as a whole.
 */
void inject_vulkan_completion_read(struct inject_vulkan_device *device,
				   struct inject_vulkan_commands *commands);

/* The device is about to be destroyed: what is known of it is written, and what was made in it goes. */
void inject_vulkan_completion_destroy(struct inject_vulkan_device *device);

void inject_vulkan_completion_forked(void);

#endif /* GPUMON_INJECT_VULKAN_COMPLETION_H */
