/* SPDX-License-Identifier: GPL-2.0-only */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM example

#if !defined(EXAMPLE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EXAMPLE_TRACE_H

#include <linux/tracepoint.h>

struct device;

DECLARE_EVENT_CLASS(example_operation,
	TP_PROTO(struct device *dev, u64 id, u64 bytes),
	TP_ARGS(dev, id, bytes),
	TP_STRUCT__entry(__field(u64, id) __field(u64, bytes)),
	TP_fast_assign(__entry->id = id; __entry->bytes = bytes;),
	TP_printk("id=%llu bytes=%llu", __entry->id, __entry->bytes)
);

DEFINE_EVENT(example_operation, example_begin,
	TP_PROTO(struct device *dev, u64 id, u64 bytes),
	TP_ARGS(dev, id, bytes)
);

DEFINE_EVENT(example_operation, example_end,
	TP_PROTO(struct device *dev, u64 id, u64 bytes),
	TP_ARGS(dev, id, bytes)
);

#endif /* EXAMPLE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE example_trace
#include <trace/define_trace.h>
