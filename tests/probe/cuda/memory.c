// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Memory, streams and events. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "../../inject/mock.h"
#include "device.h"

/* In memory that nobody has written. */
#define GARBAGE 0xa5

struct mock_event {
	uint64_t after;
};

struct mock_piece *mock_piece_add(struct mock_context *context, size_t size)
{
	struct mock_piece *piece;

	if (size > mock_setting("MOCK_ALLOC_MAX", 4ul << 30))
		return NULL;
	piece = calloc(1, sizeof(*piece));
	/* The exact size, so that a sanitizer notices what is behind it. */
	if (posix_memalign((void **)&piece->at, 256, size)) {
		free(piece);
		return NULL;
	}
	memset(piece->at, GARBAGE, size);
	piece->size = size;
	piece->next = context->pieces;
	context->pieces = piece;
	return piece;
}

void mock_piece_remove(struct mock_context *context, const void *at)
{
	struct mock_piece **link = &context->pieces, *piece;

	while (*link && (*link)->at != at)
		link = &(*link)->next;
	piece = *link;
	if (!piece)
		return;
	*link = piece->next;
	if (!piece->is_host)
		free(piece->at);
	free(piece);
}

CUresult cuMemHostRegister(void *at, size_t size, unsigned int flags)
{
	struct mock_piece *piece = calloc(1, sizeof(*piece));

	(void)flags;
	*piece = (struct mock_piece){
		.next = mock_current()->pieces, .at = at, .size = size, .is_host = true
	};
	mock_current()->pieces = piece;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *at, unsigned int flags)
{
	(void)flags;
	*address = (uintptr_t)at;
	return CUDA_SUCCESS;
}

static const struct mock_piece *piece_of(CUdeviceptr at, size_t size)
{
	const struct mock_context *context = mock_current();
	const struct mock_piece *piece = context ? context->pieces : NULL;

	for (; piece; piece = piece->next)
		if (at >= (uintptr_t)piece->at && size <= piece->size &&
		    at - (uintptr_t)piece->at <= piece->size - size)
			return piece;
	return NULL;
}

bool mock_is_memory(CUdeviceptr at, size_t size)
{
	return piece_of(at, size);
}

/* The kernel may run meanwhile: in words, as the hardware does. */
static void copy_words(void *to, const void *from, size_t size)
{
	volatile uint64_t *words = to;
	const volatile uint64_t *source = from;
	size_t n = ((uintptr_t)to | (uintptr_t)from) % sizeof(*words) ? 0 : size / sizeof(*words);

	for (size_t i = 0; i < n; i++)
		words[i] = source[i];
	n *= sizeof(*words);
	memcpy((char *)to + n, (const char *)from + n, size - n);
}

int mock_set(CUdeviceptr at, unsigned char value, size_t size)
{
	bool known;

	mock_device_lock();
	known = mock_is_memory(at, size);
	if (known)
		memset((void *)(uintptr_t)at, value, size);
	mock_device_unlock();
	return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy(void *to, const void *from, CUdeviceptr at, size_t size)
{
	bool known;

	mock_device_lock();
	known = mock_is_memory(at, size);
	if (known)
		copy_words(to, from, size);
	mock_device_unlock();
	return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#define DRIVER(name, parameters, body)                                                          \
	(CUresult) mock_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name, \
			     false, __builtin_return_address(0), parameters, body)

static int copy_in(const void *parameters)
{
	const cuMemcpyHtoDAsync_v2_params *p = parameters;

	mock_work_copy(p->hStream, p->ByteCount);
	return copy((void *)(uintptr_t)p->dstDevice, p->srcHost, p->dstDevice, p->ByteCount);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	const cuMemcpyHtoDAsync_v2_params p = { to, from, size, stream };

	return DRIVER(cuMemcpyHtoDAsync_v2, &p, copy_in);
}

static _Atomic uint64_t copies_out;

uint64_t mock_copies_out(void)
{
	return atomic_load(&copies_out);
}

static int copy_out(const void *parameters)
{
	const cuMemcpyDtoHAsync_v2_params *p = parameters;

	int result;

	mock_work_copy(p->hStream, p->ByteCount);
	result =
		copy(p->dstHost, (const void *)(uintptr_t)p->srcDevice, p->srcDevice, p->ByteCount);
	atomic_fetch_add(&copies_out, 1);
	return result;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	const cuMemcpyDtoHAsync_v2_params p = { to, from, size, stream };

	return DRIVER(cuMemcpyDtoHAsync_v2, &p, copy_out);
}

static int allocate(const void *parameters)
{
	const cuMemAlloc_v2_params *p = parameters;
	const struct mock_piece *piece;

	if (mock_is_forbidden())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!mock_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	mock_device_lock();
	piece = mock_piece_add(mock_current(), p->bytesize);
	mock_device_unlock();
	if (!piece)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*p->dptr = (uintptr_t)piece->at;
	mock_allocate(*p->dptr, p->bytesize);
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *at, size_t size)
{
	const cuMemAlloc_v2_params p = { at, size };

	return DRIVER(cuMemAlloc_v2, &p, allocate);
}

CUresult cuMemFree(CUdeviceptr at)
{
	bool known;

	if (mock_is_forbidden())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	mock_device_lock();
	known = mock_is_memory(at, 1);
	if (known)
		mock_piece_remove(mock_current(), (void *)(uintptr_t)at);
	mock_device_unlock();
	return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *all)
{
	*free_bytes = mock_setting("MOCK_FREE_MIB", 64 << 10) << 20;
	*all = 80ul << 30;
	return mock_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	static _Atomic uint32_t last = 20;
	struct mock_stream *made;

	(void)flags;
	if (!mock_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	made = calloc(1, sizeof(*made));
	made->id = ++last;
	*stream = (CUstream)made;
	mock_stream_made(made->id);
	return CUDA_SUCCESS;
}

/* What was begun in a stream is done when the call returns. */
static int synchronise(const void *parameters)
{
	const CUstream *stream = parameters;

	if (mock_is_forbidden())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!mock_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	mock_wait(stream ? *stream : NULL);
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
				   "cuStreamSynchronize", false, __builtin_return_address(0),
				   &stream, synchronise);
}

CUresult cuCtxSynchronize(void)
{
	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize",
				   false, __builtin_return_address(0), NULL, synchronise);
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	(void)flags;
	if (!mock_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*event = (CUevent)calloc(1, sizeof(struct mock_event));
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	uint64_t done;

	(void)stream;
	mock_launch_counts(&((struct mock_event *)(void *)event)->after, &done);
	return mock_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* CUDA 13 has another name for its programs. */
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);

/* As long as there are launches between the two. */
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	*ms = (float)(((struct mock_event *)(void *)to)->after -
		      ((struct mock_event *)(void *)from)->after);
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
	uint64_t begun, done;

	if (mock_is_forbidden())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	mock_launch_counts(&begun, &done);
	return done < ((const struct mock_event *)(const void *)event)->after ?
		       CUDA_ERROR_NOT_READY :
		       CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
	free(event);
	return CUDA_SUCCESS;
}
