// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu: buffers. Created, by preferred domain; moved, by placement;
 * mapped into address spaces of the GPU, whose translations are flushed.
 */
#include <linux/ktime.h>
#include <drm/amdgpu_drm.h>
#include <drm/ttm/ttm_placement.h>

#include "common/event_ring.h"
#include "common/process.h"
#include "internal.h"

/* Mappings are in units of these, whatever the CPU's page size is. */
#define GPU_PAGE_SHIFT 12

/* Instead of a placement: the buffer has none yet, or is being deleted. */
#define PLACEMENT_NONE (~0U)

static bool visible_bytes_known(const struct gpumon_group *group, u32 row)
{
	return gpumon_amdgpu_known(AMDGPU_BO_SIZE) && gpumon_amdgpu_known(AMDGPU_BO_FLAGS);
}

static bool mapping_known(void)
{
	return gpumon_amdgpu_known(AMDGPU_MAPPING_START) &&
	       gpumon_amdgpu_known(AMDGPU_MAPPING_LAST);
}

static bool mapped_bytes_known(const struct gpumon_group *group, u32 row)
{
	return mapping_known();
}

static bool hub_known(void)
{
	return gpumon_amdgpu_known(AMDGPU_RING_HUB) ||
	       (gpumon_amdgpu_known(AMDGPU_RING_FUNCS) && gpumon_amdgpu_known(AMDGPU_FUNCS_HUB));
}

enum {
	DOMAIN_CREATED,
	DOMAIN_BYTES,
	DOMAIN_VISIBLE,
	DOMAIN_VISIBLE_BYTES
};

static const struct gpumon_column domain_columns[] = {
	[DOMAIN_CREATED] = { .name = "created" },
	[DOMAIN_BYTES] = { .name = "bytes", .needs = &gpumon_amdgpu_fields[AMDGPU_BO_SIZE] },
	[DOMAIN_VISIBLE] = { .name = "visible", .needs = &gpumon_amdgpu_fields[AMDGPU_BO_FLAGS] },
	[DOMAIN_VISIBLE_BYTES] = { .name = "visible_bytes", .known = visible_bytes_known },
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
	[MOVE_MOVES] = { .name = "moves" },
	[MOVE_BYTES] = { .name = "bytes", .needs = &gpumon_amdgpu_fields[AMDGPU_BO_SIZE] },
	[MOVE_DELETES] = { .name = "deletes" },
	[MOVE_DELETED_BYTES] = { .name = "deleted_bytes",
				 .needs = &gpumon_amdgpu_fields[AMDGPU_BO_SIZE] },
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
	[VM_MAPS] = { .name = "maps" },
	[VM_MAPPED_BYTES] = { .name = "mapped_bytes", .known = mapped_bytes_known },
	[VM_UNMAPS] = { .name = "unmaps" },
	[VM_UNMAPPED_BYTES] = { .name = "unmapped_bytes", .known = mapped_bytes_known },
};

struct gpumon_statistics gpumon_amdgpu_vm = {
	.name = "vm",
	.labels = { "device" },
	GPUMON_COLUMNS(vm_columns),
	.capacity = 64,
};

static const struct gpumon_column flush_columns[] = {
	{ .name = "flushes" },
};

struct gpumon_statistics gpumon_amdgpu_flushes = {
	.name = "flushes",
	.labels = { "ring", "hub", "vmid" },
	.numbers = BIT(1) | BIT(2),
	GPUMON_COLUMNS(flush_columns),
	.capacity = 1024,
};

/* NULL if it cannot be read. */
static __always_inline const struct device *bo_device(const void *bo)
{
	const struct drm_device *drm =
		gpumon_field_pointer(&gpumon_amdgpu_fields[AMDGPU_BO_DRM], bo);
	const struct device *dev;

	return drm && gpumon_read_nofault(&dev, &drm->dev, sizeof(dev)) ? dev : NULL;
}

