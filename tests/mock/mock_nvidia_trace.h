/* SPDX-License-Identifier: GPL-2.0-only */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvidia

#if !defined(MOCK_NVIDIA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MOCK_NVIDIA_TRACE_H

#include <linux/pci.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

/*
 * The arguments and the record of the driver's tracepoint. Two dynamic arrays have the same layout
 * as two strings, and are written in the same way on every kernel.
 */
TRACE_EVENT(nvidia_dev_xid,
	TP_PROTO(const struct pci_dev *pdev, uint32_t error_code, const char *msg),
	TP_ARGS(pdev, error_code, msg),
	TP_STRUCT__entry(
		__dynamic_array(char, dev, strlen(pci_name(pdev)) + 1)
		__field(u32, error_code)
		__dynamic_array(char, msg, strlen(msg) + 1)
	),
	TP_fast_assign(
		memcpy(__get_dynamic_array(dev), pci_name(pdev), strlen(pci_name(pdev)) + 1);
		memcpy(__get_dynamic_array(msg), msg, strlen(msg) + 1);
		__entry->error_code = error_code;
	),
	TP_printk("Xid (PCI:%s): %u, %s", __get_str(dev), __entry->error_code, __get_str(msg))
);

#endif /* MOCK_NVIDIA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE mock_nvidia_trace
#include <trace/define_trace.h>
