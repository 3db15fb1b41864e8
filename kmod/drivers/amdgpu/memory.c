// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: buffers. They are created, by preferred domain; moved, by placement; and mapped
 * into address spaces of the GPU, whose translations are flushed.
 */
#include <linux/ktime.h>
#include <drm/amdgpu_drm.h>
#include <drm/ttm/ttm_placement.h>

#include "common/event_ring.h"
#include "common/process.h"
#include "internal.h"

/* Unit of mappings, whatever the CPU's page size is. */
#define GPU_PAGE_SHIFT 12

/* Stands for a placement if the buffer has none yet, or is being deleted. */
#define PLACEMENT_NONE (~0U)

static bool visible_bytes_known(const struct gpumon_group *group, u32 row)
{
	return gpumon_field_known(AMDGPU_FIELD(BO_SIZE)) &&
	       gpumon_field_known(AMDGPU_FIELD(BO_FLAGS));
}

/* Without one of these fields no buffer is tracked, and no process has a level. */
static __always_inline bool buffers_tracked(void)
{
	return gpumon_field_known(AMDGPU_FIELD(BO_SIZE)) &&
	       gpumon_field_known(AMDGPU_FIELD(BO_RESOURCE)) &&
	       gpumon_field_known(AMDGPU_FIELD(RESOURCE_PLACEMENT));
}

static bool vram_known(const struct gpumon_group *group, u32 row)
{
	return buffers_tracked();
}

static bool mapping_known(void)
{
	return gpumon_field_known(AMDGPU_FIELD(MAPPING_START)) &&
	       gpumon_field_known(AMDGPU_FIELD(MAPPING_LAST));
}

static bool mapped_bytes_known(const struct gpumon_group *group, u32 row)
{
	return mapping_known();
}

static bool hub_known(void)
{
	return gpumon_field_known(AMDGPU_FIELD(RING_HUB)) ||
	       (gpumon_field_known(AMDGPU_FIELD(RING_FUNCS)) &&
		gpumon_field_known(AMDGPU_FIELD(FUNCS_HUB)));
}

enum {
	DOMAIN_CREATED,
	DOMAIN_BYTES,
	DOMAIN_VISIBLE,
	DOMAIN_VISIBLE_BYTES,
	DOMAIN_TABLE_FULL
};

static const struct gpumon_column domain_columns[] = {
	[DOMAIN_CREATED] = GPUMON_COUNTER("created"),
	[DOMAIN_BYTES] = GPUMON_COUNTER("bytes", .needs = AMDGPU_FIELD(BO_SIZE)),
	[DOMAIN_VISIBLE] = GPUMON_COUNTER("visible", .needs = AMDGPU_FIELD(BO_FLAGS)),
	[DOMAIN_VISIBLE_BYTES] = GPUMON_COUNTER("visible_bytes", .known = visible_bytes_known),
	[DOMAIN_TABLE_FULL] = GPUMON_COUNTER("buffers_table_full", .known = vram_known),
};

struct gpumon_statistics gpumon_amdgpu_domains = {
	.name = "domains",
	.labels = { "device", "domain" },
	GPUMON_COLUMNS(domain_columns),
	.capacity = 128,
};

enum {
	MOVE_MOVES,
	MOVE_BYTES,
	MOVE_DELETES,
	MOVE_DELETED_BYTES
};

static const struct gpumon_column move_columns[] = {
	[MOVE_MOVES] = GPUMON_COUNTER("moves"),
	[MOVE_BYTES] = GPUMON_COUNTER("bytes", .needs = AMDGPU_FIELD(BO_SIZE)),
	[MOVE_DELETES] = GPUMON_COUNTER("deletes"),
	[MOVE_DELETED_BYTES] = { .name = "deleted_bytes",
				 .needs = AMDGPU_FIELD(BO_SIZE) },
};

struct gpumon_statistics gpumon_amdgpu_moves = {
	.name = "moves",
	.labels = { "device", "from", "to" },
	GPUMON_COLUMNS(move_columns),
	.capacity = 256,
};

enum {
	VM_MAPS,
	VM_MAPPED_BYTES,
	VM_UNMAPS,
	VM_UNMAPPED_BYTES
};

static const struct gpumon_column vm_columns[] = {
	[VM_MAPS] = GPUMON_COUNTER("maps"),
	[VM_MAPPED_BYTES] = GPUMON_COUNTER("mapped_bytes", .known = mapped_bytes_known),
	[VM_UNMAPS] = GPUMON_COUNTER("unmaps"),
	[VM_UNMAPPED_BYTES] = GPUMON_COUNTER("unmapped_bytes", .known = mapped_bytes_known),
};

