/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A capture of this process: its begin and its end. */
#ifndef GPUMON_INJECT_SESSION_SESSION_H
#define GPUMON_INJECT_SESSION_SESSION_H

#include "backend.h"
#include "channel/thread.h"

/**
 * inject_session_begin - record into a channel
 * @map: channel of the recorder
 * @settings: within bounds
 * @at_start: the API is being initialised just now, as opposed to later, in dormant mode
 *
 * What goes wrong with an API becomes a NOTE in the capture; the session begins nevertheless.
 *
 * Return: false where there is no memory.
 */
bool inject_session_begin(const struct gpumon_channel_map *map,
			  const struct gpumon_message_settings *settings, bool at_start);

/**
 * inject_session_end - stop recording, write what is left, unmap the channel
 * @recorder_lives: it will read the rest; otherwise nothing is flushed
 * @reason: for the WINDOW record
 * @settle_ms: time for operations that the GPU still has, before they are recorded as unfinished
 */
void inject_session_end(bool recorder_lives, const char *reason, unsigned int settle_ms);

/**
 * inject_session_join - an API comes to a process in which the library is active
 * @backend: its backend. Already there: nothing happens
 *
 * Takes part in the session that there is, and in those to come. Context: the API is being
 * initialised just now, in this thread.
 */
void inject_session_join(const struct inject_backend *backend);

/* In a child after fork: nothing is recorded here. */
void inject_session_forked(void);

/**
 * inject_session_note - something that a reader of the capture should know
 * @thread: caller
 * @flags: of a note: whether something is missing for that reason
 * @format: as printf
 */
void inject_session_note(struct inject_thread *thread, uint16_t flags, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * inject_session_look_for_python - an interpreter may be loaded by now
 * @thread: caller, within; may wait for the loader
 */
void inject_session_look_for_python(struct inject_thread *thread);

#endif /* GPUMON_INJECT_SESSION_SESSION_H */
