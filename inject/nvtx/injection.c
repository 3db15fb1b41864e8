// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * NVTX without CUPTI in between: the headers in the program look for the
 * library that NVTX_INJECTION64_PATH names when the first range is used, and
 * give it their table of functions. Each library of the program has its own.
 */
#include <sys/auxv.h>

#include "range.h"
#include "session/backend.h"
#include "write/names.h"

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static _Atomic uint64_t last_id;

static void mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	inject_nvtx_event(&(struct inject_nvtx_event){
		.kind = GPUMON_RANGE_MARK, .domain = domain, .attributes = attributes });
}

static void mark_ex(const nvtxEventAttributes_t *attributes)
{
	mark(NULL, attributes);
}

static void mark_a(const char *text)
{
	inject_nvtx_event(&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_MARK, .text = text });
}

static void mark_w(const wchar_t *wide)
{
	inject_nvtx_event(&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_MARK, .wide = wide });
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes,
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

static nvtxRangeId_t domain_start_ex(nvtxDomainHandle_t domain,
				     const nvtxEventAttributes_t *attributes)
{
	return start(domain, attributes, NULL, NULL);
}

static nvtxRangeId_t start_ex(const nvtxEventAttributes_t *attributes)
{
	return start(NULL, attributes, NULL, NULL);
}

static nvtxRangeId_t start_a(const char *text)
{
	return start(NULL, NULL, text, NULL);
}

static nvtxRangeId_t start_w(const wchar_t *wide)
{
	return start(NULL, NULL, NULL, wide);
}

static void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	inject_nvtx_event(&(struct inject_nvtx_event){
		.kind = GPUMON_RANGE_END, .domain = domain, .id = id });
}

static void end(nvtxRangeId_t id)
{
	domain_end(NULL, id);
}

/* NVTX promises the depth; a tool that does not keep it says so. */
static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes,
		const char *text, const wchar_t *wide)
{
	inject_nvtx_event(&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_PUSH,
						       .domain = domain,
						       .attributes = attributes,
						       .text = text,
						       .wide = wide });
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	return push(domain, attributes, NULL, NULL);
}

static int push_ex(const nvtxEventAttributes_t *attributes)
{
	return push(NULL, attributes, NULL, NULL);
}

static int push_a(const char *text)
{
	return push(NULL, NULL, text, NULL);
}

static int push_w(const wchar_t *wide)
{
	return push(NULL, NULL, NULL, wide);
}

static int domain_pop(nvtxDomainHandle_t domain)
{
	inject_nvtx_event(
		&(struct inject_nvtx_event){ .kind = GPUMON_RANGE_POP, .domain = domain });
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int pop(void)
{
	return domain_pop(NULL);
}

static nvtxDomainHandle_t create_a(const char *text)
{
	return (nvtxDomainHandle_t)(uintptr_t)inject_nvtx_remember(NULL, text, NULL);
}

static nvtxDomainHandle_t create_w(const wchar_t *wide)
{
	return (nvtxDomainHandle_t)(uintptr_t)inject_nvtx_remember(NULL, NULL, wide);
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char *text)
{
	(void)domain;
	return (nvtxStringHandle_t)(uintptr_t)inject_nvtx_remember(NULL, text, NULL);
}

static nvtxStringHandle_t register_w(nvtxDomainHandle_t domain, const wchar_t *wide)
{
	(void)domain;
	return (nvtxStringHandle_t)(uintptr_t)inject_nvtx_remember(NULL, NULL, wide);
}

static void name_thread_a(uint32_t tid, const char *text)
{
	inject_name_thread(tid, text, NULL);
}

static void name_thread_w(uint32_t tid, const wchar_t *wide)
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
static void name_stream_a(void *stream, const char *text)
{
	name_cuda_stream(stream, text, NULL);
}

static void name_stream_w(void *stream, const wchar_t *wide)
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
	PUT(NVTX_CBID_CORE_MarkEx, mark_ex);
	PUT(NVTX_CBID_CORE_MarkA, mark_a);
	PUT(NVTX_CBID_CORE_MarkW, mark_w);
	PUT(NVTX_CBID_CORE_RangeStartEx, start_ex);
	PUT(NVTX_CBID_CORE_RangeStartA, start_a);
	PUT(NVTX_CBID_CORE_RangeStartW, start_w);
	PUT(NVTX_CBID_CORE_RangeEnd, end);
	PUT(NVTX_CBID_CORE_RangePushEx, push_ex);
	PUT(NVTX_CBID_CORE_RangePushA, push_a);
	PUT(NVTX_CBID_CORE_RangePushW, push_w);
	PUT(NVTX_CBID_CORE_RangePop, pop);
	PUT(NVTX_CBID_CORE_NameOsThreadA, name_thread_a);
	PUT(NVTX_CBID_CORE_NameOsThreadW, name_thread_w);
}

static void fill_cuda(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CUDA_NameCuStreamA, name_stream_a);
	PUT(NVTX_CBID_CUDA_NameCuStreamW, name_stream_w);
}

static void fill_cudart(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CUDART_NameCudaStreamA, name_stream_a);
	PUT(NVTX_CBID_CUDART_NameCudaStreamW, name_stream_w);
}

static void fill_core2(NvtxFunctionTable table, unsigned int size)
{
	PUT(NVTX_CBID_CORE2_DomainMarkEx, mark);
	PUT(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start_ex);
	PUT(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
	PUT(NVTX_CBID_CORE2_DomainRangePushEx, domain_push_ex);
	PUT(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
	PUT(NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
	PUT(NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
	PUT(NVTX_CBID_CORE2_DomainCreateA, create_a);
	PUT(NVTX_CBID_CORE2_DomainCreateW, create_w);
}

INJECT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks;
	NvtxFunctionTable table;
	unsigned int size;

	if (getauxval(AT_SECURE) || !inject_thread_setup())
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
