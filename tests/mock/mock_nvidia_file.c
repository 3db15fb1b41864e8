// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on /dev/nvidiaN and /dev/nvidiactl. The functions have the driver's names, prototypes
 * and linkage.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock_nvidia_priv.h"

static struct mock_gpu *gpu_of_minor(unsigned int minor)
{
	if (minor == MOCK_NVIDIA_CTL_MINOR)
		return &mock_ctl;
	return minor < mock_gpu_count ? mock_gpus[minor] : NULL;
}

static unsigned int gpu_of_file(struct file *file)
{
	nv_linux_file_private_t *nvlfp = file->private_data;

	return to_mock_gpu(nvlfp->nvptr)->index;
}

static mock_probed int nvidia_open(struct inode *inode, struct file *file)
{
	struct mock_gpu *gpu = gpu_of_minor(iminor(inode));
	nv_linux_file_private_t *nvlfp;
	int err = -ENODEV;

	if (!gpu)
		goto error;
	err = -EIO;
	if (atomic_dec_if_positive(&gpu->fail_opens) >= 0)
		goto error;
	err = -ENOMEM;
	nvlfp = kzalloc(sizeof(*nvlfp), GFP_KERNEL);
	if (!nvlfp)
		goto error;
	nvlfp->nvptr = &gpu->nvl;
	nvlfp->tgid = mock_tgid();
	file->private_data = nvlfp;
	mock_count_all(gpu->index, nvlfp->tgid, MOCK_OPENS, 1);
	mock_count_all(gpu->index, nvlfp->tgid, MOCK_HANDLES, 1);
	return 0;
error:
	mock_count_all(gpu ? gpu->index : MOCK_NO_GPU, mock_tgid(), MOCK_OPEN_ERRORS, 1);
	return err;
}

/* The handle belonged to the opener, whichever process closes its last descriptor. */
static mock_probed int nvidia_close(struct inode *inode, struct file *file)
{
	nv_linux_file_private_t *nvlfp = file->private_data;
	unsigned int gpu = gpu_of_file(file);

	mock_count_all(gpu, nvlfp->tgid, MOCK_CLOSES, 1);
	mock_count_all(gpu, nvlfp->tgid, MOCK_HANDLES, -1);
	kfree(nvlfp);
	return 0;
}

/*
 * Commands of the driver that work without a GPU, and the size of their arguments. Whatever they
 * should do is left out, but for the status of those that have one. The object, class or command at
 * @object does not exist if it is MOCK_NONE; a free of none works in the driver, too.
 */
#define MOCK_NONE	   0x7fff
#define MOCK_NOT_SUPPORTED 0x56
static const struct {
	u8 number;
	u16 size;
	u16 object;
	u16 status;
} real_commands[] = {
	{ 200, 8 * 72 },     { 210, 72 },	   { 211, 16 },		{ 0x29, 16, 0, 12 },
	{ 0x2a, 32, 8, 28 }, { 0x2b, 32, 12, 28 }, { 0x4e, 56, 8, 40 },
};

/* The driver copies the argument before it looks at the number, and ignores the type. */
static int run_real_command(unsigned int cmd, void __user *at)
{
	unsigned int i;
	void *argument = memdup_user(at, _IOC_SIZE(cmd));
	u32 object, status;
	int ret = -EINVAL;

	if (IS_ERR(argument))
		return PTR_ERR(argument);
	for (i = 0; i < ARRAY_SIZE(real_commands); i++) {
		if (_IOC_NR(cmd) != real_commands[i].number ||
		    _IOC_SIZE(cmd) != real_commands[i].size)
			continue;
		ret = 0;
		if (!real_commands[i].status)
			break;
		object = *(u32 *)(argument + real_commands[i].object);
		status = object == MOCK_NONE ? MOCK_NOT_SUPPORTED : 0;
		if (copy_to_user(at + real_commands[i].status, &status, sizeof(status)))
			ret = -EFAULT;
		break;
	}
	kfree(argument);
	return ret;
}

static int run_command(struct file *file, unsigned int cmd, unsigned long i_arg)
{
	void __user *at = (void __user *)i_arg;
	nv_linux_file_private_t *nvlfp = file->private_data;
	struct mock_nvidia_args args;

	if (mock_real_commands)
		return run_real_command(cmd, at);
	if (_IOC_TYPE(cmd) != 'F' || _IOC_SIZE(cmd) != sizeof(args))
		return -EINVAL;
	if (copy_from_user(&args, at, sizeof(args)))
		return -EFAULT;
	mock_wait(args.duration_ns);
	args.served = atomic_inc_return(&nvlfp->served);
	if (copy_to_user(at, &args, sizeof(args)))
		return -EFAULT;
	return args.error > MAX_ERRNO ? -EINVAL : -(int)args.error;
}

