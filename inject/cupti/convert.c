// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Converts CUPTI's records. One binary serves CUPTI 12 and 13: it reads only fields
 * at the same offset in both, which is checked below where the headers have both,
 * and CUPTI itself steps from record to record.
 */
#include <stdlib.h>
#include <string.h>

#include "channel/intern.h"
#include "channel/operation.h"
#include "convert.h"
#include "generation.h"
#include "hw_trace.h"
#include "pm_sampling.h"
#include "session/session.h"
#include "subscribe.h"

/* The layouts that CUPTI 12.0 had, which later ones only extend. */
typedef CUpti_ActivityKernel8 kernel_record;
typedef CUpti_ActivityMemcpy5 copy_record;
typedef CUpti_ActivityMemcpyPtoP4 peer_copy_record;
typedef CUpti_ActivityMemset4 set_record;
typedef CUpti_ActivityDevice4 device_record;
typedef CUpti_ActivityContext context_record;
typedef CUpti_ActivityStream stream_record;
typedef CUpti_ActivitySynchronization sync_record;
typedef CUpti_ActivityMemory3 memory_record;
typedef CUpti_ActivityUnifiedMemoryCounter2 unified_record;
typedef CUpti_ActivityAPI api_record;
typedef CUpti_ActivityGraphTrace graph_record;

/* In CUPTI 12.0 it ended before @correlation, in 12.2 before @data. */
struct overhead_record {
	CUpti_ActivityOverhead base;
	uint32_t correlation;
	uint32_t reserved;
	void *data; /* of a full command buffer: from malloc(), to be freed by who reads it */
};

#if CUPTI_API_VERSION >= 130000
#define SAME_PLACE(base, newer, field)                                                    \
	_Static_assert(offsetof(base, field) == offsetof(newer, field) &&                 \
			       sizeof(((base *)0)->field) == sizeof(((newer *)0)->field), \
		       #field " has moved")
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, registersPerThread);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, start);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, end);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, deviceId);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, contextId);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, streamId);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, gridX);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, blockZ);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, staticSharedMemory);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, localMemoryPerThread);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, correlationId);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, name);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, queued);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, submitted);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, graphNodeId);
SAME_PLACE(kernel_record, CUpti_ActivityKernel10, graphId);
SAME_PLACE(copy_record, CUpti_ActivityMemcpy6, copyKind);
SAME_PLACE(copy_record, CUpti_ActivityMemcpy6, bytes);
SAME_PLACE(copy_record, CUpti_ActivityMemcpy6, end);
SAME_PLACE(copy_record, CUpti_ActivityMemcpy6, correlationId);
SAME_PLACE(copy_record, CUpti_ActivityMemcpy6, graphNodeId);
SAME_PLACE(copy_record, CUpti_ActivityMemcpy6, graphId);
SAME_PLACE(device_record, CUpti_ActivityDevice5, uuid);
SAME_PLACE(device_record, CUpti_ActivityDevice5, name);
SAME_PLACE(device_record, CUpti_ActivityDevice5, isMigEnabled);
SAME_PLACE(device_record, CUpti_ActivityDevice5, migUuid);
SAME_PLACE(context_record, CUpti_ActivityContext3, contextId);
SAME_PLACE(context_record, CUpti_ActivityContext3, deviceId);
SAME_PLACE(sync_record, CUpti_ActivitySynchronization2, end);
SAME_PLACE(sync_record, CUpti_ActivitySynchronization2, streamId);
SAME_PLACE(memory_record, CUpti_ActivityMemory4, bytes);
SAME_PLACE(memory_record, CUpti_ActivityMemory4, contextId);
SAME_PLACE(unified_record, CUpti_ActivityUnifiedMemoryCounter3, end);
SAME_PLACE(unified_record, CUpti_ActivityUnifiedMemoryCounter3, dstId);
SAME_PLACE(graph_record, CUpti_ActivityGraphTrace2, end);
SAME_PLACE(graph_record, CUpti_ActivityGraphTrace2, streamId);
_Static_assert(offsetof(struct overhead_record, correlation) ==
			       offsetof(CUpti_ActivityOverhead3, correlationId) &&
		       offsetof(struct overhead_record, data) ==
			       offsetof(CUpti_ActivityOverhead3, overheadData),
	       "overhead has other fields");
