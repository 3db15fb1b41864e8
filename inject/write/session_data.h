/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The capture that is going on, as those see it that write to it. What begins
 * and ends it is in session/.
 */
#ifndef GPUMON_INJECT_SESSION_DATA_H
#define GPUMON_INJECT_SESSION_DATA_H

#include "../user/capture/channel_writer.h"
#include "base/inject.h"

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
};

extern struct inject_session inject_session;

#endif /* GPUMON_INJECT_SESSION_DATA_H */
