/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts: what somebody has to know at once. They are sent to the netlink group
 * "alerts", and the last of each kind, device and code is kept for who comes later.
 */
#ifndef GPUMON_ALERT_H
#define GPUMON_ALERT_H

#include <linux/types.h>

#define GPUMON_ALERT_DEVICE_LEN	 32
#define GPUMON_ALERT_MESSAGE_LEN 160

struct netlink_callback;
struct sk_buff;

void gpumon_alert_init(void);
void gpumon_alert_exit(void);
void gpumon_alert(u64 now, const char *group, const char *kind, const char *device, u32 code,
		  const char *message);
u64 gpumon_alert_lost(void);
int gpumon_netlink_alert_get(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* GPUMON_ALERT_H */
