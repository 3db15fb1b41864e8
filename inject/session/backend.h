/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An API for GPUs, as the rest of the library sees it. What knows the API's
 * names is in a folder of its own and gives one of these to entry.c; all of them
 * share one session.
 */
#ifndef GPUMON_INJECT_SESSION_BACKEND_H
#define GPUMON_INJECT_SESSION_BACKEND_H

#include "channel/process.h"
#include "channel/thread.h"

/**
 * struct inject_backend - what a session asks of an API
 * @api: name
 * @has_stalls: can sample what instructions of kernels wait for, and says itself where it cannot
 * @read_environment: once, in the program's own thread: variables that only this API has
 * @reserve: memory for what the API delivers, as the settings say; false where there is none
 * @load: find the API's libraries and subscribe to them; false where that is not possible, with
 *        @why set to a sentence that is valid until the next call
 * @versions: set those of the fields that are this API's; also where @load returned false
 * @describe: write API records, as far as something is known; also where @load returned false
 * @code: of the API's own libraries, which stacks leave out, after @load of all backends; how many
 *        of @room were filled
 * @start: after @load: switch on what a whole session needs, also outside of its window; false, with
 *         @why as for @load, where nothing can be recorded. @at_start: the API is being initialised
 *         just now. The session may have begun long ago, for another API
 * @window_calls: the window begins or ends: hooks of calls. They are on before @window_operations
 *                are, and off after them. One thread at a time
 * @window_operations: likewise: what the GPU does
 * @launches_graphs: whether a graph was launched in this capture; NULL: the API has none
 * @rest: flush, then leave the API alone until @wake, so that it costs the program nothing; NULL: there
 *        is nothing to gain. Outside of the window
 * @wake: undo that; false where it is not possible now
 * @flush: have the API deliver what is complete. May wait for a launch of the program, and holds
 *         locks of the API
 * @drain: write records of what it delivered; @thread: NULL: nobody reads them, drop it
 * @end: write everything that there is, and leave the API alone from then on. Operations that the
 *       GPU still has get @settle_ms, 0 where the program ends. @recorder_lives: false: write
 *       nothing. Also called where @load or @start returned false
 * @forked: in a child after fork, in which nothing is recorded. False: the API does not work there, and
 *          takes no part in a session that the child begins with another API
 * @name_stream: the program names a stream through NVTX. @stream: the API's handle; @text or @wide is
 *               the name. NULL where NVTX has no such names
 *
 * A backend that has nothing to do leaves out @read_environment, @load (which then succeeds), @versions,
 * @describe, @window_calls, @window_operations, @flush or @name_stream.
 *
 * All but @read_environment, @reserve, @forked and @name_stream are called within
 * inject_thread_enter().
 */
struct inject_backend {
	const char *api;
	bool has_stalls;
	void (*read_environment)(void);
	bool (*reserve)(const struct gpumon_message_settings *settings);
	bool (*load)(const char **why);
	void (*versions)(struct inject_versions *versions);
	void (*describe)(struct inject_thread *thread);
	unsigned int (*code)(struct inject_code *code, unsigned int room);
	bool (*start)(struct inject_thread *thread, bool at_start, const char **why);
	void (*window_calls)(struct inject_thread *thread, bool on);
	void (*window_operations)(struct inject_thread *thread, bool on);
	bool (*launches_graphs)(void);
	void (*rest)(struct inject_thread *thread);
	bool (*wake)(struct inject_thread *thread);
	void (*flush)(void);
	void (*drain)(struct inject_thread *thread);
	void (*end)(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms);
	bool (*forked)(void);
	void (*name_stream)(void *stream, const char *text, const wchar_t *wide);
};

/* All backends, with a NULL behind the last. */
#define INJECT_BACKENDS_MAX 6
extern const struct inject_backend *inject_backends[INJECT_BACKENDS_MAX + 1];

#define inject_for_each_backend(backend)                         \
	for (const struct inject_backend **at = inject_backends; \
	     ((backend) = __atomic_load_n(at, __ATOMIC_ACQUIRE)); at++)

/* Takes part in sessions that begin later. Its environment has been read. */
void inject_backend_register(const struct inject_backend *backend);

/* In a child after fork. */
void inject_backends_forked(void);

/* The backend of an API; NULL before it is registered, or where there is none. */
const struct inject_backend *inject_backend_find(const char *api);

#endif /* GPUMON_INJECT_SESSION_BACKEND_H */
