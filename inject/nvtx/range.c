// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>
#include <wchar.h>

#include "base/prepared.h"
#include "base/utf8.h"
#include "channel/annotations.h"
#include "channel/intern.h"
#include "range.h"
#include "session/session.h"
#include "session/window.h"

/* Domains and registered strings, for the life of the process: a power of two. */
#define NAMES	    (1u << 16)
#define NAME_LENGTH 1024

/* Texts, a block at a time. */
#define BLOCK_BYTES (1u << 20)
#define BLOCKS	    64

/* Ranges by start and end that hold the window open, at once: a power of two. */
#define STARTS 256

/**
 * struct name - what a handle stands for
 * @handle: NULL where the place is free
 * @text: NULL until it is known
 */
struct name {
	_Atomic(const void *) handle;
	_Atomic(const char *) text;
};

struct block {
	_Atomic uint32_t used;
	char text[];
};

/**
 * struct start - a range that holds the window open until its end
 * @id: 0 where the place is free
 * @window: generation of the session
 */
struct start {
	_Atomic uint64_t id;
	_Atomic uint32_t window;
};

static struct name names[NAMES];
static _Atomic(struct block *) arena;
static _Atomic uint32_t blocks;
static struct start starts[STARTS];

bool inject_nvtx_wanted(void)
{
	return (inject_session.record & GPUMON_RECORD_RANGES) ||
	       inject_session.settings.window == GPUMON_WINDOW_RANGE;
}

static struct block *add_block(struct block *full)
{
	struct block *block;

	if (atomic_load(&blocks) >= BLOCKS)
		return NULL;
	block = inject_memory_take(BLOCK_BYTES);
	if (!block)
		return NULL;
	/* Another thread's block is used if that thread came first. */
	if (!atomic_compare_exchange_strong(&arena, &full, block)) {
		inject_memory_give(block, BLOCK_BYTES);
		return full;
	}
	atomic_fetch_add(&blocks, 1);
	return block;
}

static char *allocate_name(uint32_t size)
{
	const uint32_t room = BLOCK_BYTES - sizeof(struct block);
	struct block *block = atomic_load(&arena);
	uint32_t at;

	for (;;) {
		if (block && atomic_load(&block->used) + size <= room) {
			at = atomic_fetch_add(&block->used, size);
			if (at + size <= room)
				return block->text + at;
		}
		block = add_block(block);
		if (!block)
			return NULL;
	}
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

static struct start *find_start(uint64_t id)
{
	unsigned int at = (unsigned int)(id * 0x9e3779b97f4a7c15ull >> 32), i;

	for (i = 0; id && i < STARTS; i++)
		if (atomic_load(&starts[(at + i) & (STARTS - 1)].id) == id)
			return &starts[(at + i) & (STARTS - 1)];
	return NULL;
}

static bool add_start(uint64_t id)
{
	unsigned int at = (unsigned int)(id * 0x9e3779b97f4a7c15ull >> 32), i;
	struct start *start;
	uint64_t nothing;

	for (i = 0; id && i < STARTS; i++) {
		nothing = 0;
		start = &starts[(at + i) & (STARTS - 1)];
		if (!atomic_compare_exchange_strong(&start->id, &nothing, id))
			continue;
		/* The end of the range cannot come before the program has the id. */
		atomic_store(&start->window, atomic_load(&inject_session.generation));
		return true;
	}
	return false;
}

/* Whether the range held the window of this session open. */
static bool end_start(uint64_t id)
{
	struct start *start = find_start(id);
	uint32_t window = start ? atomic_load(&start->window) : 0;

	return start && atomic_compare_exchange_strong(&start->id, &id, 0) &&
	       window == atomic_load(&inject_session.generation);
}

/* The window is open while a range of that name is, in any thread. */
static void open_window(struct inject_thread *thread, const struct inject_nvtx_event *event,
			struct inject_range *pushed, const char *text)
{
	const char *wanted = inject_session.settings.range;

	if (!text || strcmp(text, wanted) != 0)
		return;
	if (event->kind == GPUMON_RANGE_START && !add_start(event->id))
		return;
	if (event->kind == GPUMON_RANGE_PUSH) {
		if (!pushed)
			return;
		pushed->window = atomic_load(&inject_session.generation);
	}
	inject_window_open(thread, wanted);
}

/* The last range of the event's domain, or the one of its id. Did it hold the window open? */
static bool end_range(const struct inject_nvtx_event *event)
{
	struct inject_thread *thread = inject_thread_get();

	if (event->kind == GPUMON_RANGE_END)
		return end_start(event->id);
	return event->kind == GPUMON_RANGE_POP && thread &&
	       inject_open_ranges_pop(thread, event->domain);
}

/* Open ranges are kept also while there is no capture, so that one that begins later has them. */
static struct inject_range *remember_open_range(const struct inject_nvtx_event *event,
						uint64_t time_ns)
{
	struct inject_range range = { .time_ns = time_ns, .handle = event->domain };
	struct inject_thread *thread = inject_thread_get();
	char buffer[NAME_LENGTH];
	const char *text;

	if (!thread)
		return NULL;
	range.domain = name_of_handle(event->domain);
	range.color = event_color(event);
	text = event_text(event, buffer, sizeof(buffer));
	if (text)
		memcpy(range.text, text, strnlen(text, sizeof(range.text) - 1));
	return inject_open_ranges_push(thread, &range);
}

static void take_event(const struct inject_nvtx_event *event)
{
	struct gpumon_record_range record = {
		.head = { .type = GPUMON_RECORD_RANGE, .size = sizeof(record) },
		.id = event->id,
		.kind = event->kind,
	};
	struct inject_range *pushed = NULL;
	struct inject_thread *thread;
	char buffer[NAME_LENGTH];
	const char *text;
	bool closes;

	record.time_ns = inject_now();
	/* Enters before the range is remembered: a first callback writes the ranges open so far. */
	thread = NULL;
	if (atomic_load_explicit(&inject_session.is_open, memory_order_acquire) &&
	    inject_nvtx_wanted())
		thread = inject_thread_enter(true);
	if (event->kind == GPUMON_RANGE_PUSH)
		pushed = remember_open_range(event, record.time_ns);
	closes = end_range(event);
	if (!thread)
		return;
	text = event_text(event, buffer, sizeof(buffer));
	/* The range that opens the window is in it, and so is its end. */
	if (inject_session.settings.window == GPUMON_WINDOW_RANGE &&
	    (event->kind == GPUMON_RANGE_PUSH || event->kind == GPUMON_RANGE_START))
		open_window(thread, event, pushed, text);
	if ((inject_session.record & GPUMON_RECORD_RANGES) &&
	    atomic_load(&inject_session.recording)) {
		record.tid = thread->tid;
		record.domain = inject_intern_string(thread, name_of_handle(event->domain));
		record.text = inject_intern_string(thread, text);
		record.color = event_color(event);
		/*
		 * The text was registered when there was no room for it, or before the library was
		 * loaded.
		 */
		if (!text && event->attributes &&
		    event->attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
			gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_STRING_TABLE, 1);
		inject_append(thread, &record);
	}
	if (closes)
		inject_window_close(thread, inject_session.settings.range);
	inject_thread_leave(thread);
}

void inject_nvtx_event(const struct inject_nvtx_event *event)
{
	int kept = errno;

	take_event(event);
	errno = kept;
}
