/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts: events that need attention at once. They are sent to the netlink group "alerts", and the
 * last of each kind, device and code is kept for later readers, with how many there were.
 */
#ifndef GPUMON_ALERT_H
#define GPUMON_ALERT_H

#include <linux/mutex.h>
#include <linux/types.h>

#define GPUMON_ALERT_DEVICE_LEN	 32
#define GPUMON_ALERT_MESSAGE_LEN 160

/**
 * struct gpumon_alert - an alert
 * @time_ns: when the last one of its kind, device and code was, CLOCK_MONOTONIC
 * @count: how many there were
 * @group: name of the group
 * @kind: what it is
 * @code: its code
 * @device: device
 * @message: what the driver said
 */
struct gpumon_alert {
	u64 time_ns;
	u64 count;
	const char *group;
	const char *kind;
	u32 code;
	char device[GPUMON_ALERT_DEVICE_LEN];
	char message[GPUMON_ALERT_MESSAGE_LEN];
};

extern struct mutex gpumon_alert_lock;

#if GPUMON_HAS_ALERTS
void gpumon_alert_init(bool (*send)(const struct gpumon_alert *alert));
void gpumon_alert_exit(void);
void gpumon_alert_raise(u64 now, const char *group, const char *kind, const char *device, u32 code,
			const char *message);
#else
static inline void gpumon_alert_init(bool (*send)(const struct gpumon_alert *alert)) {}
static inline void gpumon_alert_exit(void) {}
static inline void gpumon_alert_raise(u64 now, const char *group, const char *kind,
				      const char *device, u32 code, const char *message) {}
#endif
u64 gpumon_alert_lost(void);
u64 gpumon_alert_forgotten(void);
bool gpumon_alert_kept(u32 *i, struct gpumon_alert *alert);
unsigned int gpumon_alert_generation(void);

#endif /* GPUMON_ALERT_H */
