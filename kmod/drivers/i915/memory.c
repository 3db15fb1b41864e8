// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of group i915: the live ones, and how programs read and write them through the kernel.
 * binding.c follows them in the GPU's address spaces.
 *
 * Objects are tracked by their address. Not every object has a creation that can be seen: imported
 * ones, those of user memory and the driver's own internal ones fire no event, but all fire one
 * when they are destroyed.
 */
#include <linux/ktime.h>

#include "attach/probe.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "internal.h"

enum {
	MEMORY_CREATED,
	MEMORY_CREATED_BYTES,
	MEMORY_DESTROYED,
	MEMORY_LIVE,
	MEMORY_LIVE_BYTES,
	MEMORY_UNTRACKED,
	MEMORY_TABLE_FULL,
};

/* The levels need both creation and destruction. */
#define LIVES (BIT(GPUMON_I915_ROLE_CREATE) | BIT(GPUMON_I915_ROLE_DESTROY))

static const struct gpumon_column memory_columns[] = {
	[MEMORY_CREATED] = GPUMON_COUNTER("created"),
	[MEMORY_CREATED_BYTES] = GPUMON_COUNTER("created_bytes", .needs = I915_FIELD(OBJECT_SIZE)),
	[MEMORY_DESTROYED] = GPUMON_COUNTER("destroyed"),
	[MEMORY_LIVE] = GPUMON_GAUGE("live_objects", .roles = LIVES),
	[MEMORY_LIVE_BYTES] = GPUMON_GAUGE("live_bytes", .needs = I915_FIELD(OBJECT_SIZE),
					   .roles = LIVES),
	[MEMORY_UNTRACKED] = GPUMON_COUNTER("untracked"),
	[MEMORY_TABLE_FULL] = GPUMON_COUNTER("objects_table_full"),
};

struct gpumon_statistics gpumon_i915_memory = {
	.name = "memory",
	.labels = { "device" },
	GPUMON_COLUMNS(memory_columns),
	.capacity = 2 * GPUMON_I915_DEVICES,
};

enum {
	ACCESSES_READS,
	ACCESSES_READ_BYTES,
	ACCESSES_WRITES,
	ACCESSES_WRITTEN_BYTES,
	ACCESSES_READ_FAULTS,
	ACCESSES_WRITE_FAULTS,
	ACCESSES_GTT_FAULTS,
};

static const struct gpumon_column accesses_columns[] = {
	[ACCESSES_READS] = GPUMON_COUNTER("preads"),
	[ACCESSES_READ_BYTES] = GPUMON_COUNTER("pread_bytes"),
	[ACCESSES_WRITES] = GPUMON_COUNTER("pwrites"),
	[ACCESSES_WRITTEN_BYTES] = GPUMON_COUNTER("pwrite_bytes"),
	[ACCESSES_READ_FAULTS] = GPUMON_COUNTER("read_faults"),
	[ACCESSES_WRITE_FAULTS] = GPUMON_COUNTER("write_faults"),
	[ACCESSES_GTT_FAULTS] = GPUMON_COUNTER("gtt_faults"),
};

struct gpumon_statistics gpumon_i915_accesses = {
	.name = "accesses",
	.labels = { "device" },
	GPUMON_COLUMNS(accesses_columns),
	.capacity = 2 * GPUMON_I915_DEVICES,
};

/* Objects by their address. */
struct gpumon_track gpumon_i915_objects = {
	.capacity = 16384,
};

/* Device of an object; @entry: NULL if it has none. GPUMON_UNREADABLE if it cannot be read. */
static __always_inline u32 object_device(const struct gpumon_i915_object *entry, const void *object)
{
	return likely(entry) ? entry->device : gpumon_i915_device_unseen(object);
}

/* Puts an object of the current process into the process's level. */
static __always_inline void enter_process(struct gpumon_event_context *ctx,
					  struct gpumon_i915_object *entry)
{
	entry->process = likely(in_task()) ? gpumon_process_slot(ctx->cpu) : GPUMON_NONE;
	if (unlikely(entry->process == GPUMON_NONE))
		return;
	entry->process_id = gpumon_process_id(entry->process);
	if (likely(gpumon_field_known(I915_FIELD(OBJECT_SIZE))))
		gpumon_process_begin(entry->process, GPUMON_PROCESS_LIVE_OBJECT_BYTES, entry->size);
}

/* Takes an object out of the levels. */
static __always_inline void leave_levels(const struct gpumon_i915_object *entry)
{
	u32 row = gpumon_i915_row_of(&gpumon_i915_memory, GPUMON_I915_MEMORY, entry->device);

	if (likely(entry->process != GPUMON_NONE))
		gpumon_process_change(entry->process, entry->process_id,
				      GPUMON_PROCESS_LIVE_OBJECT_BYTES, -(s64)entry->size);
	if (unlikely(row == GPUMON_NONE))
		return;
	gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE, -1);
	gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE_BYTES, -(s64)entry->size);
}

