// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * NVTX without CUPTI: at the first range, NVTX's headers in the program load the
 * library that NVTX_INJECTION64_PATH names and give it their table of functions.
 * Each library of the program has a table of its own.
 */
#include <sys/auxv.h>

#include "channel/annotations.h"
#include "channel/call.h"
#include "range.h"
#include "session/backend.h"

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static _Atomic uint64_t last_id;

static void nvtx_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	inject_nvtx_event(&(struct inject_nvtx_event){
		.kind = GPUMON_RANGE_MARK, .domain = domain, .attributes = attributes });
}

static void nvtx_mark_ex(const nvtxEventAttributes_t *attributes)
{
	nvtx_mark(NULL, attributes);
}

static void nvtx_mark_a(const char *text)
{
	inject_nvtx_event(&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_MARK, .text = text });
}

static void nvtx_mark_w(const wchar_t *wide)
{
	inject_nvtx_event(&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_MARK, .wide = wide });
}

static nvtxRangeId_t nvtx_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes,
				const char *text, const wchar_t *wide)
{
	const struct inject_nvtx_event event = {
		.kind = GPUMON_RANGE_START,
		.domain = domain,
		.attributes = attributes,
		.text = text,
		.wide = wide,
		.id = atomic_fetch_add(&last_id, 1) + 1,
	};

	inject_nvtx_event(&event);
	return event.id;
}

static nvtxRangeId_t nvtx_domain_start_ex(nvtxDomainHandle_t domain,
					  const nvtxEventAttributes_t *attributes)
{
	return nvtx_start(domain, attributes, NULL, NULL);
}

static nvtxRangeId_t nvtx_start_ex(const nvtxEventAttributes_t *attributes)
{
	return nvtx_start(NULL, attributes, NULL, NULL);
}

static nvtxRangeId_t nvtx_start_a(const char *text)
{
	return nvtx_start(NULL, NULL, text, NULL);
}

static nvtxRangeId_t nvtx_start_w(const wchar_t *wide)
{
	return nvtx_start(NULL, NULL, NULL, wide);
}

static void nvtx_domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	inject_nvtx_event(&(struct inject_nvtx_event){
		.kind = GPUMON_RANGE_END, .domain = domain, .id = id });
}

static void nvtx_end(nvtxRangeId_t id)
{
	nvtx_domain_end(NULL, id);
}

/* The result is the depth, or this where a tool does not track it. */
static int nvtx_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes,
		     const char *text, const wchar_t *wide)
{
	inject_nvtx_event(&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_PUSH,
						       .domain = domain,
						       .attributes = attributes,
						       .text = text,
						       .wide = wide });
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int nvtx_domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	return nvtx_push(domain, attributes, NULL, NULL);
}

static int nvtx_push_ex(const nvtxEventAttributes_t *attributes)
{
	return nvtx_push(NULL, attributes, NULL, NULL);
}

static int nvtx_push_a(const char *text)
{
	return nvtx_push(NULL, NULL, text, NULL);
}

static int nvtx_push_w(const wchar_t *wide)
{
	return nvtx_push(NULL, NULL, NULL, wide);
}

static int nvtx_domain_pop(nvtxDomainHandle_t domain)
{
	inject_nvtx_event(
		&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_POP, .domain = domain });
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int nvtx_pop(void)
{
	return nvtx_domain_pop(NULL);
}

static nvtxDomainHandle_t nvtx_create_a(const char *text)
{
	return (nvtxDomainHandle_t)(uintptr_t)inject_nvtx_remember(NULL, text, NULL);
}

static nvtxDomainHandle_t nvtx_create_w(const wchar_t *wide)
{
	return (nvtxDomainHandle_t)(uintptr_t)inject_nvtx_remember(NULL, NULL, wide);
}

static nvtxStringHandle_t nvtx_register_a(nvtxDomainHandle_t domain, const char *text)
{
	(void)domain;
	return (nvtxStringHandle_t)(uintptr_t)inject_nvtx_remember(NULL, text, NULL);
}

