// SPDX-License-Identifier: GPL-2.0-only
/* The event ring: writing from probes, reading through debugfs, switching. */
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <asm/local64.h>

#include "compat/ring_buffer.h"
#include "core/fault.h"
#include "core/gpumon.h"
#include "event_ring.h"
#include "event_ring_priv.h"

/* After so many events on one CPU, a waiting reader is woken at once. */
#define WATERMARK 256
/* After this time a waiting reader is woken for fewer events. */
#define FLUSH_MS       50
#define DEFAULT_KIB    512
#define BOUNCE_RECORDS 64

DEFINE_STATIC_KEY_FALSE(gpumon_event_ring_key);

static_assert(sizeof(struct gpumon_event) == 88);

/* Counts of each CPU since the ring was switched on. */
struct event_cpu {
	local64_t written;
	local64_t dropped;
	/* Records begun and not yet committed: more than one where interrupts write, too. */
	u32 writing;
	u32 since_wake;
	struct irq_work wake;
};

static DEFINE_PER_CPU(struct event_cpu, event_cpu);

/* Serialises readers, switching and resizing; probes do not take it. */
static DEFINE_MUTEX(event_lock);
static struct trace_buffer *event_buffer;
static u32 event_size_kib = DEFAULT_KIB;
static u64 event_delivered, event_undelivered;
/* Rises each time that the ring is switched on. */
static unsigned int event_generation;
static DECLARE_WAIT_QUEUE_HEAD(event_wait);
/* Rises with each wake-up. Readers wait for the rise, since the buffer may be freed meanwhile. */
static atomic_t event_wakes = ATOMIC_INIT(0);

static void event_flush(struct work_struct *work);
static DECLARE_DELAYED_WORK(event_flush_work, event_flush);
/* Number of open files. While there are any, event_flush() runs. */
static unsigned int event_readers;

/* event_lock held. */
static bool event_pending(void)
{
	return event_buffer && !ring_buffer_empty(event_buffer);
}

static void event_wake_readers(void)
{
	atomic_inc(&event_wakes);
	wake_up_all(&event_wait);
}

static void event_flush(struct work_struct *work)
{
	mutex_lock(&event_lock);
	/* If a reader is about to wait, the next flush wakes it. */
	if (waitqueue_active(&event_wait) && event_pending())
		event_wake_readers();
	if (event_readers)
		schedule_delayed_work(&event_flush_work, msecs_to_jiffies(FLUSH_MS));
	mutex_unlock(&event_lock);
}

static void event_wake(struct irq_work *work)
{
	event_wake_readers();
}

/**
 * gpumon_event_ring_begin - room for a record, which is filled where it will be read
 * @slot: set to what gpumon_event_ring_commit() gets
 *
 * Context: probe, preemption off, gpumon_event_ring_on().
 * Return: the record, with anything in it; NULL if there is no room, the event is counted then.
 */
struct gpumon_event *gpumon_event_ring_begin(struct ring_buffer_event **slot)
{
	struct event_cpu *cpu = this_cpu_ptr(&event_cpu);

	/* An interrupt leaves it as it was: a plain word is enough. */
	WRITE_ONCE(cpu->writing, READ_ONCE(cpu->writing) + 1);
	barrier();
	*slot = ring_buffer_lock_reserve(event_buffer, sizeof(struct gpumon_event));
	if (unlikely(!*slot)) {
		barrier();
		WRITE_ONCE(cpu->writing, READ_ONCE(cpu->writing) - 1);
		local64_inc(&cpu->dropped);
		return NULL;
	}
	return ring_buffer_event_data(*slot);
}

/**
 * gpumon_event_ring_commit - the record is complete
 * @slot: from gpumon_event_ring_begin()
 *
 * Context: as gpumon_event_ring_begin(), which it follows.
 */