struct gpumon_statistics gpumon_amdgpu_vm = {
	.name = "vm",
	.labels = { "device" },
	GPUMON_COLUMNS(vm_columns),
	.capacity = 64,
};

static const struct gpumon_column flush_columns[] = {
	GPUMON_COUNTER("flushes"),
};

struct gpumon_statistics gpumon_amdgpu_flushes = {
	.name = "flushes",
	.labels = { "ring", "hub", "vmid" },
	.numbers = BIT(1) | BIT(2),
	GPUMON_COLUMNS(flush_columns),
	.capacity = 1024,
};

/**
 * struct tracked_buffer - a buffer that was seen to be created
 * @state: OWNER() of the process that created it, with BUFFER_IN_VRAM: then its bytes are in the
 *         process's level; 0 for a process without a slot, and while the other members change
 * @size: its bytes
 * @process: slot that the process had
 *
 * Moves and the end of a buffer follow one another, as the driver holds the buffer's lock. But the
 * creation is told when the driver has released that lock already: another CPU may just be moving the
 * buffer away. So @state is changed atomically. The CPU that has changed it then changes the level.
 */
struct tracked_buffer {
	u64 state;
	u64 size;
	u32 process;
};
GPUMON_TRACKED_TYPE(struct tracked_buffer);

#define BUFFER_IN_VRAM BIT_ULL(0)
#define OWNER(_id)     ((_id) << 1)

/* Buffers by their address. */
struct gpumon_track gpumon_amdgpu_buffers = {
	.capacity = 16384,
};

/*
 * A buffer was seen to end. Drivers before Linux 6.9, without a later fix, do not tell it: then the
 * levels would only rise, and are unknown.
 */
static bool ends_seen;

/* No probe of the group runs. */
void gpumon_amdgpu_memory_start(void)
{
	ends_seen = false;
	gpumon_process_forget_level(GPUMON_PROCESS_VRAM_BYTES);
}

bool gpumon_amdgpu_ends_seen(void)
{
	return READ_ONCE(ends_seen);
}

static __always_inline void change_level(const struct tracked_buffer *buffer, u64 state, s64 change)
{
	gpumon_process_change(buffer->process, state >> 1, GPUMON_PROCESS_VRAM_BYTES, change);
}

/* Takes a buffer out of its process's level; its entry has no owner any more. */
static __always_inline void buffer_leaves(struct tracked_buffer *buffer)
{
	u64 state = gpumon_xchg64(&buffer->state, 0);

	if (state & BUFFER_IN_VRAM)
		change_level(buffer, state, -(s64)buffer->size);
}

static __always_inline void buffer_moves(struct tracked_buffer *buffer, bool to_vram)
{
	/* Pairs with buffer_begins(): the other members belong to this owner. */
	u64 state = gpumon_load_acquire64(&buffer->state), old;

	for (; state >> 1 && !!(state & BUFFER_IN_VRAM) != to_vram; state = old) {
		old = gpumon_cmpxchg64(&buffer->state, state, state ^ BUFFER_IN_VRAM);
		if (likely(old == state)) {
			change_level(buffer, state, to_vram ? buffer->size : -(s64)buffer->size);
			return;
		}
	}
}

/* Is a buffer in VRAM? Not if that cannot be read. */
static __always_inline bool is_in_vram(const void *bo)
{
	const void *resource = gpumon_field_pointer(AMDGPU_FIELD(BO_RESOURCE), bo);
	const u32 *from = gpumon_field_address(AMDGPU_FIELD(RESOURCE_PLACEMENT), resource);
	u32 placement;

	return from && gpumon_read_nofault(&placement, from, sizeof(placement)) &&
	       placement == TTM_PL_VRAM;
}

/* The current process has created a buffer. Returns false if there is no room for it. */
static __always_inline bool buffer_begins(struct gpumon_event_context *ctx, const void *bo,
					  u64 size)
{
	struct tracked_buffer *buffer;
	bool known, in_vram;
	u32 process;
	u64 owner;

	if (unlikely(!buffers_tracked() || !bo))
		return true;
	buffer = gpumon_track_begin(&gpumon_amdgpu_buffers, (unsigned long)bo, &known);
	if (unlikely(!buffer))
		return false;
	/* The end of the buffer that had the address was not seen. */
	if (unlikely(known))
		buffer_leaves(buffer);
	process = likely(in_task()) ? gpumon_process_slot(ctx->cpu) : GPUMON_NONE;
	if (unlikely(process == GPUMON_NONE))
		return true;
	in_vram = is_in_vram(bo);
	buffer->size = size;
	buffer->process = process;
	owner = OWNER(gpumon_process_id(process));
	/* Before a move or an end can take it out again. */
	gpumon_process_begin(process, GPUMON_PROCESS_VRAM_BYTES, in_vram ? size : 0);
	/* Pairs with buffer_moves(). */
	gpumon_store_release64(&buffer->state, owner | (in_vram ? BUFFER_IN_VRAM : 0));
	return true;
}

