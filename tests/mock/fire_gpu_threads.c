// SPDX-License-Identifier: GPL-2.0-only
/* Work in kernel threads bound to CPUs, for fire_gpu.ko and churn_gpu.ko. */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "fire_gpu.h"

struct fire_thread {
	struct task_struct *task;
	const struct fire_work *work;
	unsigned int index;
	struct completion *start;
	struct completion done;
	int ret;
};

static int fire_thread(void *data)
{
	struct fire_thread *thread = data;

	wait_for_completion(thread->start);
	thread->ret = thread->work->run(thread->work->data, thread->index);
	complete(&thread->done);
	/* Waits for kthread_stop(), which waits for the end of this function. */
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int fire_thread_begin(struct fire_thread *thread, unsigned int cpu)
{
	init_completion(&thread->done);
	thread->task = kthread_create(fire_thread, thread, "%s/%u", thread->work->name,
				      thread->index);
	if (IS_ERR(thread->task))
		return PTR_ERR(thread->task);
	kthread_bind(thread->task, cpu);
	wake_up_process(thread->task);
	return 0;
}

/**
 * fire_in_threads() - do something in several kernel threads at once
 * @work: work
 * @count: number of threads
 * @cpus: CPUs to which they are bound in turns; not empty
 *
 * They begin together. Only killing the task ends them early. A suspend interrupts tasks, too, and
 * writers that repeat their write then, such as Python, would have the command carried out twice.
 *
 * Context: a task. Returns when all have ended.
 * Return: 0; the first error of a thread; -ENOMEM, -EINTR.
 */
int fire_in_threads(const struct fire_work *work, unsigned int count, const struct cpumask *cpus)
{
	DECLARE_COMPLETION_ONSTACK(start);
	struct fire_thread *threads, *thread;
	unsigned int begun, cpu = cpumask_first(cpus), i;
	int ret = 0;

	threads = kcalloc(count, sizeof(*threads), GFP_KERNEL);
	if (!threads)
		return -ENOMEM;
	for (begun = 0; begun < count; begun++) {
		thread = &threads[begun];
		thread->work = work;
		thread->index = begun;
		thread->start = &start;
		ret = fire_thread_begin(thread, cpu);
		if (ret) {
			WRITE_ONCE(*work->stop, true);
			break;
		}
		cpu = cpumask_next(cpu, cpus);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpus);
	}

	complete_all(&start);
	for (i = 0; i < begun; i++) {
		thread = &threads[i];
		if (wait_for_completion_killable(&thread->done)) {
			WRITE_ONCE(*work->stop, true);
			wait_for_completion(&thread->done);
			ret = ret ?: -EINTR;
		}
		kthread_stop(thread->task);
		ret = ret ?: thread->ret;
	}
	kfree(threads);
	return ret;
}
EXPORT_SYMBOL_GPL(fire_in_threads);
