// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "guest.h"

/* Streams whose records may still come: those of the last contexts. */
#define OWN 256

/**
 * struct own - a stream of the guest
 * @key: ids of context and stream
 * @memory: address, 0: none
 */
struct own {
	_Atomic uint64_t key;
	_Atomic uint64_t memory;
};

static struct own owned[OWN];
static _Atomic unsigned int owned_n;

static uint64_t key_of(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

/* Those that there are: the oldest give way. */
static unsigned int count_owned(void)
{
	unsigned int n = atomic_load(&owned_n);

	return n < OWN ? n : OWN;
}

static struct own *find_own(uint64_t key)
{
	unsigned int n = count_owned();

	for (unsigned int i = 0; i < n; i++)
		if (atomic_load_explicit(&owned[i].key, memory_order_relaxed) == key)
			return &owned[i];
	return NULL;
}

void inject_guest_own(CUcontext context, CUstream stream, CUdeviceptr memory)
{
	uint32_t context_id, stream_id;
	struct own *own;
	uint64_t key;

	if (!inject_cupti.cuptiGetContextId || !inject_cupti.cuptiGetStreamIdEx ||
	    inject_cupti.cuptiGetContextId(context, &context_id) != CUPTI_SUCCESS ||
	    inject_cupti.cuptiGetStreamIdEx(context, stream, 0, &stream_id) != CUPTI_SUCCESS)
		return;
	key = key_of(context_id, stream_id);
	own = find_own(key);
	if (own) {
		atomic_store(&own->memory, memory);
		return;
	}
	own = &owned[atomic_load(&owned_n) % OWN];
	atomic_store(&own->memory, memory);
	atomic_store(&own->key, key);
	atomic_fetch_add(&owned_n, 1);
}

bool inject_guest_owns_stream(uint32_t context, uint32_t stream)
{
	return find_own(key_of(context, stream));
}

bool inject_guest_owns_memory(uint32_t context, uint64_t address)
{
	unsigned int n = count_owned();

	for (unsigned int i = 0; i < n; i++)
		if (atomic_load(&owned[i].memory) == address &&
		    atomic_load(&owned[i].key) >> 32 == context)
			return true;
	return false;
}
