/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The thread that talks to recorders: it connects to the one that started the
 * program, and listens for others. It shares no descriptors with the program,
 * which may close all that it does not know, and reuse their numbers, between any
 * two system calls. For the same reason it does nothing else: what the API opens
 * has to be the program's. During a capture it makes no system calls but futex().
 */
#ifndef GPUMON_INJECT_RECORDER_RECORDER_H
#define GPUMON_INJECT_RECORDER_RECORDER_H

#include "../user/abi/channel_writer.h"
#include "base/inject.h"

/**
 * struct inject_request - what a recorder asks for
 * @settings: within bounds
 * @map: the channel, for the session that begins; without one it is to be unmapped
 */
struct inject_request {
	struct gpumon_message_settings settings;
	struct gpumon_channel_map map;
};

/**
 * inject_recorder_start - start the thread, and wait until it has tried to connect
 * @path: socket of the recorder that started the program; NULL where there is none
 *
 * Waits INJECT_ANSWER_MS at most, and only while that recorder lives. A request that comes later is treated
 * like that of a recorder that attaches.
 *
 * Return: false where no thread can be created.
 */
bool inject_recorder_start(const char *path);

/**
 * inject_recorder_request - does a recorder wait for a capture?
 *
 * Return: what it asks for, valid until it is answered; NULL where none waits.
 */
struct inject_request *inject_recorder_request(void);

/**
 * inject_recorder_answer - to the one that waits
 * @recorded: a session has begun; false: there was no memory for one, and the refusal is sent before
 *            this returns, if that takes no longer than INJECT_CONNECT_MS
 */
void inject_recorder_answer(bool recorded);

/* Has it hung up? inject_wake() is called when it does. */
bool inject_recorder_is_gone(void);

/* Called when the capture is over: hangs up, and listens for another recorder. */
void inject_recorder_hang_up(void);

/* Called in a child after fork, which does not have the thread. */
void inject_recorder_forked(void);

#endif /* GPUMON_INJECT_RECORDER_RECORDER_H */
