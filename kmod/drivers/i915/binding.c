// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bindings of group i915: objects that get into a GPU's address spaces and leave
 * them, and what makes them leave.
 */
#include <linux/hash.h>
#include <linux/ktime.h>

#include "attach/probe.h"
#include "common/event_ring.h"
#include "internal.h"

enum {
	BINDINGS_BINDS,
	BINDINGS_BOUND_BYTES,
	BINDINGS_REBINDS,
	BINDINGS_REBOUND_BYTES,
	BINDINGS_UNBINDS,
	BINDINGS_UNBOUND_BYTES,
	BINDINGS_EVICTIONS,
	BINDINGS_WANTED_BYTES,
	BINDINGS_NODE_EVICTIONS,
	BINDINGS_VM_EVICTIONS,
	BINDINGS_SHRINKS,
	BINDINGS_TARGET_PAGES,
	BINDINGS_FULL_SHRINKS,
	BINDINGS_TABLE_FULL,
};

static bool rebound_bytes_known(const struct gpumon_group *group, u32 row)
{
	return gpumon_field_known(&gpumon_i915_fields[GPUMON_I915_VMA_OBJECT]) &&
	       gpumon_field_known(&gpumon_i915_fields[GPUMON_I915_VMA_SIZE]);
}

static const struct gpumon_column bindings_columns[] = {
	[BINDINGS_BINDS] = { .name = "binds" },
	[BINDINGS_BOUND_BYTES] = { .name = "bound_bytes",
				   .needs = &gpumon_i915_fields[GPUMON_I915_VMA_SIZE] },
	[BINDINGS_REBINDS] = { .name = "rebinds",
			       .needs = &gpumon_i915_fields[GPUMON_I915_VMA_OBJECT] },
	[BINDINGS_REBOUND_BYTES] = { .name = "rebound_bytes", .known = rebound_bytes_known },
	[BINDINGS_UNBINDS] = { .name = "unbinds" },
	[BINDINGS_UNBOUND_BYTES] = { .name = "unbound_bytes",
				     .needs = &gpumon_i915_fields[GPUMON_I915_VMA_SIZE] },
	[BINDINGS_EVICTIONS] = { .name = "evictions" },
	[BINDINGS_WANTED_BYTES] = { .name = "eviction_wanted_bytes" },
	[BINDINGS_NODE_EVICTIONS] = { .name = "node_evictions" },
	[BINDINGS_VM_EVICTIONS] = { .name = "vm_evictions" },
	[BINDINGS_SHRINKS] = { .name = "shrinks" },
	[BINDINGS_TARGET_PAGES] = { .name = "shrink_target_pages" },
	[BINDINGS_FULL_SHRINKS] = { .name = "shrinks_of_all" },
	[BINDINGS_TABLE_FULL] = { .name = "objects_table_full",
				  .needs = &gpumon_i915_fields[GPUMON_I915_VMA_OBJECT] },
};

struct gpumon_statistics gpumon_i915_bindings = {
	.name = "bindings",
	.labels = { "device" },
	GPUMON_COLUMNS(bindings_columns),
	.capacity = 2 * GPUMON_I915_DEVICES,
};

static __always_inline bool bindings_begin(struct gpumon_event_context *ctx, bool readable,
					   u32 device, u32 *row, unsigned int column,
					   local64_t **words)
{
	return gpumon_i915_begin(ctx, &gpumon_i915_bindings, GPUMON_I915_BINDINGS, readable, device,
				 row, column, words);
}

/* Object and size of a binding. False if it cannot be read. */
static __always_inline bool vma_read(const struct i915_vma *vma, const void **object, u64 *size)
{
	u64 value;

	if (unlikely(!vma) || !gpumon_i915_read(GPUMON_I915_VMA_OBJECT, vma, &value) ||
	    !gpumon_i915_read(GPUMON_I915_VMA_SIZE, vma, size))
		return false;
	*object = (void *)(unsigned long)value;
	return true;
}

/* A binding whose object is unknown belongs to the unknown device. */
static __always_inline u32 vma_device(const struct gpumon_tracked *entry, const void *object)
{
	u32 device = 0;

	if (likely(entry))
		return entry->row;
	gpumon_i915_device_unseen(object, &device);
	return device;
}

/* A binding's bit among those of its object. */
static __always_inline unsigned int vma_bit(const struct i915_vma *vma)
{
	return hash_ptr(vma, ilog2(BITS_PER_LONG));
}

