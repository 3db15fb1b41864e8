// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads files of sysfs, where the kernel says what it exports no function for.
 *
 * kernel_read_file() is for files that the kernel is going to load and trust: security modules
 * check what they are (IPE warns about unknown kinds) and may refuse them by their origin.
 *
 * A path is looked up in the namespace of the task that loads a module or switches a group. The
 * first task's root would be more reliable, but from 7.x on it is an empty file system.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/lockdep.h>
#include <linux/magic.h>
#include <linux/namei.h>
#include <linux/seq_file.h>

#include "read_file.h"

/*
 * Files of sysfs are read with gpumon_probe_lock held, and our files in debugfs take it while they
 * are read. Both use a seq_file, whose locks are one class to lockdep, which then reports a
 * circle. There is none: no other task has the file that is opened here.
 */
static struct lock_class_key read_lock_key;

/**
 * gpumon_file_open - open a file of sysfs
 * @path: absolute path
 *
 * Nothing else is opened: something that was mounted there may block, or act on being opened.
 *
 * Context: may sleep.
 * Return: the file, for gpumon_file_close(), or an error pointer: -ENOENT also if it is no file of
 * sysfs.
 */
struct file *gpumon_file_open(const char *path)
{
	struct file *file = ERR_PTR(-ENOENT);
	struct path found;
	int ret = kern_path(path, LOOKUP_FOLLOW, &found);

	if (ret)
		return ERR_PTR(ret);
	if (found.dentry->d_sb->s_magic == SYSFS_MAGIC)
		file = dentry_open(&found, O_RDONLY, current_cred());
	path_put(&found);
	if (!IS_ERR(file) && S_ISREG(file_inode(file)->i_mode))
		lockdep_set_class(&((struct seq_file *)file->private_data)->lock, &read_lock_key);
	return file;
}

/* Size in bytes of a file that has one; 0 for others. */
size_t gpumon_file_size(const struct file *file)
{
	return i_size_read(file_inode(file));
}

/**
 * gpumon_file_read - a part of a file
 * @file: file
 * @to: buffer
 * @size: bytes that are wanted
 * @at: where they begin
 *
 * Context: may sleep.
 * Return: bytes read, fewer at the end of the file, or a negative error.
 */
ssize_t gpumon_file_read(struct file *file, void *to, size_t size, loff_t at)
{
	size_t done = 0;
	ssize_t bytes;

	while (done < size) {
		bytes = kernel_read(file, to + done, size - done, &at);
		if (bytes < 0)
			return bytes;
		if (!bytes)
			break;
		done += bytes;
	}
	return done;
}

/* @file: from gpumon_file_open(), or NULL. */
void gpumon_file_close(struct file *file)
{
	if (file)
		fput(file);
}

/**
 * gpumon_read_file - the beginning of a file
 * @path: absolute path
 * @to: buffer
 * @size: its size in bytes
 *
 * Context: may sleep.
 * Return: bytes read, or a negative error as gpumon_file_open().
 */
ssize_t gpumon_read_file(const char *path, void *to, size_t size)
{
	struct file *file = gpumon_file_open(path);
	ssize_t bytes;

	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = gpumon_file_read(file, to, size, 0);
	gpumon_file_close(file);
	return bytes;
}
