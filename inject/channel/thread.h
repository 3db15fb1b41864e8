/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The current capture, what the library keeps for each thread, and how a thread keeps the channel mapped
 * while it writes to it. session/ begins and ends captures.
 */
#ifndef GPUMON_INJECT_CHANNEL_THREAD_H
#define GPUMON_INJECT_CHANNEL_THREAD_H

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
 * @at_start: the first API was being initialised when it began, else the program used it already
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
	bool at_start;
};

extern struct inject_session inject_session INJECT_HIDDEN;

/* Whether this is the first time in the capture. @last: the number of the capture of the last time. */
static inline bool inject_first_in_capture(_Atomic uint32_t *last)
{
	uint32_t generation = atomic_load(&inject_session.generation);

	return atomic_exchange(last, generation) != generation;
}

/* Whether a call that begins now gets a record, for APIs that have no hook to switch off. */
static inline bool inject_session_takes_calls(void)
{
	return atomic_load_explicit(&inject_session.recording, memory_order_acquire) &&
	       !atomic_load_explicit(&inject_session.ends, memory_order_relaxed);
}

/*
 * What the library keeps for each thread, and how a thread keeps the channel
 * mapped while it writes to it.
 */

/**
 * struct inject_call - the outermost call of the API, until it returns
 * @start_ns: when it began
 * @correlation: the API's id, that of calls nested in it as well
 * @stack: id, 0 for none
 * @function: string id of its name
 * @open: entries without exits, including its own; 0: there is no such call
 * @graph: launch of a graph: the API's id of it, 0 if unknown
 * @name: string id of the kernel's name, where it is known in the call; otherwise 0
 * @class: INJECT_CLASS_*
 * @is_captured: a node of a graph was made within
 * @is_unsampled: its stack was left out by --sample
 * @context: id, for a call that ends without its exit; 0 where the API says it only there
 * @data: the API's, on the stack of the call, where a backend has to know that; valid with @open
 */
struct inject_call {
	uint64_t start_ns;
	uint32_t correlation;
	uint32_t stack;
	uint32_t function;
	uint32_t open;
	uint32_t graph;
	uint32_t name;
	uint16_t class;
	bool is_captured;
	bool is_unsampled;
	uint32_t context;
	const void *data;
};

/* Open ranges that are kept for each thread; deeper ones are only counted. */
#define INJECT_RANGES 64

/**
 * struct inject_range - one that was pushed
 * @time_ns: when
 * @handle: of its domain, each of which has a stack of its own; NULL of the default one
 * @domain: name of its domain, which is never freed; NULL where it has none
 * @color: ARGB, 0 for none
 * @window: generation of the session whose window it holds open, 0 for none
 * @text: cut to this length
 */
struct inject_range {
	uint64_t time_ns;
	const void *handle;
	const char *domain;
	uint32_t color;
	uint32_t window;
	char text[64];
};

/**
 * struct inject_thread - a thread that came through a callback
 * @next: in the list of all; entries are never removed
 * @taken: in use by a living thread
 * @inside: between inject_thread_enter() and _leave()
 * @generation: of the session in which its THREAD record was written
 * @tid: in the pid namespace of the process
 * @ours: a thread of the library: its calls are not the program's
 * @writer: its block of the channel
 * @call: of the API
 * @ranges: open ranges of all domains, in the order of their pushes, also outside of captures
 * @range_count: how many of them
 * @ranges_beyond: that were pushed when there was no more room
 * @hashes: of the last stack: of its outermost frame, of its outermost two, ...
 * @has_new_stack: its last stack was the first of its kind
 * @libraries: that were loaded at its last stack, as inject_stack_libraries() counts
 * @hashed: how many of @hashes are valid
 * @skip: so many launches are left out before --sample takes one
 * @chance: for inject_random()
 * @commands: block that the thread fills, of a backend that has to ask for each operation's end
 * @is_presenting: in a call that presents an image with OpenGL
 * @scratch: for one call of an API: arguments that a backend changes
 */