#endif

/* cuptiGetVersion() of the first CUPTI whose records of overhead have these fields. */
#define CUPTI_WITH_OVERHEAD_CORRELATION 20u /* CUDA 12.2 */
#define CUPTI_WITH_OVERHEAD_DATA	22u /* CUDA 12.4 */

/* Kinds of overhead, of which older headers lack the last ones. */
#define OVERHEAD_COMPILER	     1u
#define OVERHEAD_BUFFER_FLUSH	     (1u << 16)
#define OVERHEAD_INSTRUMENTATION     (2u << 16)
#define OVERHEAD_RESOURCE	     (3u << 16)
#define OVERHEAD_MODULE_LOADING	     (4u << 16)
#define OVERHEAD_FUNCTION_LOADING    (5u << 16)
#define OVERHEAD_COMMAND_BUFFER_FULL (6u << 16)
#define OVERHEAD_BUFFER_REQUEST	     (7u << 16)
#define OVERHEAD_UNIFIED_MEMORY	     (8u << 16)
#if CUPTI_API_VERSION >= 130000
_Static_assert(OVERHEAD_BUFFER_REQUEST == CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST &&
		       OVERHEAD_COMMAND_BUFFER_FULL == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL,
	       "other kinds of overhead");
#endif

/* Recent launches by CUDA itself, by their correlation id. */
#define INTERNAL_IDS 4096
static uint32_t internal_ids[INTERNAL_IDS];

/* Records after which their totals are added. */
#define LOT 32

struct lot {
	struct inject_totals totals;
	unsigned int records;
};

/* From CLOCK_REALTIME to ours; 0: not needed so far. */
static _Atomic uint64_t realtime_offset;
static uint64_t latest;
/* The program has set a clock of its own; noted once for each capture. */
static bool is_of_program, is_noted;

/* Times while operations were off; an end of 0: they still are. */
#define GAPS 16
static struct gap {
	_Atomic uint64_t begin_ns;
	_Atomic uint64_t end_ns;
} gaps[GAPS];
static _Atomic unsigned int gap_count;

void inject_convert_reset(void)
{
	memset(internal_ids, 0, sizeof(internal_ids));
	atomic_store(&gap_count, 0);
	atomic_store(&realtime_offset, 0);
	is_of_program = false;
	is_noted = false;
	atomic_store(&inject_cupti_state.contexts, 0);
}

/*
 * Where the clock was registered only after a context was made, some CUPTI
 * versions go on in CLOCK_REALTIME: that is 1.7e18, and the uptime is not.
 */
uint64_t inject_convert_time(uint64_t time, uint64_t latest_ns)
{
	uint64_t offset = atomic_load_explicit(&realtime_offset, memory_order_relaxed), monotonic;
	struct timespec real;

	if (INJECT_LIKELY(time < latest_ns))
		return time;
	if (!offset) {
		monotonic = inject_now();
		inject_clock(CLOCK_REALTIME, &real);
		offset = (uint64_t)real.tv_sec * 1000000000ull + (uint64_t)real.tv_nsec - monotonic;
		atomic_store_explicit(&realtime_offset, offset, memory_order_relaxed);
	}
	return time > offset ? time - offset : time;
}

static uint64_t to_monotonic(uint64_t time)
{
	return inject_convert_time(time, latest);
}

/*
 * The program's own profiler may give CUPTI a clock, also where CUPTI then refuses it. Without --yield
 * that call is not seen (other_profiler.h).
 */
static bool is_our_clock(uint64_t time)
{
	return time >= inject_cupti_environment.since_ns && time < latest;
}

static void take_clock_back(struct inject_thread *thread)
{
	is_of_program = false;
	inject_subscribe_clock_again();
	if (!is_noted)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"the program's own profiler gave CUPTI another clock: operations with its times are counted as lost, without a time stamp. --yield lets that profiler go first");
	is_noted = true;
}

