// SPDX-License-Identifier: GPL-2.0-only
/* Alerts: from a probe, without waiting, to the netlink group and the table of the last ones. */
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

#include "alert.h"
#include "interface/netlink.h"

/* Alerts on their way from probes, and kinds, devices and codes that are kept. */
#define PENDING 64
#define KEPT	128

struct alert {
	u64 time_ns;
	u64 count;
	const char *group;
	const char *kind;
	u32 code;
	char device[GPUMON_ALERT_DEVICE_LEN];
	char message[GPUMON_ALERT_MESSAGE_LEN];
};

enum {
	SLOT_FREE,
	SLOT_FILLING,
	SLOT_READY
};

static struct {
	atomic_t state;
	struct alert alert;
} pending[PENDING];

/* Held by who sends or reads what is kept; probes do not take it. */
static DEFINE_MUTEX(alert_lock);
static struct alert kept[KEPT];
static unsigned int kept_count;
static u32 kept_generation = 1;
static atomic64_t alerts_lost = ATOMIC64_INIT(0);

static void alert_send(struct work_struct *work);
static DECLARE_WORK(alert_work, alert_send);

static void alert_schedule(struct irq_work *unused)
{
	schedule_work(&alert_work);
}

static struct irq_work alert_irq_work;

/**
 * gpumon_alert - send an alert and keep it
 * @now: time
 * @group: name of the group, lives as long as the module
 * @kind: what it is, lives as long as the module
 * @device: device, copied
 * @code: its code
 * @message: what the driver said, copied
 *
 * Context: any, also NMI; takes no lock. An alert that finds no room is counted as lost.
 */
void gpumon_alert(u64 now, const char *group, const char *kind, const char *device, u32 code,
		  const char *message)
{
	struct alert *alert;
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

static int alert_fill(struct sk_buff *skb, const struct alert *alert)
{
	if (gpumon_netlink_put_u64(skb, GPUMON_A_ALERT_TIME_NS, alert->time_ns,
				   GPUMON_A_ALERT_PAD) ||
	    nla_put_string(skb, GPUMON_A_ALERT_GROUP, alert->group) ||
	    nla_put_string(skb, GPUMON_A_ALERT_KIND, alert->kind) ||
	    nla_put_string(skb, GPUMON_A_ALERT_DEVICE, alert->device) ||
	    nla_put_u32(skb, GPUMON_A_ALERT_CODE, alert->code) ||
	    nla_put_string(skb, GPUMON_A_ALERT_MESSAGE, alert->message) ||
	    gpumon_netlink_put_u64(skb, GPUMON_A_ALERT_COUNT, alert->count, GPUMON_A_ALERT_PAD) ||
	    gpumon_netlink_put_u64(skb, GPUMON_A_ALERT_LOST, gpumon_alert_lost(),
				   GPUMON_A_ALERT_PAD))
		return -EMSGSIZE;
	return 0;
}

static void alert_multicast(const struct alert *alert)
{
	struct sk_buff *skb;
	void *header;

	/* Only the initial network namespace can ask, only it is told. */
	if (!genl_has_listeners(&gpumon_family, &init_net, 0))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!skb)
		goto lost;
	header = genlmsg_put(skb, 0, 0, &gpumon_family, 0, GPUMON_CMD_ALERT_NTF);
	if (!header || alert_fill(skb, alert)) {
		nlmsg_free(skb);
		goto lost;
	}
	genlmsg_end(skb, header);
	/* A listener whose buffer is full is told so by its socket (ENOBUFS). */
	genlmsg_multicast(&gpumon_family, skb, 0, 0, GFP_KERNEL);
	return;
lost:
	atomic64_inc(&alerts_lost);
}

/* Returns the alert with its count; @alert itself where there is no room to keep it. */
static const struct alert *alert_keep(struct alert *alert)
{
	struct alert *known;

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
	kept_generation += 2;
	return &kept[kept_count++];
}

/* In the order of their times, which is not that of their slots. */
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
	int slot;

	mutex_lock(&alert_lock);
	while ((slot = alert_oldest()) >= 0) {
		alert_multicast(alert_keep(&pending[slot].alert));
		atomic_set_release(&pending[slot].state, SLOT_FREE);
	}
	mutex_unlock(&alert_lock);
}

int gpumon_netlink_alert_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	void *header;
	int ret = 0;

	mutex_lock(&alert_lock);
	cb->seq = kept_generation;
	for (; state->index < kept_count; state->index++) {
		header = gpumon_netlink_dump_begin(skb, cb, GPUMON_CMD_ALERT_GET);
		ret = header ? alert_fill(skb, &kept[state->index]) : -EMSGSIZE;
		if (ret) {
			if (header)
				genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
	}
	mutex_unlock(&alert_lock);
	return gpumon_netlink_dump_end(skb, ret);
}

/** gpumon_alert_init - get ready for the first alert */
void gpumon_alert_init(void)
{
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
