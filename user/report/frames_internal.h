/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames while they are found: frames_presents.c says which are late, frames.c why. */
#ifndef GPUMON_REPORT_FRAMES_INTERNAL_H
#define GPUMON_REPORT_FRAMES_INTERNAL_H

#include "frames.h"
#include "lib/array.h"
#include "profile_internal.h"
#include "profile_tree.h"

/* Names in a frame: what is beyond has no name. */
#define DETAILS_MAX 64

struct present {
	uint64_t start_ns;
	uint32_t process;
	uint32_t root; /* the first swapchain of its chain */
	uint32_t swapchain;
	uint32_t number;
	uint32_t tid;
	bool failed;
	bool shown_latest;
	uint64_t id; /* the program's, 0: none */
	uint64_t shown_ns;
};

/* When an image was on the screen. @value: number of the present, or the program's id */
struct shown {
	uint64_t shown_ns;
	uint64_t value;
	uint32_t process;
	uint32_t swapchain;
	bool is_id;
	bool latest;
};

/* @value: ns, or in the unit of the part */
struct detail {
	const char *name;
	uint64_t value;
	uint32_t part;
};

struct look {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t part;
	const char *name;
};

/* A frame that is compared. @latest_ns: the end of the last of all frames that begin no later */
struct frame {
	struct gpumon_late_frame row;
	uint64_t latest_ns;
	bool late;
	uint32_t process;
	uint32_t tid;
	uint64_t end_ns;
	struct detail details[DETAILS_MAX];
	uint32_t detail_count;
	struct look *looks;
	uint32_t look_used;
	uint32_t look_room;
};

/* On the ring @number of a driver, from its run to its end. */
struct job {
	uint64_t start_ns;
	uint64_t end_ns;
	const char *ring;
	const char *process;
	uint32_t driver;
	uint16_t number;
	uint32_t pid;
};

/*
 * @kept: frames that are compared, in order of their begin
 * @done_ns: by thread: all of its time until then is given to frames
 * @ring_users: processes by ring
 * @jobs: on the hardware while a frame was that is compared
 */
struct reading {
	struct gpumon_frames *frames;
	struct gpumon_captures captures;
	struct gpumon_pool *pool;
	struct gpumon_tree tree;
	struct gpumon_keys old_keys;
	uint32_t *olds;
	uint32_t olds_room;
	struct present *presents;
	uint32_t present_used;
	uint32_t present_room;
	struct shown *shown;
	uint32_t shown_used;
	uint32_t shown_room;
	struct frame *kept;
	uint32_t kept_used;
	uint32_t kept_room;
	struct gpumon_keys thread_keys;
	uint64_t *done_ns;
	uint32_t done_room;
	struct gpumon_keys ring_users;
	struct job *jobs;
	uint32_t job_used;
	uint32_t job_room;
};

/* A process that has jobs on a ring. */
static inline struct gpumon_key ring_key(uint32_t driver, uint16_t ring, uint32_t pid)
{
	return (struct gpumon_key){ { (uint64_t)driver << 32 | pid, ring } };
}

/* Of the first pass, for struct gpumon_captures_pass. @data: struct reading */
void gpumon_frames_on_definition(void *data, uint32_t number, const struct gpumon_record *record);

/* The frames, and of these @kept. @late_ns: as of gpumon_frames_read() */
void gpumon_frames_find(struct reading *reading, uint64_t late_ns);

#endif /* GPUMON_REPORT_FRAMES_INTERNAL_H */