static void count_loss(enum gpumon_loss cause)
{
	gpumon_channel_lose(&inject_session.map, cause, 1);
}

/* An operation without times is not recorded; without an end it was still running. */
static bool convert_times(uint64_t start, uint64_t end, uint64_t *start_ns, uint64_t *end_ns,
			  uint16_t *flags)
{
	bool is_known = start || end;

	*start_ns = to_monotonic(start);
	*end_ns = end ? to_monotonic(end) : 0;
	if (is_known && (!is_our_clock(*start_ns) || (end && !is_our_clock(*end_ns)))) {
		is_of_program = true;
		is_known = false;
	}
	if (!is_known) {
		count_loss(GPUMON_LOSS_NO_TIMESTAMP);
		return false;
	}
	if (!end)
		*flags |= GPUMON_WORK_UNFINISHED;
	return true;
}

static uint16_t memory_place(uint8_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
		return GPUMON_PLACE_PAGEABLE;
	case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
		return GPUMON_PLACE_PINNED;
	case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
	case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
		return GPUMON_PLACE_DEVICE;
	case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
		return GPUMON_PLACE_ARRAY;
	case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
	case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
		return GPUMON_PLACE_MANAGED;
	default:
		return GPUMON_PLACE_UNKNOWN;
	}
}

void inject_convert_switched(bool on)
{
	unsigned int count = atomic_load(&gap_count);

	if (on && count) {
		atomic_store(&gaps[(count - 1) % GAPS].end_ns, inject_now());
	} else if (!on) {
		atomic_store(&gaps[count % GAPS].begin_ns, inject_now());
		atomic_store(&gaps[count % GAPS].end_ns, 0);
		atomic_store(&gap_count, count + 1);
	}
}

/*
 * Nodes of a graph that run while operations are off, of a launch that began before, have the end of a
 * later launch: 221 kernels of half a second each were seen on an H100 with CUPTI 13.0.
 */
static bool is_across_windows(uint64_t node, uint64_t start_ns)
{
	unsigned int count, i;
	uint64_t end_ns;

	if (!node)
		return false;
	count = atomic_load(&gap_count);
	for (i = count > GAPS ? count - GAPS : 0; i < count; i++) {
		end_ns = atomic_load(&gaps[i % GAPS].end_ns);
		if (start_ns < atomic_load(&gaps[i % GAPS].begin_ns) ||
		    (end_ns && start_ns >= end_ns))
			continue;
		count_loss(GPUMON_LOSS_ACROSS_WINDOWS);
		return true;
	}
	return false;
}

static void convert_kernel(struct inject_thread *thread, const kernel_record *kernel)
{
	struct gpumon_record_kernel record = {
		.head = { .type = GPUMON_RECORD_KERNEL, .size = GPUMON_KERNEL_SIZE },
		.node = kernel->graphNodeId,
		.correlation = kernel->correlationId,
		.device = kernel->deviceId,
		.context = kernel->contextId,
		.stream = kernel->streamId,
		.graph = kernel->graphId,
		.grid = { (uint32_t)kernel->gridX, (uint32_t)kernel->gridY,
			  (uint32_t)kernel->gridZ },
		.block = { (uint32_t)kernel->blockX, (uint32_t)kernel->blockY,
			   (uint32_t)kernel->blockZ },
		.static_shared_bytes = (uint32_t)kernel->staticSharedMemory,
		.dynamic_shared_bytes = (uint32_t)kernel->dynamicSharedMemory,
		.local_bytes = kernel->localMemoryPerThread,
		.registers = kernel->registersPerThread,
	};

	if (!convert_times(kernel->start, kernel->end, &record.start_ns, &record.end_ns,
			   &record.head.flags) ||
	    is_across_windows(record.node, record.start_ns))
		return;
	/* CUPTI_TIMESTAMP_UNKNOWN is 0, as in the capture. */
	if (kernel->queued)
		record.queued_ns = to_monotonic(kernel->queued);
	if (kernel->submitted)
		record.submitted_ns = to_monotonic(kernel->submitted);
	if (kernel->correlationId &&
	    internal_ids[kernel->correlationId % INTERNAL_IDS] == kernel->correlationId)
		record.head.flags |= GPUMON_WORK_INTERNAL;
	record.name = inject_intern_string(thread, kernel->name);
	inject_append(thread, &record);
}

