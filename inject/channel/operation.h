/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a device did, as records: for APIs that are asked for it operation by operation. */
#ifndef GPUMON_INJECT_CHANNEL_OPERATION_H
#define GPUMON_INJECT_CHANNEL_OPERATION_H

#include <stdint.h>

#include "thread.h"

/* Operations that APIs reported: the channel counts them apart from their records. */
struct inject_totals {
	uint64_t kernels;
	uint64_t copies;
	uint64_t sets;
};

/*
 * Add to the channel's totals, and begin again from 0. The program's threads write to the same
 * cache line, so operations are added in lots.
 */
void inject_totals_add(struct inject_totals *totals);

/**
 * struct inject_operation - a kernel, copy or fill
 * @correlation: of its launch
 * @name: of a kernel: string id; of a fill: the value
 * @device: id
 * @context: id
 * @stream: id
 * @graph: id, 0 for none
 * @node: of the graph
 * @grid: groups of a kernel, 0 if not known
 * @local: of a group, 0 if not known
 * @global: work-items
 * @bytes: of a copy or fill
 * @record: GPUMON_RECORD_KERNEL, _COPY or _SET
 * @copy_kind: enum gpumon_copy_kind
 * @from: enum gpumon_memory_place
 * @to: likewise
 */
struct inject_operation {
	uint32_t correlation;
	uint32_t name;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph;
	uint64_t node;
	uint32_t grid[3];
	uint32_t local[3];
	uint64_t global[3];
	uint64_t bytes;
	uint16_t record;
	uint8_t copy_kind;
	uint8_t from;
	uint8_t to;
};

/**
 * struct inject_times - of an operation, CLOCK_MONOTONIC ns, 0 if not known
 * @flags: GPUMON_WORK_*: why there are none
 */
struct inject_times {
	uint64_t queued;
	uint64_t submitted;
	uint64_t start;
	uint64_t end;
	uint16_t flags;
};

/* Writes its record, and counts it. */
void inject_operation_write(struct inject_thread *thread, const struct inject_operation *operation,
			    const struct inject_times *times, struct inject_totals *totals);

/* Writes the records of a queue: it is a stream in a context of a device. */
void inject_stream_write(struct inject_thread *thread, uint32_t device, uint32_t context,
			 uint32_t stream);

#endif /* GPUMON_INJECT_CHANNEL_OPERATION_H */