/* A buffer moves to a placement, or ends. */
static __always_inline void buffer_placed(const void *bo, u32 to)
{
	struct tracked_buffer *buffer;

	if (unlikely(to == PLACEMENT_NONE && !READ_ONCE(ends_seen)))
		WRITE_ONCE(ends_seen, true);
	buffer = bo ? gpumon_track_find(&gpumon_amdgpu_buffers, (unsigned long)bo) : NULL;
	if (!buffer)
		return;
	if (to != PLACEMENT_NONE) {
		buffer_moves(buffer, to == TTM_PL_VRAM);
		return;
	}
	buffer_leaves(buffer);
	gpumon_track_end(&gpumon_amdgpu_buffers, buffer);
}

/* Device of a buffer, NULL if it cannot be read. */
static __always_inline const struct device *bo_device(const void *bo)
{
	const struct drm_device *drm =
		gpumon_field_pointer(AMDGPU_FIELD(BO_DRM), bo);
	const struct device *dev;

	return drm && gpumon_read_nofault(&dev, &drm->dev, sizeof(dev)) ? dev : NULL;
}

/* Names of AMDGPU_GEM_DOMAIN_*; older headers lack the last one. */
static void domain_label(u32 domains, char label[GPUMON_LABEL_LEN])
{
	static const char *const names[] = { "cpu", "gtt", "vram",     "gds",
					     "gws", "oa",  "doorbell", "mmio_remap" };
	size_t at = 0;
	unsigned int i;

	if (!gpumon_field_known(AMDGPU_FIELD(BO_DOMAINS))) {
		strscpy(label, "-", GPUMON_LABEL_LEN);
		return;
	}
	strscpy(label, "none", GPUMON_LABEL_LEN);
	if (domains >> ARRAY_SIZE(names)) {
		snprintf(label, GPUMON_LABEL_LEN, "0x%x", domains);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (domains & BIT(i))
			at += scnprintf(label + at, GPUMON_LABEL_LEN - at, "%s%s", at ? "+" : "",
					names[i]);
}

static noinline u32 domain_learn(u64 key, const struct device *dev, u32 domains)
{
	char device[GPUMON_LABEL_LEN], domain[GPUMON_LABEL_LEN];

	gpumon_device_name(device, dev);
	domain_label(domains, domain);
	return gpumon_row_learn(&gpumon_amdgpu_domains, key, device, domain, NULL);
}

/* Tracepoint amdgpu_bo_create */
GPUMON_TRACEPOINT_BODY(1, gpumon_amdgpu_bo_create, struct amdgpu_bo *, bo)
{
	u64 size, domains, flags, key;
	const struct device *dev;
	local64_t *words;
	bool visible;
	u32 row;

	if (!gpumon_probe_readable(ctx, gpumon_field_get(AMDGPU_FIELD(BO_DOMAINS), bo, &domains) &&
				   gpumon_field_get(AMDGPU_FIELD(BO_SIZE), bo, &size) &&
				   gpumon_field_get(AMDGPU_FIELD(BO_FLAGS), bo, &flags)))
		return;
	dev = bo_device(bo);
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), domains);
	row = gpumon_row_find(&gpumon_amdgpu_domains, key);
	if (unlikely(row == GPUMON_NONE))
		row = domain_learn(key, dev, domains);
	if (!gpumon_row_begin(ctx, &gpumon_amdgpu_domains, row, DOMAIN_CREATED, &words))
		return;
	visible = flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
	gpumon_row_add(words, DOMAIN_BYTES, size);
	if (visible) {
		gpumon_row_add(words, DOMAIN_VISIBLE, 1);
		gpumon_row_add(words, DOMAIN_VISIBLE_BYTES, size);
	}
	if (unlikely(!buffer_begins(ctx, bo, size)))
		gpumon_row_add(words, DOMAIN_TABLE_FULL, 1);
	gpumon_process_count(ctx->cpu, GPUMON_PROCESS_ALLOCATED_BYTES, size);
	gpumon_event_ring_now(GPUMON_EVENT_BO_CREATE, row,
			      gpumon_field_word(AMDGPU_FIELD(BO_SIZE), size),
			      gpumon_field_word(AMDGPU_FIELD(BO_DOMAINS), domains),
			      gpumon_field_word(AMDGPU_FIELD(BO_FLAGS), visible), 0);
}

