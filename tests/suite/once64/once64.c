// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * One CPU changes a 64-bit word as fast as it can, between two values that differ in each half, and
 * another one reads it: half of the one and half of the other is a torn read. Loading this module runs
 * one round, in a way of access; the results are its parameters.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "compat/once64.h"

#define LOW  0x00000000ffffffffULL
#define HIGH 0xffffffff00000000ULL

/* How a word is written and read. */
enum {
	ONCE,
	ACQUIRE_RELEASE,
	EXCHANGE,
	/* Not of gpumon: two accesses, which are torn where CPUs really run side by side. */
	HALVES,
	/* What the compiler makes of an ordinary access. */
	PLAIN,
	WAYS
};

static unsigned int way;
module_param(way, uint, 0400);
/* How often the reader has to find another value than before: a CPU that waits sees none. */
static unsigned long wanted = 1000;
module_param(wanted, ulong, 0400);
/* Results: reads, and those of a value that was never written. */
static unsigned long reads, torn;
module_param(reads, ulong, 0400);
module_param(torn, ulong, 0400);

static u64 word __aligned(8) = LOW;
static DECLARE_COMPLETION(reader_ended);

static void word_write(u64 value)
{
	u64 old = ~value;

	switch (way) {
	case ONCE:
		gpumon_write_once64(word, value);
		break;
	case ACQUIRE_RELEASE:
		gpumon_store_release64(&word, value);
		break;
	case EXCHANGE:
		if (!gpumon_try_cmpxchg64(&word, &old, value))
			gpumon_xchg64(&word, value);
		break;
	case HALVES:
		WRITE_ONCE(((u32 *)&word)[0], value);
		WRITE_ONCE(((u32 *)&word)[1], value >> 32);
		break;
	case PLAIN:
		word = value;
		barrier();
		break;
	}
}

static u64 word_read(void)
{
	u64 value = 0;

	switch (way) {
	case ONCE:
	case EXCHANGE:
		return gpumon_read_once64(word);
	case ACQUIRE_RELEASE:
		return gpumon_load_acquire64(&word);
	case HALVES:
		value = READ_ONCE(((u32 *)&word)[0]);
		return value | (u64)READ_ONCE(((u32 *)&word)[1]) << 32;
	case PLAIN:
		barrier();
		value = word;
		barrier();
		return value;
	}
	return value;
}

static int write_on(void *unused)
{
	unsigned long i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 1000; i++) {
			word_write(HIGH);
			word_write(LOW);
		}
		cond_resched();
	}
	return 0;
}

static int read_on(void *unused)
{
	u64 value, before = LOW;
	unsigned long changes = 0;

	while (changes < wanted) {
		value = word_read();
		torn += value != LOW && value != HIGH;
		changes += value != before;
		before = value;
		if (++reads % 1000 == 0)
			cond_resched();
	}
	complete(&reader_ended);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int __init once64_init(void)
{
	struct task_struct *writer, *reader;

	if (way >= WAYS || reads || torn)
		return -EINVAL;
	if (num_online_cpus() < 2)
		return -ENODEV;
	writer = kthread_create_on_cpu(write_on, NULL, 0, "once64-write/%u");
	if (IS_ERR(writer))
		return PTR_ERR(writer);
	reader = kthread_create_on_cpu(read_on, NULL, 1, "once64-read/%u");
	if (IS_ERR(reader)) {
		kthread_stop(writer);
		return PTR_ERR(reader);
	}
	wake_up_process(writer);
	wake_up_process(reader);
	wait_for_completion(&reader_ended);
	kthread_stop(reader);
	kthread_stop(writer);
	return 0;
}

static void __exit once64_exit(void)
{
}

module_init(once64_init);
module_exit(once64_exit);
MODULE_DESCRIPTION("Are words of 64 bits read whole?");
MODULE_LICENSE("GPL");
