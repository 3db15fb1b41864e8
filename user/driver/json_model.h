/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the model as JSON objects. */
#ifndef GPUMON_DRIVER_JSON_MODEL_H
#define GPUMON_DRIVER_JSON_MODEL_H

#include "lib/json.h"
#include "model.h"

struct json_object *gpumon_json_group(const struct gpumon_group *group);
struct json_object *gpumon_json_limits(const struct gpumon_limits *limits);
struct json_object *gpumon_json_event_ring(const struct gpumon_event_ring *ring);
struct json_object *gpumon_json_alert(const struct gpumon_alert *alert);
/* The other way; @alert is zeroed. 0, or -1 if that is no alert: @alert then has what was read. */
int gpumon_json_read_alert(struct json_object *object, struct gpumon_alert *alert);
/* The document of "stat --json". @group: only this group, or NULL for all. */
struct json_object *gpumon_json_model(const struct gpumon_model *model, const char *group);

#endif /* GPUMON_DRIVER_JSON_MODEL_H */
