// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>
#include <sys/mman.h>

#include "intern.h"

/* Powers of two; a table is full at three quarters, where searches grow long. */
#define STRINGS (1u << 15)
#define STACKS	(1u << 17)
#define FRAMES	(1u << 16)

/* In @state, with the generation: its record is being written, or found no room. */
#define WRITING (1u << 31)
#define NO_ROOM (1u << 30)

/**
 * struct entry - a string, stack or frame; its id is its index in the table plus 1
 * @hash: 0 where the entry is free
 * @state: generation of the capture in which it was written, with WRITING while it is, and with
 *         NO_ROOM as long as it is tried again at each use
 */
struct entry {
	_Atomic uint64_t hash;
	_Atomic uint32_t state;
};

struct table {
	struct entry *entries;
	uint32_t size;
	_Atomic uint32_t used;
};

static struct table strings = { .size = STRINGS };
static struct table stacks = { .size = STACKS };
static struct table frames_table = { .size = FRAMES };

static bool make_intern_table(struct table *table)
{
	void *memory;

	if (table->entries)
		return true;
	memory = mmap(NULL, table->size * sizeof(*table->entries), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	table->entries = memory;
	return true;
}

bool inject_intern_setup(void)
{
	return make_intern_table(&strings) && make_intern_table(&stacks) &&
	       make_intern_table(&frames_table);
}

static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static inline uint64_t hash_finish(uint64_t hash)
{
	hash *= 0xbf58476d1ce4e5b9ull;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

/* What the caller has to do with the record of an entry. */
enum task {
	NOTHING, /* it is written */
	WRITE,
	WRITE_AGAIN, /* it found no room before, and counts as lost already */
};

/**
 * find_or_take - place of a hash, taken if it is new
 * @task: what the caller has to do with it
 *
 * Return: id, 0 if the table is full.
 */
static inline uint32_t find_or_take(struct table *table, uint64_t hash, enum task *task)
{
	uint32_t generation =
		atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	uint32_t at = (uint32_t)(hash >> 16) & (table->size - 1), state;
	struct entry *entry;
	uint64_t there;

	for (;; at = (at + 1) & (table->size - 1)) {
		entry = &table->entries[at];
		there = atomic_load_explicit(&entry->hash, memory_order_relaxed);
		if (INJECT_LIKELY(there == hash))
			break;
		if (there)
			continue;
		if (atomic_load_explicit(&table->used, memory_order_relaxed) >= table->size / 4 * 3)
			return 0;
		if (atomic_compare_exchange_strong(&entry->hash, &there, hash)) {
			atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
			break;
		}
		if (there == hash)
			break;
	}
	state = atomic_load_explicit(&entry->state, memory_order_relaxed);
	*task = NOTHING;
	if (INJECT_UNLIKELY(state != generation && state != (generation | WRITING))) {
		if (state == (generation | NO_ROOM))
			*task = WRITE_AGAIN;
		else
			*task = WRITE;
		if (!atomic_compare_exchange_strong(&entry->state, &state, generation | WRITING))
			*task = NOTHING;
	}
	return at + 1;
}

/* Counts the record as lost where there is no room, the first time. */
static void *reserve_record(struct inject_thread *thread, size_t size, enum task task)
{
	void *room = gpumon_channel_reserve(&thread->writer, size);

	if (!room && task == WRITE)
		gpumon_channel_lose(&inject_session.map, gpumon_channel_why(&thread->writer, size),
				    1);
	return room;
}

/* A record that did not fit into the channel is tried again at the entry's next use. */
static void mark_written(struct table *table, uint32_t id, const void *done)
{
	atomic_store(&table->entries[id - 1].state,
		     atomic_load(&inject_session.generation) | (done ? 0 : NO_ROOM));
}

static bool is_written(const struct table *table, uint32_t id)
{
	return !id || atomic_load_explicit(&table->entries[id - 1].state, memory_order_relaxed) ==
			      atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
}

bool inject_string_is_written(uint32_t id)
{
	return is_written(&strings, id);
}

uint32_t inject_keep_string(struct inject_thread *thread, _Atomic uint64_t *kept, const char *text)
{
	uint64_t generation =
		atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	uint32_t id = inject_intern_string(thread, text);

	if (INJECT_LIKELY(inject_string_is_written(id)))
		atomic_store_explicit(kept, generation << 32 | id, memory_order_relaxed);
	return id;
}

bool inject_frame_is_written(uint32_t id)
{
	return is_written(&frames_table, id);
}

uint32_t inject_intern_text(struct inject_thread *thread, const char *text, size_t length)
{
	/* Names of templates can be longer: they are cut, but the hash is of all of the text. */
	const size_t most = GPUMON_CHANNEL_RECORD_MAX - sizeof(struct gpumon_record_string) - 8;
	struct gpumon_record_string *record;
	uint64_t hash = length, word;
	size_t at, kept, size;
	enum task task;
	uint32_t id;

	for (at = 0; at + 8 <= length; at += 8) {
		memcpy(&word, text + at, 8);
		hash = hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, text + at, length - at);
	hash = hash_finish(hash_mix(hash, word));

	id = find_or_take(&strings, hash, &task);
	if (!id) {
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_STRING_TABLE, 1);
		return 0;
	}
	if (task == NOTHING)
		return id;
	kept = length < most ? length : most;
	size = (sizeof(*record) + kept + 7) & ~7ull;
	record = reserve_record(thread, size, task);
	if (record) {
		memset((char *)record + size - 8, 0, 8);
		record->head.type = GPUMON_RECORD_STRING;
		record->head.flags = 0;
		record->head.size = (uint32_t)size;
		record->id = id;
		record->length = (uint32_t)kept;
		memcpy(record->text, text, kept);
		gpumon_channel_commit(&thread->writer, size);
	}
	mark_written(&strings, id, record);
	return id;
}

uint32_t inject_intern_string(struct inject_thread *thread, const char *text)
{
	return text && *text ? inject_intern_text(thread, text, strlen(text)) : 0;
}

/* From the outermost frame on, so that the part that did not change is not hashed again. */
static inline uint64_t hash_stack(struct inject_thread *thread, const uint64_t *frames,
				  unsigned int count, unsigned int same)
{
	unsigned int i = same < thread->hashed ? same : thread->hashed;
	uint64_t hash;

	if (i > count)
		i = count;
	hash = i ? thread->hashes[i - 1] : 0;
	for (; i < count; i++) {
		hash = hash_mix(hash, frames[count - 1 - i]);
		thread->hashes[i] = hash;
	}
	thread->hashed = count;
	return hash;
}

uint32_t inject_intern_stack(struct inject_thread *thread, const uint64_t *frames,
			     unsigned int count, bool truncated, unsigned int same)
{
	struct gpumon_record_stack *record;
	uint64_t hash;
	enum task task;
	uint32_t id;
	size_t size;

	if (!count)
		return 0;
	hash = hash_stack(thread, frames, count, same);
	hash = hash_finish(hash_mix(hash, (uint64_t)count << 1 | truncated));
	id = find_or_take(&stacks, hash, &task);
	if (INJECT_UNLIKELY(!id)) {
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_STACK_TABLE, 1);
		return 0;
	}
	if (INJECT_LIKELY(task == NOTHING))
		return id;
	size = sizeof(*record) + count * sizeof(*frames);
	record = reserve_record(thread, size, task);
	if (record) {
		record->head.type = GPUMON_RECORD_STACK;
		record->head.flags = truncated ? GPUMON_STACK_TRUNCATED : 0;
		record->head.size = (uint32_t)size;
		record->id = id;
		record->count = count;
		memcpy(record->frames, frames, count * sizeof(*frames));
		gpumon_channel_commit(&thread->writer, size);
	}
	mark_written(&stacks, id, record);
	/* A library that was just loaded shows first in a new stack. */
	thread->has_new_stack = true;
	return id;
}

static void *write_frame(struct inject_thread *thread, const struct gpumon_record_frame *record,
			 enum task task)
{
	void *room = reserve_record(thread, sizeof(*record), task);

	if (room) {
		memcpy(room, record, sizeof(*record));
		gpumon_channel_commit(&thread->writer, sizeof(*record));
	}
	return room;
}

uint32_t inject_intern_frame(struct inject_thread *thread, uint32_t function, uint32_t file,
			     uint32_t line, uint32_t first_line)
{
	struct gpumon_record_frame record = {
		.head = { .type = GPUMON_RECORD_FRAME, .size = sizeof(record) },
		.kind = GPUMON_FRAME_PYTHON,
		.function = function,
		.file = file,
		.line = line,
		.first_line = first_line,
	};
	uint64_t hash =
		hash_finish(hash_mix(hash_mix(function, file), (uint64_t)first_line << 32 | line));
	enum task task;

	record.id = find_or_take(&frames_table, hash, &task);
	if (!record.id)
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_STACK_TABLE, 1);
	else if (task != NOTHING)
		mark_written(&frames_table, record.id, write_frame(thread, &record, task));
	return record.id;
}
