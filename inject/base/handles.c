// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdatomic.h>

#include "handles.h"
#include "prepared.h"

/* A power of two; full at three quarters. */
#define SLOTS (1u << 17)

/* Memory for entries is taken in pieces of this size. */
#define PIECE (256u << 10)

/**
 * struct inject_handle_slot - an object
 * @key: made of its handle and kind; 0: free
 * @value: its entry, or a number
 */
struct inject_handle_slot {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
};

/* Keys are unique: addresses have less than 61 bits, and there are less than 8 kinds. */
static uint64_t key_of(const void *handle, unsigned int kind)
{
	return (uint64_t)(uintptr_t)handle << 3 | (kind + 1);
}

static void *take_memory(struct inject_handles *handles, size_t size)
{
	void *memory;

	size = (size + 15) & ~15ul;
	if (handles->piece_left < size) {
		memory = inject_memory_take(PIECE);
		if (!memory)
			return NULL;
		handles->piece = memory;
		handles->piece_left = PIECE;
	}
	memory = handles->piece;
	handles->piece += size;
	handles->piece_left -= size;
	return memory;
}

static struct inject_handle_slot *find_slot(const struct inject_handles *handles, uint64_t key)
{
	struct inject_handle_slot *all = __atomic_load_n(&handles->slots, __ATOMIC_ACQUIRE), *slot;
	uint64_t hash = key * 0x9e3779b97f4a7c15ull, there;
	uint32_t at = (uint32_t)(hash >> 40) & (SLOTS - 1);

	for (; all; at = (at + 1) & (SLOTS - 1)) {
		slot = &all[at];
		there = atomic_load_explicit(&slot->key, memory_order_acquire);
		if (there == key || !there)
			return slot;
	}
	return NULL;
}

uint64_t inject_handle_number(const struct inject_handles *handles, const void *handle,
			      unsigned int kind)
{
	uint64_t key = key_of(handle, kind);
	struct inject_handle_slot *slot = find_slot(handles, key);

	if (!slot || atomic_load_explicit(&slot->key, memory_order_relaxed) != key)
		return 0;
	return atomic_load_explicit(&slot->value, memory_order_acquire);
}

static bool make_slots(struct inject_handles *handles)
{
	void *memory;

	if (handles->slots)
		return true;
	memory = inject_memory_take(SLOTS * sizeof(*handles->slots));
	if (!memory)
		return false;
	__atomic_store_n(&handles->slots, memory, __ATOMIC_RELEASE);
	return true;
}

/* The slot of a handle, taken if it has none. NULL where there is no room. Under the lock. */
static struct inject_handle_slot *take_slot(struct inject_handles *handles, const void *handle,
					    unsigned int kind, uint64_t value)
{
	uint64_t key = key_of(handle, kind);
	struct inject_handle_slot *slot;

	if (!make_slots(handles))
		return NULL;
	slot = find_slot(handles, key);
	if (atomic_load(&slot->key))
		return slot;
	if (handles->used >= SLOTS / 4 * 3)
		return NULL;
	handles->used++;
	atomic_store_explicit(&slot->value, value, memory_order_relaxed);
	atomic_store_explicit(&slot->key, key, memory_order_release);
	return slot;
}

void *inject_handle_add(struct inject_handles *handles, const void *handle, unsigned int kind,
			size_t size)
{
	void *entry = inject_handle_find(handles, handle, kind);
	struct inject_handle_slot *slot;

	if (entry)
		return entry;
	pthread_mutex_lock(&handles->adding);
	entry = inject_handle_find(handles, handle, kind);
	/* The slot first: memory is never given back. */
	slot = entry ? NULL : take_slot(handles, handle, kind, 0);
	if (slot) {
		entry = take_memory(handles, size);
		atomic_store(&slot->value, (uintptr_t)entry);
	}
	pthread_mutex_unlock(&handles->adding);
	return entry;
}

uint64_t inject_handle_count(struct inject_handles *handles, const void *handle, unsigned int kind,
			     uint32_t *counter)
{
	uint64_t number = inject_handle_number(handles, handle, kind);
	struct inject_handle_slot *slot;

	if (number)
		return number;
	pthread_mutex_lock(&handles->adding);
	slot = take_slot(handles, handle, kind, 0);
	if (slot && !atomic_load(&slot->value))
		atomic_store(&slot->value, ++*counter);
	number = slot ? atomic_load(&slot->value) : 0;
	pthread_mutex_unlock(&handles->adding);
	return number;
}

void inject_handle_set(struct inject_handles *handles, const void *handle, unsigned int kind,
		       uint64_t number)
{
	struct inject_handle_slot *slot;

	pthread_mutex_lock(&handles->adding);
	slot = take_slot(handles, handle, kind, number);
	if (slot)
		atomic_store(&slot->value, number);
	pthread_mutex_unlock(&handles->adding);
}

void *inject_handle_memory(struct inject_handles *handles, size_t size)
{
	void *memory;

	pthread_mutex_lock(&handles->adding);
	memory = take_memory(handles, size);
	pthread_mutex_unlock(&handles->adding);
	return memory;
}

void inject_handles_forked(struct inject_handles *handles)
{
	pthread_mutex_init(&handles->adding, NULL);
}
