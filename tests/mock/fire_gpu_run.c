// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls a tracepoint in the current task, in kernel threads bound to CPUs, or in hard interrupts, a
 * number of times or for a while.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "fire_compat.h"
#include "fire_gpu.h"

/* Calls between two checks of the clock and of signals. An interrupt must stay short. */
#define FIRE_BATCH	256
#define FIRE_BATCH_IRQ	64
/* Period of the interrupts. */
#define FIRE_PERIOD_NS	50000

/**
 * struct fire_calls - the calls of one task and their progress
 * @run: parameters
 * @batch: the next calls
 * @fired: calls made
 * @now: CLOCK_MONOTONIC after them
 * @end: time to end, if not 0
 * @timer: timer whose interrupt makes the calls
 * @done: all calls were made
 */
struct fire_calls {
	struct fire_run *run;
	struct fire_batch batch;
	u64 fired;
	u64 now;
	u64 end;
	struct hrtimer timer;
	struct completion done;
};

/* Makes some calls. Returns true if more are to be made. */
static bool fire_some(struct fire_calls *calls, unsigned int most)
{
	struct fire_point *point = calls->run->target.point;
	u64 probed = calls->batch.probed;
	u64 n = most;

	if (!calls->end)
		n = min(n, calls->run->count - calls->fired);
	fire_tracepoint_call(&calls->batch, n);
	calls->now = ktime_get_ns();
	calls->fired += n;
	atomic64_add(n, &point->fires);
	atomic64_add(calls->batch.probed - probed, &point->probed);
	return calls->end ? calls->now < calls->end : calls->fired < calls->run->count;
}

static enum hrtimer_restart fire_timer(struct hrtimer *timer)
{
	struct fire_calls *calls = container_of(timer, struct fire_calls, timer);

	if (READ_ONCE(calls->run->stop) || !fire_some(calls, FIRE_BATCH_IRQ)) {
		complete(&calls->done);
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ns_to_ktime(FIRE_PERIOD_NS));
	return HRTIMER_RESTART;
}

/* The task sleeps meanwhile, so that the interrupt hits another task on this CPU. */
static int fire_from_interrupt(struct fire_calls *calls)
{
	int ret = 0;

	init_completion(&calls->done);
	fire_compat_hrtimer_setup(&calls->timer, fire_timer, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&calls->timer, ns_to_ktime(FIRE_PERIOD_NS), HRTIMER_MODE_REL_PINNED_HARD);
	if (wait_for_completion_killable(&calls->done)) {
		WRITE_ONCE(calls->run->stop, true);
		wait_for_completion(&calls->done);
		ret = -EINTR;
	}
	hrtimer_cancel(&calls->timer);
	return ret;
}

/*
 * Only killing the task ends it early. A suspend interrupts tasks, too, and writers that repeat
 * their write then, such as Python, would have earlier commands carried out twice.
 */
static int fire_from_task(struct fire_calls *calls)
{
	bool more = true;

	while (more) {
		if (READ_ONCE(calls->run->stop) || fatal_signal_pending(current))
			return -EINTR;
		more = fire_some(calls, FIRE_BATCH);
		cond_resched();
	}
	return 0;
}

static int fire_here(struct fire_run *run)
{
	struct fire_calls *calls;
	unsigned int i;
	int ret;

	calls = kzalloc(sizeof(*calls), GFP_KERNEL);
	if (!calls)
		return -ENOMEM;
	calls->run = run;
	calls->batch.tp = run->target.tp;
	calls->batch.left = run->count;
	calls->batch.run = run;
	for (i = 0; i < FIRE_MAX_ARGS; i++)
		calls->batch.args[i] = run->args[i].value;

	calls->now = ktime_get_ns();
	if (run->ms)
		calls->end = calls->now + (u64)run->ms * NSEC_PER_MSEC;
	atomic64_cmpxchg(&run->first_ns, 0, calls->now);
	ret = run->irq ? fire_from_interrupt(calls) : fire_from_task(calls);

	atomic64_add(calls->fired, &run->fires);
	/* With several CPUs, the last one to finish counts. */
	if (calls->now > atomic64_read(&run->last_ns))
		atomic64_set(&run->last_ns, calls->now);
	kfree(calls);
	return ret;
}

static int fire_in_thread(void *data, unsigned int index)
{
	return fire_here(data);
}

/**
 * fire_run() - carry out a fire command
 * @run: the command, also filled with the results
 *
 * Context: a task. Returns when everything is done, or -EINTR when it is killed.
 * Return: 0; -ENODEV if the CPU is not online, -ENOMEM, -EINTR.
 */
int fire_run(struct fire_run *run)
{
	const struct fire_work work = {
		.name = "fire_gpu",
		.run = fire_in_thread,
		.data = run,
		.stop = &run->stop,
	};
	struct cpumask *cpus;
	int ret;

	if (run->where == FIRE_HERE)
		return fire_here(run);

	cpus = kzalloc(cpumask_size(), GFP_KERNEL);
	if (!cpus)
		return -ENOMEM;
	if (run->where == FIRE_ON_ALL_CPUS)
		cpumask_copy(cpus, cpu_online_mask);
	else if (run->cpu < nr_cpu_ids && cpu_online(run->cpu))
		cpumask_set_cpu(run->cpu, cpus);
	ret = cpumask_empty(cpus) ? -ENODEV : fire_in_threads(&work, cpumask_weight(cpus), cpus);
	kfree(cpus);
	return ret;
}
