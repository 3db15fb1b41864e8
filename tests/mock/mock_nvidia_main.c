// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mock of NVIDIA's driver: the functions that gpumon probes, with their names and prototypes,
 * called in the same contexts as in the driver, and an account of the calls. There is no hardware.
 */
#include <linux/cdev.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "mock_nvidia_priv.h"

static unsigned int gpus = 2;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "GPUs, 1 to 8 (default 2)");

static unsigned int vectors = 4;
module_param(vectors, uint, 0444);
MODULE_PARM_DESC(vectors,
		 "MSI-X vectors of each GPU, 0 to 16 (default 4); it has a legacy line too");

static unsigned int major = 195;
module_param(major, uint, 0444);
MODULE_PARM_DESC(major, "major number of the device nodes, 0 for any that is free (default 195)");

bool mock_real_commands;
module_param_named(real_commands, mock_real_commands, bool, 0444);
MODULE_PARM_DESC(real_commands, "commands have the driver's own arguments (default 0)");

struct mock_gpu *mock_gpus[MOCK_GPUS_MAX];
unsigned int mock_gpu_count;
struct mock_gpu mock_ctl;

static dev_t mock_devt;
static struct cdev mock_cdev;
static struct dentry *mock_dir;

/**
 * mock_wait() - spend time
 * @ns: minimum time, 0 for none
 *
 * Context: process.
 */
void mock_wait(u64 ns)
{
	u64 us = ns;

	if (ns < 10 * NSEC_PER_USEC) {
		ndelay(ns);
		return;
	}
	do_div(us, NSEC_PER_USEC);
	us = min_t(u64, us + 1, 60 * USEC_PER_SEC);
	usleep_range(us, us + us / 8);
}

/**
 * mock_count_all() - add to a counter of the module, a GPU and a process
 * @gpu: index of the GPU
 * @tgid: id of the process
 * @counter: counter
 * @n: amount
 */
void mock_count_all(unsigned int gpu, pid_t tgid, enum mock_counter_id counter, s64 n)
{
	mock_count(MOCK_TOTAL, 0, counter, n);
	mock_count(MOCK_GPU, gpu, counter, n);
	mock_count(MOCK_PID, tgid, counter, n);
}

static const char *gpu_name(unsigned int gpu)
{
	if (gpu < mock_gpu_count && mock_gpus[gpu]->nvl.pci_dev)
		return pci_name(mock_gpus[gpu]->nvl.pci_dev);
	return gpu == MOCK_CTL ? "ctl" : "none";
}

static void show_kind(struct seq_file *m, unsigned int kind, u64 id)
{
	switch (kind) {
	case MOCK_GPU:
		seq_printf(m, "gpu/%s/", gpu_name(id));
		break;
	case MOCK_PID:
		seq_printf(m, "pid/%llu/", id);
		break;
	case MOCK_COMMAND:
		seq_printf(m, "command/0x%08llx/", id);
		break;
	case MOCK_PID_COMMAND:
		seq_printf(m, "pid/%llu/command/0x%08x/", id >> 32, (u32)id);
		break;
	case MOCK_IRQ:
		seq_printf(m, "irq/%llu/", id);
		break;
	case MOCK_CODE:
		seq_printf(m, "xid/%llu/", id);
		break;
	case MOCK_GPU_CODE:
		seq_printf(m, "gpu/%s/xid/%u/", gpu_name(id >> 32), (u32)id);
		break;
	}
}

#define MOCK_COUNTER_NAME(id, name) name,
static const char *const mock_counter_names[] = { MOCK_COUNTERS(MOCK_COUNTER_NAME) };

static const struct mock_names mock_names = {
	.counters = mock_counter_names,
	.count = MOCK_COUNTER_COUNT,
	.show = show_kind,
};

static int devices_show(struct seq_file *m, void *data)
{
	unsigned int i, v;

	for (i = 0; i < mock_gpu_count; i++) {
		struct mock_gpu *gpu = mock_gpus[i];

		seq_printf(m, "%u %s msix", i, gpu_name(i));
		for (v = 0; v < gpu->vectors; v++)
			seq_printf(m, " %u", gpu->vector[v].irq);
		seq_printf(m, " legacy %u\n", gpu->vector[gpu->vectors].irq);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(devices);

static int make_gpu(struct mock_gpu *gpu, unsigned int index)
{
	gpu->index = index;
	gpu->nvl.minor_num = index == MOCK_CTL ? MOCK_NVIDIA_CTL_MINOR : index;
	gpu->vectors = vectors;
	mutex_init(&gpu->pm_lock);
	gpu->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return gpu->page ? 0 : -ENOMEM;
}

static void free_gpus(void)
{
	unsigned int i;

	for (i = 0; i < mock_gpu_count; i++) {
		if (mock_gpus[i]->page)
			put_page(mock_gpus[i]->page);
		kfree(mock_gpus[i]);
	}
	if (mock_ctl.page)
		put_page(mock_ctl.page);
}

static int make_gpus(void)
{
	int err = make_gpu(&mock_ctl, MOCK_CTL);

	while (!err && mock_gpu_count < gpus) {
		struct mock_gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);

		if (!gpu)
			return -ENOMEM;
		mock_gpus[mock_gpu_count] = gpu;
		err = make_gpu(gpu, mock_gpu_count++);
	}
	return err;
}

static int make_nodes(void)
{
	int err;

	mock_devt = MKDEV(major, 0);
	if (major)
		err = register_chrdev_region(mock_devt, MOCK_NVIDIA_CTL_MINOR + 1,
					     mock_chrdev_name);
	else
		err = alloc_chrdev_region(&mock_devt, 0, MOCK_NVIDIA_CTL_MINOR + 1,
					  mock_chrdev_name);
	if (err) {
		mock_devt = 0;
		return err;
	}
	cdev_init(&mock_cdev, &mock_fops);
	mock_cdev.owner = THIS_MODULE;
	err = cdev_add(&mock_cdev, mock_devt, MOCK_NVIDIA_CTL_MINOR + 1);
	if (err) {
		unregister_chrdev_region(mock_devt, MOCK_NVIDIA_CTL_MINOR + 1);
		mock_devt = 0;
	}
	return err;
}

static void nvidia_exit_module(void)
{
	if (mock_devt) {
		cdev_del(&mock_cdev);
		unregister_chrdev_region(mock_devt, MOCK_NVIDIA_CTL_MINOR + 1);
	}
	debugfs_remove_recursive(mock_dir);
	mock_proc_exit();
	mock_p2p_exit();
	mock_pci_exit();
	free_gpus();
	mock_account_exit();
}

static int __init nvidia_init_module(void)
{
	int err;

	if (!gpus || gpus > MOCK_GPUS_MAX || vectors > MOCK_VECTORS_MAX || major > 511)
		return -EINVAL;
	mock_dir = debugfs_create_dir("mock_nvidia", NULL);
	err = mock_account_init(mock_dir, &mock_names);
	if (!err)
		err = make_gpus();
	if (!err)
		err = mock_pci_init();
	if (!err)
		err = mock_proc_init();
	if (!err)
		err = make_nodes();
	if (err) {
		nvidia_exit_module();
		return err;
	}
	debugfs_create_file("devices", 0400, mock_dir, NULL, &devices_fops);
	mock_control_init(mock_dir);
	return 0;
}

module_init(nvidia_init_module);
module_exit(nvidia_exit_module);

MODULE_DESCRIPTION("Mock of NVIDIA's driver, for gpumon's tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(MOCK_VERSION);
