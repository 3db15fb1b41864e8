// SPDX-License-Identifier: GPL-2.0-only
/* Xid errors, with the tracepoint in generations that have it. */
#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/slab.h>

#include "mock_nvidia_priv.h"

#ifdef MOCK_TRACEPOINT
#define CREATE_TRACE_POINTS
#include "mock_nvidia_trace.h"
#endif

/**
 * nv_report_error() - notify listeners of an error
 * @dev: device with the error
 * @error_number: Xid
 * @format: printf() format of the message
 * @ap: its arguments
 *
 * Context: any. In an interrupt a long message is cut.
 */
mock_probed void nv_report_error(struct pci_dev *dev, NvU32 error_number, const char *format,
				 va_list ap)
{
	char in_interrupt[128], *buffer = in_interrupt;

	/* With PREEMPT_RT, a hard interrupt may not wait for the locks of an allocation. */
	if (in_task())
		buffer = kvasprintf(GFP_KERNEL, format, ap);
	else
		vsnprintf(in_interrupt, sizeof(in_interrupt), format, ap);
	if (!buffer)
		return;
#ifdef MOCK_TRACEPOINT
	trace_nvidia_dev_xid(dev, error_number, buffer);
#endif
	if (buffer != in_interrupt)
		kfree(buffer);
}

__printf(3, 4) static void report(struct pci_dev *dev, u32 code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	nv_report_error(dev, code, format, ap);
	va_end(ap);
}

struct mock_xid {
	struct irq_work work;
	struct pci_dev *dev;
	u32 code;
	const char *text;
};

/*
 * The driver writes each into the kernel's log. Tests report thousands of them, so only some are
 * written here.
 */
static void log_xid(const struct mock_xid *xid)
{
	/* Without the function, which is 0. */
	if (xid->dev && !strncmp(xid->text, "logged", 6))
		pr_notice("NVRM: Xid (PCI:%.*s): %u, pid=%d, name=%s, %s\n",
			  (int)strlen(pci_name(xid->dev)) - 2, pci_name(xid->dev), xid->code,
			  mock_tgid(), current->comm, xid->text);
}

static void report_xid(struct mock_xid *xid)
{
	log_xid(xid);
	report(xid->dev, xid->code, "pid=%d, name=%s, %s", mock_tgid(), current->comm, xid->text);
}

static void report_in_interrupt(struct irq_work *work)
{
	report_xid(container_of(work, struct mock_xid, work));
}

/**
 * mock_xid() - report an error
 * @gpu: GPU with the error; NULL for a device that is not on a PCI bus
 * @code: the Xid
 * @in_interrupt: report it from a hard interrupt
 * @text: end of the message, which begins with pid and name of the current task
 */
void mock_xid(struct mock_gpu *gpu, u32 code, bool in_interrupt, const char *text)
{
	unsigned int index = gpu ? gpu->index : MOCK_NO_GPU;
	struct mock_xid xid = {
		.work = IRQ_WORK_INIT_HARD(report_in_interrupt),
		.dev = gpu ? gpu->nvl.pci_dev : NULL,
		.code = code,
		.text = text,
	};

	mock_count(MOCK_TOTAL, 0, MOCK_XIDS, 1);
	mock_count(MOCK_GPU, index, MOCK_XIDS, 1);
	mock_count(MOCK_CODE, code, MOCK_XIDS, 1);
	mock_count(MOCK_GPU_CODE, (u64)index << 32 | code, MOCK_XIDS, 1);
	if (!in_interrupt) {
		report_xid(&xid);
		return;
	}
	irq_work_queue(&xid.work);
	irq_work_sync(&xid.work);
}