static __always_inline int count_ioctl(struct file *file, unsigned int cmd, unsigned long i_arg)
{
	u64 start = ktime_get_ns();
	pid_t tgid = mock_tgid();
	u64 both = (u64)tgid << 32 | cmd;
	int ret = run_command(file, cmd, i_arg);
	u64 ns = ktime_get_ns() - start;

	mock_count_all(gpu_of_file(file), tgid, MOCK_IOCTLS, 1);
	mock_count_all(gpu_of_file(file), tgid, MOCK_IOCTL_NS, ns);
	mock_count(MOCK_COMMAND, cmd, MOCK_IOCTLS, 1);
	mock_count(MOCK_COMMAND, cmd, MOCK_IOCTL_NS, ns);
	mock_count(MOCK_PID_COMMAND, both, MOCK_IOCTLS, 1);
	mock_count(MOCK_PID_COMMAND, both, MOCK_IOCTL_NS, ns);
	if (ret) {
		mock_count_all(gpu_of_file(file), tgid, MOCK_IOCTL_ERRORS, 1);
		mock_count(MOCK_COMMAND, cmd, MOCK_IOCTL_ERRORS, 1);
		mock_count(MOCK_PID_COMMAND, both, MOCK_IOCTL_ERRORS, 1);
	}
	return ret;
}

#if MOCK_NVIDIA == 535
static mock_probed int nvidia_ioctl(struct inode *inode, struct file *file, unsigned int cmd,
				    unsigned long i_arg)
{
	return count_ioctl(file, cmd, i_arg);
}
#else
static mock_probed long nvidia_unlocked_ioctl(struct file *file, unsigned int cmd,
					      unsigned long i_arg)
{
	return count_ioctl(file, cmd, i_arg);
}
#endif

/* An event is always available, so poll() never sleeps and calls this once. */
static mock_probed unsigned int nvidia_poll(struct file *file, poll_table *wait)
{
	mock_count_all(gpu_of_file(file), mock_tgid(), MOCK_POLLS, 1);
	return POLLPRI | POLLIN;
}

static void count_vma(struct vm_area_struct *vma, enum mock_counter_id counter)
{
	mock_count_all(gpu_of_file(vma->vm_file), mock_tgid(), counter, 1);
}

static mock_probed void nvidia_vma_open(struct vm_area_struct *vma)
{
	count_vma(vma, MOCK_VMA_OPENS);
}

static mock_probed void nvidia_vma_release(struct vm_area_struct *vma)
{
	count_vma(vma, MOCK_VMA_RELEASES);
}

/* Pages are mapped on first access, so each page causes one fault per process. */
static mock_probed vm_fault_t nvidia_fault(struct vm_fault *vmf)
{
	nv_linux_file_private_t *nvlfp = vmf->vma->vm_file->private_data;

	count_vma(vmf->vma, MOCK_FAULTS);
	vmf->page = to_mock_gpu(nvlfp->nvptr)->page;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct nv_vm_ops = {
	.open = nvidia_vma_open,
	.close = nvidia_vma_release,
	.fault = nvidia_fault,
};

/**
 * nvidia_mmap() - map a file of the driver
 * @file: the file
 * @vma: new mapping
 *
 * As in the driver, nvidia_vma_open() is not called for a new mapping, only for copies made by
 * fork() and a partial munmap().
 *
 * Return: 0 or -EINVAL.
 */
mock_probed int nvidia_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned int gpu = gpu_of_file(file);

	if (vma->vm_pgoff >= MOCK_NVIDIA_MMAP_END >> PAGE_SHIFT) {
		mock_count_all(gpu, mock_tgid(), MOCK_MMAP_ERRORS, 1);
		return -EINVAL;
	}
	vma->vm_ops = &nv_vm_ops;
	mock_count_all(gpu, mock_tgid(), MOCK_MMAPS, 1);
	mock_count_all(gpu, mock_tgid(), MOCK_MMAP_BYTES, vma->vm_end - vma->vm_start);
	return 0;
}

#if MOCK_NVIDIA == 535
const struct nvidia_module_s nv_fops = {
	.open = nvidia_open,
	.close = nvidia_close,
	.ioctl = nvidia_ioctl,
	.mmap = nvidia_mmap,
	.poll = nvidia_poll,
};
#else
const struct file_operations nv_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
	.release = nvidia_close,
	.unlocked_ioctl = nvidia_unlocked_ioctl,
	.compat_ioctl = nvidia_unlocked_ioctl,
	.mmap = nvidia_mmap,
	.poll = (__poll_t(*)(struct file *, poll_table *))nvidia_poll,
};
#endif
