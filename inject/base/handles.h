/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A table of the program's objects, by their handles. An entry stays when the object goes: a new
 * object with the same handle takes it over. A look-up takes no lock.
 */
#ifndef GPUMON_INJECT_BASE_HANDLES_H
#define GPUMON_INJECT_BASE_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inject_handle_slot;

/**
 * struct inject_handles - objects of an API
 * @adding: taken to add one; held for some hundred instructions
 * @slots: table of them
 * @used: how many
 * @piece: memory for entries
 * @piece_left: bytes of it
 */
struct inject_handles {
	pthread_mutex_t adding;
	struct inject_handle_slot *slots;
	uint32_t used;
	char *piece;
	size_t piece_left;
};

#define INJECT_HANDLES                              \
	{                                           \
		.adding = PTHREAD_MUTEX_INITIALIZER \
	}

/* The number that belongs to a handle; 0: none. */
uint64_t inject_handle_number(const struct inject_handles *handles, const void *handle,
			      unsigned int kind);

/* Sets it, also for a handle that is new. Without room nothing happens. */
void inject_handle_set(struct inject_handles *handles, const void *handle, unsigned int kind,
		       uint64_t number);

/* The number of a handle; where it has none, the next one of @counter. 0: no room. */
uint64_t inject_handle_count(struct inject_handles *handles, const void *handle, unsigned int kind,
			     uint32_t *counter);

/* The entry of a handle; NULL: none. */
static inline void *inject_handle_find(const struct inject_handles *handles, const void *handle,
				       unsigned int kind)
{
	return (void *)(uintptr_t)inject_handle_number(handles, handle, kind);
}

/**
 * inject_handle_add - the entry of a handle, also of one that is new
 * @handles: table
 * @handle: of the object
 * @kind: of the object, a number below 7: objects of two kinds may have the same handle
 * @size: of the entry, the same for each of this kind
 *
 * Return: NULL where there is no room. A new entry is all 0, others have what was in them.
 */
void *inject_handle_add(struct inject_handles *handles, const void *handle, unsigned int kind,
			size_t size);

/* Memory that is never given back; all 0. NULL where there is none. */
void *inject_handle_memory(struct inject_handles *handles, size_t size);

/* Called in a child after fork. */
void inject_handles_forked(struct inject_handles *handles);

#endif /* GPUMON_INJECT_BASE_HANDLES_H */
