// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "base/utf8.h"
#include "range.h"
#include "session/session.h"
#include "write/intern.h"
#include "write/open_ranges.h"

/* Domains and registered strings, for the life of the process: a power of two. */
#define NAMES	    (1u << 13)
#define NAME_BYTES  (1u << 20)
#define NAME_LENGTH 1024

/**
 * struct name - what a handle stands for
 * @handle: NULL where the place is free
 * @text: NULL until it is known
 */
struct name {
	_Atomic(const void *) handle;
	_Atomic(const char *) text;
};

static struct name names[NAMES];
static _Atomic(char *) arena;
static _Atomic uint32_t arena_used;

bool inject_nvtx_wanted(void)
{
	return (inject_session.record & GPUMON_RECORD_RANGES) ||
	       inject_session.settings.window == GPUMON_WINDOW_RANGE;
}

static char *allocate_name(uint32_t size)
{
	char *memory = atomic_load(&arena), *nothing = NULL;
	uint32_t at;

	if (!memory) {
		memory = mmap(NULL, NAME_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		if (!atomic_compare_exchange_strong(&arena, &nothing, memory)) {
			munmap(memory, NAME_BYTES);
			memory = nothing;
		}
	}
	if (atomic_load(&arena_used) + size > NAME_BYTES)
		return NULL;
	at = atomic_fetch_add(&arena_used, size);
	return at + size <= NAME_BYTES ? memory + at : NULL;
}

static struct name *find_name(const void *handle, bool make)
{
	uint32_t at = (uint32_t)(((uintptr_t)handle >> 3) * 0x9e3779b1u) & (NAMES - 1), tries;
	const void *there;

	for (tries = 0; tries < NAMES / 4; tries++, at = (at + 1) & (NAMES - 1)) {
		there = atomic_load_explicit(&names[at].handle, memory_order_acquire);
		if (!there && make &&
		    atomic_compare_exchange_strong(&names[at].handle, &there, handle))
			return &names[at];
		if (there == handle)
			return &names[at];
		if (!there)
			return NULL;
	}
	return NULL;
}

const void *inject_nvtx_remember(const void *handle, const char *text, const wchar_t *wide)
{
	char buffer[NAME_LENGTH], *kept;
	struct name *name;
	size_t length;

	if (wide) {
		length = inject_utf8(wide, buffer, sizeof(buffer));
		text = buffer;
	} else {
		length = text ? strnlen(text, NAME_LENGTH - 1) : 0;
	}
	kept = allocate_name((uint32_t)((length + 1 + 15) & ~15ull));
	if (!kept)
		return NULL;
	if (length)
		memcpy(kept, text, length);
	kept[length] = '\0';
	name = find_name(handle ? handle : kept, true);
	if (!name)
		return NULL;
	atomic_store_explicit(&name->text, kept, memory_order_release);
	return handle ? handle : kept;
}

static const char *name_of_handle(const void *handle)
{
	struct name *name = handle ? find_name(handle, false) : NULL;

	return name ? atomic_load_explicit(&name->text, memory_order_acquire) : NULL;
}

static const char *event_text(const struct inject_nvtx_event *event, char *buffer, size_t size)
{
	const nvtxEventAttributes_t *attributes = event->attributes;
	const wchar_t *wide = event->wide;

	if (attributes) {
		switch (attributes->messageType) {
		case NVTX_MESSAGE_TYPE_ASCII:
			return attributes->message.ascii;
		case NVTX_MESSAGE_TYPE_UNICODE:
			wide = attributes->message.unicode;
			break;
		case NVTX_MESSAGE_TYPE_REGISTERED:
			return name_of_handle(attributes->message.registered);
		default:
			return NULL;
		}
	}
	if (!wide)
		return event->text;
	inject_utf8(wide, buffer, size);
	return buffer;
}

static uint32_t event_color(const struct inject_nvtx_event *event)
{
	return event->attributes && event->attributes->colorType == NVTX_COLOR_ARGB ?
		       event->attributes->color :
		       0;
}

/* The id of the START that opened the window; for pushes, the depth is enough. */
static _Atomic uint64_t window_start;

/* The window is open while a range of that name is, in any thread. */
static void follow_window(struct inject_thread *thread, const struct inject_nvtx_event *event,
			  const char *text)
{
	const char *wanted = inject_session.settings.range;
	bool is_it = text && strcmp(text, wanted) == 0;
	static _Atomic int open;
	uint64_t id = event->id;
	uint32_t depth;
	bool ends = false;

	switch (event->kind) {
	case GPUMON_RANGE_PUSH:
		/* range_windows has 64 bits: a deeper range cannot open the window. */
		depth = thread->range_depth - 1;
		if (is_it && depth < 64) {
			thread->range_windows |= 1ull << depth;
			if (atomic_fetch_add(&open, 1) == 0)
				inject_window_open(thread, wanted);
		}
		return;
	case GPUMON_RANGE_POP:
		depth = thread->range_depth;
		if (depth < 64 && thread->range_windows >> depth & 1) {
			thread->range_windows &= ~(1ull << depth);
			ends = true;
		}
		break;
	case GPUMON_RANGE_START:
		if (is_it && !atomic_exchange(&window_start, id) && atomic_fetch_add(&open, 1) == 0)
			inject_window_open(thread, wanted);
		return;
	case GPUMON_RANGE_END:
		ends = id && atomic_compare_exchange_strong(&window_start, &id, 0);
		break;
	default:
		return;
	}
	if (ends && atomic_fetch_sub(&open, 1) == 1)
		inject_window_close(thread, wanted);
}

/* What is open, so that a capture that begins later knows; also while there is none. */
static void remember_open_range(const struct inject_nvtx_event *event, uint64_t time_ns)
{
	struct inject_range range = { .time_ns = time_ns };
	struct inject_thread *thread = inject_thread_get();
	char buffer[NAME_LENGTH];
	const char *text;

	if (!thread)
		return;
	if (event->kind == GPUMON_RANGE_POP) {
		inject_open_ranges_pop(thread);
		return;
	}
	range.domain = name_of_handle(event->domain);
	range.color = event_color(event);
	text = event_text(event, buffer, sizeof(buffer));
	if (text)
		memcpy(range.text, text, strnlen(text, sizeof(range.text) - 1));
	inject_open_ranges_push(thread, &range);
}

void inject_nvtx_event(const struct inject_nvtx_event *event)
{
	struct gpumon_record_range record = {
		.head = { .type = GPUMON_RECORD_RANGE, .size = sizeof(record) },
		.id = event->id,
		.kind = event->kind,
	};
	struct inject_thread *thread;
	char buffer[NAME_LENGTH];
	const char *text;

	record.time_ns = inject_now();
	/* Enters before the range is remembered: a first callback writes the ranges open so far. */
	thread = NULL;
	if (atomic_load_explicit(&inject_session.is_open, memory_order_relaxed) &&
	    inject_nvtx_wanted())
		thread = inject_thread_enter(true);
	if (event->kind == GPUMON_RANGE_PUSH || event->kind == GPUMON_RANGE_POP)
		remember_open_range(event, record.time_ns);
	if (!thread)
		return;
	text = event_text(event, buffer, sizeof(buffer));
	/* The range that opens the window is in it, and so is its end. */
	if (inject_session.settings.window == GPUMON_WINDOW_RANGE &&
	    (event->kind == GPUMON_RANGE_PUSH || event->kind == GPUMON_RANGE_START))
		follow_window(thread, event, text);
	if ((inject_session.record & GPUMON_RECORD_RANGES) &&
	    atomic_load(&inject_session.recording)) {
		record.tid = thread->tid;
		record.domain = inject_intern_string(thread, name_of_handle(event->domain));
		record.text = inject_intern_string(thread, text);
		record.color = event_color(event);
		inject_append(thread, &record);
	}
	if (inject_session.settings.window == GPUMON_WINDOW_RANGE &&
	    (event->kind == GPUMON_RANGE_POP || event->kind == GPUMON_RANGE_END))
		follow_window(thread, event, text);
	inject_thread_leave(thread);
}
