// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "objects.h"

/* A power of two; full at three quarters. */
#define SLOTS (1u << 17)

/* Memory for entries is taken from the kernel in pieces of this size. */
#define PIECE (256u << 10)

/* Handles of different kinds of objects may be equal. */
enum kind {
	QUEUE,
	KERNEL,
	DEVICE,
	CONTEXT,
	MAPPED,
	BUFFER,
};

/**
 * struct slot - an object
 * @key: made of its handle and kind; 0: free
 * @value: its entry, or a number
 */
struct slot {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
};

/* Adding takes the lock; it is held for some hundred instructions. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static uint32_t used;
static char *piece;
static size_t piece_left;
static _Atomic uint32_t devices, contexts, buffers;

/* One to one: addresses have less than 61 bits. */
static uint64_t key_of(const void *handle, enum kind kind)
{
	return (uint64_t)(uintptr_t)handle << 3 | (kind + 1);
}

static void *take_memory(size_t size)
{
	void *memory;

	size = (size + 15) & ~15ul;
	if (piece_left < size) {
		memory = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		if (memory == MAP_FAILED)
			return NULL;
		piece = memory;
		piece_left = PIECE;
	}
	memory = piece;
	piece += size;
	piece_left -= size;
	return memory;
}

static struct slot *find_slot(uint64_t key)
{
	struct slot *all = __atomic_load_n(&slots, __ATOMIC_ACQUIRE), *slot;
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

/* 0: not there. */
static uint64_t find_value(const void *handle, enum kind kind)
{
	uint64_t key = key_of(handle, kind);
	struct slot *slot = find_slot(key);

	if (!slot || atomic_load_explicit(&slot->key, memory_order_relaxed) != key)
		return 0;
	return atomic_load_explicit(&slot->value, memory_order_acquire);
}

static bool make_slots(void)
{
	void *memory;

	if (slots)
		return true;
	memory = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	__atomic_store_n(&slots, memory, __ATOMIC_RELEASE);
	return true;
}

/* The slot of a handle, taken if it has none. NULL where there is no room. Under the lock. */
static struct slot *take_slot(const void *handle, enum kind kind, uint64_t value)
{
	uint64_t key = key_of(handle, kind);
	struct slot *slot;

	if (!make_slots())
		return NULL;
	slot = find_slot(key);
	if (atomic_load(&slot->key))
		return slot;
	if (used >= SLOTS / 4 * 3)
		return NULL;
	used++;
	atomic_store_explicit(&slot->value, value, memory_order_relaxed);
	atomic_store_explicit(&slot->key, key, memory_order_release);
	return slot;
}

static void *add_entry(const void *handle, enum kind kind, size_t size)
{
	void *entry = (void *)(uintptr_t)find_value(handle, kind);

	if (entry)
		return entry;
	pthread_mutex_lock(&adding);
	entry = (void *)(uintptr_t)find_value(handle, kind);
	if (!entry) {
		entry = take_memory(size);
		if (entry && !take_slot(handle, kind, (uintptr_t)entry))
			entry = NULL;
	}
	pthread_mutex_unlock(&adding);
	return entry;
}

struct inject_queue *inject_queue_find(cl_command_queue handle)
{
	return (struct inject_queue *)(uintptr_t)find_value(handle, QUEUE);
}

struct inject_kernel *inject_kernel_find(cl_kernel handle)
{
	return (struct inject_kernel *)(uintptr_t)find_value(handle, KERNEL);
}

struct inject_buffer *inject_buffer_find(cl_command_buffer_khr handle)
{
	return (struct inject_buffer *)(uintptr_t)find_value(handle, BUFFER);
}

struct inject_buffer *inject_buffer_add(cl_command_buffer_khr handle)
{
	struct inject_buffer *buffer = add_entry(handle, BUFFER, sizeof(*buffer));

	if (buffer)
		buffer->id = INJECT_OPENCL_ID(atomic_fetch_add(&buffers, 1) + 1);
	return buffer;
}

struct inject_queue *inject_queue_add(cl_command_queue handle)
{
	return add_entry(handle, QUEUE, sizeof(struct inject_queue));
}

struct inject_kernel *inject_kernel_add(cl_kernel handle)
{
	return add_entry(handle, KERNEL, sizeof(struct inject_kernel));
}

struct inject_kernel *inject_kernel_learn(cl_kernel handle)
{
	struct inject_kernel *kernel = inject_kernel_add(handle);
	char name[1024] = "";
	bool is_known;

	if (!kernel)
		return NULL;
	/* One that is too long is an error, not cut. */
	is_known = inject_opencl.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1,
						 name, NULL) == CL_SUCCESS &&
		   name[0];
	snprintf(kernel->name, sizeof(kernel->name), "%s", is_known ? name : "[unknown kernel]");
	atomic_store(&kernel->id, 0);
	return kernel;
}

struct inject_device *inject_device_add(cl_device_id handle)
{
	struct inject_device *device = add_entry(handle, DEVICE, sizeof(*device));

	if (!device)
		return NULL;
	pthread_mutex_lock(&adding);
	if (!device->handle) {
		device->id = INJECT_OPENCL_ID(devices++);
		device->handle = handle;
	}
	pthread_mutex_unlock(&adding);
	return device;
}

uint32_t inject_context_number(cl_context handle)
{
	uint32_t number = (uint32_t)find_value(handle, CONTEXT);
	struct slot *slot;

	if (number)
		return number;
	pthread_mutex_lock(&adding);
	slot = take_slot(handle, CONTEXT, 0);
	if (slot && !atomic_load(&slot->value))
		atomic_store(&slot->value, ++contexts);
	number = slot ? (uint32_t)atomic_load(&slot->value) : 0;
	pthread_mutex_unlock(&adding);
	return number;
}

void inject_context_forget(cl_context handle)
{
	struct slot *slot = find_slot(key_of(handle, CONTEXT));

	if (slot && atomic_load(&slot->key))
		atomic_store(&slot->value, 0);
}

void inject_mapped_add(const void *pointer, uint64_t bytes)
{
	struct slot *slot;

	pthread_mutex_lock(&adding);
	slot = take_slot(pointer, MAPPED, 0);
	if (slot)
		atomic_store(&slot->value, bytes);
	pthread_mutex_unlock(&adding);
}

uint64_t inject_mapped_bytes(const void *pointer)
{
	return find_value(pointer, MAPPED);
}

void inject_objects_forked(void)
{
	pthread_mutex_init(&adding, NULL);
}
