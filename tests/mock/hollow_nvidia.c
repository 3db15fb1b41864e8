// SPDX-License-Identifier: GPL-2.0-only
/*
 * A nvidia.ko whose functions do nothing but have the driver's names and prototypes. They are
 * called with arbitrary arguments, so that probes get pointers that the driver would never pass.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "mock_command.h"

struct nvidia_p2p_page_table;
struct nvidia_p2p_dma_mapping;

#if __has_attribute(__noipa__)
#define hollow noinline __attribute__((__noipa__))
#else
#define hollow noinline
#endif

typedef u8 NvBool;
typedef u32 NvU32;
typedef u32 NV_STATUS;
typedef enum {
	NV_PM_ACTION_STANDBY = 1
} nv_pm_action_t;

/* The return value of all functions. */
static long result;

/* clang-format off */
#define FUNCTIONS(X)                                                                     \
	X(int, nvidia_open, (struct inode *inode, struct file *file))                    \
	X(int, nvidia_close, (struct inode *inode, struct file *file))                   \
	X(long, nvidia_unlocked_ioctl,                                                   \
	  (struct file *file, unsigned int cmd, unsigned long i_arg))                    \
	X(int, nvidia_mmap, (struct file *file, struct vm_area_struct *vma))             \
	X(unsigned int, nvidia_poll, (struct file *file, struct poll_table_struct *wait))              \
	X(vm_fault_t, nvidia_fault, (struct vm_fault *vmf))                              \
	X(irqreturn_t, nvidia_isr, (int irq, void *arg))                                 \
	X(irqreturn_t, nvidia_isr_msix, (int irq, void *arg))                            \
	X(irqreturn_t, nvidia_isr_kthread_bh, (int irq, void *data))                     \
	X(irqreturn_t, nvidia_isr_msix_kthread_bh, (int irq, void *data))                \
	X(int, nvidia_p2p_get_pages,                                                     \
	  (uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address,              \
	   uint64_t length, struct nvidia_p2p_page_table **page_table,                   \
	   void (*free_callback)(void *data), void *data))                               \
	X(int, nvidia_p2p_put_pages,                                                     \
	  (uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address,              \
	   struct nvidia_p2p_page_table *page_table))                                    \
	X(int, nvidia_p2p_free_page_table, (struct nvidia_p2p_page_table *page_table))   \
	X(int, nvidia_p2p_dma_map_pages,                                                 \
	  (struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,               \
	   struct nvidia_p2p_dma_mapping **dma_mapping))                                 \
	X(NV_STATUS, nvidia_suspend,                                                     \
	  (struct device *dev, nv_pm_action_t pm_action, NvBool is_procfs_suspend))      \
	X(int, nv_pmops_runtime_suspend, (struct device *dev))                           \
	X(int, nv_pci_probe, (struct pci_dev *pci_dev, const struct pci_device_id *id))
#define PROCEDURES(X)                                                                    \
	X(nvidia_vma_open, (struct vm_area_struct *vma))                                 \
	X(nvidia_vma_release, (struct vm_area_struct *vma))                              \
	X(nv_report_error,                                                               \
	  (struct pci_dev *dev, NvU32 error_number, const char *format, va_list ap))     \
	X(nv_pci_remove, (struct pci_dev *pci_dev))
/* clang-format on */

#define FUNCTION(type, name, arguments)                 \
	static hollow type name arguments               \
	{                                               \
		return (__force type)READ_ONCE(result); \
	}
#define PROCEDURE(name, arguments)        \
	static hollow void name arguments \
	{                                 \
		barrier();                \
	}
FUNCTIONS(FUNCTION)
PROCEDURES(PROCEDURE)

/* As many arguments as fit into registers. */
typedef long (*hollow_t)(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);

#define ENTRY_F(type, name, arguments) { #name, (__force hollow_t)(void *)name },
#define ENTRY_P(name, arguments)       { #name, (hollow_t)(void *)name },
static const struct {
	const char *name;
	hollow_t function;
} functions[] = { FUNCTIONS(ENTRY_F) PROCEDURES(ENTRY_P) };

static struct dentry *dir;
static u8 *ones, *zeros;

/* A number, or a page of ones or zeroes. */
static int argument(const char *word, u64 *value)
{
	if (!strcmp(word, "ones"))
		*value = (unsigned long)ones;
	else if (!strcmp(word, "zeros"))
		*value = (unsigned long)zeros;
	else
		return kstrtou64(word, 0, value);
	return 0;
}

static int call(char *line)
{
	char *name = strsep(&line, " "), *word;
	u64 a[6] = {}, n = 0;
	unsigned int i;
	int err;

	while ((word = strsep(&line, " "))) {
		err = n == ARRAY_SIZE(a) ? -E2BIG : argument(word, &a[n++]);
		if (err)
			return err;
	}
	if (!strcmp(name, "result")) {
		WRITE_ONCE(result, a[0]);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strcmp(name, functions[i].name))
			continue;
		functions[i].function(a[0], a[1], a[2], a[3], a[4], a[5]);
		return 0;
	}
	return -ENOENT;
}

MOCK_COMMAND_FOPS(call, call);

static int __init hollow_init(void)
{
	ones = kmalloc(PAGE_SIZE, GFP_KERNEL);
	zeros = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!ones || !zeros) {
		kfree(ones);
		kfree(zeros);
		return -ENOMEM;
	}
	memset(ones, 0xff, PAGE_SIZE);
	dir = debugfs_create_dir("hollow_nvidia", NULL);
	debugfs_create_file("control", 0200, dir, NULL, &call_fops);
	return 0;
}

static void __exit hollow_exit(void)
{
	debugfs_remove_recursive(dir);
	kfree(ones);
	kfree(zeros);
}

module_init(hollow_init);
module_exit(hollow_exit);

MODULE_DESCRIPTION("NVIDIA's driver with nothing in it, for gpumon's tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
