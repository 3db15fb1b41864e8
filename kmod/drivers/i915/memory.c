// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of group i915: which live, and how programs read and write them through the
 * kernel. binding.c has how they come to the GPU.
 *
 * What was seen of an object is in a table by its address. Not every object has
 * a beginning that can be seen: imported ones, those of user memory and the
 * driver's own internal ones fire no event, but all fire one when they are destroyed.
 */
#include <linux/ktime.h>

#include "attach/probe.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "core/clock.h"
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

/* A level needs both creation and destruction. */
static bool levels_known(const struct gpumon_group *group, u32 row)
{
	return gpumon_group_counts(group, GPUMON_I915_ROLE_CREATE) &&
	       gpumon_group_counts(group, GPUMON_I915_ROLE_DESTROY);
}

static const struct gpumon_column memory_columns[] = {
	[MEMORY_CREATED] = { .name = "created" },
	[MEMORY_CREATED_BYTES] = { .name = "created_bytes",
				   .needs = &gpumon_i915_fields[GPUMON_I915_OBJECT_SIZE] },
	[MEMORY_DESTROYED] = { .name = "destroyed" },
	[MEMORY_LIVE] = { .name = "live_objects",
			  .kind = GPUMON_COLUMN_KIND_GAUGE,
			  .known = levels_known },
	[MEMORY_LIVE_BYTES] = { .name = "live_bytes",
				.kind = GPUMON_COLUMN_KIND_GAUGE,
				.needs = &gpumon_i915_fields[GPUMON_I915_OBJECT_SIZE],
				.known = levels_known },
	[MEMORY_UNTRACKED] = { .name = "untracked" },
	[MEMORY_TABLE_FULL] = { .name = "objects_table_full" },
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
	[ACCESSES_READS] = { .name = "preads" },
	[ACCESSES_READ_BYTES] = { .name = "pread_bytes" },
	[ACCESSES_WRITES] = { .name = "pwrites" },
	[ACCESSES_WRITTEN_BYTES] = { .name = "pwrite_bytes" },
	[ACCESSES_READ_FAULTS] = { .name = "read_faults" },
	[ACCESSES_WRITE_FAULTS] = { .name = "write_faults" },
	[ACCESSES_GTT_FAULTS] = { .name = "gtt_faults" },
};

struct gpumon_statistics gpumon_i915_accesses = {
	.name = "accesses",
	.labels = { "device" },
	GPUMON_COLUMNS(accesses_columns),
	.capacity = 2 * GPUMON_I915_DEVICES,
};

/*
 * By the address of the object. Of an entry, @row is the number of its device,
 * not a row; @since is 0 if its creation was not seen, it is not in the levels
 * then; and @owner has a bit for each of its bindings that was unbound.
 */
struct gpumon_track gpumon_i915_objects = {
	.name = "objects",
	.capacity = 16384,
};

/* Device of an object that has an entry or none. False if it cannot be read. */
static __always_inline bool object_device(const struct gpumon_tracked *entry, const void *object,
					  u32 *device)
{
	if (unlikely(!entry))
		return gpumon_i915_device_unseen(object, device);
	*device = entry->row;
	return true;
}

/* Takes an object out of the levels. */
static __always_inline void leave_levels(const struct gpumon_tracked *entry)
{
	u32 row = gpumon_i915_row_of(&gpumon_i915_memory, GPUMON_I915_MEMORY, entry->row);

	if (unlikely(row == GPUMON_NONE))
		return;
	gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE, -1);
	gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE_BYTES, -(s64)entry->value);
}

