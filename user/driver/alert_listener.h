/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Alerts as they happen, by multicast of generic netlink: of the module, which needs CAP_NET_ADMIN in
 * the initial namespaces, and the error events of drm_ras, to which anybody may listen.
 */
#ifndef GPUMON_DRIVER_ALERT_LISTENER_H
#define GPUMON_DRIVER_ALERT_LISTENER_H

#include "lib/error.h"
#include "model.h"

struct gpumon_alert_listener;

/* Join the module's group. 0, or -1 with *err and *listener NULL. */
int gpumon_alert_listener_open(struct gpumon_alert_listener **listener, struct gpumon_error *err);
/* The same for drm_ras. */
int gpumon_alert_listener_open_ras(struct gpumon_alert_listener **listener,
				   struct gpumon_error *err);
void gpumon_alert_listener_close(struct gpumon_alert_listener *listener);

/* For poll(): readable when there may be an alert. */
int gpumon_alert_listener_fd(const struct gpumon_alert_listener *listener);

/**
 * gpumon_alert_listener_read() - read the alerts that have arrived
 * @listener: listener
 * @model: alerts are added to it
 * @err: out
 *
 * Does not wait. 0, also if none has arrived; -1 with *err, for example if the family is gone;
 * @model then has the alerts that arrived before.
 */
int gpumon_alert_listener_read(struct gpumon_alert_listener *listener, struct gpumon_model *model,
			       struct gpumon_error *err);

#endif /* GPUMON_DRIVER_ALERT_LISTENER_H */
