/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Frames of swapchains, and why some of them were late. A frame goes from the begin of one present call to the begin
 * of the next one, of the same swapchain or of the one that takes its place. A failed present ends none.
 *
 * The parts of late frames are compared with those of frames on time. The part that grew most is the reason if it is
 * at least half of what the frame took longer. Otherwise nothing is said. Where the thread waited for the GPU or the
 * display, what the GPU and the driver did is compared, too: operations, jobs of the DRM scheduler with their time in
 * the queue, other processes, moves of memory.
 */
#ifndef GPUMON_REPORT_FRAMES_H
#define GPUMON_REPORT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/format.h"
#include "profile.h"
#include "time_range.h"

/* What the presenting thread spent a frame on: the sum is the frame. */
enum gpumon_frame_part {
	GPUMON_FRAME_GPU_WAIT = 0, /* calls that wait for the GPU */
	GPUMON_FRAME_DISPLAY,	   /* calls that acquire an image or present it */
	GPUMON_FRAME_PIPELINE,	   /* calls that make pipelines or shaders */
	GPUMON_FRAME_LAUNCH,	   /* calls that start GPU work */
	GPUMON_FRAME_CALL,	   /* other calls */
	GPUMON_FRAME_BETWEEN,	   /* between calls, and no look says more */
	GPUMON_FRAME_LOOKED,	   /* between calls: by enum gpumon_wait_kind from here on */
	GPUMON_FRAME_PARTS = GPUMON_FRAME_LOOKED + GPUMON_WAIT_KINDS,
	/* Not of the thread: what the GPU and the driver did. */
	GPUMON_FRAME_GPU =
		GPUMON_FRAME_PARTS, /* GPU operations of the process that ended in the frame */
	GPUMON_FRAME_OTHERS,	    /* and of recorded processes on the same GPU */
	GPUMON_FRAME_QUEUED, /* jobs of the process waited for a ring, of the DRM scheduler */
	GPUMON_FRAME_JOBS,   /* and were on the hardware */
	GPUMON_FRAME_RIVALS, /* jobs of other processes were, on rings that this one uses */
	/* Not times. */
	GPUMON_FRAME_MOVED,   /* bytes that drivers moved from and to VRAM */
	GPUMON_FRAME_VBLANKS, /* vblanks, of the display with the most of them */
	/* After the frame: from the present call that ends it to the screen, ns. */
	GPUMON_FRAME_SHOWN,
	GPUMON_FRAME_ALL
};

enum gpumon_late_reason {
	GPUMON_LATE_UNKNOWN = 0,
	GPUMON_LATE_GPU,
	GPUMON_LATE_PIPELINE,
	GPUMON_LATE_DISPLAY,
	GPUMON_LATE_SWAP, /* as above, of OpenGL: for the display or for the GPU */
	GPUMON_LATE_CALL,
	GPUMON_LATE_CPU,
	GPUMON_LATE_BLOCKED,
	GPUMON_LATE_MEMORY,
	GPUMON_LATE_SHOWN, /* on time, and on the screen late */
	GPUMON_LATE_REASONS
};

/**
 * struct gpumon_late_frame - a late frame
 * @chain: index of its swapchain
 * @number: which of the program's presents ends it, from 1 on; goes on where a swapchain takes another's place
 * @start_ns: its begin
 * @frame_ns: its length
 * @part: by enum gpumon_frame_part, ns or as said there
 * @submissions: launches of its process that began in it
 * @operations: GPU operations of its process that ended in it
 * @reason: why
 * @wait: of GPUMON_LATE_BLOCKED
 * @seen_by_wait: of GPUMON_LATE_SHOWN: a call that waits for the image says so
 * @grown: which part of it grew
 * @name: function, operation, ring or process that grew, with its line; NULL: not known
 * @usual: @name, or the part, in frames on time
 * @took: and in this one
 * @others: other process that was longer on the same GPU than usual; NULL: none
 * @usual_vblanks: of frames on time
 */
struct gpumon_late_frame {
	uint32_t chain;
	uint64_t number;
	uint64_t start_ns;
	uint64_t frame_ns;
	uint64_t part[GPUMON_FRAME_ALL];
	uint64_t submissions;
	uint64_t operations;
	enum gpumon_late_reason reason;
	enum gpumon_wait_kind wait;
	bool seen_by_wait;
	enum gpumon_frame_part grown;
	const char *name;
	uint64_t usual;
	uint64_t took;
	const char *others;
	uint64_t usual_vblanks;
};

/**
 * struct gpumon_frame_time - any frame
 * @start_ns: its begin
 * @frame_ns: its length
 * @number: as in struct gpumon_late_frame
 * @late: it is too long, or its image came to the screen late
 */
struct gpumon_frame_time {
	uint64_t start_ns;
	uint64_t frame_ns;
	uint64_t number;
	bool late;
};