/* Tracepoint i915_gem_object_create */
void gpumon_i915_create(void *data, struct drm_i915_gem_object *object)
{
	struct gpumon_event_context ctx;
	struct gpumon_tracked *entry;
	u32 device = 0, row;
	local64_t *words;
	bool readable, known;
	u64 size;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	readable = gpumon_i915_device_unseen(object, &device) &&
		   gpumon_i915_read(GPUMON_I915_OBJECT_SIZE, object, &size);
	if (!gpumon_i915_begin(&ctx, &gpumon_i915_memory, GPUMON_I915_MEMORY, readable, device,
			       &row, MEMORY_CREATED, &words))
		goto leave;
	gpumon_row_add(words, MEMORY_CREATED_BYTES, size);
	entry = gpumon_track_begin(&gpumon_i915_objects, (unsigned long)object, &known);
	if (likely(entry)) {
		/* The destruction of the object that had the address was not seen. */
		if (unlikely(known && entry->since))
			leave_levels(entry);
		entry->since = gpumon_clock();
		entry->value = size;
		entry->owner = 0;
		entry->row = device;
		gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE, 1);
		gpumon_row_level(&gpumon_i915_memory, row, MEMORY_LIVE_BYTES, size);
	} else {
		gpumon_row_add(words, MEMORY_TABLE_FULL, 1);
	}
	if (likely(in_task()))
		gpumon_process_add(ctx.cpu, gpumon_process_slot(ctx.cpu),
				   GPUMON_PROCESS_ALLOCATED_BYTES, size);
	gpumon_event_ring_now(GPUMON_EVENT_GEM_CREATE, row,
			      gpumon_i915_word(GPUMON_I915_OBJECT_SIZE, size), 0, 0, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* Tracepoint i915_gem_object_destroy */
void gpumon_i915_destroy(void *data, struct drm_i915_gem_object *object)
{
	struct gpumon_event_context ctx;
	struct gpumon_tracked *entry;
	u32 device = 0, row;
	local64_t *words;
	bool readable;
	u64 size;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	entry = gpumon_i915_object_find(object);
	readable = object_device(entry, object, &device);
	if (!gpumon_i915_begin(&ctx, &gpumon_i915_memory, GPUMON_I915_MEMORY, readable, device,
			       &row, MEMORY_DESTROYED, &words))
		goto leave;
	if (likely(entry && entry->since))
		leave_levels(entry);
	else
		gpumon_row_add(words, MEMORY_UNTRACKED, 1);
	if (likely(entry))
		gpumon_track_end(&gpumon_i915_objects, entry);
	/* Also the size of one whose creation was not seen. */
	gpumon_event_ring_now(GPUMON_EVENT_GEM_DESTROY, row,
			      gpumon_field_read(&gpumon_i915_fields[GPUMON_I915_OBJECT_SIZE],
						object, &size) ? size : GPUMON_I915_NO_WORD,
			      0, 0, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* Counts an access, and an amount in another column. */
static __always_inline void count_access(void *data, const struct drm_i915_gem_object *object,
					 unsigned int column, unsigned int much_column, u64 much,
					 bool fault, enum gpumon_event_type event, u64 word,
					 u64 word2, u64 word3)
{
	struct gpumon_event_context ctx;
	u32 device = 0, row;
	local64_t *words;
	bool readable;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	readable = object_device(gpumon_i915_object_find(object), object, &device);
	if (!gpumon_i915_begin(&ctx, &gpumon_i915_accesses, GPUMON_I915_ACCESSES, readable, device,
			       &row, column, &words))
		goto leave;
	gpumon_row_add(words, much_column, much);
	if (fault && likely(in_task()))
		gpumon_process_add(ctx.cpu, gpumon_process_slot(ctx.cpu), GPUMON_PROCESS_FAULTS, 1);
	gpumon_event_ring_now(event, row, word, word2, word3, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* Tracepoint i915_gem_object_pread: a copy out of an object */
void gpumon_i915_pread(void *data, struct drm_i915_gem_object *object, u64 offset, u64 length)
{
	count_access(data, object, ACCESSES_READS, ACCESSES_READ_BYTES, length, false,
		     GPUMON_EVENT_GEM_PREAD, offset, length, 0);
}

/* Tracepoint i915_gem_object_pwrite: a copy into an object */
void gpumon_i915_pwrite(void *data, struct drm_i915_gem_object *object, u64 offset, u64 length)
{
	count_access(data, object, ACCESSES_WRITES, ACCESSES_WRITTEN_BYTES, length, false,
		     GPUMON_EVENT_GEM_PWRITE, offset, length, 0);
}

/* Tracepoint i915_gem_object_fault: the CPU touches a mapping, perhaps through the GTT */
void gpumon_i915_fault(void *data, struct drm_i915_gem_object *object, u64 page, bool gtt,
		       bool write)
{
	count_access(data, object, write ? ACCESSES_WRITE_FAULTS : ACCESSES_READ_FAULTS,
		     ACCESSES_GTT_FAULTS, gtt, true, GPUMON_EVENT_GEM_FAULT, page, gtt, write);
}