static void convert_copy(struct inject_thread *thread, const copy_record *copy)
{
	struct gpumon_record_copy record = {
		.head = { .type = GPUMON_RECORD_COPY, .size = sizeof(record) },
		.bytes = copy->bytes,
		.node = copy->graphNodeId,
		.correlation = copy->correlationId,
		.device = copy->deviceId,
		.context = copy->contextId,
		.stream = copy->streamId,
		.graph = copy->graphId,
		.to_device = copy->deviceId,
		.from = memory_place(copy->srcKind),
		.to = memory_place(copy->dstKind),
	};

	if (!convert_times(copy->start, copy->end, &record.start_ns, &record.end_ns,
			   &record.head.flags) ||
	    is_across_windows(record.node, record.start_ns))
		return;
	if (record.from == GPUMON_PLACE_PAGEABLE || record.to == GPUMON_PLACE_PAGEABLE)
		record.head.flags |= GPUMON_WORK_PAGEABLE;
	inject_append(thread, &record);
}

static void convert_peer_copy(struct inject_thread *thread, const peer_copy_record *copy)
{
	struct gpumon_record_copy record = {
		.head = { .type = GPUMON_RECORD_COPY, .size = sizeof(record) },
		.bytes = copy->bytes,
		.node = copy->graphNodeId,
		.correlation = copy->correlationId,
		.device = copy->srcDeviceId,
		.context = copy->contextId,
		.stream = copy->streamId,
		.graph = copy->graphId,
		.to_device = copy->dstDeviceId,
		.from = memory_place(copy->srcKind),
		.to = GPUMON_PLACE_PEER,
	};

	if (convert_times(copy->start, copy->end, &record.start_ns, &record.end_ns,
			  &record.head.flags) &&
	    !is_across_windows(record.node, record.start_ns))
		inject_append(thread, &record);
}

static void convert_set(struct inject_thread *thread, const set_record *set)
{
	struct gpumon_record_set record = {
		.head = { .type = GPUMON_RECORD_SET, .size = sizeof(record) },
		.bytes = set->bytes,
		.node = set->graphNodeId,
		.correlation = set->correlationId,
		.device = set->deviceId,
		.context = set->contextId,
		.stream = set->streamId,
		.graph = set->graphId,
		.value = set->value,
	};

	if (convert_times(set->start, set->end, &record.start_ns, &record.end_ns,
			  &record.head.flags) &&
	    !is_across_windows(record.node, record.start_ns))
		inject_append(thread, &record);
}

static void convert_graph(struct inject_thread *thread, const graph_record *graph)
{
	struct gpumon_record_graph record = {
		.head = { .type = GPUMON_RECORD_GRAPH, .size = sizeof(record) },
		.correlation = graph->correlationId,
		.device = graph->deviceId,
		.context = graph->contextId,
		.stream = graph->streamId,
		.graph = graph->graphId,
	};

	if (convert_times(graph->start, graph->end, &record.start_ns, &record.end_ns,
			  &record.head.flags))
		inject_append(thread, &record);
}

/* CUPTI's record does not have it. */
static uint32_t read_device_pci(uint32_t device)
{
	static const int attributes[] = { CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
					  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
					  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID };
	__typeof__(&cuDeviceGetAttribute) get = inject_cuda_symbol("cuDeviceGetAttribute");
	int values[3] = { 0 };
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!get || get(&values[i], (CUdevice_attribute)attributes[i], (CUdevice)device) !=
				    CUDA_SUCCESS)
			return UINT32_MAX;
	return (uint32_t)values[0] << 16 | (uint32_t)values[1] << 8 | (uint32_t)values[2] << 3;
}

