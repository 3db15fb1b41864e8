// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control file in debugfs: interrupts, and calls into nvidia.ko that no process can cause. One
 * command per write. It is complete when write() returns, and its error is that of write().
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "../mock/mock_command.h"
#include "nvidia_pci.h"

/* More at a time can panic the resource manager of 535. */
#define INTERRUPTS_MAX 100000
#define NUMBERS_MAX    4

static struct dentry *dir;
static atomic64_t fired = ATOMIC64_INIT(0);

struct shot {
	struct irq_work work;
	int irq;
};

static void raise_irq(struct irq_work *work)
{
	generic_handle_irq(container_of(work, struct shot, work)->irq);
	atomic64_inc(&fired);
}

/* The driver requests its interrupts while a GPU is being opened. */
static int wait_for_handler(struct pci_dev *dev, unsigned int vector, u64 wait_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(wait_ms);
	int irq;

	for (;;) {
		irq = pci_irq_vector(dev, vector);
		if (irq > 0 && irq_has_action(irq))
			return irq;
		if (time_after(jiffies, end))
			return -ENODEV;
		if (signal_pending(current))
			return -EINTR;
		usleep_range(200, 400);
	}
}

/* interrupt FUNCTION VECTOR COUNT [WAIT_MS] */
static int do_interrupt(struct pci_dev *dev, const u64 *number)
{
	struct shot shot = { .work = IRQ_WORK_INIT_HARD(raise_irq) };
	u64 count = number[2], i;

	if (count > INTERRUPTS_MAX)
		return -E2BIG;
	shot.irq = wait_for_handler(dev, number[1], number[3]);
	if (shot.irq < 0)
		return shot.irq;
	for (i = 0; i < count; i++) {
		if (pci_irq_vector(dev, number[1]) != shot.irq || !irq_has_action(shot.irq))
			return -ENODEV;
		irq_work_queue(&shot.work);
		irq_work_sync(&shot.work);
		if (i % 64 == 63)
			usleep_range(200, 400);
	}
	return 0;
}

/* thread FUNCTION VECTOR COUNT [WAIT_MS]: the threaded half without its hard half */
static int do_thread(struct pci_dev *dev, const u64 *number)
{
	int irq = wait_for_handler(dev, number[1], number[3]);
	u64 i;

	if (irq < 0)
		return irq;
	if (number[2] > INTERRUPTS_MAX)
		return -E2BIG;
	for (i = 0; i < number[2]; i++) {
		irq_wake_thread(irq, pci_get_drvdata(dev));
		synchronize_irq(irq);
	}
	return 0;
}

/*
 * The address of a function of nvidia.ko. Its exported symbols are not for GPL modules, and others
 * are not exported. Nobody unloads the driver meanwhile.
 */
static void *address_of(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

static __printf(4, 5) void call_report(void (*report)(struct pci_dev *, u32, const char *, va_list),
				       struct pci_dev *dev, u32 code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	report(dev, code, format, ap);
	va_end(ap);
}

/* xid FUNCTION CODE COUNT: what the driver calls for an error */
static int do_xid(struct pci_dev *dev, const u64 *number)
{
	void (*report)(struct pci_dev *dev, u32 code, const char *format, va_list ap);
	u64 i;

	report = address_of("nvidia:nv_report_error");
	if (!report)
		return -ENOENT;
	for (i = 0; i < number[2]; i++)
		call_report(report, dev, number[1], "number %llu of the test\n", i);
	return 0;
}

static void free_callback(void *data)
{
}

/* p2p FUNCTION COUNT: requests for memory of a GPU, which are refused without one */
static int do_p2p(struct pci_dev *dev, const u64 *number)
{
	int (*get)(u64 token, u32 space, u64 address, u64 length, void **table,
		   void (*callback)(void *data), void *data);
	void *table = NULL;
	u64 i;

	get = address_of("nvidia:nvidia_p2p_get_pages");
	if (!get)
		return -ENOENT;
	for (i = 0; i < number[1]; i++)
		if (!get(0, 0, 0x10000, 0x10000, &table, free_callback, NULL))
			return -EEXIST;
	return 0;
}

static const struct {
	const char *name;
	int (*function)(struct pci_dev *dev, const u64 *number);
	unsigned int numbers;
} commands[] = {
	{ "interrupt", do_interrupt, 3 },
	{ "thread", do_thread, 3 },
	{ "xid", do_xid, 3 },
	{ "p2p", do_p2p, 2 },
};

static int execute(char *line)
{
	char *name = strsep(&line, " "), *word;
	u64 number[NUMBERS_MAX] = {};
	unsigned int n = 0, i;
	int err;

	while ((word = strsep(&line, " "))) {
		if (n == NUMBERS_MAX)
			return -E2BIG;
		err = kstrtou64(word, 0, &number[n++]);
		if (err)
			return err;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name))
			continue;
		if (n < commands[i].numbers)
			return -EINVAL;
		if (number[0] >= nvidia_pci_count || !nvidia_pci_functions[number[0]].dev)
			return -ENXIO;
		return commands[i].function(nvidia_pci_functions[number[0]].dev, number);
	}
	return -ENOENT;
}

MOCK_COMMAND_FOPS(control, execute);

static int fired_get(void *data, u64 *value)
{
	*value = atomic64_read(&fired);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(fired_fops, fired_get, NULL, "%llu\n");

/**
 * nvidia_pci_control_init() - create the files in debugfs
 */
void nvidia_pci_control_init(void)
{
	dir = debugfs_create_dir("nvidia_pci", NULL);
	debugfs_create_file("control", 0200, dir, NULL, &control_fops);
	debugfs_create_file("fired", 0400, dir, NULL, &fired_fops);
}

/**
 * nvidia_pci_control_exit() - remove them, when no command runs any more
 */
void nvidia_pci_control_exit(void)
{
	debugfs_remove_recursive(dir);
}
