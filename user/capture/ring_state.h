/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a process had open at a moment: windows and NVTX ranges. A capture that begins there states
 * them again, since the records of their beginnings are dropped.
 */
#ifndef GPUMON_CAPTURE_RING_STATE_H
#define GPUMON_CAPTURE_RING_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/format.h"

/* Open ranges of a process that are kept. Later ones are not stated again. */
#define GPUMON_RING_RANGES_MAX 256
#define GPUMON_RING_STATE_MAX                                          \
	(GPUMON_RING_RANGES_MAX * sizeof(struct gpumon_record_range) + \
	 2 * sizeof(struct gpumon_record_window))

/**
 * struct gpumon_ring_range - an open range
 * @record: push or start; time of the thread's last event
 * @not_kept: later pushes of the same thread and domain that are open and not kept
 */
struct gpumon_ring_range {
	struct gpumon_record_range record;
	uint32_t not_kept;
};

/* A zeroed one has nothing open. */
struct gpumon_ring_state {
	struct gpumon_record_window windows[2]; /* the last change; of recording, of operations */
	struct gpumon_ring_range *ranges;
	uint32_t count;
	uint32_t room;
};

/* The next event of the process. */
void gpumon_ring_state_see(struct gpumon_ring_state *state, const struct gpumon_record *record);

/**
 * gpumon_ring_state_write - records that state what is open
 * @state: state
 * @records: out, GPUMON_RING_STATE_MAX bytes, aligned to 8
 *
 * Return: bytes of them, 0 for none.
 */
size_t gpumon_ring_state_write(const struct gpumon_ring_state *state, void *records);

void gpumon_ring_state_clear(struct gpumon_ring_state *state);

#endif /* GPUMON_CAPTURE_RING_STATE_H */