void gpumon_event_ring_commit(struct ring_buffer_event *slot)
{
	struct event_cpu *cpu = this_cpu_ptr(&event_cpu);
	u32 since;

	/*
	 * Counted before a reader or a writer can take the record, so that delivered and
	 * overwritten never exceed written.
	 */
	local64_inc(&cpu->written);
	gpumon_compat_ring_buffer_unlock_commit(event_buffer, slot);
	barrier();
	WRITE_ONCE(cpu->writing, READ_ONCE(cpu->writing) - 1);
	/*
	 * If an interrupt counts in between, its counts are lost: the reader is woken that much
	 * later.
	 */
	since = READ_ONCE(cpu->since_wake) + 1;
	WRITE_ONCE(cpu->since_wake, since < WATERMARK ? since : 0);
	if (unlikely(since >= WATERMARK)) {
		/* A reader that is not seen waiting is woken by event_flush(). */
		if (waitqueue_active(&event_wait))
			irq_work_queue(&cpu->wake);
	}
}

/* Is this CPU, from an interrupt, in the middle of a record? */
bool gpumon_event_ring_writing(void)
{
	return READ_ONCE(this_cpu_ptr(&event_cpu)->writing);
}

/**
 * gpumon_event_ring_submitter - the event is the current task's
 * @record: record
 *
 * Context: task.
 */
void gpumon_event_ring_submitter(struct gpumon_event *record)
{
	record->flags = GPUMON_EVENT_F_SUBMITTER;
	record->pid = current->tgid;
	record->tid = current->pid;
	memcpy(record->comm, current->comm, sizeof(record->comm));
	record->comm[sizeof(record->comm) - 1] = '\0';
}

/**
 * gpumon_event_ring_words - write an event of a table of statistics
 * @event: which
 * @now: time
 * @row: its row, GPUMON_NONE for none
 * @context: first word, see GPUMON_EVENT_WORDS()
 * @seqno: second word
 * @arg: third word
 * @arg2: fourth word
 *
 * The task is named where one made it, not where it was interrupted.
 *
 * Context: probe, preemption off.
 */
noinline void gpumon_event_ring_words(enum gpumon_event_type event, u64 now, u32 row, u64 context,
				      u64 seqno, u64 arg, u64 arg2)
{
	struct ring_buffer_event *slot;
	struct gpumon_event *record = gpumon_event_ring_begin(&slot);

	if (!record)
		return;
	*record = (struct gpumon_event){
		.time_ns = now,
		.context = context,
		.seqno = seqno,
		.arg = arg,
		.arg2 = arg2,
		.event = event,
		.cpu = raw_smp_processor_id(),
		.ring = row,
		.queue_depth = GPUMON_DEPTH_UNKNOWN,
		.hw_depth = GPUMON_DEPTH_UNKNOWN,
	};
	if (likely(in_task()) || gpumon_probed_in_task())
		gpumon_event_ring_submitter(record);
	gpumon_event_ring_commit(slot);
}

static void event_ring_off(void)
{
	if (!static_key_enabled(&gpumon_event_ring_key))
		return;
	static_branch_disable(&gpumon_event_ring_key);
	/*
	 * After both waits no probe writes any more, of tracepoints or kprobes. The records stay.
	 */
	tracepoint_synchronize_unregister();
	synchronize_rcu();
	event_wake_readers();
}

static void event_ring_free(void)
{
	if (event_buffer)
		ring_buffer_free(event_buffer);
	event_buffer = NULL;
}

/*
 * Allocates a small ring and resizes it: if a large allocation fails at once, the kernel logs a
 * warning with a stack.
 */
static struct trace_buffer *event_ring_alloc(unsigned long size)
{
	struct trace_buffer *buffer;

	buffer = GPUMON_REGISTER_OR_NULL("ring_buffer_alloc", NULL,
					 ring_buffer_alloc(PAGE_SIZE, RB_FL_OVERWRITE));
	if (!buffer)
		return NULL;
	if (GPUMON_REGISTER("ring_buffer_resize", NULL,
			    ring_buffer_resize(buffer, size, RING_BUFFER_ALL_CPUS)) >= 0)
		return buffer;
	ring_buffer_free(buffer);
	return NULL;
}

/*
 * Largest size of the ring, in KiB for each CPU. Its pages cannot be swapped out, and a user who
 * may switch it on need not be root.
 */
static u64 event_ring_most_kib(void)
{
	u64 bytes = min_t(u64, (u64)totalram_pages() * PAGE_SIZE / 8, SZ_1G);

	return max_t(u64, div_u64(bytes >> 10, num_online_cpus()), DEFAULT_KIB);
}

