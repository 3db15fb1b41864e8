/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The capture that is going on, as those see it that write to it. What begins
 * and ends it is in session/.
 */
#ifndef GPUMON_INJECT_SESSION_DATA_H
#define GPUMON_INJECT_SESSION_DATA_H

#include "../user/capture/channel_writer.h"
#include "base/inject.h"

/* Libraries whose code is left out of stacks: this one, and for each API some. */
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
 * struct inject_session - the capture that is going on
 * @recording: callbacks write records; false also outside of the window
 * @generation: of captures, from 1 on: what was defined in another one has to be defined again
 * @record: GPUMON_RECORD_*
 * @stack_depth: frames at most
 * @stack_room: for these, and for frames that are not the program's
 * @is_open: there is a channel; records may be written to it also outside of the window
 * @map: the channel
 * @settings: as the recorder sent them, within bounds
 * @code: is not the program's: what of it is innermost is left out of stacks; the one behind the
 *        last has all addresses
 * @code_count: of @code
 * @has_python: there is an interpreter, whose functions are to be in stacks
 */
struct inject_session {
	_Atomic bool recording;
	_Atomic bool is_open;
	_Atomic uint32_t generation;
	uint32_t record;
	uint32_t stack_depth;
	uint32_t stack_room;
	struct gpumon_channel_map map;
	struct gpumon_message_settings settings;
	struct inject_code code[INJECT_CODE_MAX + 1];
	unsigned int code_count;
	_Atomic bool has_python;
};

extern struct inject_session inject_session INJECT_HIDDEN;

#endif /* GPUMON_INJECT_SESSION_DATA_H */
