// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/driver/nvidia/gpus/BUS/information. Programs mainly read the bus address of each minor
 * number there.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "mock_nvidia_priv.h"

#define MOCK_PROC "driver/nvidia"

static int information_show(struct seq_file *m, void *data)
{
	struct mock_gpu *gpu = m->private;

	seq_puts(m, "Model: \t\t Mock\n");
	seq_printf(m, "IRQ:   \t\t %u\n", gpu->vector[0].irq);
	seq_puts(m, "Bus Type: \t PCIe\n");
	seq_printf(m, "Bus Location: \t %s\n", pci_name(gpu->nvl.pci_dev));
	seq_printf(m, "Device Minor: \t %u\n", gpu->nvl.minor_num);
	return 0;
}

/**
 * mock_proc_init() - create the files
 *
 * Return: 0; -ENOMEM, also if the names are taken. Only call mock_proc_exit() after 0.
 */
int mock_proc_init(void)
{
	struct proc_dir_entry *dir;
	unsigned int i;

	if (!proc_mkdir(MOCK_PROC, NULL))
		return -ENOMEM;
	dir = proc_mkdir(MOCK_PROC "/gpus", NULL);
	for (i = 0; dir && i < mock_gpu_count; i++) {
		struct mock_gpu *gpu = mock_gpus[i];
		struct proc_dir_entry *own = proc_mkdir(pci_name(gpu->nvl.pci_dev), dir);

		if (!own ||
		    !proc_create_single_data("information", 0444, own, information_show, gpu))
			dir = NULL;
	}
	if (dir)
		return 0;
	mock_proc_exit();
	return -ENOMEM;
}

/**
 * mock_proc_exit() - remove the files
 */
void mock_proc_exit(void)
{
	remove_proc_subtree(MOCK_PROC, NULL);
}
