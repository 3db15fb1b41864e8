// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lets a VM with its root file system on 9p sleep, and wakes it up.
 *
 * The virtio 9p driver cannot resume a suspended device: the first read afterwards would wait for
 * ever. QEMU's devices keep their state unless they are reset, so while this module is loaded,
 * virtio's PCI devices are excluded from suspend and resume.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>

static void leave_out(bool out)
{
	struct pci_dev *device = NULL;

	while ((device = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, PCI_ANY_ID, device)))
		dev_pm_syscore_device(&device->dev, out);
}

static void wake(struct work_struct *work);
static DECLARE_DELAYED_WORK(wake_work, wake);
static unsigned int wake_ms;

/* Repeat it: a wake-up before the machine sleeps is forgotten. */
static void wake(struct work_struct *work)
{
	pm_system_wakeup();
	schedule_delayed_work(&wake_work, msecs_to_jiffies(wake_ms));
}

static int set_wake_ms(const char *text, const struct kernel_param *param)
{
	unsigned int ms;
	int ret = kstrtouint(text, 0, &ms);

	if (ret)
		return ret;
	cancel_delayed_work_sync(&wake_work);
	wake_ms = ms;
	if (ms)
		schedule_delayed_work(&wake_work, msecs_to_jiffies(ms));
	return 0;
}

static const struct kernel_param_ops wake_ms_ops = {
	.set = set_wake_ms,
};

module_param_cb(wake_ms, &wake_ms_ops, NULL, 0200);
MODULE_PARM_DESC(wake_ms, "written: wake the system up each so many milliseconds, 0: do not");

static int __init suspend_helper_init(void)
{
	leave_out(true);
	return 0;
}

static void __exit suspend_helper_exit(void)
{
	cancel_delayed_work_sync(&wake_work);
	leave_out(false);
}

module_init(suspend_helper_init);
module_exit(suspend_helper_exit);

MODULE_DESCRIPTION("Keeps virtio's devices out of suspend, wakes up");
MODULE_LICENSE("GPL");
