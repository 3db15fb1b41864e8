// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* NVTX as CUPTI reports it: the parameters of each function. */
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "channel/annotations.h"
#include "channel/intern.h"
#include "nvtx.h"
#include "nvtx/range.h"
#include "subscribe.h"

#include <generated_nvtx_meta.h>

#define STREAM_NAME_LENGTH 64

static void name_stream(void *stream, const char *text, const wchar_t *wide)
{
	__typeof__(&cuStreamGetCtx) get_context = inject_cuda_symbol("cuStreamGetCtx");
	__typeof__(&cuStreamGetPriority) get_priority = inject_cuda_symbol("cuStreamGetPriority");
	struct gpumon_record_stream record = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(record) },
	};
	char buffer[STREAM_NAME_LENGTH] = "";
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

void inject_cupti_name_stream(void *stream, const char *text, const wchar_t *wide)
{
	int kept = errno;

	name_stream(stream, text, wide);
	errno = kept;
}

static const void *returned_handle(const CUpti_NvtxData *data)
{
	return data->functionReturnValue ? *(const void *const *)data->functionReturnValue : NULL;
}

static uint64_t returned_id(const CUpti_NvtxData *data)
{
	return data->functionReturnValue ? *(const nvtxRangeId_t *)data->functionReturnValue : 0;
}

/* Pushes, starts and marks have a text, ends have none. */
static bool read_range_begin(CUpti_CallbackId id, const CUpti_NvtxData *data,
			     struct inject_nvtx_event *event)
{
	const void *parameters = data->functionParams;
	const nvtxDomainRangePushEx_params *in_domain = parameters;

	switch (id) {
	case CUPTI_CBID_NVTX_nvtxMarkA:
	case CUPTI_CBID_NVTX_nvtxRangeStartA:
	case CUPTI_CBID_NVTX_nvtxRangePushA:
		event->text = ((const nvtxMarkA_params *)parameters)->message;
		break;
	case CUPTI_CBID_NVTX_nvtxMarkW:
	case CUPTI_CBID_NVTX_nvtxRangeStartW:
	case CUPTI_CBID_NVTX_nvtxRangePushW:
		event->wide = ((const nvtxMarkW_params *)parameters)->message;
		break;
	case CUPTI_CBID_NVTX_nvtxMarkEx:
	case CUPTI_CBID_NVTX_nvtxRangeStartEx:
	case CUPTI_CBID_NVTX_nvtxRangePushEx:
		event->attributes = ((const nvtxMarkEx_params *)parameters)->eventAttrib;
		break;
	case CUPTI_CBID_NVTX_nvtxDomainMarkEx:
	case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx:
	case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
		event->domain = in_domain->domain;
		event->attributes = in_domain->core.eventAttrib;
		break;
	default:
		return false;
	}
	return true;
}

static uint16_t range_kind(CUpti_CallbackId id)
{
	switch (id) {
	case CUPTI_CBID_NVTX_nvtxMarkA:
	case CUPTI_CBID_NVTX_nvtxMarkW:
	case CUPTI_CBID_NVTX_nvtxMarkEx:
	case CUPTI_CBID_NVTX_nvtxDomainMarkEx:
		return GPUMON_RANGE_MARK;
	case CUPTI_CBID_NVTX_nvtxRangeStartA:
	case CUPTI_CBID_NVTX_nvtxRangeStartW:
	case CUPTI_CBID_NVTX_nvtxRangeStartEx:
	case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx:
		return GPUMON_RANGE_START;
	case CUPTI_CBID_NVTX_nvtxRangePushA:
	case CUPTI_CBID_NVTX_nvtxRangePushW:
	case CUPTI_CBID_NVTX_nvtxRangePushEx:
	case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
		return GPUMON_RANGE_PUSH;
	case CUPTI_CBID_NVTX_nvtxRangeEnd:
	case CUPTI_CBID_NVTX_nvtxDomainRangeEnd:
		return GPUMON_RANGE_END;
	case CUPTI_CBID_NVTX_nvtxRangePop:
	case CUPTI_CBID_NVTX_nvtxDomainRangePop:
		return GPUMON_RANGE_POP;
	default:
		return 0;
	}
}

static bool take_thread_or_stream_name(CUpti_CallbackId id, const void *parameters)
{
	const nvtxNameCudaStreamA_params *cuda = parameters;
	const nvtxNameOsThreadA_params *thread = parameters;
	const nvtxNameCuStreamA_params *stream = parameters;

	switch (id) {
	case CUPTI_CBID_NVTX_nvtxNameOsThreadA:
		inject_name_thread(thread->threadId, thread->name, NULL);
		return true;
	case CUPTI_CBID_NVTX_nvtxNameOsThreadW:
		inject_name_thread(thread->threadId, NULL,
				   ((const nvtxNameOsThreadW_params *)parameters)->name);
		return true;
	case CUPTI_CBID_NVTX_nvtxNameCuStreamA:
		inject_cupti_name_stream(stream->stream, stream->name, NULL);
		return true;
	case CUPTI_CBID_NVTX_nvtxNameCuStreamW:
		inject_cupti_name_stream(stream->stream, NULL,
					 ((const nvtxNameCuStreamW_params *)parameters)->name);
		return true;
	case CUPTI_CBID_NVTX_nvtxNameCudaStreamA:
		inject_cupti_name_stream(cuda->stream, cuda->name, NULL);
		return true;
	case CUPTI_CBID_NVTX_nvtxNameCudaStreamW:
		inject_cupti_name_stream(cuda->stream, NULL,
					 ((const nvtxNameCudaStreamW_params *)parameters)->name);
		return true;
	default:
		return false;
	}
}

/* Names of threads and streams, and of domains and strings, which are used by their handle. */
static void take_name(CUpti_CallbackId id, const CUpti_NvtxData *data)
{
	const void *parameters = data->functionParams, *handle;

	if (take_thread_or_stream_name(id, parameters))
		return;
	handle = returned_handle(data);
	if (!handle)
		return;
	if (id == CUPTI_CBID_NVTX_nvtxDomainCreateA)
		inject_nvtx_remember(handle, ((const nvtxDomainCreateA_params *)parameters)->name,
				     NULL);
	else if (id == CUPTI_CBID_NVTX_nvtxDomainRegisterStringA)
		inject_nvtx_remember(handle,
				     ((const nvtxDomainRegisterStringA_params *)parameters)->string,
				     NULL);
}

void inject_cupti_nvtx(CUpti_CallbackId id, const CUpti_NvtxData *data)
{
	struct inject_nvtx_event event = { .kind = range_kind(id) };
	const nvtxDomainRangeEnd_params *in_domain;

	if (!event.kind) {
		take_name(id, data);
		return;
	}
	if (!read_range_begin(id, data, &event)) {
		in_domain = data->functionParams;
		if (id == CUPTI_CBID_NVTX_nvtxRangeEnd) {
			event.id = ((const nvtxRangeEnd_params *)data->functionParams)->id;
		} else if (id == CUPTI_CBID_NVTX_nvtxDomainRangeEnd) {
			event.domain = in_domain->domain;
			event.id = in_domain->core.id;
		} else if (id == CUPTI_CBID_NVTX_nvtxDomainRangePop) {
			event.domain = in_domain->domain;
		}
	} else if (event.kind == GPUMON_RANGE_START) {
		event.id = returned_id(data);
	}
	inject_nvtx_event(&event);
}
