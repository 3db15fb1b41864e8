// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stand-in for libcupti: the contents of activity records. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mock_cupti.h"

static unsigned int work_count;

static void put_kernel(const char *name, uint32_t correlation, uint32_t stream, uint64_t node,
		       uint32_t graph)
{
	const char *every = getenv("MOCK_NO_TIME_EVERY");
	struct mock_account *account;
	struct mock_buffer *buffer;
	mock_kernel *kernel = mock_put(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &buffer);
	CUpti_ActivityAPI *api;

	if (!kernel)
		return;
	kernel->deviceId = 0;
	kernel->contextId = 1;
	kernel->streamId = stream;
	kernel->gridX = 7;
	kernel->gridY = 2;
	kernel->gridZ = 1;
	kernel->blockX = 128;
	kernel->blockY = 1;
	kernel->blockZ = 1;
	kernel->staticSharedMemory = 1024;
	kernel->dynamicSharedMemory = 2048;
	kernel->localMemoryPerThread = 16;
	kernel->registersPerThread = 32;
	/* CUPTI uses 0 for kernels that no call launched. */
	kernel->correlationId = strstr(name, "uncorrelated") ? 0 : correlation;
	kernel->name = name;
	kernel->graphNodeId = node;
	kernel->graphId = graph;
	if (every && ++work_count % (unsigned int)atoi(every) == 0) {
		account = mock_tell(MOCK_NO_TIME);
		account->correlation = correlation;
	} else {
		mock_add_task(buffer, MOCK_KERNEL, &kernel->start, &kernel->end, correlation, node,
			      strstr(name, "stuck"));
	}
	/* Reported after the kernel, since the call ends after it began. */
	if (strstr(name, "internal") &&
	    mock_kind_enabled(CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API)) {
		api = mock_put(CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, &buffer);
		if (api)
			api->correlationId = correlation;
	}
}

/* One operation for all nodes that a launch runs. */
static void put_graph(uint32_t correlation, uint32_t stream, uint32_t graph)
{
	static uint32_t last;
	struct mock_buffer *buffer;
	CUpti_ActivityGraphTrace *record;

	if (last == correlation)
		return;
	last = correlation;
	record = mock_put(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, &buffer);
	if (!record)
		return;
	record->contextId = 1;
	record->streamId = stream;
	record->correlationId = correlation;
	record->graphId = graph;
	mock_add_task(buffer, MOCK_GRAPH, &record->start, &record->end, correlation, 0, false);
}

size_t mock_overhead_size(void)
{
	return mock_version() < 20 ? offsetof(struct mock_overhead, correlation) :
	       mock_version() < 22 ? offsetof(struct mock_overhead, data) :
				     sizeof(struct mock_overhead);
}

/* @kind: CUPTI's, of which older headers lack some. Without a correlation id it is of no thread. */
static void put_overhead(uint32_t kind, uint32_t correlation, uint64_t start, uint64_t end)
{
	struct mock_buffer *buffer;
	struct mock_overhead *overhead = mock_put(CUPTI_ACTIVITY_KIND_OVERHEAD, &buffer);

	if (!overhead)
		return;
	overhead->base.overheadKind = (CUpti_ActivityOverheadKind)kind;
	overhead->base.objectKind = correlation ? CUPTI_ACTIVITY_OBJECT_THREAD :
						  CUPTI_ACTIVITY_OBJECT_CONTEXT;
	overhead->base.objectId.pt.processId = correlation ? (uint32_t)getpid() : 0;
	overhead->base.objectId.pt.threadId = correlation ? (uint32_t)syscall(SYS_gettid) : 1;
	overhead->base.start = start;
	overhead->base.end = end;
	if (mock_version() >= 20)
		overhead->correlation = correlation;
	/* The reader's to free. */
	if (mock_version() >= 22 && kind == 6u << 16)
		overhead->data = calloc(3, sizeof(uint32_t));
}

/* One of each kind in the first operation, where CUDA is lazy. */
static void put_overheads(uint32_t correlation)
{
	static bool is_done;
	uint64_t now = mock_now();
	uint32_t kind;

	if (is_done || !mock_kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD))
		return;
	is_done = true;
	put_overhead(1, correlation, now, now + 1);
	for (kind = 1; kind <= 9; kind++)
		put_overhead(kind << 16, kind < 7 ? correlation : 0, now, now + kind);
	put_overhead(1, correlation, 0, 0);
}