/* Tracepoint i915_vma_bind: an object gets into an address space */
void gpumon_i915_bind(void *data, struct i915_vma *vma, unsigned int flags)
{
	struct gpumon_event_context ctx;
	struct gpumon_tracked *entry;
	const void *object = NULL;
	bool rebind = false;
	bool readable;
	local64_t *words;
	u64 size = 0;
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	readable = vma_read(vma, &object, &size);
	entry = gpumon_i915_object_find(object);
	if (!bindings_begin(&ctx, readable, likely(readable) ? vma_device(entry, object) : 0, &row,
			    BINDINGS_BINDS, &words))
		goto leave;
	gpumon_row_add(words, BINDINGS_BOUND_BYTES, size);
	/* It was unbound before. */
	if (likely(entry) && unlikely(entry->owner) &&
	    test_and_clear_bit(vma_bit(vma), (unsigned long *)&entry->owner)) {
		rebind = true;
		gpumon_row_add(words, BINDINGS_REBINDS, 1);
		gpumon_row_add(words, BINDINGS_REBOUND_BYTES, size);
	}
	gpumon_event_ring_now(GPUMON_EVENT_VMA_BIND, row,
			      gpumon_i915_word(GPUMON_I915_VMA_SIZE, size), flags,
			      gpumon_i915_word(GPUMON_I915_VMA_OBJECT, rebind), 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* First event of an object whose creation was not seen. */
static noinline struct gpumon_tracked *object_meet(const void *object, u32 device, local64_t *words)
{
	struct gpumon_tracked *entry;
	bool known;

	entry = gpumon_track_begin(&gpumon_i915_objects, (unsigned long)object, &known);
	if (!entry) {
		gpumon_row_add(words, BINDINGS_TABLE_FULL, 1);
		return NULL;
	}
	/* The bindings of one object are unbound under its lock: there is no other writer. */
	if (!known) {
		entry->since = 0;
		entry->value = 0;
		entry->owner = 0;
		entry->row = device;
	}
	return entry;
}

/* Tracepoint i915_vma_unbind: an object leaves an address space */
void gpumon_i915_unbind(void *data, struct i915_vma *vma)
{
	struct gpumon_event_context ctx;
	struct gpumon_tracked *entry;
	const void *object = NULL;
	u32 device = 0, row;
	local64_t *words;
	bool readable;
	u64 size = 0;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	readable = vma_read(vma, &object, &size);
	entry = gpumon_i915_object_find(object);
	if (likely(readable))
		device = vma_device(entry, object);
	if (!bindings_begin(&ctx, readable, device, &row, BINDINGS_UNBINDS, &words))
		goto leave;
	gpumon_row_add(words, BINDINGS_UNBOUND_BYTES, size);
	/* An object without a device may be invalid, and then it is never destroyed. */
	if (unlikely(!entry && object && device))
		entry = object_meet(object, device, words);
	if (likely(entry))
		set_bit(vma_bit(vma), (unsigned long *)&entry->owner);
	gpumon_event_ring_now(GPUMON_EVENT_VMA_UNBIND, row,
			      gpumon_i915_word(GPUMON_I915_VMA_SIZE, size), 0, 0, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* Tracepoint i915_gem_shrink: memory is asked back */
void gpumon_i915_shrink(void *data, struct drm_i915_private *i915, unsigned long target,
			unsigned int flags)
{
	const struct drm_device *drm =
		gpumon_field_address(&gpumon_i915_fields[GPUMON_I915_DRM], i915);
	struct gpumon_event_context ctx;
	local64_t *words;
	bool readable;
	u64 parent;
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	readable = i915 && gpumon_i915_read(GPUMON_I915_DRM_PARENT, i915, &parent);
	if (!bindings_begin(&ctx, readable, readable ? gpumon_i915_device_of(drm) : 0, &row,
			    BINDINGS_SHRINKS, &words))
		goto leave;
	/* ULONG_MAX means all, and is not a number of pages. */
	if (target == ULONG_MAX)
		gpumon_row_add(words, BINDINGS_FULL_SHRINKS, 1);
	else
		gpumon_row_add(words, BINDINGS_TARGET_PAGES, target);
	gpumon_event_ring_now(GPUMON_EVENT_GEM_SHRINK, row, target, flags, 0, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* An eviction, and bytes that were wanted. */
static void count_eviction(void *data, const struct i915_address_space *vm, unsigned int column,
			   u64 wanted, u64 align, unsigned int flags)
{
	const struct drm_device *drm;
	struct gpumon_event_context ctx;
	local64_t *words;
	bool readable;
	u64 i915 = 0;
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	readable = vm && gpumon_i915_read(GPUMON_I915_VM_DEVICE, vm, &i915);
	drm = gpumon_field_address(&gpumon_i915_fields[GPUMON_I915_DRM],
				   (void *)(unsigned long)i915);
	if (!bindings_begin(&ctx, readable, readable ? gpumon_i915_device_of(drm) : 0, &row, column,
			    &words))
		goto leave;
	gpumon_row_add(words, BINDINGS_WANTED_BYTES, wanted);
	if (column == BINDINGS_EVICTIONS)
		gpumon_event_ring_now(GPUMON_EVENT_GEM_EVICT, row, wanted, align, flags, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* Tracepoint i915_gem_evict: room of some size is wanted */
void gpumon_i915_evict(void *data, struct i915_address_space *vm, u64 size, u64 align,
		       unsigned int flags)
{
	count_eviction(data, vm, BINDINGS_EVICTIONS, size, align, flags);
}

/* Tracepoint i915_gem_evict_node: a certain range is wanted */
void gpumon_i915_evict_node(void *data, struct i915_address_space *vm, struct drm_mm_node *node,
			    unsigned int flags)
{
	count_eviction(data, vm, BINDINGS_NODE_EVICTIONS, 0, 0, flags);
}

/* Tracepoint i915_gem_evict_vm: all that can go is unbound */
void gpumon_i915_evict_vm(void *data, struct i915_address_space *vm)
{
	count_eviction(data, vm, BINDINGS_VM_EVICTIONS, 0, 0, 0);
}
