// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Functions for single records, independent of their source. */
#include <stddef.h>
#include <string.h>

#include "capture.h"

/* Longer strings of the recorder are cut. */
#define STRING_MAX 4096

static const char *const record_names[] = {
	[GPUMON_RECORD_PAD] = "pad",
	[GPUMON_RECORD_PROCESS] = "process",
	[GPUMON_RECORD_THREAD] = "thread",
	[GPUMON_RECORD_MAPPING] = "mapping",
	[GPUMON_RECORD_UNMAPPING] = "unmapping",
	[GPUMON_RECORD_STRING] = "string",
	[GPUMON_RECORD_FRAME] = "frame",
	[GPUMON_RECORD_STACK] = "stack",
	[GPUMON_RECORD_DEVICE] = "device",
	[GPUMON_RECORD_CONTEXT] = "context",
	[GPUMON_RECORD_STREAM] = "stream",
	[GPUMON_RECORD_API] = "api",
	[GPUMON_RECORD_CLOCK] = "clock",
	[GPUMON_RECORD_LAUNCH] = "launch",
	[GPUMON_RECORD_CALL] = "call",
	[GPUMON_RECORD_HIT] = "hit",
	[GPUMON_RECORD_RANGE] = "range",
	[GPUMON_RECORD_GRAPH_NODE] = "graph-node",
	[GPUMON_RECORD_WAIT] = "wait",
	[GPUMON_RECORD_SWAPCHAIN] = "swapchain",
	[GPUMON_RECORD_PRESENT] = "present",
	[GPUMON_RECORD_SHOWN] = "shown",
	[GPUMON_RECORD_KERNEL] = "kernel",
	[GPUMON_RECORD_COPY] = "copy",
	[GPUMON_RECORD_SET] = "set",
	[GPUMON_RECORD_SYNC] = "sync",
	[GPUMON_RECORD_MEMORY] = "memory",
	[GPUMON_RECORD_UNIFIED_MEMORY] = "unified-memory",
	[GPUMON_RECORD_GRAPH] = "graph",
	[GPUMON_RECORD_OVERHEAD] = "overhead",
	[GPUMON_RECORD_STALLS] = "stalls",
	[GPUMON_RECORD_STALL_TOTALS] = "stall-totals",
	[GPUMON_RECORD_METRIC_SET] = "metric-set",
	[GPUMON_RECORD_METRIC_SAMPLE] = "metric-sample",
	[GPUMON_RECORD_DRIVER_EVENT] = "driver-event",
	[GPUMON_RECORD_ALERT] = "alert",
	[GPUMON_RECORD_LOSS] = "loss",
	[GPUMON_RECORD_WINDOW] = "window",
	[GPUMON_RECORD_NOTE] = "note",
	[GPUMON_RECORD_TOTALS] = "totals",
	[GPUMON_RECORD_DROPPED] = "dropped",
};

const char *gpumon_record_name(unsigned int type)
{
	return type < sizeof(record_names) / sizeof(record_names[0]) ? record_names[type] : NULL;
}

int gpumon_capture_append_string(struct gpumon_capture_file *file, uint32_t id, const char *text)
{
	_Alignas(uint64_t) char room[sizeof(struct gpumon_record_string) + STRING_MAX + 8] = { 0 };
	struct gpumon_record_string *record = (void *)room;
	size_t length = strnlen(text, STRING_MAX), size;

	size = (sizeof(*record) + length + 7) & ~(size_t)7;
	record->head.type = GPUMON_RECORD_STRING;
	record->head.size = (uint32_t)size;
	record->id = id;
	record->length = (uint32_t)length;
	memcpy(record->text, text, length);
	return gpumon_capture_append(file, 0, record, size);
}

void gpumon_record_copy(void *to, size_t size, const struct gpumon_record *record)
{
	size_t have = record->size < size ? record->size : size;

	memcpy(to, record, have);
	memset((char *)to + have, 0, size - have);
}

bool gpumon_work_fields(const struct gpumon_record *record, struct gpumon_work_fields *fields)
{
	union {
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	} copy;

#define TAKE(member, of_node)                                                           \
	do {                                                                            \
		const struct gpumon_record_##member *of =                               \
			gpumon_record_whole(record, sizeof(copy.member), &copy.member); \
                                                                                        \
		*fields = (struct gpumon_work_fields){                                  \
			.start_ns = of->start_ns,                                       \
			.end_ns = of->end_ns,                                           \
			.node = of_node,                                                \
			.correlation = of->correlation,                                 \
			.device = of->device,                                           \
			.context = of->context,                                         \
			.stream = of->stream,                                           \
			.graph = of->graph,                                             \
		};                                                                      \
	} while (0)
	switch (record->type) {
	case GPUMON_RECORD_KERNEL:
		TAKE(kernel, of->node);
		break;
	case GPUMON_RECORD_COPY:
		TAKE(copy, of->node);
		break;
	case GPUMON_RECORD_SET:
		TAKE(set, of->node);
		break;
	case GPUMON_RECORD_GRAPH:
		TAKE(graph, 0);
		fields->whole_graph = true;
		break;
	default:
		return false;
	}
#undef TAKE
	fields->valid = fields->start_ns && fields->end_ns >= fields->start_ns &&
			!(record->flags & (GPUMON_WORK_UNFINISHED | GPUMON_WORK_FAILED));
	fields->unended = fields->start_ns && record->flags & GPUMON_WORK_UNFINISHED &&
			  !(record->flags & GPUMON_WORK_FAILED);
	return true;
}

enum gpumon_record_state gpumon_record_check(const struct gpumon_record *record, size_t room)
{
	size_t rest;

	if (room < sizeof(*record) || record->size < sizeof(*record) || record->size % 8 ||
	    record->size > room || record->size > GPUMON_RECORD_SIZE_MAX)
		return GPUMON_RECORD_IMPOSSIBLE;
	rest = record->size;

	switch (record->type) {
	case GPUMON_RECORD_STRING: {
		const struct gpumon_record_string *string = (const void *)record;

		if (rest < sizeof(*string) || string->length > rest - sizeof(*string))
			return GPUMON_RECORD_BROKEN;
		break;
	}
	case GPUMON_RECORD_STACK: {
		const struct gpumon_record_stack *stack = (const void *)record;

		if (rest < sizeof(*stack) || stack->count > GPUMON_STACK_DEPTH_MAX ||
		    stack->count > (rest - sizeof(*stack)) / sizeof(stack->frames[0]))
			return GPUMON_RECORD_BROKEN;
		break;
	}
	case GPUMON_RECORD_STALLS: {
		const struct gpumon_record_stalls *stalls = (const void *)record;

		if (rest < sizeof(*stalls) ||
		    stalls->count > (rest - sizeof(*stalls)) / sizeof(stalls->stall[0]))
			return GPUMON_RECORD_BROKEN;
		break;
	}
	case GPUMON_RECORD_DRIVER_EVENT: {
		const struct gpumon_record_driver_event *event = (const void *)record;

		if (rest < sizeof(*event) || event->event_size > rest - sizeof(*event))
			return GPUMON_RECORD_BROKEN;
		break;
	}
	case GPUMON_RECORD_MAPPING: {
		const struct gpumon_record_mapping *mapping = (const void *)record;

		if (rest >= offsetof(struct gpumon_record_mapping, reserved) &&
		    mapping->build_id_size > GPUMON_BUILD_ID_SIZE)
			return GPUMON_RECORD_BROKEN;
		break;
	}
	default:
		break;
	}
	return GPUMON_RECORD_GOOD;
}