/* AMDGPU_GEM_DOMAIN_*, of which older headers lack the last. */
static void domain_label(u32 domains, char label[GPUMON_LABEL_LEN])
{
	static const char *const names[] = { "cpu", "gtt", "vram",     "gds",
					     "gws", "oa",  "doorbell", "mmio_remap" };
	size_t at = 0;
	unsigned int i;

	if (!gpumon_amdgpu_known(AMDGPU_BO_DOMAINS)) {
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
void gpumon_amdgpu_bo_create(void *data, struct amdgpu_bo *bo)
{
	struct gpumon_event_context ctx;
	u64 size, domains, flags, key;
	const struct device *dev;
	local64_t *words;
	bool visible;
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	if (unlikely(!gpumon_amdgpu_get(AMDGPU_BO_DOMAINS, bo, &domains) ||
		     !gpumon_amdgpu_get(AMDGPU_BO_SIZE, bo, &size) ||
		     !gpumon_amdgpu_get(AMDGPU_BO_FLAGS, bo, &flags))) {
		gpumon_probe_dropped(&ctx, GPUMON_DROP_UNREADABLE);
		goto leave;
	}
	dev = bo_device(bo);
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), domains);
	row = gpumon_row_find(&gpumon_amdgpu_domains, key);
	if (unlikely(row == GPUMON_NONE))
		row = domain_learn(key, dev, domains);
	if (!gpumon_row_begin(&ctx, &gpumon_amdgpu_domains, row, DOMAIN_CREATED, &words))
		goto leave;
	visible = flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
	gpumon_row_add(words, DOMAIN_BYTES, size);
	if (visible) {
		gpumon_row_add(words, DOMAIN_VISIBLE, 1);
		gpumon_row_add(words, DOMAIN_VISIBLE_BYTES, size);
	}
	if (in_task())
		gpumon_process_add(ctx.cpu, gpumon_process_slot(ctx.cpu),
				   GPUMON_PROCESS_ALLOCATED_BYTES, size);
	gpumon_event_ring_now(
		GPUMON_EVENT_BO_CREATE, row,
		gpumon_amdgpu_known(AMDGPU_BO_SIZE) ? size : AMDGPU_EVENT_UNKNOWN,
		gpumon_amdgpu_known(AMDGPU_BO_DOMAINS) ? domains : AMDGPU_EVENT_UNKNOWN,
		gpumon_amdgpu_known(AMDGPU_BO_FLAGS) ? visible : AMDGPU_EVENT_UNKNOWN, 0);
leave:
	gpumon_probe_leave(&ctx);
}

/* TTM_PL_*, then the driver's own, AMDGPU_PL_* of its amdgpu_ttm.h. */
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
void gpumon_amdgpu_bo_move(void *data, struct amdgpu_bo *bo, u32 to, u32 from)
{
	struct gpumon_event_context ctx;
	const struct device *dev;
	local64_t *words;
	u64 size, key;
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	if (unlikely(!gpumon_amdgpu_get(AMDGPU_BO_SIZE, bo, &size))) {
		gpumon_probe_dropped(&ctx, GPUMON_DROP_UNREADABLE);
		goto leave;
	}
	dev = bo_device(bo);
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), (u64)from << 32 | to);
	row = gpumon_row_find(&gpumon_amdgpu_moves, key);
	if (unlikely(row == GPUMON_NONE))
		row = move_learn(key, dev, from, to);
	if (!gpumon_probe_found(&ctx, row))
		goto leave;
	words = gpumon_row_words(&gpumon_amdgpu_moves, row);
	gpumon_row_add(words, to == PLACEMENT_NONE ? MOVE_DELETES : MOVE_MOVES, 1);
	gpumon_row_add(words, to == PLACEMENT_NONE ? MOVE_DELETED_BYTES : MOVE_BYTES, size);
	gpumon_probe_recorded(&ctx);
	gpumon_event_ring_now(GPUMON_EVENT_BO_MOVE, row,
			      gpumon_amdgpu_known(AMDGPU_BO_SIZE) ? size : AMDGPU_EVENT_UNKNOWN,
			      from, to, 0);
leave:
	gpumon_probe_leave(&ctx);
}

static noinline u32 vm_learn(u64 key, const struct device *dev)
{
	char device[GPUMON_LABEL_LEN];

	gpumon_device_name(device, dev);
	return gpumon_row_learn(&gpumon_amdgpu_vm, key, device, NULL, NULL);
}