static void convert_device(struct inject_thread *thread, const device_record *device)
{
	struct gpumon_record_device record = {
		.head = { .type = GPUMON_RECORD_DEVICE, .size = sizeof(record) },
		.id = device->id,
		.name = inject_intern_string(thread, device->name),
		.pci = read_device_pci(device->id),
		.multiprocessors = device->numMultiprocessors,
		.memory_bytes = device->globalMemorySize,
		.compute_major = (uint16_t)device->computeCapabilityMajor,
		.compute_minor = (uint16_t)device->computeCapabilityMinor,
		.vendor = inject_intern_string(thread, "NVIDIA"),
	};

	memcpy(record.uuid, &device->uuid, sizeof(record.uuid));
	if (device->isMigEnabled)
		memcpy(record.mig_uuid, &device->migUuid, sizeof(record.mig_uuid));
	inject_append(thread, &record);
	inject_hw_trace_device(thread, device->name, record.compute_major, record.compute_minor);
}

static void convert_context(struct inject_thread *thread, const context_record *context)
{
	const struct gpumon_record_context record = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(record) },
		.time_ns = inject_now(),
		.id = context->contextId,
		.device = context->deviceId,
	};
	int contexts = atomic_fetch_add(&inject_cupti_state.contexts, 1) + 1;

	if (contexts > 0)
		__atomic_store_n(&inject_session.map.channel->device_bytes,
				 (uint64_t)contexts * inject_cupti_state.context_bytes,
				 __ATOMIC_RELAXED);
	inject_append(thread, &record);
	inject_subscribe_unified_memory(thread);
	inject_pm_device_seen(record.device);
}

static void convert_stream(struct inject_thread *thread, const stream_record *stream)
{
	const struct gpumon_record_stream record = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(record) },
		.context = stream->contextId,
		.id = stream->streamId,
		.priority = (int32_t)stream->priority,
	};

	inject_append(thread, &record);
}

static void convert_sync(struct inject_thread *thread, const sync_record *sync)
{
	const struct gpumon_record_sync record = {
		.head = { .type = GPUMON_RECORD_SYNC, .size = sizeof(record) },
		.start_ns = to_monotonic(sync->start),
		.end_ns = to_monotonic(sync->end),
		.correlation = sync->correlationId,
		.context = sync->contextId,
		.stream = sync->streamId,
		.kind = (uint32_t)sync->type,
	};

	inject_append(thread, &record);
}

static void convert_memory(struct inject_thread *thread, const memory_record *memory)
{
	const struct gpumon_record_memory record = {
		.head = { .type = GPUMON_RECORD_MEMORY,
			  .flags = memory->memoryOperationType ==
						   CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE ?
					   GPUMON_MEMORY_FREED :
					   0,
			  .size = sizeof(record) },
		.time_ns = to_monotonic(memory->timestamp),
		.address = memory->address,
		.bytes = memory->bytes,
		.correlation = memory->correlationId,
		.device = memory->deviceId,
		.context = memory->contextId,
		.place = memory_place((uint8_t)memory->memoryKind),
	};

	inject_append(thread, &record);
}

static void convert_unified(struct inject_thread *thread, const unified_record *unified)
{
	const struct gpumon_record_unified_memory record = {
		.head = { .type = GPUMON_RECORD_UNIFIED_MEMORY, .size = sizeof(record) },
		.start_ns = to_monotonic(unified->start),
		.end_ns = to_monotonic(unified->end),
		.value = unified->value,
		.address = unified->address,
		.kind = (uint32_t)unified->counterKind,
		.from_device = unified->srcId,
		.to_device = unified->dstId,
	};

	inject_append(thread, &record);
}

static uint32_t overhead_kind(uint32_t kind)
{
	switch (kind) {
	case OVERHEAD_COMPILER:
		return GPUMON_OVERHEAD_COMPILER;
	case OVERHEAD_BUFFER_FLUSH:
	case OVERHEAD_INSTRUMENTATION:
	case OVERHEAD_RESOURCE:
	case OVERHEAD_BUFFER_REQUEST:
		return GPUMON_OVERHEAD_PROFILER;
	case OVERHEAD_MODULE_LOADING:
		return GPUMON_OVERHEAD_MODULE_LOADING;
	case OVERHEAD_FUNCTION_LOADING:
		return GPUMON_OVERHEAD_FUNCTION_LOADING;
	case OVERHEAD_COMMAND_BUFFER_FULL:
		return GPUMON_OVERHEAD_QUEUE_FULL;
	case OVERHEAD_UNIFIED_MEMORY:
		return GPUMON_OVERHEAD_UNIFIED_MEMORY;
	default:
		return GPUMON_OVERHEAD_OTHER;
	}
}

