// SPDX-License-Identifier: GPL-2.0-only
/* File operations of the generations up to 535, which call the driver through a table. */
#include <linux/module.h>
#include <linux/poll.h>

#include "mock_nvidia_priv.h"

mock_probed int nvidia_frontend_open(struct inode *inode, struct file *file)
{
	return nv_fops.open(inode, file);
}

mock_probed int nvidia_frontend_close(struct inode *inode, struct file *file)
{
	return nv_fops.close(inode, file);
}

mock_probed unsigned int nvidia_frontend_poll(struct file *file, poll_table *wait)
{
	return nv_fops.poll(file, wait);
}

mock_probed int nvidia_frontend_ioctl(struct inode *inode, struct file *file, unsigned int cmd,
				      unsigned long i_arg)
{
	return nv_fops.ioctl(inode, file, cmd, i_arg);
}

mock_probed long nvidia_frontend_unlocked_ioctl(struct file *file, unsigned int cmd,
						unsigned long i_arg)
{
	return nvidia_frontend_ioctl(file_inode(file), file, cmd, i_arg);
}

mock_probed long nvidia_frontend_compat_ioctl(struct file *file, unsigned int cmd,
					      unsigned long i_arg)
{
	return nvidia_frontend_ioctl(file_inode(file), file, cmd, i_arg);
}

mock_probed int nvidia_frontend_mmap(struct file *file, struct vm_area_struct *vma)
{
	return nv_fops.mmap(file, vma);
}

const struct file_operations nv_frontend_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_frontend_open,
	.release = nvidia_frontend_close,
	.unlocked_ioctl = nvidia_frontend_unlocked_ioctl,
	.compat_ioctl = nvidia_frontend_compat_ioctl,
	.mmap = nvidia_frontend_mmap,
	.poll = (__poll_t(*)(struct file *, poll_table *))nvidia_frontend_poll,
};