/* Names of TTM_PL_*, then of the driver's own AMDGPU_PL_* in its amdgpu_ttm.h. */
static void placement_label(u32 placement, char label[GPUMON_LABEL_LEN])
{
	static const char *const names[] = {
		[TTM_PL_SYSTEM] = "system",	  [TTM_PL_TT] = "gtt",
		[TTM_PL_VRAM] = "vram",		  [TTM_PL_PRIV] = "gds",
		[TTM_PL_PRIV + 1] = "gws",	  [TTM_PL_PRIV + 2] = "oa",
		[TTM_PL_PRIV + 3] = "preempt",	  [TTM_PL_PRIV + 4] = "doorbell",
		[TTM_PL_PRIV + 5] = "mmio_remap",
	};

	if (placement == PLACEMENT_NONE)
		strscpy(label, "none", GPUMON_LABEL_LEN);
	else if (placement < ARRAY_SIZE(names))
		strscpy(label, names[placement], GPUMON_LABEL_LEN);
	else
		snprintf(label, GPUMON_LABEL_LEN, "%u", placement);
}

static noinline u32 move_learn(u64 key, const struct device *dev, u32 from, u32 to)
{
	char device[GPUMON_LABEL_LEN], from_label[GPUMON_LABEL_LEN], to_label[GPUMON_LABEL_LEN];

	gpumon_device_name(device, dev);
	placement_label(from, from_label);
	placement_label(to, to_label);
	return gpumon_row_learn(&gpumon_amdgpu_moves, key, device, from_label, to_label);
}

/* Tracepoint amdgpu_bo_move. PLACEMENT_NONE: not placed yet, or being deleted */
GPUMON_TRACEPOINT_BODY(3, gpumon_amdgpu_bo_move, struct amdgpu_bo *, bo, u32, to, u32, from)
{
	const struct device *dev;
	local64_t *words;
	u64 size, key;
	u32 row;

	if (!gpumon_probe_readable(ctx, gpumon_field_get(AMDGPU_FIELD(BO_SIZE), bo, &size)))
		return;
	buffer_placed(bo, to);
	dev = bo_device(bo);
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), (u64)from << 32 | to);
	row = gpumon_row_find(&gpumon_amdgpu_moves, key);
	if (unlikely(row == GPUMON_NONE))
		row = move_learn(key, dev, from, to);
	if (!gpumon_probe_found(ctx, row))
		return;
	words = gpumon_row_words(&gpumon_amdgpu_moves, row);
	gpumon_row_add(words, to == PLACEMENT_NONE ? MOVE_DELETES : MOVE_MOVES, 1);
	gpumon_row_add(words, to == PLACEMENT_NONE ? MOVE_DELETED_BYTES : MOVE_BYTES, size);
	gpumon_probe_recorded(ctx);
	gpumon_event_ring_now(GPUMON_EVENT_BO_MOVE, row,
			      gpumon_field_word(AMDGPU_FIELD(BO_SIZE), size), from, to, 0);
}

/* A mapping comes or goes. The device of a mapping without a buffer is unknown. */
static __always_inline void vm_event(struct gpumon_event_context *ctx, const void *bo_va,
				     const void *mapping, bool map)
{
	const struct device *dev = NULL;
	u64 first, last, bytes = 0;
	local64_t *words;
	u32 row;

	if (!gpumon_probe_readable(ctx,
				   gpumon_field_get(AMDGPU_FIELD(MAPPING_START), mapping, &first) &&
				   gpumon_field_get(AMDGPU_FIELD(MAPPING_LAST), mapping, &last) &&
				   (!mapping_known() || first <= last)))
		return;
	if (likely(mapping_known()))
		bytes = (last - first + 1) << GPU_PAGE_SHIFT;
	if (bo_va)
		dev = bo_device(gpumon_field_pointer(AMDGPU_FIELD(VA_BO), bo_va));
	row = gpumon_amdgpu_device_row(&gpumon_amdgpu_vm, dev);
	if (!gpumon_row_begin(ctx, &gpumon_amdgpu_vm, row, map ? VM_MAPS : VM_UNMAPS, &words))
		return;
	gpumon_row_add(words, map ? VM_MAPPED_BYTES : VM_UNMAPPED_BYTES, bytes);
	if (map)
		gpumon_process_count(ctx->cpu, GPUMON_PROCESS_MAPPED_BYTES, bytes);
	gpumon_event_ring_now(map ? GPUMON_EVENT_VM_MAP : GPUMON_EVENT_VM_UNMAP, row,
			      gpumon_field_word(AMDGPU_FIELD(MAPPING_START), first),
			      gpumon_field_word(AMDGPU_FIELD(MAPPING_LAST), last),
			      mapping_known() ? bytes : GPUMON_WORD_UNKNOWN,
			      gpumon_field_read_word(AMDGPU_FIELD(MAPPING_FLAGS), mapping));
}