static void convert_overhead(struct inject_thread *thread, const struct overhead_record *overhead)
{
	const CUpti_ActivityOverhead *base = &overhead->base;
	struct gpumon_record_overhead record = {
		.head = { .type = GPUMON_RECORD_OVERHEAD, .size = sizeof(record) },
		.start_ns = to_monotonic(base->start),
		.end_ns = to_monotonic(base->end),
		.kind = overhead_kind((uint32_t)base->overheadKind),
	};

	if (base->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD)
		record.tid = base->objectId.pt.threadId;
	if (inject_cupti.version >= CUPTI_WITH_OVERHEAD_CORRELATION)
		record.correlation = overhead->correlation;
	if (inject_cupti.version >= CUPTI_WITH_OVERHEAD_DATA &&
	    record.kind == GPUMON_OVERHEAD_QUEUE_FULL)
		free(overhead->data);
	/* Some have no times; those of the program's own clock say nothing here. */
	if (base->start && base->end && is_our_clock(record.start_ns) &&
	    is_our_clock(record.end_ns))
		inject_append(thread, &record);
}

#define OWNS_STREAM(type, record)                                            \
	inject_cupti_client_owns_stream(((const type *)(record))->contextId, \
					((const type *)(record))->streamId)

/* The client's own work is not the program's. */
static bool is_of_client(const CUpti_Activity *activity)
{
	const void *record = activity;
	const memory_record *memory = record;

	switch (activity->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return OWNS_STREAM(kernel_record, record);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return OWNS_STREAM(copy_record, record);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return OWNS_STREAM(set_record, record);
	case CUPTI_ACTIVITY_KIND_STREAM:
		return OWNS_STREAM(stream_record, record);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return OWNS_STREAM(sync_record, record);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return inject_cupti_client_owns_memory(memory->contextId, memory->address);
	default:
		return false;
	}
}

static void convert_one(struct inject_thread *thread, const CUpti_Activity *activity,
			struct lot *lot)
{
	const void *record = activity;

	if (INJECT_UNLIKELY(inject_cupti_client) && is_of_client(activity))
		return;
	switch (activity->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		lot->totals.kernels++;
		convert_kernel(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		lot->totals.copies++;
		convert_copy(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		lot->totals.copies++;
		convert_peer_copy(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		lot->totals.sets++;
		convert_set(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		convert_graph(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		convert_device(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_CONTEXT:
		convert_context(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_STREAM:
		convert_stream(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		convert_sync(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		convert_memory(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
		convert_unified(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		convert_overhead(thread, record);
		break;
	case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
		break;
	default:
		count_loss(GPUMON_LOSS_UNKNOWN_RECORD);
		break;
	}
	if (++lot->records == LOT) {
		inject_totals_add(&lot->totals);
		lot->records = 0;
	}
}

/* First, because a kernel's record may come before that of its launch. */
static void find_internal_launches(uint8_t *buffer, size_t valid)
{
	CUpti_Activity *activity = NULL;
	uint32_t id;

	while (inject_generation->next(buffer, valid, &activity) == CUPTI_SUCCESS) {
		if (activity->kind != CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API)
			continue;
		id = ((const api_record *)(const void *)activity)->correlationId;
		internal_ids[id % INTERNAL_IDS] = id;
	}
}

void inject_convert(struct inject_thread *thread, uint8_t *buffer, size_t valid)
{
	struct lot lot = { 0 };
	CUpti_Activity *activity = NULL;

	latest = inject_now() + INJECT_CONVERT_AHEAD_NS;
	find_internal_launches(buffer, valid);
	while (inject_generation->next(buffer, valid, &activity) == CUPTI_SUCCESS)
		convert_one(thread, activity, &lot);
	inject_totals_add(&lot.totals);
	if (INJECT_UNLIKELY(is_of_program))
		take_clock_back(thread);
}
