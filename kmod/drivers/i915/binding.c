// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bindings of group i915: objects that get into a GPU's address spaces and leave them, and the
 * causes.
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
	return gpumon_field_known(I915_FIELD(VMA_OBJECT)) &&
	       gpumon_field_known(I915_FIELD(VMA_SIZE));
}

static const struct gpumon_column bindings_columns[] = {
	[BINDINGS_BINDS] = GPUMON_COUNTER("binds"),
	[BINDINGS_BOUND_BYTES] = GPUMON_COUNTER("bound_bytes", .needs = I915_FIELD(VMA_SIZE)),
	[BINDINGS_REBINDS] = GPUMON_COUNTER("rebinds", .needs = I915_FIELD(VMA_OBJECT)),
	[BINDINGS_REBOUND_BYTES] = GPUMON_COUNTER("rebound_bytes", .known = rebound_bytes_known),
	[BINDINGS_UNBINDS] = GPUMON_COUNTER("unbinds"),
	[BINDINGS_UNBOUND_BYTES] = GPUMON_COUNTER("unbound_bytes", .needs = I915_FIELD(VMA_SIZE)),
	[BINDINGS_EVICTIONS] = GPUMON_COUNTER("evictions"),
	[BINDINGS_WANTED_BYTES] = GPUMON_COUNTER("eviction_wanted_bytes"),
	[BINDINGS_NODE_EVICTIONS] = GPUMON_COUNTER("node_evictions"),
	[BINDINGS_VM_EVICTIONS] = GPUMON_COUNTER("vm_evictions"),
	[BINDINGS_SHRINKS] = GPUMON_COUNTER("shrinks"),
	[BINDINGS_TARGET_PAGES] = GPUMON_COUNTER("shrink_target_pages"),
	[BINDINGS_FULL_SHRINKS] = GPUMON_COUNTER("shrinks_of_all"),
	[BINDINGS_TABLE_FULL] =
		GPUMON_COUNTER("objects_table_full", .needs = I915_FIELD(VMA_OBJECT)),
};

struct gpumon_statistics gpumon_i915_bindings = {
	.name = "bindings",
	.labels = { "device" },
	GPUMON_COLUMNS(bindings_columns),
	.capacity = 2 * GPUMON_I915_DEVICES,
};

static __always_inline bool bindings_begin(struct gpumon_event_context *ctx, u32 device, u32 *row,
					   unsigned int column, local64_t **words)
{
	return gpumon_i915_begin(ctx, &gpumon_i915_bindings, GPUMON_I915_BINDINGS, device, row,
				 column, words);
}

/*
 * Device of a binding, GPUMON_UNREADABLE if it cannot be read; @object, @size, @entry: set to the
 * object, its size and its entry. A binding whose object is unknown belongs to the unknown device.
 */
static __always_inline u32 vma_device(const struct i915_vma *vma, const void **object, u64 *size,
				      struct gpumon_i915_object **entry)
{
	u64 value;
	u32 device;

	*entry = NULL;
	if (unlikely(!vma) || !gpumon_field_get(I915_FIELD(VMA_OBJECT), vma, &value) ||
	    !gpumon_field_get(I915_FIELD(VMA_SIZE), vma, size))
		return GPUMON_UNREADABLE;
	*object = (void *)(unsigned long)value;
	*entry = gpumon_i915_object_find(*object);
	if (likely(*entry))
		return (*entry)->device;
	device = gpumon_i915_device_unseen(*object);
	return device == GPUMON_UNREADABLE ? 0 : device;
}

/* Bit of a binding in its object's @unbound; two bindings may have the same one. */
static __always_inline unsigned int vma_bit(const struct i915_vma *vma)
{
	return hash_ptr(vma, ilog2(BITS_PER_LONG));
}

/* Tracepoint i915_vma_bind: an object gets into an address space */
GPUMON_TRACEPOINT_BODY(2, gpumon_i915_bind, struct i915_vma *, vma, unsigned int, flags)
{
	struct gpumon_i915_object *entry;
	const void *object;
	bool rebind = false;
	local64_t *words;
	u64 size;
	u32 row;

	if (!bindings_begin(ctx, vma_device(vma, &object, &size, &entry), &row, BINDINGS_BINDS,
			    &words))
		return;
	gpumon_row_add(words, BINDINGS_BOUND_BYTES, size);
	if (likely(entry) && unlikely(entry->unbound) &&
	    test_and_clear_bit(vma_bit(vma), &entry->unbound)) {
		rebind = true;
		gpumon_row_add(words, BINDINGS_REBINDS, 1);
		gpumon_row_add(words, BINDINGS_REBOUND_BYTES, size);
	}
	gpumon_event_ring_now(GPUMON_EVENT_VMA_BIND, row,
			      gpumon_field_word(I915_FIELD(VMA_SIZE), size), flags,
			      gpumon_field_word(I915_FIELD(VMA_OBJECT), rebind), 0);
}

