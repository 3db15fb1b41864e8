// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "base/utf8.h"
#include "library.h"
#include "names.h"
#include "subscribe.h"
#include "write/intern.h"

#define NAME_LENGTH 64

void inject_cupti_name_stream(void *stream, const char *text, const wchar_t *wide)
{
	__typeof__(&cuStreamGetCtx) get_context = inject_cuda_symbol("cuStreamGetCtx");
	__typeof__(&cuStreamGetPriority) get_priority = inject_cuda_symbol("cuStreamGetPriority");
	struct gpumon_record_stream record = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(record) },
	};
	char buffer[NAME_LENGTH] = "";
	struct inject_thread *thread;
	CUcontext context;
	int priority = 0;

	if (wide)
		inject_utf8(wide, buffer, sizeof(buffer));
	else if (text)
		memcpy(buffer, text, strnlen(text, sizeof(buffer) - 1));
	thread = buffer[0] ? inject_thread_enter(true) : NULL;
	if (!thread)
		return;
	if (inject_subscribed() && get_context && inject_cupti.cuptiGetStreamIdEx &&
	    inject_cupti.cuptiGetContextId && get_context(stream, &context) == CUDA_SUCCESS &&
	    inject_cupti.cuptiGetContextId(context, &record.context) == CUPTI_SUCCESS &&
	    inject_cupti.cuptiGetStreamIdEx(context, stream, 0, &record.id) == CUPTI_SUCCESS) {
		if (get_priority && get_priority(stream, &priority) == CUDA_SUCCESS)
			record.priority = priority;
		record.name = inject_intern_string(thread, buffer);
		inject_append(thread, &record);
	}
	inject_thread_leave(thread);
}
