// SPDX-License-Identifier: GPL-2.0-only
/*
 * The account of a mock: counters that are created on first use, in any context, and printed as
 * "name value" lines. Nothing is sampled, and lost counts are reported if the table is full.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "mock_nvidia_account.h"

#define MOCK_ACCOUNT_BITS   15
#define MOCK_ACCOUNT_PROBES 256

/* A key is claimed once and never released: kind, counter and id in one word. */
#define MOCK_KIND_SHIFT	   60
#define MOCK_COUNTER_SHIFT 54
#define MOCK_ID_MASK	   ((1ULL << MOCK_COUNTER_SHIFT) - 1)

struct mock_counter {
	atomic64_t key;
	atomic64_t value;
};

static struct mock_counter *mock_counters;
static const struct mock_names *mock_names;
static atomic64_t mock_lost = ATOMIC64_INIT(0);

/**
 * mock_account_add() - add to a counter
 * @kind: kind of its owner, 1 to 15
 * @id: id of its owner, 54 bits
 * @counter: index of its name
 * @n: amount
 *
 * Context: any.
 */
void mock_account_add(unsigned int kind, u64 id, unsigned int counter, s64 n)
{
	u64 key = (u64)kind << MOCK_KIND_SHIFT | (u64)counter << MOCK_COUNTER_SHIFT |
		  (id & MOCK_ID_MASK);
	u32 at = hash_64(key, MOCK_ACCOUNT_BITS);
	unsigned int i;

	for (i = 0; i < MOCK_ACCOUNT_PROBES; i++) {
		struct mock_counter *c = &mock_counters[(at + i) % (1 << MOCK_ACCOUNT_BITS)];
		u64 found = atomic64_read(&c->key);

		if (!found)
			found = atomic64_cmpxchg(&c->key, 0, key);
		if (!found || found == key) {
			atomic64_add(n, &c->value);
			return;
		}
	}
	atomic64_inc(&mock_lost);
}

static int account_show(struct seq_file *m, void *data)
{
	unsigned int i;

	seq_printf(m, "lost %lld\n", atomic64_read(&mock_lost));
	for (i = 0; i < 1 << MOCK_ACCOUNT_BITS; i++) {
		u64 key = atomic64_read(&mock_counters[i].key);

		if (!key)
			continue;
		mock_names->show(m, key >> MOCK_KIND_SHIFT, key & MOCK_ID_MASK);
		seq_printf(m, "%s %lld\n", mock_names->counters[key >> MOCK_COUNTER_SHIFT & 63],
			   atomic64_read(&mock_counters[i].value));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

/**
 * mock_account_init() - create the account and its file
 * @dir: debugfs folder, removed by the caller
 * @names: how to print it, owned by the caller
 *
 * Return: 0 or -ENOMEM.
 */
int mock_account_init(struct dentry *dir, const struct mock_names *names)
{
	BUILD_BUG_ON(sizeof(struct mock_counter) != 16);
	if (WARN_ON(names->count > 64))
		return -EINVAL;
	mock_counters = vzalloc(sizeof(*mock_counters) << MOCK_ACCOUNT_BITS);
	if (!mock_counters)
		return -ENOMEM;
	mock_names = names;
	debugfs_create_file("account", 0400, dir, NULL, &account_fops);
	return 0;
}

/**
 * mock_account_exit() - free the account, after the folder was removed
 */
void mock_account_exit(void)
{
	vfree(mock_counters);
}