/* Tracepoint i915_gem_object_create */
GPUMON_TRACEPOINT_BODY(1, gpumon_i915_create, struct drm_i915_gem_object *, object)
{
	u32 device = gpumon_i915_device_unseen(object), row;
	struct gpumon_i915_object *entry;
	local64_t *words;
	bool known;
	u64 size;

	if (!gpumon_field_get(I915_FIELD(OBJECT_SIZE), object, &size))
		device = GPUMON_UNREADABLE;
	if (!gpumon_i915_begin(ctx, &gpumon_i915_memory, GPUMON_I915_MEMORY, device, &row,
			       MEMORY_CREATED, &words))
		return;
	gpumon_row_add(words, MEMORY_CREATED_BYTES, size);
	entry = gpumon_track_begin(&gpumon_i915_objects, (unsigned long)object, &known);
	if (likely(entry)) {
		/* The destruction of the object that had the address was not seen. */
		if (unlikely(known && entry->created))
			leave_levels(entry);
		entry->created = true;
		entry->size = size;
		entry->unbound = 0;
		entry->device = device;
		gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE, 1);
		gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE_BYTES, size);
		enter_process(ctx, entry);
	} else {
		gpumon_row_add(words, MEMORY_TABLE_FULL, 1);
	}
	gpumon_process_count(ctx->cpu, GPUMON_PROCESS_ALLOCATED_BYTES, size);
	gpumon_event_ring_now(GPUMON_EVENT_GEM_CREATE, row,
			      gpumon_field_word(I915_FIELD(OBJECT_SIZE), size), 0, 0, 0);
}

/* Tracepoint i915_gem_object_destroy */
GPUMON_TRACEPOINT_BODY(1, gpumon_i915_destroy, struct drm_i915_gem_object *, object)
{
	struct gpumon_i915_object *entry = gpumon_i915_object_find(object);
	local64_t *words;
	u32 row;

	if (!gpumon_i915_begin(ctx, &gpumon_i915_memory, GPUMON_I915_MEMORY,
			       object_device(entry, object), &row, MEMORY_DESTROYED, &words))
		return;
	if (likely(entry && entry->created))
		leave_levels(entry);
	else
		gpumon_row_add(words, MEMORY_UNTRACKED, 1);
	if (likely(entry))
		gpumon_track_end(&gpumon_i915_objects, entry);
	/* The size is read also of an object whose creation was not seen. */
	gpumon_event_ring_now(GPUMON_EVENT_GEM_DESTROY, row,
			      gpumon_field_read_word(I915_FIELD(OBJECT_SIZE), object), 0, 0, 0);
}

/* Counts an access, and @much in a second column. */
static __always_inline void count_access(struct gpumon_event_context *ctx,
					 const struct drm_i915_gem_object *object,
					 unsigned int column, unsigned int much_column, u64 much,
					 bool fault, enum gpumon_event_type event, u64 word,
					 u64 word2, u64 word3)
{
	u32 device = object_device(gpumon_i915_object_find(object), object), row;
	local64_t *words;

	if (!gpumon_i915_begin(ctx, &gpumon_i915_accesses, GPUMON_I915_ACCESSES, device, &row,
			       column, &words))
		return;
	gpumon_row_add(words, much_column, much);
	if (fault)
		gpumon_process_count(ctx->cpu, GPUMON_PROCESS_FAULTS, 1);
	gpumon_event_ring_now(event, row, word, word2, word3, 0);
}

/* Tracepoint i915_gem_object_pread: a copy out of an object */
GPUMON_TRACEPOINT_BODY(3, gpumon_i915_pread, struct drm_i915_gem_object *, object, u64, offset,
		       u64, length)
{
	count_access(ctx, object, ACCESSES_READS, ACCESSES_READ_BYTES, length, false,
		     GPUMON_EVENT_GEM_PREAD, offset, length, 0);
}

/* Tracepoint i915_gem_object_pwrite: a copy into an object */
GPUMON_TRACEPOINT_BODY(3, gpumon_i915_pwrite, struct drm_i915_gem_object *, object, u64, offset,
		       u64, length)
{
	count_access(ctx, object, ACCESSES_WRITES, ACCESSES_WRITTEN_BYTES, length, false,
		     GPUMON_EVENT_GEM_PWRITE, offset, length, 0);
}

/* Tracepoint i915_gem_object_fault: the CPU touches a mapping, perhaps through the GTT */
GPUMON_TRACEPOINT_BODY(4, gpumon_i915_fault, struct drm_i915_gem_object *, object, u64, page,
		       bool, gtt, bool, write)
{
	count_access(ctx, object, write ? ACCESSES_WRITE_FAULTS : ACCESSES_READ_FAULTS,
		     ACCESSES_GTT_FAULTS, gtt, true, GPUMON_EVENT_GEM_FAULT, page, gtt, write);
}
