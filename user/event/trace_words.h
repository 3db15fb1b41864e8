/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Events of tables of statistics in "trace": what their four words mean is in
 * GPUMON_EVENT_WORDS(), so that the events of a new driver need no code here.
 */
#ifndef GPUMON_USER_TRACE_WORDS_H
#define GPUMON_USER_TRACE_WORDS_H

#include <json.h>
#include <stdbool.h>
#include <stdio.h>

#include "../kmod/uapi/gpumon_event.h"

/* Does the event belong to a table of statistics, and not to a ring of the DRM scheduler? */
bool gpumon_trace_has_words(unsigned int event);

/* Group and table of such an event. */
const char *gpumon_trace_event_group(unsigned int event);
const char *gpumon_trace_event_table(unsigned int event);

/* "name value" for each word, with two blanks between, for people. */
void gpumon_trace_print_words(FILE *out, const struct gpumon_event *event);

/* Each word under its name, numbers as numbers. 0 or -ENOMEM. */
int gpumon_trace_json_words(struct json_object *object, const struct gpumon_event *event);

#endif /* GPUMON_USER_TRACE_WORDS_H */
