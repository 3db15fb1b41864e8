/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Events of tables of statistics in "trace". GPUMON_EVENT_WORDS() describes their four words, so
 * that a new driver's events need no code here.
 */
#ifndef GPUMON_DRIVER_TRACE_WORDS_H
#define GPUMON_DRIVER_TRACE_WORDS_H

#include <json.h>
#include <stdbool.h>
#include <stdio.h>

#include "../kmod/uapi/gpumon_event.h"

/* True for events of a table of statistics, false for those of a ring of the DRM scheduler. */
bool gpumon_trace_has_words(unsigned int event);

/* Group and table of an event with words. */
const char *gpumon_trace_event_group(unsigned int event);
const char *gpumon_trace_event_table(unsigned int event);

/* Print "name value" for each word, separated by two blanks. */
void gpumon_trace_print_words(FILE *out, const struct gpumon_event *event);

/* Add each word under its name, numbers as numbers. */
void gpumon_trace_json_words(struct json_object *object, const struct gpumon_event *event);

#endif /* GPUMON_DRIVER_TRACE_WORDS_H */
