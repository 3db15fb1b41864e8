/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the parts of the ring. */
#ifndef GPUMON_CAPTURE_RING_INTERNAL_H
#define GPUMON_CAPTURE_RING_INTERNAL_H

#include <stdbool.h>

#include "definitions.h"
#include "pack.h"
#include "ring.h"
#include "ring_state.h"

/**
 * struct gpumon_ring_part - what a segment has of one file
 * @next: of another file of the same segment
 * @counts: records in it
 * @state: records of what was open before them, NULL if nothing was
 * @state_size: bytes of @state
 */
struct gpumon_ring_part {
	struct gpumon_ring_part *next;
	struct gpumon_ring_file *file;
	struct gpumon_record_dropped counts;
	void *state;
	size_t state_size;
};

/**
 * struct gpumon_ring_segment - a file of chunks, whose sequence is the number of their file
 * @next: the next younger one
 * @created_ns: CLOCK_REALTIME of its beginning
 * @first_ns: CLOCK_MONOTONIC at the same moment
 * @last_ns: when it was last appended to
 * @bytes: of whole chunks
 */
struct gpumon_ring_segment {
	struct gpumon_ring_segment *next;
	struct gpumon_ring_part *parts;
	int fd;
	uint64_t number;
	uint64_t created_ns;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t bytes;
};

/**
 * struct gpumon_ring_file - a process, or the driver
 * @number: in the chunks of segments
 * @segments: how many have a part of it
 * @part: its part of the youngest segment, if @part_of is that one's number
 * @dropped: what was dropped of it
 * @totals: the last one, if @has_totals
 */
struct gpumon_ring_file {
	struct gpumon_ring *ring;
	struct gpumon_ring_file *next;
	char *name;
	uint64_t number;
	uint32_t segments;
	bool ended;
	struct gpumon_ring_part *part;
	uint64_t part_of;
	struct gpumon_definitions definitions;
	struct gpumon_ring_state state;
	struct gpumon_record_dropped dropped;
	struct gpumon_record_totals totals;
	bool has_totals;
};

struct gpumon_ring {
	int directory;
	struct gpumon_ring_limits limits;
	struct gpumon_ring_file *files; /* the last one first */
	struct gpumon_ring_segment *oldest;
	struct gpumon_ring_segment *youngest;
	uint64_t next_segment;
	uint64_t next_file;
	uint64_t bytes;		   /* of all segments */
	uint64_t dropped_ns;	   /* when the youngest of what was dropped was recorded */
	uint64_t definition_bytes; /* of all files */
	uint8_t events[GPUMON_CHUNK_SIZE_MAX] __attribute__((aligned(8)));
	uint8_t packed[GPUMON_PACK_GROWTH * GPUMON_CHUNK_SIZE_MAX];
};

#endif /* GPUMON_CAPTURE_RING_INTERNAL_H */