struct inject_thread {
	struct inject_thread *next;
	_Atomic bool taken;
	_Atomic bool inside;
	_Atomic uint32_t generation;
	uint32_t tid;
	bool ours;
	struct gpumon_channel_writer writer;
	struct inject_call call;
	uint32_t range_count;
	uint32_t ranges_beyond;
	struct inject_range ranges[INJECT_RANGES];
	uint64_t hashes[GPUMON_STACK_DEPTH_MAX];
	bool has_new_stack;
	uint64_t libraries;
	unsigned int hashed;
	uint32_t skip;
	uint32_t chance;
	void *commands;
	bool is_presenting;
	uint64_t scratch[8];
};

/**
 * struct inject_thread_hooks - what is done at a thread's begin and end, of files above this one
 * @introduce: write its THREAD record and what belongs to it
 * @end_call: write its open call: it ends within it, as it was cancelled
 * @forget: it ends, also where nothing is recorded
 */
struct inject_thread_hooks {
	void (*introduce)(struct inject_thread *thread);
	void (*end_call)(struct inject_thread *thread);
	void (*forget)(struct inject_thread *thread);
};

/**
 * inject_thread_setup - once, before any other of these
 * @hooks: stay
 *
 * Also has a child after fork forget the threads of its parent.
 *
 * Return: false where the process has no thread-specific key left.
 */
bool inject_thread_setup(const struct inject_thread_hooks *hooks);

/*
 * The calling thread's, NULL before inject_thread_get(). It takes one word of the static TLS
 * that the loader reserves for libraries that are loaded late.
 */
extern __thread struct inject_thread *inject_self __attribute__((tls_model("initial-exec")));

/* Creates that of the calling thread; NULL where there is no memory for it. */
struct inject_thread *inject_thread_new(void);

/* The calling thread's; makes one as inject_thread_new() does. */
static inline struct inject_thread *inject_thread_get(void)
{
	return INJECT_LIKELY(inject_self) ? inject_self : inject_thread_new();
}

/* Writes the caller's THREAD record, at its first callback in a capture. */
void inject_thread_introduce(struct inject_thread *thread, uint32_t generation);

static inline void inject_thread_leave(struct inject_thread *thread)
{
	atomic_store_explicit(&thread->inside, false, memory_order_release);
}

/**
 * inject_thread_enter - keep the channel mapped until inject_thread_leave()
 * @any_time: also outside of the window, as at the begin and end of a capture
 *
 * Return: the calling thread, whose THREAD record is written; NULL where nothing is recorded now.
 */
static inline struct inject_thread *inject_thread_enter(bool any_time)
{
	struct inject_thread *thread = inject_thread_get();
	uint32_t generation;

	/* Within already: a call that the library itself makes, or a signal handler's. */
	if (INJECT_UNLIKELY(!thread || atomic_load_explicit(&thread->inside, memory_order_relaxed)))
		return NULL;
	/* Either the end of the capture sees this, or this sees the end. */
	atomic_store(&thread->inside, true);
	if (INJECT_UNLIKELY(
		    !atomic_load(any_time ? &inject_session.is_open : &inject_session.recording))) {
		inject_thread_leave(thread);
		return NULL;
	}
	generation = atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	if (INJECT_UNLIKELY(atomic_load_explicit(&thread->generation, memory_order_relaxed) !=
			    generation))
		inject_thread_introduce(thread, generation);
	return thread;
}

/**
 * inject_thread_wait_outside - wait until no thread but the caller is within
 * @wait_ms: at most
 *
 * Return: false if one still is: the channel has to stay mapped.
 */
bool inject_thread_wait_outside(unsigned int wait_ms);

/* The first in the list of all. */
struct inject_thread *inject_thread_first(void);

/* Gives the blocks of all threads back; no thread may be within. */
void inject_thread_release_blocks(void);

/* Appends a record. The channel counts those that do not fit. */
static inline bool inject_append(struct inject_thread *thread, const void *record)
{
	return gpumon_channel_write(&thread->writer, record);
}

#endif /* GPUMON_INJECT_CHANNEL_THREAD_H */