/* Tracepoint amdgpu_vm_bo_map */
GPUMON_TRACEPOINT_BODY(2, gpumon_amdgpu_vm_map, struct amdgpu_bo_va *, bo_va,
		       struct amdgpu_bo_va_mapping *, mapping)
{
	vm_event(ctx, bo_va, mapping, true);
}

/* Tracepoint amdgpu_vm_bo_unmap */
GPUMON_TRACEPOINT_BODY(2, gpumon_amdgpu_vm_unmap, struct amdgpu_bo_va *, bo_va,
		       struct amdgpu_bo_va_mapping *, mapping)
{
	vm_event(ctx, bo_va, mapping, false);
}

/*
 * Reads the hub of a ring: newer kernels have it in the ring, older ones in its functions. Returns
 * false if it cannot be read.
 */
static __always_inline bool ring_hub(const void *ring, u64 *hub)
{
	if (!gpumon_field_known(AMDGPU_FIELD(RING_HUB)) &&
	    gpumon_field_known(AMDGPU_FIELD(RING_FUNCS)))
		return gpumon_field_get(AMDGPU_FIELD(FUNCS_HUB),
					gpumon_field_pointer(AMDGPU_FIELD(RING_FUNCS), ring), hub);
	return gpumon_field_get(AMDGPU_FIELD(RING_HUB), ring, hub);
}

static noinline u32 flush_learn(u64 key, const struct device *dev, const void *name, u64 hub,
				u32 vmid)
{
	char device[GPUMON_LABEL_LEN], ring[GPUMON_LABEL_LEN], hub_label[GPUMON_LABEL_LEN];
	char label[2 * GPUMON_LABEL_LEN], vmid_label[GPUMON_LABEL_LEN];

	gpumon_device_name(device, dev);
	if (!name || gpumon_read_string_nofault(ring, sizeof(ring), name) <= 0)
		strscpy(ring, "-", sizeof(ring));
	snprintf(label, sizeof(label), "%s/%s", device, ring);
	snprintf(hub_label, sizeof(hub_label), "%llu", hub);
	snprintf(vmid_label, sizeof(vmid_label), "%u", vmid);
	return gpumon_row_learn(&gpumon_amdgpu_flushes, key, label, hub_known() ? hub_label : "-",
				vmid_label);
}

/* Tracepoint amdgpu_vm_flush */
GPUMON_TRACEPOINT_BODY(3, gpumon_amdgpu_vm_flush, struct amdgpu_ring *, ring, unsigned int, vmid,
		       u64, page_directory)
{
	/* The name is an array of 16 bytes in the ring. */
	const u64 *name = gpumon_field_address(AMDGPU_FIELD(RING_NAME), ring);
	const struct device *dev;
	u64 hub, key, text[2] = { 0 };
	u32 row;

	if (!gpumon_probe_readable(ctx, ring_hub(ring, &hub) &&
				   (!gpumon_field_known(AMDGPU_FIELD(RING_NAME)) ||
				    gpumon_read_nofault(text, name, sizeof(text)))))
		return;
	dev = gpumon_amdgpu_adev_device(gpumon_field_pointer(AMDGPU_FIELD(RING_ADEV), ring));
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), text[0]);
	key = gpumon_key_mix(key, text[1]);
	key = gpumon_key_mix(key, hub << 32 | vmid);
	row = gpumon_row_find(&gpumon_amdgpu_flushes, key);
	if (unlikely(row == GPUMON_NONE))
		row = flush_learn(key, dev, name, hub, vmid);
	if (gpumon_row_count(ctx, &gpumon_amdgpu_flushes, row, 0))
		gpumon_event_ring_now(GPUMON_EVENT_VM_FLUSH, row, vmid,
				      hub_known() ? hub : GPUMON_WORD_UNKNOWN, page_directory, 0);
}
