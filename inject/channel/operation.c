// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "operation.h"
#include "thread.h"

void inject_totals_add(struct inject_totals *totals)
{
	struct gpumon_channel *channel = inject_session.map.channel;

	if (!gpumon_channel_is_alive(&inject_session.map))
		return;
	if (totals->kernels)
		__atomic_fetch_add(&channel->kernels, totals->kernels, __ATOMIC_RELAXED);
	if (totals->copies)
		__atomic_fetch_add(&channel->copies, totals->copies, __ATOMIC_RELAXED);
	if (totals->sets)
		__atomic_fetch_add(&channel->sets, totals->sets, __ATOMIC_RELAXED);
	memset(totals, 0, sizeof(*totals));
}

static void write_kernel(struct inject_thread *thread, const struct inject_operation *operation,
			 const struct inject_times *times)
{
	struct gpumon_record_kernel record = {
		.head = { .type = GPUMON_RECORD_KERNEL,
			  .flags = times->flags,
			  .size = sizeof(record) },
		.start_ns = times->start,
		.end_ns = times->end,
		.queued_ns = times->queued,
		.submitted_ns = times->submitted,
		.node = operation->node,
		.correlation = operation->correlation,
		.name = operation->name,
		.device = operation->device,
		.context = operation->context,
		.stream = operation->stream,
		.graph = operation->graph,
	};

	memcpy(record.grid, operation->grid, sizeof(record.grid));
	memcpy(record.block, operation->local, sizeof(record.block));
	memcpy(record.global, operation->global, sizeof(record.global));
	inject_append(thread, &record);
}

static void write_copy(struct inject_thread *thread, const struct inject_operation *operation,
		       const struct inject_times *times)
{
	const struct gpumon_record_copy record = {
		.head = { .type = GPUMON_RECORD_COPY,
			  .flags = times->flags,
			  .size = sizeof(record) },
		.start_ns = times->start,
		.end_ns = times->end,
		.bytes = operation->bytes,
		.node = operation->node,
		.correlation = operation->correlation,
		.device = operation->device,
		.context = operation->context,
		.stream = operation->stream,
		.graph = operation->graph,
		.to_device = operation->device,
		.from = operation->from,
		.to = operation->to,
		.kind = operation->copy_kind,
	};

	inject_append(thread, &record);
}

static void write_set(struct inject_thread *thread, const struct inject_operation *operation,
		      const struct inject_times *times)
{
	const struct gpumon_record_set record = {
		.head = { .type = GPUMON_RECORD_SET, .flags = times->flags, .size = sizeof(record) },
		.start_ns = times->start,
		.end_ns = times->end,
		.bytes = operation->bytes,
		.node = operation->node,
		.correlation = operation->correlation,
		.device = operation->device,
		.context = operation->context,
		.stream = operation->stream,
		.graph = operation->graph,
		.value = operation->name,
	};

	inject_append(thread, &record);
}

void inject_operation_write(struct inject_thread *thread, const struct inject_operation *operation,
			    const struct inject_times *times, struct inject_totals *totals)
{
	switch (operation->record) {
	case GPUMON_RECORD_COPY:
		totals->copies++;
		write_copy(thread, operation, times);
		break;
	case GPUMON_RECORD_SET:
		totals->sets++;
		write_set(thread, operation, times);
		break;
	default:
		totals->kernels++;
		write_kernel(thread, operation, times);
		break;
	}
}

void inject_stream_write(struct inject_thread *thread, uint32_t device, uint32_t context,
			 uint32_t stream)
{
	const struct gpumon_record_context of_context = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(of_context) },
		.time_ns = inject_now(),
		.id = context,
		.device = device,
	};
	const struct gpumon_record_stream of_stream = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(of_stream) },
		.context = context,
		.id = stream,
	};

	inject_append(thread, &of_context);
	inject_append(thread, &of_stream);
}
