// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocation of tables; and the way from a probe that has used up memory kept ready to the task
 * that allocates more.
 */
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/numa.h>
#include <linux/overflow.h>
#include <linux/workqueue.h>

#include "memory.h"

/**
 * gpumon_memory_zalloc - memory for a table
 * @n: number of elements
 * @size: bytes of an element
 * @node: node that it should be on, NUMA_NO_NODE for any
 *
 * kvzalloc() rounds up to a power of two pages where the kernel finds them together. Not here, where
 * that would add more than an eighth.
 *
 * Context: may sleep.
 * Return: zeroes, for kvfree(), or NULL.
 */
void *gpumon_memory_zalloc(size_t n, size_t size, int node)
{
	const size_t bytes = array_size(n, size);
	const size_t pages = DIV_ROUND_UP(bytes, PAGE_SIZE);

	if (bytes > PAGE_SIZE && bytes < SIZE_MAX &&
	    roundup_pow_of_two(pages) - pages > pages / 8)
		return vzalloc_node(bytes, node);
	return kvzalloc_node(bytes, GFP_KERNEL, node);
}

static void (*memory_supply)(void);

static void supply_work(struct work_struct *work)
{
	memory_supply();
}

static DECLARE_WORK(memory_work, supply_work);

static void schedule_supply(struct irq_work *unused)
{
	/*
	 * On an ordinary workqueue the task could come after all memory that is kept ready is used.
	 */
	queue_work(system_highpri_wq, &memory_work);
}

static DEFINE_IRQ_WORK(memory_irq_work, schedule_supply);

/**
 * gpumon_memory_start - from now on there is an answer to gpumon_memory_ask()
 * @supply: called by a task soon after, it may sleep; once for any number that asked
 */
void gpumon_memory_start(void (*supply)(void))
{
	memory_supply = supply;
}

/**
 * gpumon_memory_stop - wait for the last answer
 *
 * Context: may sleep, no probe runs.
 */
void gpumon_memory_stop(void)
{
	irq_work_sync(&memory_irq_work);
	cancel_work_sync(&memory_work);
}

/**
 * gpumon_memory_ask - something that was kept ready for probes is used
 *
 * Context: any, also NMI.
 */
void gpumon_memory_ask(void)
{
	irq_work_queue(&memory_irq_work);
}
