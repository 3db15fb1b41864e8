// SPDX-License-Identifier: GPL-2.0-only
/* The log of vblanks, from which a test computes rates, intervals and delays. */
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "fire_vblank.h"

static DEFINE_RAW_SPINLOCK(log_lock);
static struct fire_record *log_records;
static unsigned int log_size;
/* Number of records that were ever added. */
static u64 log_added;

static struct fire_record *log_at(u64 number)
{
	u32 place;

	div_u64_rem(number, log_size, &place);
	return &log_records[place];
}

/**
 * fire_log_add() - add a vblank
 * @record: the vblank; replaces the oldest one if the log is full
 */
void fire_log_add(const struct fire_record *record)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&log_lock, flags);
	*log_at(log_added++) = *record;
	raw_spin_unlock_irqrestore(&log_lock, flags);
}

/**
 * fire_log_show() - print the log, the oldest first
 * @m: output
 *
 * The first line has the total number.
 */
void fire_log_show(struct seq_file *m)
{
	struct fire_record record;
	unsigned long flags;
	u64 i, added;

	raw_spin_lock_irqsave(&log_lock, flags);
	added = log_added;
	raw_spin_unlock_irqrestore(&log_lock, flags);

	seq_printf(m, "# %llu\n", added);
	seq_puts(m, "device crtc seq time_ns handled_ns missed\n");
	for (i = added > log_size ? added - log_size : 0; i < added; i++) {
		raw_spin_lock_irqsave(&log_lock, flags);
		record = *log_at(i);
		raw_spin_unlock_irqrestore(&log_lock, flags);
		seq_printf(m, "fire_vblank.%u %u %llu %lld %lld %u\n", record.device, record.crtc,
			   record.seq, record.time_ns, record.handled_ns, record.missed);
	}
}

/**
 * fire_log_init() - allocate the log
 * @records: size of the log
 *
 * Return: 0 or -ENOMEM.
 */
int fire_log_init(unsigned int records)
{
	log_records = vzalloc(array_size(records, sizeof(*log_records)));
	log_size = records;
	return log_records ? 0 : -ENOMEM;
}

/**
 * fire_log_exit() - free the log
 */
void fire_log_exit(void)
{
	vfree(log_records);
}
