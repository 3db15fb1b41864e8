// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: Xid errors, from the driver's tracepoint, or from the function that fires it where
 * there is no tracepoint. Each is an alert too.
 *
 * The function gets a format and a va_list. To expand them would be to follow any pointers in
 * there, so the alert has only the format as its message.
 */
#include <linux/pci.h>

#include "common/alert.h"
#include "internal.h"
#include "uapi/gpumon_xid.h"

enum {
	XID_COUNT
};

static const struct gpumon_column xid_columns[] = {
	[XID_COUNT] = GPUMON_COUNTER("xids", .roles = BIT(NVIDIA_XID)),
};

struct gpumon_statistics gpumon_nvidia_xids = {
	.name = "xids",
	.labels = { "device", "code", "meaning" },
	.numbers = BIT(1),
	GPUMON_COLUMNS(xid_columns),
	.capacity = 256,
};

static const struct {
	u16 code;
	const char *meaning;
} meanings[] = {
#define MEANING(code, meaning) { code, meaning },
	GPUMON_XIDS(MEANING)
#undef MEANING
};

static const char *meaning_of(u32 code)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(meanings); i++)
		if (meanings[i].code == code)
			return meanings[i].meaning;
	return "-";
}

/* Not inlined: it is rare, and has a long message on its stack. */
static noinline void count_xid(struct gpumon_event_context *ctx, const struct pci_dev *pdev,
			       u32 code, const char *from)
{
	const struct nvidia_gpu *gpu = gpumon_nvidia_gpu_of_dev(&pdev->dev);
	u64 now = ktime_get_mono_fast_ns();
	char message[GPUMON_ALERT_MESSAGE_LEN];
	char name[NVIDIA_NAME_LEN];
	u64 key;
	u32 row;

	if (gpu)
		strscpy(name, gpu->name, sizeof(name));
	else
		gpumon_nvidia_device_name(name, &pdev->dev);
	gpumon_read_string_nofault(message, sizeof(message), from);
	/* Raised also if the table is full. */
	gpumon_alert_raise(now, "nvidia", "xid", name, code, message);

	key = gpumon_key_mix(gpumon_key_text(name), code + 1ULL);
	row = gpumon_row_learn_number(&gpumon_nvidia_xids, key, name, code, meaning_of(code));
	if (gpumon_row_count(ctx, &gpumon_nvidia_xids, row, XID_COUNT) && gpumon_event_ring_on())
		gpumon_event_ring_words(GPUMON_EVENT_XID, now, row, code, 0, 0, 0);
}

/* Tracepoint nvidia_dev_xid */
GPUMON_TRACEPOINT_BODY(3, gpumon_nvidia_xid_traced, const struct pci_dev *, pdev, u32, code,
		       const char *, message)
{
	count_xid(ctx, pdev, code, message);
}

/* kprobe on nv_report_error(pci_dev, code, format, arguments) */
GPUMON_KPROBE_BODY(gpumon_nvidia_error_reported)
{
	count_xid(ctx, (void *)gpumon_compat_kernel_argument(regs, 0),
		  gpumon_compat_kernel_argument(regs, 1),
		  (void *)gpumon_compat_kernel_argument(regs, 2));
}
