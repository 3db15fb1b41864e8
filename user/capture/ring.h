/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A ring of what was recorded last, of bounded size and age, in segments on disk. The oldest segment
 * is dropped when there is no more room. Definitions are kept, in memory, as long as their process
 * has a segment or lives.
 *
 * Not thread-safe. After fork() the child may write a capture while the parent goes on.
 */
#ifndef GPUMON_CAPTURE_RING_H
#define GPUMON_CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/format.h"
#include "capture.h"

struct gpumon_capture_ring;
struct gpumon_ring_file;

/**
 * gpumon_ring_new - make an empty ring
 * @directory: descriptor of the folder for segments, which belongs to the ring from now on
 * @limits: limits
 *
 * Files in the folder are removed: they are of a recorder that was killed.
 */
struct gpumon_capture_ring *gpumon_ring_new(int directory, const struct gpumon_ring_limits *limits);

/**
 * gpumon_ring_add_file - add a process, or the driver
 * @ring: ring
 * @name: name of its file in a capture
 * @file: out; belongs to @ring
 *
 * Return: 0, or -EEXIST.
 */
int gpumon_ring_add_file(struct gpumon_capture_ring *ring, const char *name,
			 struct gpumon_ring_file **file);

/**
 * gpumon_ring_append - keep records of one thread, and drop the oldest for them
 * @file: file
 * @tid: thread that wrote the records
 * @records: whole records
 * @size: bytes, at most GPUMON_CHUNK_SIZE_MAX
 * @lost: counts by cause, to which definitions without room are added, also on failure
 *
 * Return: 0, or a negative errno: the other records are lost.
 */
int gpumon_ring_append(struct gpumon_ring_file *file, uint32_t tid, const void *records,
		       size_t size, uint64_t *lost);

/* The process ended. @file is freed as soon as nothing of it is kept. */
void gpumon_ring_end_file(struct gpumon_ring_file *file);

/* The folder of the segments, for other files that belong to the ring. */
int gpumon_ring_directory(const struct gpumon_capture_ring *ring);

/* See gpumon_capture_ring_since(). */
uint64_t gpumon_ring_since(const struct gpumon_capture_ring *ring);

/* See gpumon_capture_write_ring(). */
int gpumon_ring_write(struct gpumon_capture_ring *ring, const char *path, const char *command,
		      const char *note, uint64_t since_ns);

/* Removes the segments. NULL is ignored. */
void gpumon_ring_free(struct gpumon_capture_ring *ring);

/*
 * Windows and NVTX ranges that a process had open at a moment. A capture that begins there states
 * them again, since the records of their beginnings are dropped.
 */

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

#endif /* GPUMON_CAPTURE_RING_H */
