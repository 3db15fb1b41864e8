/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The current capture, for everything that writes to it. session/ begins and
 * ends it.
 */
#ifndef GPUMON_INJECT_SESSION_DATA_H
#define GPUMON_INJECT_SESSION_DATA_H

#include "../user/abi/channel_writer.h"
#include "base/inject.h"

/* Libraries whose code stacks leave out: this one, and some for each API. */
#define INJECT_CODE_MAX 8

/**
 * struct inject_code - where the code of a library is
 * @start: address
 * @size: bytes
 */
struct inject_code {
	uintptr_t start;
	uintptr_t size;
};

/**
 * struct inject_session - the current capture
 * @recording: callbacks write records: the window is open
 * @ends: calls that begin now get no record: nobody would wait for their operations
 * @generation: number of the capture, from 1 on: ids of an earlier one have to be defined again
 * @record: GPUMON_RECORD_*
 * @stack_depth: frames at most
 * @stack_room: for these and for frames that stacks leave out
 * @is_open: there is a channel; some records are written to it outside of the window, too
 * @map: the channel
 * @settings: as the recorder sent them, within bounds
 * @code: not the program's: stacks leave out innermost frames in it. Behind the last is one with all
 *        addresses. An API that joins a capture adds to it while others read
 * @has_python: there is an interpreter, and stacks are to show its functions
 */
struct inject_session {
	_Atomic bool recording;
	_Atomic bool ends;
	_Atomic bool is_open;
	_Atomic uint32_t generation;
	uint32_t record;
	uint32_t stack_depth;
	uint32_t stack_room;
	struct gpumon_channel_map map;
	struct gpumon_message_settings settings;
	struct inject_code code[INJECT_CODE_MAX + 1];
	_Atomic bool has_python;
};

extern struct inject_session inject_session INJECT_HIDDEN;

/* Whether a call that begins now gets a record, for APIs that have no hook to switch off. */
static inline bool inject_session_takes_calls(void)
{
	return atomic_load_explicit(&inject_session.recording, memory_order_acquire) &&
	       !atomic_load_explicit(&inject_session.ends, memory_order_relaxed);
}

#endif /* GPUMON_INJECT_SESSION_DATA_H */
