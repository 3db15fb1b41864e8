// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the tracepoints of GPU drivers without their hardware, with objects made by a test: load,
 * unload, and the account.
 */
#include <linux/debugfs.h>
#include <linux/module.h>

#include "fire_gpu.h"

static struct dentry *fire_debugfs;

static int account_show(struct seq_file *m, void *unused)
{
	fire_account_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

static int __init fire_init(void)
{
	struct dentry *file;
	int ret;

	ret = fire_object_init();
	if (ret)
		return ret;
	ret = fire_tracepoint_init();
	if (ret)
		goto err_object;

	fire_debugfs = debugfs_create_dir("fire_gpu", NULL);
	if (IS_ERR(fire_debugfs)) {
		ret = PTR_ERR(fire_debugfs);
		goto err_tracepoint;
	}
	file = debugfs_create_file("account", 0400, fire_debugfs, NULL, &account_fops);
	ret = PTR_ERR_OR_ZERO(file);
	if (!ret)
		ret = fire_command_init(fire_debugfs);
	if (ret)
		goto err_debugfs;
	return 0;

err_debugfs:
	debugfs_remove(fire_debugfs);
err_tracepoint:
	fire_tracepoint_exit();
err_object:
	fire_object_exit();
	return ret;
}

static void __exit fire_exit(void)
{
	/* Waits for a write or read in progress. */
	debugfs_remove(fire_debugfs);
	fire_tracepoint_exit();
	fire_object_exit();
}

module_init(fire_init);
module_exit(fire_exit);

MODULE_DESCRIPTION("Calls tracepoints of GPU drivers with made-up arguments, for tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
