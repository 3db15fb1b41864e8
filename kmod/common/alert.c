// SPDX-License-Identifier: GPL-2.0-only
/* Alerts: from a probe, without waiting, to the table of the last ones and to netlink. */
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "alert.h"

/* Alerts that probes have raised and that are not sent yet; alerts that are kept. */
#define PENDING 64
#define KEPT	128

enum {
	SLOT_FREE,
	SLOT_FILLING,
	SLOT_READY
};

static struct {
	atomic_t state;
	struct gpumon_alert alert;
} pending[PENDING];

/* For sending alerts and reading those that are kept; probes do not take it. */
DEFINE_MUTEX(gpumon_alert_lock);
static struct gpumon_alert kept[KEPT];
static unsigned int kept_count;
static bool (*alert_sender)(const struct gpumon_alert *alert);
static atomic64_t alerts_lost = ATOMIC64_INIT(0);

static void alert_send(struct work_struct *work);
static DECLARE_WORK(alert_work, alert_send);

static void alert_schedule(struct irq_work *unused)
{
	schedule_work(&alert_work);
}

static struct irq_work alert_irq_work;

/**
 * gpumon_alert_raise - send an alert and keep it
 * @now: time
 * @group: name of the group, lives as long as the module
 * @kind: what it is, lives as long as the module
 * @device: device, copied
 * @code: its code
 * @message: what the driver said, copied
 *
 * Context: any, also NMI; takes no lock. An alert that finds no room is counted as lost.
 */
void gpumon_alert_raise(u64 now, const char *group, const char *kind, const char *device, u32 code,
			const char *message)
{
	struct gpumon_alert *alert;
	int i;

	for (i = 0; i < PENDING; i++)
		if (atomic_read(&pending[i].state) == SLOT_FREE &&
		    atomic_cmpxchg(&pending[i].state, SLOT_FREE, SLOT_FILLING) == SLOT_FREE)
			break;
	if (i == PENDING) {
		atomic64_inc(&alerts_lost);
		return;
	}
	alert = &pending[i].alert;
	alert->time_ns = now;
	alert->count = 1;
	alert->group = group;
	alert->kind = kind;
	alert->code = code;
	strscpy(alert->device, device, sizeof(alert->device));
	strscpy(alert->message, message, sizeof(alert->message));
	atomic_set_release(&pending[i].state, SLOT_READY);
	irq_work_queue(&alert_irq_work);
}

/**
 * gpumon_alert_lost - alerts that were neither kept nor sent
 *
 * Return: how many since load.
 */
u64 gpumon_alert_lost(void)
{
	return atomic64_read(&alerts_lost);
}

/* Returns the kept alert with its count, or @alert if there is no room to keep it. */
static const struct gpumon_alert *alert_keep(struct gpumon_alert *alert)
{
	struct gpumon_alert *known;

	for (known = kept; known < kept + kept_count; known++) {
		if (known->code == alert->code && known->group == alert->group &&
		    known->kind == alert->kind && !strcmp(known->device, alert->device)) {
			alert->count = known->count + 1;
			*known = *alert;
			return known;
		}
	}
	if (kept_count == KEPT)
		return alert;
	kept[kept_count] = *alert;
	return &kept[kept_count++];
}

/* By time: slots have no order. */
static int alert_oldest(void)
{
	int i, oldest = -1;

	for (i = 0; i < PENDING; i++)
		if (atomic_read_acquire(&pending[i].state) == SLOT_READY &&
		    (oldest < 0 || pending[i].alert.time_ns < pending[oldest].alert.time_ns))
			oldest = i;
	return oldest;
}

static void alert_send(struct work_struct *work)
{
	const struct gpumon_alert *alert;
	int slot;

	mutex_lock(&gpumon_alert_lock);
	while ((slot = alert_oldest()) >= 0) {
		alert = alert_keep(&pending[slot].alert);
		/* Of one that is kept, a listener sees the gap in the count. */
		if (!alert_sender(alert) && alert == &pending[slot].alert)
			atomic64_inc(&alerts_lost);
		atomic_set_release(&pending[slot].state, SLOT_FREE);
	}
	mutex_unlock(&gpumon_alert_lock);
}

/**
 * gpumon_alert_kept - one kept alert after the other
 * @i: number, from 0; they stay where they are
 *
 * Context: gpumon_alert_lock held.
 * Return: the alert, NULL behind the last.
 */
const struct gpumon_alert *gpumon_alert_kept(unsigned int i)
{
	return i < kept_count ? &kept[i] : NULL;
}

/**
 * gpumon_alert_generation - changes when another alert is kept, so that a dump in parts notices
 *
 * Context: gpumon_alert_lock held.
 * Return: a number that is never 0.
 */
unsigned int gpumon_alert_generation(void)
{
	return kept_count + 1;
}

/**
 * gpumon_alert_init - get ready for the first alert
 * @send: called with each alert, may sleep; returns false if it could not be sent
 */
void gpumon_alert_init(bool (*send)(const struct gpumon_alert *alert))
{
	alert_sender = send;
	init_irq_work(&alert_irq_work, alert_schedule);
}

/**
 * gpumon_alert_exit - send what is on its way
 *
 * Context: may sleep, no probe runs, the family is still registered.
 */
void gpumon_alert_exit(void)
{
	irq_work_sync(&alert_irq_work);
	flush_work(&alert_work);
}
