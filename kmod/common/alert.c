// SPDX-License-Identifier: GPL-2.0-only
/*
 * Alerts: from a probe, without waiting, to the table of the last ones and to netlink.
 *
 * A probe counts an alert in the place of its kind, device and code, and leaves the message there. It
 * also queues the alert, so that each is sent with its own message, but only a few of one place: the
 * others of a burst are sent as one, with the count that they have come to. So none has to wait for
 * room that the repeats of another take.
 */
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "alert.h"
#include "core/table.h"

/* Alerts that are kept, and with what comes until the oldest of more are forgotten. */
#define KEPT   128
#define PLACES (2 * KEPT)

/* Alerts that are queued, and at most of one kind, device and code. */
#define QUEUED	    64
#define QUEUED_EACH 16

/**
 * struct place - the alerts of one kind, device and code
 * @count: how many there were
 * @queued: how many of them are queued
 * @writing: @last is being written or read; a probe does not wait for it
 * @ready: @last was written
 * @sent: the highest count that was sent, or could not be; gpumon_alert_lock
 * @last: the last one whose message could be written; its count is not kept here
 */
struct place {
	atomic64_t count;
	atomic_t queued;
	atomic_t writing;
	bool ready;
	u64 sent;
	struct gpumon_alert last;
};

enum {
	QUEUE_FREE,
	QUEUE_FILLING,
	QUEUE_READY
};

static u64 place_keys[PLACES];
static struct gpumon_table place_table = {
	.keys = place_keys,
	.slots = PLACES,
	.ways = PLACES,
};
static struct place places[PLACES];

static struct {
	atomic_t state;
	struct place *place;
	struct gpumon_alert alert;
} queue[QUEUED];

/* For sending alerts and reading those that are kept; probes do not take it. */
DEFINE_MUTEX(gpumon_alert_lock);
static bool (*alert_sender)(const struct gpumon_alert *alert);
static atomic64_t alerts_lost = ATOMIC64_INIT(0);
static u64 alerts_forgotten;
static unsigned int places_forgotten;

static void alert_send(struct work_struct *work);
static DECLARE_WORK(alert_work, alert_send);

static void alert_schedule(struct irq_work *unused)
{
	schedule_work(&alert_work);
}

static DEFINE_IRQ_WORK(alert_irq_work, alert_schedule);

static struct place *alert_place_of(const struct gpumon_alert *alert)
{
	u64 key = gpumon_key_mix(gpumon_key_text(alert->device), alert->code);
	bool created;
	u32 slot;

	key = gpumon_key_mix(key ^ gpumon_key_text(alert->group), gpumon_key_text(alert->kind));
	slot = gpumon_table_claim(&place_table, key, &created);
	return slot == GPUMON_NONE ? NULL : &places[slot];
}

static void place_write(struct place *place, const struct gpumon_alert *alert)
{
	/* Another CPU, or what this one was interrupted in, has its message there. */
	if (atomic_cmpxchg_acquire(&place->writing, 0, 1))
		return;
	place->last = *alert;
	/* Pairs with place_read() and place_oldest(). */
	smp_store_release(&place->ready, true);
	atomic_set_release(&place->writing, 0);
}

static bool place_read(struct place *place, struct gpumon_alert *alert)
{
	/* Pairs with place_write(). */
	if (!smp_load_acquire(&place->ready))
		return false;
	/* Whoever writes does not sleep. */
	preempt_disable();
	while (atomic_cmpxchg_acquire(&place->writing, 0, 1))
		cpu_relax();
	*alert = place->last;
	atomic_set_release(&place->writing, 0);
	preempt_enable();
	alert->count = atomic64_read(&place->count);
	return true;
}

/* An alert of its own is sent of it. False if there is no room for that. */
static bool queue_add(struct place *place, const struct gpumon_alert *alert)
{
	int i;

	for (i = 0; i < QUEUED; i++)
		if (atomic_read(&queue[i].state) == QUEUE_FREE &&
		    atomic_cmpxchg(&queue[i].state, QUEUE_FREE, QUEUE_FILLING) == QUEUE_FREE)
			break;
	if (i == QUEUED)
		return false;
	queue[i].place = place;
	queue[i].alert = *alert;
	atomic_set_release(&queue[i].state, QUEUE_READY);
	return true;
}

/**
 * gpumon_alert_raise - send an alert and keep it
 * @now: time
 * @group: name of the group, lives as long as the module
 * @kind: what it is, lives as long as the module
 * @device: device, copied
 * @code: its code
 * @message: what the driver said, copied
 *
 * Context: any, also NMI, preemption off; takes no lock. An alert that finds no room is counted as
 * lost.
 */