static int event_ring_start(struct netlink_ext_ack *extack)
{
	struct trace_buffer *buffer;
	int cpu;

	if (static_key_enabled(&gpumon_event_ring_key))
		return 0;
	if (event_size_kib > event_ring_most_kib()) {
		NL_SET_ERR_MSG(extack,
			       "more than an eighth of the memory or 1 GiB for all CPUs, choose a smaller size-kib");
		return -ENOMEM;
	}
	buffer = event_ring_alloc((unsigned long)event_size_kib << 10);
	if (!buffer) {
		NL_SET_ERR_MSG(extack, "no memory for the event ring, choose a smaller size-kib");
		return -ENOMEM;
	}
	/* The old ring is freed last: without memory for a new one, it can still be read. */
	event_ring_free();
	event_buffer = buffer;
	event_generation++;
	event_delivered = 0;
	event_undelivered = 0;
	for_each_possible_cpu(cpu) {
		local64_set(&per_cpu(event_cpu, cpu).written, 0);
		local64_set(&per_cpu(event_cpu, cpu).dropped, 0);
		per_cpu(event_cpu, cpu).since_wake = 0;
	}
	static_branch_enable(&gpumon_event_ring_key);
	return 0;
}

/**
 * gpumon_event_ring_set - switch the ring on or off, change its size
 * @enabled: on or off, NULL to leave it
 * @size_kib: size for each CPU, within its limits, NULL to leave it
 * @extack: gets what was wrong
 *
 * Context: may sleep.
 * Return: 0, -EBUSY if the size of a ring that is on should change, -ENOMEM.
 */
int gpumon_event_ring_set(const bool *enabled, const u32 *size_kib, struct netlink_ext_ack *extack)
{
	u32 old_size;
	int ret = 0;

	mutex_lock(&event_lock);
	old_size = event_size_kib;
	if (size_kib && *size_kib != event_size_kib) {
		if (static_key_enabled(&gpumon_event_ring_key)) {
			NL_SET_ERR_MSG(extack, "switch the event ring off to change its size");
			ret = -EBUSY;
			goto unlock;
		}
		event_size_kib = *size_kib;
	}
	if (enabled && *enabled)
		ret = event_ring_start(extack);
	else if (enabled)
		event_ring_off();
	if (ret)
		event_size_kib = old_size;
unlock:
	mutex_unlock(&event_lock);
	return ret;
}

/*
 * Memory of the ring: its pages, and one for the reader of each CPU. Each page begins with a time
 * and a length.
 */
static size_t event_ring_bytes(void)
{
	const size_t usable = PAGE_SIZE - 2 * sizeof(u64);
	unsigned long size, pages = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		/* The size is 0 for a CPU that has not been online since the ring was allocated. */
		size = ring_buffer_size(event_buffer, cpu);
		if (size)
			pages += DIV_ROUND_UP(size, usable) + 1;
	}
	return pages * PAGE_SIZE;
}

/**
 * gpumon_event_ring_read - state and losses
 * @view: filled in
 *
 * While events are written, delivered, pending and overwritten add up to at most written; otherwise
 * to exactly that.
 *
 * Context: may sleep.
 */
void gpumon_event_ring_read(struct gpumon_event_ring_view *view)
{
	int cpu;

	memset(view, 0, sizeof(*view));
	mutex_lock(&event_lock);
	view->enabled = static_key_enabled(&gpumon_event_ring_key);
	view->size_kib = event_size_kib;
	view->delivered = event_delivered;
	view->dropped = event_undelivered;
	if (event_buffer) {
		view->overwritten = ring_buffer_overruns(event_buffer);
		view->pending = ring_buffer_entries(event_buffer);
		view->memory_bytes = event_ring_bytes();
	}
	/* Read last, so that it includes all events that the other counts include. */
	smp_rmb();
	for_each_possible_cpu(cpu) {
		view->written += local64_read(&per_cpu(event_cpu, cpu).written);
		view->dropped += local64_read(&per_cpu(event_cpu, cpu).dropped);
	}
	mutex_unlock(&event_lock);
}

