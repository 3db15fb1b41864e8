/* SPDX-License-Identifier: GPL-2.0-only */
/* clang-format off */
/* The tracepoint of mock_amdgpu.c. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM amdgpu

#if !defined(MOCK_AMDGPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MOCK_AMDGPU_TRACE_H

#include <linux/tracepoint.h>

struct amdgpu_iv_entry;

TRACE_EVENT(amdgpu_iv,
	TP_PROTO(unsigned int ih, struct amdgpu_iv_entry *iv),
	TP_ARGS(ih, iv),
	TP_STRUCT__entry(__field(unsigned int, ih)),
	TP_fast_assign(__entry->ih = ih;),
	TP_printk("ih:%u", __entry->ih)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE mock_amdgpu_trace
#include <trace/define_trace.h>