static nvtxStringHandle_t nvtx_register_w(nvtxDomainHandle_t domain, const wchar_t *wide)
{
	(void)domain;
	return (nvtxStringHandle_t)(uintptr_t)inject_nvtx_remember(NULL, NULL, wide);
}

static void nvtx_name_thread_a(uint32_t tid, const char *text)
{
	inject_name_thread(tid, text, NULL);
}

static void nvtx_name_thread_w(uint32_t tid, const wchar_t *wide)
{
	inject_name_thread(tid, NULL, wide);
}

static void name_cuda_stream(void *stream, const char *text, const wchar_t *wide)
{
	const struct inject_backend *backend = inject_backend_find("CUDA");

	if (backend && backend->name_stream)
		backend->name_stream(stream, text, wide);
}

/* A cudaStream_t is the same handle. */
static void nvtx_name_stream_a(void *stream, const char *text)
{
	name_cuda_stream(stream, text, NULL);
}

static void nvtx_name_stream_w(void *stream, const wchar_t *wide)
{
	name_cuda_stream(stream, NULL, wide);
}

#define PUT(id, function)                                             \
	do {                                                          \
		if ((unsigned int)(id) < size)                        \
			*table[id] = (NvtxFunctionPointer)(function); \
	} while (0)

static void fill_core(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CORE_MarkEx, nvtx_mark_ex);
	PUT(NVTX_CBID_CORE_MarkA, nvtx_mark_a);
	PUT(NVTX_CBID_CORE_MarkW, nvtx_mark_w);
	PUT(NVTX_CBID_CORE_RangeStartEx, nvtx_start_ex);
	PUT(NVTX_CBID_CORE_RangeStartA, nvtx_start_a);
	PUT(NVTX_CBID_CORE_RangeStartW, nvtx_start_w);
	PUT(NVTX_CBID_CORE_RangeEnd, nvtx_end);
	PUT(NVTX_CBID_CORE_RangePushEx, nvtx_push_ex);
	PUT(NVTX_CBID_CORE_RangePushA, nvtx_push_a);
	PUT(NVTX_CBID_CORE_RangePushW, nvtx_push_w);
	PUT(NVTX_CBID_CORE_RangePop, nvtx_pop);
	PUT(NVTX_CBID_CORE_NameOsThreadA, nvtx_name_thread_a);
	PUT(NVTX_CBID_CORE_NameOsThreadW, nvtx_name_thread_w);
}

static void fill_cuda(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CUDA_NameCuStreamA, nvtx_name_stream_a);
	PUT(NVTX_CBID_CUDA_NameCuStreamW, nvtx_name_stream_w);
}

static void fill_cudart(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CUDART_NameCudaStreamA, nvtx_name_stream_a);
	PUT(NVTX_CBID_CUDART_NameCudaStreamW, nvtx_name_stream_w);
}

static void fill_core2(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CORE2_DomainMarkEx, nvtx_mark);
	PUT(NVTX_CBID_CORE2_DomainRangeStartEx, nvtx_domain_start_ex);
	PUT(NVTX_CBID_CORE2_DomainRangeEnd, nvtx_domain_end);
	PUT(NVTX_CBID_CORE2_DomainRangePushEx, nvtx_domain_push_ex);
	PUT(NVTX_CBID_CORE2_DomainRangePop, nvtx_domain_pop);
	PUT(NVTX_CBID_CORE2_DomainRegisterStringA, nvtx_register_a);
	PUT(NVTX_CBID_CORE2_DomainRegisterStringW, nvtx_register_w);
	PUT(NVTX_CBID_CORE2_DomainCreateA, nvtx_create_a);
	PUT(NVTX_CBID_CORE2_DomainCreateW, nvtx_create_w);
}

INJECT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks;
	NvtxFunctionTable table;
	unsigned int size;

	if (getauxval(AT_SECURE) || !inject_call_setup())
		return 0;
	callbacks = get_table(NVTX_ETID_CALLBACKS);
	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
		fill_core(table, size);
	if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
		fill_core2(table, size);
	if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDA, &table, &size))
		fill_cuda(table, size);
	if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &size))
		fill_cudart(table, size);
	return 1;
}