/* Records that were taken did not reach the reader. */
static void event_lose(u64 events, unsigned int generation)
{
	mutex_lock(&event_lock);
	if (generation == event_generation) {
		event_delivered -= events;
		event_undelivered += events;
	}
	mutex_unlock(&event_lock);
}

/* State of the ring when it was found empty. */
struct event_empty {
	int wakes;
	bool on;
};

/*
 * Delivers as many records as there are and as fit. The reader's memory is written without a lock:
 * a page fault there may take long, and other readers must not wait for it.
 */
static ssize_t event_copy(char __user *buffer, size_t room, struct gpumon_event *bounce,
			  struct event_empty *empty)
{
	unsigned int n, generation;
	size_t done = 0;
	u64 events;

	while (room - done >= 2 * sizeof(*bounce)) {
		n = 0;
		mutex_lock(&event_lock);
		empty->wakes = atomic_read(&event_wakes);
		empty->on = static_key_enabled(&gpumon_event_ring_key);
		generation = event_generation;
		if (event_buffer) {
			n = gpumon_event_take(event_buffer, bounce,
					      min_t(size_t, (room - done) / sizeof(*bounce),
						    BOUNCE_RECORDS),
					      &events);
			event_delivered += events;
		}
		mutex_unlock(&event_lock);
		if (!n)
			break;
		if (copy_to_user(buffer + done, bounce, n * sizeof(*bounce))) {
			event_lose(events, generation);
			return done ?: -EFAULT;
		}
		done += n * sizeof(*bounce);
		/* Writers may be as fast as this loop, which a signal has to end then. */
		if (signal_pending(current))
			break;
	}
	return done;
}

static ssize_t event_read(struct file *file, char __user *buffer, size_t count, loff_t *pos)
{
	struct event_empty empty;
	struct gpumon_event *bounce;
	ssize_t done;

	if (count < 2 * sizeof(*bounce))
		return -EINVAL;
	bounce = kmalloc_array(BOUNCE_RECORDS, sizeof(*bounce), GFP_KERNEL);
	if (!bounce)
		return -ENOMEM;
	for (;;) {
		done = event_copy(buffer, count, bounce, &empty);
		if (done || !empty.on)
			break;
		if (file->f_flags & O_NONBLOCK) {
			done = -EAGAIN;
			break;
		}
		done = wait_event_interruptible(event_wait,
						atomic_read(&event_wakes) != empty.wakes);
		if (done)
			break;
	}
	kfree(bounce);
	return done;
}

static __poll_t event_poll(struct file *file, poll_table *wait)
{
	__poll_t mask = 0;

	poll_wait(file, &event_wait, wait);
	mutex_lock(&event_lock);
	if (event_pending())
		mask |= EPOLLIN | EPOLLRDNORM;
	if (!static_key_enabled(&gpumon_event_ring_key))
		mask |= EPOLLHUP;
	mutex_unlock(&event_lock);
	return mask;
}

static int event_open(struct inode *inode, struct file *file)
{
	mutex_lock(&event_lock);
	if (!event_readers++)
		schedule_delayed_work(&event_flush_work, msecs_to_jiffies(FLUSH_MS));
	mutex_unlock(&event_lock);
	return stream_open(inode, file);
}

static int event_release(struct inode *inode, struct file *file)
{
	mutex_lock(&event_lock);
	event_readers--;
	mutex_unlock(&event_lock);
	return 0;
}

const struct file_operations gpumon_event_ring_fops = {
	.owner = THIS_MODULE,
	.open = event_open,
	.read = event_read,
	.poll = event_poll,
	.release = event_release,
};

/** gpumon_event_ring_init - get ready, no memory is taken before the ring is on */
void gpumon_event_ring_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		init_irq_work(&per_cpu(event_cpu, cpu).wake, event_wake);
}

/**
 * gpumon_event_ring_exit - switch off and free
 *
 * Context: may sleep, no file is open and no probe runs.
 */
void gpumon_event_ring_exit(void)
{
	int cpu;

	event_ring_off();
	cancel_delayed_work_sync(&event_flush_work);
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(event_cpu, cpu).wake);
	event_ring_free();
}
