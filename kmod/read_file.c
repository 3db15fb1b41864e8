// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads files of sysfs, where the kernel says what it exports no function for.
 *
 * kernel_read_file() would do, but is for what the kernel is going to load and
 * trust: security modules want to know what it is (IPE even warns if it
 * is nothing they know), and may refuse it for where it comes from.
 *
 * A path is looked up as the task that loads a module or switches a group sees
 * it. The first task's root would be more certain, but from 7.x on it is an
 * empty place that only the kernel itself can get out of.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/vmalloc.h>

#include "read_file.h"

static ssize_t read_open(struct file *file, void *to, size_t size)
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
 * Return: bytes read, or a negative error.
 */
ssize_t gpumon_read_file(const char *path, void *to, size_t size)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	ssize_t bytes;

	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = read_open(file, to, size);
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
 * Return: its size in bytes, or a negative error: -EFBIG if it has more than @most,
 * -EIO if it has less than it said.
 */
ssize_t gpumon_read_whole_file(const char *path, void **data, size_t most)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	ssize_t bytes;
	loff_t size;

	if (IS_ERR(file))
		return PTR_ERR(file);
	size = i_size_read(file_inode(file));
	bytes = size > most ? -EFBIG : -EIO;
	if (size <= 0 || size > most)
		goto out;
	*data = vmalloc(size);
	bytes = *data ? read_open(file, *data, size) : -ENOMEM;
	if (bytes >= 0 && bytes != size)
		bytes = -EIO;
	if (bytes < 0)
		vfree(*data);
out:
	fput(file);
	return bytes;
}