/**
 * struct gpumon_frames_chain - a swapchain with those that took its place
 * @process: number of its process
 * @id: the first one's id
 * @first: index of its first frame in @all of struct gpumon_frames
 * @frames: number of frames
 * @late: of these: too long
 * @shown: of all frames: it is known when the image was on the screen
 * @shown_late: on time, and on the screen late
 * @lost: presents that are not recorded: there are no frames next to them
 * @failed: presents that failed
 * @total_ns: sum of all frames
 * @median_ns: frame time, and so on
 * @late_ns: a longer frame is late
 * @shown_late_ns: likewise, an image that comes to the screen so long after the one before
 */
struct gpumon_frames_chain {
	uint32_t process;
	uint32_t id;
	uint32_t first;
	uint64_t frames;
	uint64_t late;
	uint64_t shown;
	uint64_t shown_late;
	uint64_t lost;
	uint64_t failed;
	uint64_t total_ns;
	uint64_t median_ns;
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t p999_ns;
	uint64_t longest_ns;
	uint64_t late_ns;
	uint64_t shown_late_ns;
};

/* Late frames that are looked at: the longest ones, and the first ones that came to the screen late. */
#define GPUMON_FRAMES_LATE_MAX 1024
/* Frames on time that they are compared with, of each swapchain. */
#define GPUMON_FRAMES_USUAL 128
/* Presents that are kept: further ones are counted. */
#define GPUMON_FRAMES_PRESENTS_MAX (1u << 21)
/* Jobs that are kept of the frames that are looked at. */
#define GPUMON_FRAMES_JOBS_MAX (1u << 20)

/**
 * struct gpumon_frames - frames of captures
 * @rows: the late frames that were looked at, in order of time
 * @all: all frames of each swapchain after those of the one before, in order of time
 * @range: the part of the time that is shown, and when the recording began; @range.until_ns 0: all
 * @dropped: presents beyond GPUMON_FRAMES_PRESENTS_MAX
 * @jobs_dropped: jobs beyond GPUMON_FRAMES_JOBS_MAX
 */
struct gpumon_frames {
	struct gpumon_frames_chain *chains;
	uint32_t chain_count;
	uint32_t chain_room;
	struct gpumon_late_frame *rows;
	uint32_t row_count;
	uint32_t row_room;
	struct gpumon_frame_time *all;
	uint32_t all_count;
	uint32_t all_room;
	struct gpumon_time_range range;
	uint64_t dropped;
	uint64_t jobs_dropped;
	struct gpumon_pool *pool;
};

/**
 * gpumon_frames_read - find frames and why some are late
 * @paths: captures of one job
 * @count: number of @paths
 * @options: the symbol root, and the part of the time: frames that begin in it. What is late, and what was usual, is that
 *	     of all of the time
 * @late_ns: a longer frame is late; 0: 1.5 times the median, and at least 1 ms more
 * @frames: out, to be cleared also on failure
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_frames_read(const char *const *paths, unsigned int count,
		       const struct gpumon_profile_options *options, uint64_t late_ns,
		       struct gpumon_frames *frames);
void gpumon_frames_clear(struct gpumon_frames *frames);

/* What is known of a frame of @all; NULL: it is on time, or no reason was looked for. */
const struct gpumon_late_frame *gpumon_frames_row(const struct gpumon_frames *frames,
						  uint32_t chain,
						  const struct gpumon_frame_time *frame);

/* A longer frame is late: 1.5 times the median, and at least 1 ms more. */
static inline uint64_t gpumon_frames_late_from(uint64_t median_ns)
{
	return median_ns + (median_ns / 2 > 1000000 ? median_ns / 2 : 1000000);
}

/* Of sorted values, q of which are below it; 0 of none. */
static inline uint64_t gpumon_frames_quantile(const uint64_t *sorted, uint64_t count, double q)
{
	uint64_t at = (uint64_t)(q * (double)count);

	return count ? sorted[at < count ? at : count - 1] : 0;
}

/* Frames a second, of one that takes this long; 0 for none. */
static inline double gpumon_frames_rate(uint64_t ns)
{
	return ns ? 1e9 / (double)ns : 0;
}

/* "waited for the GPU", and the letter and the word of JSON of a reason. */
const char *gpumon_late_text(char *buf, size_t len, const struct gpumon_late_frame *row);
char gpumon_late_letter(enum gpumon_late_reason reason);
const char *gpumon_late_key(enum gpumon_late_reason reason);
/* "draw_shadows grew from 2.10ms to 19.4ms". Names in it are as the program has them. */
const char *gpumon_late_evidence(char *buf, size_t len, const struct gpumon_late_frame *row);
/* "3 of 840 frames were late: 3 waited for the GPU (...)." and what is left out, each in a line. */
void gpumon_frames_sentence(FILE *out, const struct gpumon_frames *frames);

/* The sentence, the swapchains, and up to @rows late frames. */
void gpumon_frames_print(FILE *out, const struct gpumon_frames *frames, uint32_t rows);

/* The same as one JSON document, with all rows. 0, or -1 with errno. */
int gpumon_frames_json(FILE *out, const struct gpumon_frames *frames);

#endif /* GPUMON_REPORT_FRAMES_H */
