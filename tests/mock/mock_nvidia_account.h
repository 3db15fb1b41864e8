/* SPDX-License-Identifier: GPL-2.0-only */
/* The account of mock nvidia.ko and mock nvidia-uvm.ko. */
#ifndef MOCK_NVIDIA_ACCOUNT_H
#define MOCK_NVIDIA_ACCOUNT_H

#include <linux/types.h>

struct dentry;
struct seq_file;

/**
 * struct mock_names - how to print a module's account
 * @counters: names of its counters
 * @count: number of them, up to 64
 * @show: writes the owner of the counter, such as "pid/12/"
 */
struct mock_names {
	const char *const *counters;
	unsigned int count;
	void (*show)(struct seq_file *m, unsigned int kind, u64 id);
};

int mock_account_init(struct dentry *dir, const struct mock_names *names);
void mock_account_exit(void);
void mock_account_add(unsigned int kind, u64 id, unsigned int counter, s64 n);

#endif /* MOCK_NVIDIA_ACCOUNT_H */