/* Begins to follow an object whose creation was not seen. */
static noinline struct gpumon_i915_object *object_meet(const void *object, u32 device,
						       local64_t *words)
{
	struct gpumon_i915_object *entry;
	bool known;

	entry = gpumon_track_begin(&gpumon_i915_objects, (unsigned long)object, &known);
	if (!entry) {
		gpumon_row_add(words, BINDINGS_TABLE_FULL, 1);
		return NULL;
	}
	/* The bindings of one object are unbound under its lock: there is no other writer. */
	if (!known) {
		entry->created = false;
		entry->size = 0;
		entry->unbound = 0;
		entry->device = device;
	}
	return entry;
}

/* Tracepoint i915_vma_unbind: an object leaves an address space */
GPUMON_TRACEPOINT_BODY(1, gpumon_i915_unbind, struct i915_vma *, vma)
{
	struct gpumon_i915_object *entry;
	const void *object;
	local64_t *words;
	u32 device, row;
	u64 size;

	device = vma_device(vma, &object, &size, &entry);
	if (!bindings_begin(ctx, device, &row, BINDINGS_UNBINDS, &words))
		return;
	gpumon_row_add(words, BINDINGS_UNBOUND_BYTES, size);
	/* An object without a device may be invalid, and then it is never destroyed. */
	if (unlikely(!entry && object && device))
		entry = object_meet(object, device, words);
	if (likely(entry))
		set_bit(vma_bit(vma), &entry->unbound);
	gpumon_event_ring_now(GPUMON_EVENT_VMA_UNBIND, row,
			      gpumon_field_word(I915_FIELD(VMA_SIZE), size), 0, 0, 0);
}

/* Tracepoint i915_gem_shrink: memory is asked back */
GPUMON_TRACEPOINT_BODY(3, gpumon_i915_shrink, struct drm_i915_private *, i915,
		       unsigned long, target, unsigned int, flags)
{
	u32 device = GPUMON_UNREADABLE, row;
	local64_t *words;
	u64 parent;

	if (i915 && gpumon_field_get(I915_FIELD(DRM_PARENT), i915, &parent))
		device = gpumon_i915_device_of(gpumon_field_address(I915_FIELD(DRM), i915));
	if (!bindings_begin(ctx, device, &row, BINDINGS_SHRINKS, &words))
		return;
	/* ULONG_MAX means all, and is not a number of pages. */
	if (target == ULONG_MAX)
		gpumon_row_add(words, BINDINGS_FULL_SHRINKS, 1);
	else
		gpumon_row_add(words, BINDINGS_TARGET_PAGES, target);
	gpumon_event_ring_now(GPUMON_EVENT_GEM_SHRINK, row, target, flags, 0, 0);
}

/* Counts an eviction, and the bytes that were wanted. */
static void count_eviction(struct gpumon_event_context *ctx, const struct i915_address_space *vm,
			   unsigned int column, u64 wanted, u64 align, unsigned int flags)
{
	u32 device = GPUMON_UNREADABLE, row;
	local64_t *words;
	u64 i915;

	if (vm && gpumon_field_get(I915_FIELD(VM_DEVICE), vm, &i915))
		device = gpumon_i915_device_of(gpumon_field_address(
			I915_FIELD(DRM), (void *)(unsigned long)i915));
	if (!bindings_begin(ctx, device, &row, column, &words))
		return;
	gpumon_row_add(words, BINDINGS_WANTED_BYTES, wanted);
	if (column == BINDINGS_EVICTIONS)
		gpumon_event_ring_now(GPUMON_EVENT_GEM_EVICT, row, wanted, align, flags, 0);
}

/* Tracepoint i915_gem_evict: room of some size is wanted */
GPUMON_TRACEPOINT_BODY(4, gpumon_i915_evict, struct i915_address_space *, vm, u64, size, u64, align,
		       unsigned int, flags)
{
	count_eviction(ctx, vm, BINDINGS_EVICTIONS, size, align, flags);
}

/* Tracepoint i915_gem_evict_node: a certain range is wanted */
GPUMON_TRACEPOINT_BODY(3, gpumon_i915_evict_node, struct i915_address_space *, vm,
		       struct drm_mm_node *, node, unsigned int, flags)
{
	count_eviction(ctx, vm, BINDINGS_NODE_EVICTIONS, 0, 0, flags);
}

/* Tracepoint i915_gem_evict_vm: all that can go is unbound */
GPUMON_TRACEPOINT_BODY(1, gpumon_i915_evict_vm, struct i915_address_space *, vm)
{
	count_eviction(ctx, vm, BINDINGS_VM_EVICTIONS, 0, 0, 0);
}