/* Its records for the served subscriber. */
static void put_work(enum mock_work work, const char *name, uint32_t correlation, CUstream stream,
		     uint64_t node, uint32_t graph, uint64_t bytes)
{
	const struct mock_stream *mock = (const void *)stream;
	uint32_t stream_id = (uintptr_t)stream > 2 ? mock->id : 7;
	CUpti_ActivityMemset4 *set;
	struct mock_buffer *buffer;
	mock_copy *copy;

	if (getenv("MOCK_UNKNOWN"))
		mock_put(CUPTI_ACTIVITY_KIND_ENVIRONMENT, &buffer);
	/* As CUPTI 12.4 beside a driver of CUDA 13. */
	if (MOCK_GENERATION < 13 && mock_kind_enabled(CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API))
		mock_put(CUPTI_ACTIVITY_KIND_DRIVER, &buffer);
	put_overheads(correlation);
	if (node && mock_kind_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
		put_graph(correlation, stream_id, graph);
	} else if (work == MOCK_WORK_KERNEL &&
		   mock_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
		put_kernel(name, correlation, stream_id, node, graph);
	} else if (work == MOCK_WORK_COPY && mock_kind_enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) {
		copy = mock_put(CUPTI_ACTIVITY_KIND_MEMCPY, &buffer);
		if (copy) {
			copy->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
			copy->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
			copy->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
			copy->bytes = bytes;
			copy->contextId = 1;
			copy->streamId = stream_id;
			copy->correlationId = correlation;
			copy->graphNodeId = node;
			copy->graphId = graph;
#if MOCK_NEW_RECORDS
			copy->copyCount = 3;
#endif
			mock_add_task(buffer, MOCK_COPY, &copy->start, &copy->end, correlation,
				      node, false);
		}
	} else if (work == MOCK_WORK_SET && mock_kind_enabled(CUPTI_ACTIVITY_KIND_MEMSET)) {
		set = mock_put(CUPTI_ACTIVITY_KIND_MEMSET, &buffer);
		if (set) {
			set->value = 0x5a;
			set->bytes = bytes;
			set->contextId = 1;
			set->streamId = stream_id;
			set->correlationId = correlation;
			set->graphNodeId = node;
			set->graphId = graph;
			mock_add_task(buffer, MOCK_SET, &set->start, &set->end, correlation, node,
				      false);
		}
	}
}

void mock_do_work(enum mock_work work, const char *name, uint32_t correlation, CUstream stream,
		  uint64_t node, uint32_t graph, uint64_t bytes)
{
	mock_lock();
	if (work == MOCK_WORK_KERNEL)
		mock_sample_kernel(name);
	for (unsigned int i = 0; mock_serve(&i); i++)
		put_work(work, name, correlation, stream, node, graph, bytes);
	mock_unlock();
}

void mock_put_device(void)
{
	struct mock_buffer *buffer;
	mock_device *device;
	const char *compute = getenv("MOCK_COMPUTE");
	unsigned int i;

	mock_lock();
	device = mock_put(CUPTI_ACTIVITY_KIND_DEVICE, &buffer);
	if (!device) {
		mock_unlock();
		return;
	}
	device->id = 0;
	device->name = "Stand-in H100";
	device->globalMemorySize = 85899345920;
	device->numMultiprocessors = 132;
	device->computeCapabilityMajor = compute ? atoi(compute) : 9;
	device->isMigEnabled = getenv("MOCK_MIG") != NULL;
	for (i = 0; i < 16; i++) {
		((uint8_t *)&device->uuid)[i] = (uint8_t)(i + 1);
		((uint8_t *)&device->migUuid)[i] = (uint8_t)(0xf0 + i);
	}
	mock_unlock();
}

void mock_put_stream(uint32_t id)
{
	CUpti_ActivityStream *stream;
	struct mock_buffer *buffer;

	mock_lock();
	for (unsigned int i = 0; mock_serve(&i); i++) {
		if (!mock_kind_enabled(CUPTI_ACTIVITY_KIND_STREAM))
			continue;
		stream = mock_put(CUPTI_ACTIVITY_KIND_STREAM, &buffer);
		if (stream) {
			stream->contextId = 1;
			stream->streamId = id;
			stream->priority = (uint32_t)-5;
		}
	}
	mock_unlock();
}

void mock_put_context(void)
{
	mock_context_record *context;
	struct mock_buffer *buffer;

	mock_lock();
	if (mock_kind_enabled(CUPTI_ACTIVITY_KIND_CONTEXT)) {
		context = mock_put(CUPTI_ACTIVITY_KIND_CONTEXT, &buffer);
		if (context)
			context->contextId = 1;
	}
	mock_unlock();
}

/* An allocation, and a fault of managed memory at the same address. */
static void put_allocation(uint32_t correlation, uint64_t address, uint64_t bytes)
{
	CUpti_ActivityUnifiedMemoryCounter2 *fault;
	CUpti_ActivityMemory3 *memory;
	struct mock_buffer *buffer;

	memory = mock_kind_enabled(CUPTI_ACTIVITY_KIND_MEMORY2) ?
			 mock_put(CUPTI_ACTIVITY_KIND_MEMORY2, &buffer) :
			 NULL;
	if (memory) {
		memory->memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
		memory->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
		memory->correlationId = correlation;
		memory->address = address;
		memory->bytes = bytes;
		memory->timestamp = mock_now();
		memory->contextId = 1;
	}
	fault = mock_kind_enabled(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) ?
			mock_put(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, &buffer) :
			NULL;
	if (fault) {
		fault->counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
		fault->value = bytes;
		fault->start = mock_now();
		fault->end = fault->start + 5;
		fault->address = address;
		fault->dstId = 2;
	}
}

void mock_allocate_memory(uint32_t correlation, uint64_t address, uint64_t bytes)
{
	mock_lock();
	for (unsigned int i = 0; mock_serve(&i); i++)
		put_allocation(correlation, address, bytes);
	mock_unlock();
}
