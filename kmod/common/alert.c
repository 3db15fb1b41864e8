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

/*
 * How many alerts are kept; and how many places there are, so that there is room for new ones until
 * the oldest are forgotten.
 */
#define KEPT   128
#define PLACES (2 * KEPT)

/* How many alerts are queued at most, in all and of one kind, device and code. */
#define QUEUED	    64
#define QUEUED_EACH 16

/**
 * struct alert_place - the alerts of one kind, device and code
 * @count: how many there were
 * @queued: how many of them are queued
 * @writing: @last is being written or read; a probe does not wait for it
 * @ready: @last was written
 * @sent: the highest count that was sent, or could not be; gpumon_alert_lock
 * @last: the last one whose message could be written; its count is not kept here
 */
struct alert_place {
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
	.homes = 1,
};
static struct alert_place places[PLACES];

static struct {
	atomic_t state;
	struct alert_place *place;
	struct gpumon_alert alert;
} queue[QUEUED];

/* Serialises sending alerts and reading kept ones; probes do not take it. */
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

static struct alert_place *alert_place_of(const struct gpumon_alert *alert)
{
	u64 key = gpumon_key_mix(gpumon_key_text(alert->device), alert->code);
	bool created;
	u32 slot;

	key = gpumon_key_mix(key ^ gpumon_key_text(alert->group), gpumon_key_text(alert->kind));
	slot = gpumon_table_claim(&place_table, key, &created);
	return slot == GPUMON_NONE ? NULL : &places[slot];
}

static void alert_place_write(struct alert_place *place, const struct gpumon_alert *alert)
{
	/*
	 * Another CPU, or the code that this CPU was interrupted in, is writing its message there.
	 */
	if (atomic_cmpxchg_acquire(&place->writing, 0, 1))
		return;
	place->last = *alert;
	/* Pairs with alert_place_read() and alert_place_oldest(). */
	smp_store_release(&place->ready, true);
	atomic_set_release(&place->writing, 0);
}

static bool alert_place_read(struct alert_place *place, struct gpumon_alert *alert)
{
	/* Pairs with alert_place_write(). */
	if (!smp_load_acquire(&place->ready))
		return false;
	/* The writer does not sleep, so the wait is short. */
	preempt_disable();
	while (atomic_cmpxchg_acquire(&place->writing, 0, 1))
		cpu_relax();
	*alert = place->last;
	atomic_set_release(&place->writing, 0);
	preempt_enable();
	alert->count = atomic64_read(&place->count);
	return true;
}

/* Queues an alert with its own message. Returns false if the queue has no room for it. */
static bool alert_queue_add(struct alert_place *place, const struct gpumon_alert *alert)
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
	struct alert_place *place;

	strscpy(alert.device, device, sizeof(alert.device));
	strscpy(alert.message, message, sizeof(alert.message));
	place = alert_place_of(&alert);
	if (place) {
		/*
		 * Written before the alert can be counted as not sent: a reader who finds it last
		 * also finds its message.
		 */
		alert_place_write(place, &alert);
		alert.count = atomic64_inc_return(&place->count);
		if (atomic_inc_return(&place->queued) > QUEUED_EACH || !alert_queue_add(place, &alert))
			atomic_dec(&place->queued);
	} else if (!alert_queue_add(NULL, &alert)) {
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

/* Searches by time: places in the queue have no order. */
static int alert_queue_oldest(void)
{
	int i, oldest = -1;

	for (i = 0; i < QUEUED; i++)
		if (atomic_read_acquire(&queue[i].state) == QUEUE_READY &&
		    (oldest < 0 || queue[i].alert.time_ns < queue[oldest].alert.time_ns))
			oldest = i;
	return oldest;
}

static void alert_send_queued(int i)
{
	const struct gpumon_alert *alert = &queue[i].alert;
	struct alert_place *place = queue[i].place;

	if (!place) {
		if (alert_sender(alert))
			alerts_forgotten++;
		else
			atomic64_inc(&alerts_lost);
	} else if (alert->count > place->sent) {
		/* If sending fails, a listener sees a gap in the count. */
		alert_sender(alert);
		place->sent = alert->count;
	}
	if (place)
		atomic_dec(&place->queued);
	atomic_set_release(&queue[i].state, QUEUE_FREE);
}

/* Sends alerts for which the queue had no room. */
static void alert_send_rest(struct alert_place *place)
{
	struct gpumon_alert alert;

	if (atomic64_read(&place->count) == place->sent || !alert_place_read(place, &alert))
		return;
	alert_sender(&alert);
	place->sent = alert.count;
}

static bool alert_place_hidden(const struct alert_place *place)
{
	return gpumon_read_once64(place_keys[place - places]) == GPUMON_TABLE_RECYCLING;
}

static struct alert_place *alert_place_oldest(unsigned int *kept)
{
	struct alert_place *place, *oldest = NULL;

	*kept = 0;
	for (place = places; place < places + PLACES; place++) {
		/* Pairs with alert_place_write(). */
		if (!smp_load_acquire(&place->ready) || alert_place_hidden(place))
			continue;
		++*kept;
		if (!oldest ||
		    gpumon_read_once64(place->last.time_ns) <
			    gpumon_read_once64(oldest->last.time_ns))
			oldest = place;
	}
	return oldest;
}

/* The place was hidden, and the probes that had found it have ended. */
static void alert_place_forget(struct alert_place *place)
{
	int i;

	while (atomic_read(&place->queued) && (i = alert_queue_oldest()) >= 0)
		alert_send_queued(i);
	alert_send_rest(place);
	alerts_forgotten += atomic64_read(&place->count);
	places_forgotten++;
	memset(place, 0, sizeof(*place));
	gpumon_table_release(&place_table, place - places);
}

/* Forgets the oldest alerts, so that new ones find a place. */
static void alert_forget_oldest(void)
{
	struct alert_place *place;
	bool hidden = false;
	unsigned int kept;

	while ((place = alert_place_oldest(&kept)) && kept > KEPT) {
		gpumon_write_once64(place_keys[place - places], GPUMON_TABLE_RECYCLING);
		hidden = true;
	}
	if (!hidden)
		return;
	synchronize_rcu();
	for (place = places; place < places + PLACES; place++)
		if (alert_place_hidden(place))
			alert_place_forget(place);
}

static void alert_send(struct work_struct *work)
{
	struct alert_place *place;
	int i;

	mutex_lock(&gpumon_alert_lock);
	while ((i = alert_queue_oldest()) >= 0)
		alert_send_queued(i);
	for (place = places; place < places + PLACES; place++)
		alert_send_rest(place);
	alert_forget_oldest();
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
		if (alert_place_read(&places[*i], alert))
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

	alert_place_oldest(&kept);
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