/* A mapping comes or goes. The device of a mapping without a buffer is unknown. */
static __always_inline void vm_event(void *data, const void *bo_va, const void *mapping, bool map)
{
	struct gpumon_event_context ctx;
	const struct device *dev = NULL;
	u64 first, last, flags, key, bytes = 0;
	local64_t *words;
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	if (unlikely(!gpumon_amdgpu_get(AMDGPU_MAPPING_START, mapping, &first) ||
		     !gpumon_amdgpu_get(AMDGPU_MAPPING_LAST, mapping, &last) ||
		     (mapping_known() && last < first))) {
		gpumon_probe_dropped(&ctx, GPUMON_DROP_UNREADABLE);
		goto leave;
	}
	if (likely(mapping_known()))
		bytes = (last - first + 1) << GPU_PAGE_SHIFT;
	if (bo_va)
		dev = bo_device(gpumon_field_pointer(&gpumon_amdgpu_fields[AMDGPU_VA_BO], bo_va));
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), 0);
	row = gpumon_row_find(&gpumon_amdgpu_vm, key);
	if (unlikely(row == GPUMON_NONE))
		row = vm_learn(key, dev);
	if (!gpumon_row_begin(&ctx, &gpumon_amdgpu_vm, row, map ? VM_MAPS : VM_UNMAPS, &words))
		goto leave;
	gpumon_row_add(words, map ? VM_MAPPED_BYTES : VM_UNMAPPED_BYTES, bytes);
	if (map && in_task())
		gpumon_process_add(ctx.cpu, gpumon_process_slot(ctx.cpu),
				   GPUMON_PROCESS_MAPPED_BYTES, bytes);
	if (gpumon_event_ring_on()) {
		if (!gpumon_field_read(&gpumon_amdgpu_fields[AMDGPU_MAPPING_FLAGS], mapping,
				       &flags))
			flags = AMDGPU_EVENT_UNKNOWN;
		if (!mapping_known())
			bytes = AMDGPU_EVENT_UNKNOWN;
		gpumon_event_ring_words(
			map ? GPUMON_EVENT_VM_MAP : GPUMON_EVENT_VM_UNMAP, ktime_get_mono_fast_ns(),
			row,
			gpumon_amdgpu_known(AMDGPU_MAPPING_START) ? first : AMDGPU_EVENT_UNKNOWN,
			gpumon_amdgpu_known(AMDGPU_MAPPING_LAST) ? last : AMDGPU_EVENT_UNKNOWN,
			bytes, flags);
	}
leave:
	gpumon_probe_leave(&ctx);
}

/* Tracepoint amdgpu_vm_bo_map */
void gpumon_amdgpu_vm_map(void *data, struct amdgpu_bo_va *bo_va,
			  struct amdgpu_bo_va_mapping *mapping)
{
	vm_event(data, bo_va, mapping, true);
}

/* Tracepoint amdgpu_vm_bo_unmap */
void gpumon_amdgpu_vm_unmap(void *data, struct amdgpu_bo_va *bo_va,
			    struct amdgpu_bo_va_mapping *mapping)
{
	vm_event(data, bo_va, mapping, false);
}

/* The hub moved from the ring's functions to the ring. False if it cannot be read. */
static __always_inline bool ring_hub(const void *ring, u64 *hub)
{
	if (!gpumon_amdgpu_known(AMDGPU_RING_HUB) && gpumon_amdgpu_known(AMDGPU_RING_FUNCS))
		return gpumon_amdgpu_get(
			AMDGPU_FUNCS_HUB,
			gpumon_field_pointer(&gpumon_amdgpu_fields[AMDGPU_RING_FUNCS], ring), hub);
	return gpumon_amdgpu_get(AMDGPU_RING_HUB, ring, hub);
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
void gpumon_amdgpu_vm_flush(void *data, struct amdgpu_ring *ring, unsigned int vmid,
			    u64 page_directory)
{
	/* The name is in the ring, 16 bytes. */
	const u64 *name = gpumon_field_address(&gpumon_amdgpu_fields[AMDGPU_RING_NAME], ring);
	struct gpumon_event_context ctx;
	const struct device *dev;
	u64 hub, key, text[2] = { 0 };
	u32 row;

	if (!gpumon_probe_enter(&ctx, data))
		return;
	if (unlikely(!ring_hub(ring, &hub) ||
		     (gpumon_amdgpu_known(AMDGPU_RING_NAME) &&
		      !gpumon_read_nofault(text, name, sizeof(text))))) {
		gpumon_probe_dropped(&ctx, GPUMON_DROP_UNREADABLE);
		goto leave;
	}
	dev = gpumon_amdgpu_adev_device(
		gpumon_field_pointer(&gpumon_amdgpu_fields[AMDGPU_RING_ADEV], ring));
	key = gpumon_key_mix(gpumon_amdgpu_device_hash(dev), text[0]);
	key = gpumon_key_mix(key, text[1]);
	key = gpumon_key_mix(key, hub << 32 | vmid);
	row = gpumon_row_find(&gpumon_amdgpu_flushes, key);
	if (unlikely(row == GPUMON_NONE))
		row = flush_learn(key, dev, name, hub, vmid);
	if (gpumon_row_count(&ctx, &gpumon_amdgpu_flushes, row, 0))
		gpumon_event_ring_now(GPUMON_EVENT_VM_FLUSH, row, vmid,
				      hub_known() ? hub : AMDGPU_EVENT_UNKNOWN, page_directory, 0);
leave:
	gpumon_probe_leave(&ctx);
}
