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
#include <linux/vmalloc.h>

#include "read_file.h"

/*
 * Files of sysfs are read with gpumon_probe_lock held, and our files in debugfs take it while they
 * are read. Both use a seq_file, whose locks are one class to lockdep, which then reports a
 * circle. There is none: no other task has the file that is opened here.
 */
static struct lock_class_key read_lock_key;

/* Nothing else is opened: something that was mounted there may block, or act on being opened. */
static struct file *sysfs_open(const char *path)
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

static ssize_t sysfs_read(struct file *file, void *to, size_t size)
{
	loff_t at = 0;
	ssize_t bytes;

	while (at < size) {
		bytes = kernel_read(file, to + at, size - at, &at);
		if (bytes < 0)
			return bytes;
		if (!bytes)
			break;
	}
	return at;
}

/**
 * gpumon_read_file - the beginning of a file
 * @path: absolute path
 * @to: buffer
 * @size: its size in bytes
 *
 * Context: may sleep.
 * Return: bytes read, or a negative error: -ENOENT also if it is no file of sysfs.
 */
ssize_t gpumon_read_file(const char *path, void *to, size_t size)
{
	struct file *file = sysfs_open(path);
	ssize_t bytes;

	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = sysfs_read(file, to, size);
	fput(file);
	return bytes;
}

/**
 * gpumon_read_whole_file - all of a file that knows its size
 * @path: absolute path
 * @data: set to what has to be given to vfree()
 * @most: bytes that it may have
 *
 * Context: may sleep.
 * Return: its size in bytes, or a negative error: -ENOENT also if it is no file of sysfs,
 * -EFBIG if it has more than @most, -EIO if it has less than it said.
 */
ssize_t gpumon_read_whole_file(const char *path, void **data, size_t most)
{
	struct file *file = sysfs_open(path);
	ssize_t bytes;
	loff_t size;

	if (IS_ERR(file))
		return PTR_ERR(file);
	size = i_size_read(file_inode(file));
	bytes = size > most ? -EFBIG : -EIO;
	if (size <= 0 || size > most)
		goto out;
	*data = vmalloc(size);
	bytes = *data ? sysfs_read(file, *data, size) : -ENOMEM;
	if (bytes >= 0 && bytes != size)
		bytes = -EIO;
	if (bytes < 0)
		vfree(*data);
out:
	fput(file);
	return bytes;
}
