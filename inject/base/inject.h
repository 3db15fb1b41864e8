/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What all parts of the injection library share: the session, which is one
 * capture of this process from its begin to its end, and small things.
 *
 * Threads of the program come in through CUPTI's callbacks (cupti/callbacks.c,
 * cupti/nvtx.c) and CUPTI's own through the buffers' (cupti/activity.c). One
 * thread of the library does everything else (run/worker.c), another talks to
 * recorders (talk/recorder.c).
 */
#ifndef GPUMON_INJECT_H
#define GPUMON_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../user/capture/channel_writer.h"

#define INJECT_EXPORT	   __attribute__((visibility("default")))
#define INJECT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define INJECT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* How long the library may take to say what it has to say, when the program wants to go on. */
#define INJECT_CONNECT_MS 2000
#define INJECT_EXIT_MS	  5000

/**
 * struct inject_session - the capture that is going on
 * @recording: callbacks write records; false also outside of the window
 * @generation: of captures, from 1 on: what was defined in another one has to be defined again
 * @record: GPUMON_RECORD_*
 * @stack_depth: frames at most
 * @is_open: there is a channel; records may be written to it also outside of the window
 * @map: the channel
 * @settings: as the recorder sent them, within bounds
 * @has_python: there is an interpreter, whose functions are to be in stacks
 * @captures_open: streams being captured into graphs, in the whole process
 * @contexts: that are alive, as far as seen
 * @context_bytes: of the GPU's memory that CUPTI takes for each, as far as it says so
 */
struct inject_session {
	_Atomic bool recording;
	_Atomic bool is_open;
	_Atomic uint32_t generation;
	uint32_t record;
	uint32_t stack_depth;
	struct gpumon_channel_map map;
	struct gpumon_message_settings settings;
	_Atomic bool has_python;
	_Atomic int captures_open;
	_Atomic int contexts;
	uint64_t context_bytes;
};

extern struct inject_session inject_session;

/* CLOCK_MONOTONIC, ns */
static inline uint64_t inject_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

#endif /* GPUMON_INJECT_H */