noinline void gpumon_alert_raise(u64 now, const char *group, const char *kind, const char *device,
				 u32 code, const char *message)
{
	struct gpumon_alert alert = {
		.time_ns = now,
		.count = 1,
		.group = group,
		.kind = kind,
		.code = code,
	};
	struct place *place;

	strscpy(alert.device, device, sizeof(alert.device));
	strscpy(alert.message, message, sizeof(alert.message));
	place = alert_place_of(&alert);
	if (place) {
		/* Before it can be counted as not sent: then it is the last, and has its message. */
		place_write(place, &alert);
		alert.count = atomic64_inc_return(&place->count);
		if (atomic_inc_return(&place->queued) > QUEUED_EACH || !queue_add(place, &alert))
			atomic_dec(&place->queued);
	} else if (!queue_add(NULL, &alert)) {
		atomic64_inc(&alerts_lost);
	}
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

/**
 * gpumon_alert_forgotten - alerts that are not kept any more, since others came, or never were
 *
 * Context: gpumon_alert_lock held.
 * Return: how many since load.
 */
u64 gpumon_alert_forgotten(void)
{
	return alerts_forgotten;
}

/* By time: places in the queue have no order. */
static int queue_oldest(void)
{
	int i, oldest = -1;

	for (i = 0; i < QUEUED; i++)
		if (atomic_read_acquire(&queue[i].state) == QUEUE_READY &&
		    (oldest < 0 || queue[i].alert.time_ns < queue[oldest].alert.time_ns))
			oldest = i;
	return oldest;
}

static void send_queued(int i)
{
	const struct gpumon_alert *alert = &queue[i].alert;
	struct place *place = queue[i].place;

	if (!place) {
		if (alert_sender(alert))
			alerts_forgotten++;
		else
			atomic64_inc(&alerts_lost);
	} else if (alert->count > place->sent) {
		/* If that fails, a listener sees the gap in the count. */
		alert_sender(alert);
		place->sent = alert->count;
	}
	if (place)
		atomic_dec(&place->queued);
	atomic_set_release(&queue[i].state, QUEUE_FREE);
}

/* Alerts for which the queue had no room. */
static void send_rest(struct place *place)
{
	struct gpumon_alert alert;

	if (atomic64_read(&place->count) == place->sent || !place_read(place, &alert))
		return;
	alert_sender(&alert);
	place->sent = alert.count;
}

static bool place_hidden(const struct place *place)
{
	return READ_ONCE(place_keys[place - places]) == GPUMON_TABLE_RECYCLING;
}

static struct place *place_oldest(unsigned int *kept)
{
	struct place *place, *oldest = NULL;

	*kept = 0;
	for (place = places; place < places + PLACES; place++) {
		/* Pairs with place_write(). */
		if (!smp_load_acquire(&place->ready) || place_hidden(place))
			continue;
		++*kept;
		if (!oldest || READ_ONCE(place->last.time_ns) < READ_ONCE(oldest->last.time_ns))
			oldest = place;
	}
	return oldest;
}

/* It was hidden, and the probes that had found it are over. */
static void place_forget(struct place *place)
{
	int i;

	while (atomic_read(&place->queued) && (i = queue_oldest()) >= 0)
		send_queued(i);
	send_rest(place);
	alerts_forgotten += atomic64_read(&place->count);
	places_forgotten++;
	memset(place, 0, sizeof(*place));
	gpumon_table_release(&place_table, place - places);
}

/* So that more may come than are kept. */
static void forget_oldest(void)
{
	struct place *place;
	bool hidden = false;
	unsigned int kept;

	while ((place = place_oldest(&kept)) && kept > KEPT) {
		WRITE_ONCE(place_keys[place - places], GPUMON_TABLE_RECYCLING);
		hidden = true;
	}
	if (!hidden)
		return;
	synchronize_rcu();
	for (place = places; place < places + PLACES; place++)
		if (place_hidden(place))
			place_forget(place);
}

static void alert_send(struct work_struct *work)
{
	struct place *place;
	int i;

	mutex_lock(&gpumon_alert_lock);
	while ((i = queue_oldest()) >= 0)
		send_queued(i);
	for (place = places; place < places + PLACES; place++)
		send_rest(place);
	forget_oldest();
	mutex_unlock(&gpumon_alert_lock);
}

/**
 * gpumon_alert_kept - one kept alert after the other
 * @i: number, from 0; set to that of the alert if this number has none
 * @alert: filled in
 *
 * Context: gpumon_alert_lock held.
 * Return: false behind the last.
 */
bool gpumon_alert_kept(u32 *i, struct gpumon_alert *alert)
{
	for (; *i < PLACES; ++*i)
		if (place_read(&places[*i], alert))
			return true;
	return false;
}

/**
 * gpumon_alert_generation - changes when another alert is kept, so that a dump in parts notices
 *
 * Context: gpumon_alert_lock held.
 * Return: a number that is never 0.
 */
unsigned int gpumon_alert_generation(void)
{
	unsigned int kept;

	place_oldest(&kept);
	return 1 + kept + places_forgotten * (PLACES + 1);
}

/**
 * gpumon_alert_init - get ready for the first alert
 * @send: called with each alert, may sleep; returns false if it could not be sent
 */
void gpumon_alert_init(bool (*send)(const struct gpumon_alert *alert))
{
	alert_sender = send;
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
