/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Calls of the program that give a device something to do: commands that are appended to a list, and
 * lists that are executed. What runs is kept until the library's own thread has its times
 * (completion.h).
 */
#ifndef GPUMON_INJECT_ZE_COMMAND_H
#define GPUMON_INJECT_ZE_COMMAND_H

#include "events.h"

/**
 * inject_ze_append_begin - a command is about to be appended to a list
 * @function: that is called
 * @handle: list
 * @signal: the program's event, NULL if it wants none; may be set to one of this library
 * @mine: for inject_ze_append_end(), which is to be called unless this is NULL
 */
void inject_ze_append_begin(enum inject_ze_function function, ze_command_list_handle_t handle,
			    ze_event_handle_t *signal, void **mine);

/**
 * inject_ze_append_end - the call returned
 * @handle: list
 * @signal: event that the driver got
 * @result: of the call
 * @command: what it is: name, sizes and places
 * @mine: of inject_ze_append_begin()
 */
void inject_ze_append_end(ze_command_list_handle_t handle, ze_event_handle_t signal,
			  ze_result_t result, const struct inject_ze_command *command, void *mine);

/* Lists are about to be executed, and were. @fence may be set to one of this library. */
void inject_ze_execute_begin(ze_command_queue_handle_t handle, uint32_t count,
			     ze_command_list_handle_t *lists, ze_fence_handle_t *fence,
			     void **mine);
void inject_ze_execute_end(ze_command_queue_handle_t handle, uint32_t count,
			   ze_command_list_handle_t *lists, ze_fence_handle_t fence,
			   ze_result_t result, void *mine);

/* For any other call, such as one that waits. */
void inject_ze_other_begin(enum inject_ze_function function, void **mine);
void inject_ze_other_end(void *mine);

/* inject_ze_other_begin() of a call that waits at most for @timeout. */
void inject_ze_wait_begin(enum inject_ze_function function, uint64_t timeout, void **mine);

/* The list's commands are no longer: its events can be used again. Nothing of it is pending. */
void inject_ze_list_empty(struct inject_ze_list *list);

#endif /* GPUMON_INJECT_ZE_COMMAND_H */
