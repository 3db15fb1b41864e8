/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files in debugfs that take one command per write. It is complete when write() returns, and its
 * error is that of write().
 */
#ifndef MOCK_COMMAND_H
#define MOCK_COMMAND_H

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#define MOCK_COMMAND_LEN 1024

static inline ssize_t mock_command_write(const char __user *from, size_t size,
					 int (*execute)(char *line))
{
	char *line;
	int err;

	if (size >= MOCK_COMMAND_LEN)
		return -E2BIG;
	line = memdup_user_nul(from, size);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = execute(strim(line));
	kfree(line);
	return err ? err : size;
}

/* @name_fops, for a file whose commands @execute takes */
#define MOCK_COMMAND_FOPS(name, execute)                                                     \
	static ssize_t name##_write(struct file *file, const char __user *from, size_t size, \
				    loff_t *offset)                                          \
	{                                                                                    \
		return mock_command_write(from, size, execute);                              \
	}                                                                                    \
	static const struct file_operations name##_fops = {                                  \
		.owner = THIS_MODULE,                                                        \
		.open = simple_open,                                                         \
		.write = name##_write,                                                       \
		.llseek = noop_llseek,                                                       \
	}

#endif /* MOCK_COMMAND_H */
