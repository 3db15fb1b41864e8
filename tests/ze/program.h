/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the program that uses Level Zero. */
#ifndef GPUMON_TESTS_ZE_PROGRAM_H
#define GPUMON_TESTS_ZE_PROGRAM_H

#include <level_zero/ze_api.h>

extern ze_device_handle_t device;
extern ze_context_handle_t context;
extern ze_command_queue_handle_t queue;
extern ze_command_list_handle_t immediate;

/* Ends the program unless @result is success. @what: said then. */
void need(ze_result_t result, const char *what);

#define NEED(call) need(call, #call)

ze_command_list_handle_t make_immediate(void);
ze_command_list_handle_t make_list(void);
ze_event_handle_t make_event(uint32_t index);

/* Not inlined: each is a caller of its own. */
void launch_add(ze_command_list_handle_t list, uint32_t groups, ze_event_handle_t event);
void execute(ze_command_list_handle_t *lists, uint32_t count, ze_fence_handle_t fence);

/* --- program_each.c */

void mode_queue_each(long number);
void mode_list_each(long number);
void mode_unknown_list(long number);

/* --- program_held.c */

void mode_fork_in_init(long number);
void mode_fork_in_launch(long number);
void mode_reset(long number);

#endif /* GPUMON_TESTS_ZE_PROGRAM_H */
