// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs whose result is known only when their finished fence signals: those that are killed, and those
 * that are done without a fence of the hardware. There are few of them. A callback on the fence tells.
 *
 * With PREEMPT_RT the lock of a fence sleeps, and a probe must not take it: an irq_work adds the
 * callback then. Until that is done the fence is held. From then on it is not: a fence calls its
 * callbacks before it is freed, and it is freed after a grace period of RCU.
 */
#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>

#include "result.h"

/*
 * A killed queue waits for one job at a time, and a thread that runs jobs has one. With PREEMPT_RT all
 * come together until the irq_work is run. More at the same time are counted as lost.
 */
#define RESULT_WAITS (IS_ENABLED(CONFIG_PREEMPT_RT) ? 4096 : 128)

enum result_state {
	RESULT_FREE,
	RESULT_TAKEN,
	RESULT_HELD,
	RESULT_AWAITED
};

/**
 * struct result_wait - a job whose finished fence has not signalled
 * @callback: on the fence
 * @state: enum result_state
 * @finished: the fence
 * @data: the probe that has seen the job, for its losses
 */
struct result_wait {
	struct dma_fence_cb callback;
	atomic_t state;
	struct dma_fence *finished;
	void *data;
};

static struct result_wait waits[RESULT_WAITS];

/* A callback may still be about to return. */
static bool result_used;

static void result_free(struct result_wait *wait)
{
	WRITE_ONCE(wait->finished, NULL);
	atomic_set_release(&wait->state, RESULT_FREE);
}

static void result_tell(struct result_wait *wait)
{
	gpumon_result_known(wait->data, wait->finished);
	result_free(wait);
}

static void result_signalled(struct dma_fence *finished, struct dma_fence_cb *callback)
{
	result_tell(container_of(callback, struct result_wait, callback));
}

/* Lets the fence tell. It may do so before this returns, and the entry is free then. */
static void result_add(struct result_wait *wait)
{
	struct dma_fence *finished = wait->finished;

	atomic_set(&wait->state, RESULT_AWAITED);
	if (dma_fence_add_callback(finished, &wait->callback, result_signalled))
		result_tell(wait);
	dma_fence_put(finished);
}

static void result_add_all(struct irq_work *work)
{
	struct result_wait *wait;

	for (wait = waits; wait < waits + RESULT_WAITS; wait++)
		if (atomic_read_acquire(&wait->state) == RESULT_HELD)
			result_add(wait);
}

static DEFINE_IRQ_WORK(result_work, result_add_all);

/**
 * gpumon_result_await - call gpumon_result_known() once when a fence signals, or if it has
 * @finished: finished fence of a job, held by the caller; it may be awaited already
 * @data: the pointer that the probe was registered with
 *
 * Context: any but NMI, the fence's lock is not held.
 * Return: false if too many are awaited.
 */
bool gpumon_result_await(struct dma_fence *finished, void *data)
{
	struct result_wait *wait;

	for (wait = waits; wait < waits + RESULT_WAITS; wait++)
		if (READ_ONCE(wait->finished) == finished)
			return true;
	for (wait = waits; wait < waits + RESULT_WAITS; wait++) {
		if (atomic_read(&wait->state) != RESULT_FREE ||
		    atomic_cmpxchg(&wait->state, RESULT_FREE, RESULT_TAKEN) != RESULT_FREE)
			continue;
		WRITE_ONCE(result_used, true);
		WRITE_ONCE(wait->finished, dma_fence_get(finished));
		wait->data = data;
		if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
			atomic_set_release(&wait->state, RESULT_HELD);
			irq_work_queue(&result_work);
		} else {
			result_add(wait);
		}
		return true;
	}
	return false;
}

/**
 * gpumon_result_stop - forget the jobs that are awaited
 *
 * gpumon_result_known() is not called any more when this returns.
 *
 * Context: may sleep, no probe of the group runs.
 */
void gpumon_result_stop(void)
{
	struct dma_fence *finished;
	struct result_wait *wait;

	if (!READ_ONCE(result_used))
		return;
	irq_work_sync(&result_work);
	for (wait = waits; wait < waits + RESULT_WAITS; wait++) {
		rcu_read_lock();
		/*
		 * While the entry names the fence, the callback has not ended and the fence is not
		 * freed. If it is called now, it has ended when the fence's lock is taken here.
		 */
		finished = READ_ONCE(wait->finished);
		if (finished && dma_fence_remove_callback(finished, &wait->callback))
			result_free(wait);
		rcu_read_unlock();
	}
	/* Callbacks are called with a spinlock held, which RCU waits for. */
	synchronize_rcu();
	WRITE_ONCE(result_used, false);
}
