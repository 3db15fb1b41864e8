// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group i915: Intel's driver of that name, which has its own scheduler. memory.c and binding.c
 * count its objects, request.c its engines; device.c finds the device.
 */
#include "attach/probe.h"
#include "common/process.h"
#include "drivers/groups.h"
#include "internal.h"

struct gpumon_field gpumon_i915_fields[I915_FIELD_COUNT] = {
#define FIELD(_name, ...) GPUMON_FIELD("i915", __VA_ARGS__),
	I915_FIELDS(FIELD)
};

/*
 * kprobe on i915_driver_probe(): a device that was unbound and is bound again, or another one, may
 * get the addresses of objects that were freed. Nothing of the new device exists yet.
 */
static GPUMON_KPROBE_BODY(i915_new_device)
{
	gpumon_track_forget(&gpumon_i915_known_devices);
	gpumon_track_forget(&gpumon_i915_known_engines);
	gpumon_probe_recorded(ctx);
}

/* The rows of the devices may have gone with the driver. They are found again by name. */
static void i915_start(void)
{
	unsigned int i;

	gpumon_process_forget_level(GPUMON_PROCESS_LIVE_OBJECT_BYTES);
	for (i = 0; i < GPUMON_I915_DEVICES; i++)
		memset(gpumon_i915_devices[i].row, 0, sizeof(gpumon_i915_devices[i].row));
}

#define I915_TRACEPOINT(_role, _name, ...) \
	[GPUMON_I915_ROLE_##_role] =           \
		GPUMON_TRACEPOINT_AT("i915", _name, GPUMON_I915_ROLE_##_role, __VA_ARGS__)
#define WITHOUT(_what) .optional = true, .without = _what

/* In the order in which they are detached: beginnings before ends. */
static struct gpumon_probe i915_probes[] = {
	I915_TRACEPOINT(CREATE, "i915_gem_object_create", gpumon_i915_create,
			"*drm_i915_gem_object",
			.process_words = BIT(GPUMON_PROCESS_ALLOCATED_BYTES),
			.process_levels = BIT(GPUMON_PROCESS_LIVE_OBJECT_BYTES),
			.process_needs = I915_FIELD(OBJECT_SIZE)),
	I915_TRACEPOINT(BIND, "i915_vma_bind", gpumon_i915_bind, "*i915_vma u32",
			WITHOUT("bindings are not counted")),
	I915_TRACEPOINT(UNBIND, "i915_vma_unbind", gpumon_i915_unbind, "*i915_vma",
			WITHOUT("rebinds are not seen")),
	I915_TRACEPOINT(DESTROY, "i915_gem_object_destroy", gpumon_i915_destroy,
			"*drm_i915_gem_object",
			.process_levels = BIT(GPUMON_PROCESS_LIVE_OBJECT_BYTES)),
	I915_TRACEPOINT(SHRINK, "i915_gem_shrink", gpumon_i915_shrink,
			"*drm_i915_private u64 u32", WITHOUT("shrinks are not counted")),
	I915_TRACEPOINT(EVICT, "i915_gem_evict", gpumon_i915_evict,
			"*i915_address_space u64 u64 u32", WITHOUT("evictions are not counted")),
	I915_TRACEPOINT(EVICT_NODE, "i915_gem_evict_node", gpumon_i915_evict_node,
			"*i915_address_space *drm_mm_node u32",
			WITHOUT("evictions of a range are not counted")),
	I915_TRACEPOINT(EVICT_VM, "i915_gem_evict_vm", gpumon_i915_evict_vm,
			"*i915_address_space",
			WITHOUT("evictions of an address space are not counted")),
	I915_TRACEPOINT(PREAD, "i915_gem_object_pread", gpumon_i915_pread,
			"*drm_i915_gem_object u64 u64", WITHOUT("reads are not counted")),
	I915_TRACEPOINT(PWRITE, "i915_gem_object_pwrite", gpumon_i915_pwrite,
			"*drm_i915_gem_object u64 u64", WITHOUT("writes are not counted")),
	I915_TRACEPOINT(FAULT, "i915_gem_object_fault", gpumon_i915_fault,
			"*drm_i915_gem_object u64 bool bool",
			.process_words = BIT(GPUMON_PROCESS_FAULTS),
			WITHOUT("faults are not counted")),
	I915_TRACEPOINT(REQUEST_ADD, "i915_request_add", gpumon_i915_request_add,
			"*i915_request",
			.process_words = BIT(GPUMON_PROCESS_SUBMISSIONS),
			WITHOUT("requests are not counted")),
	I915_TRACEPOINT(REQUEST_RETIRE, "i915_request_retire", gpumon_i915_request_retire,
			"*i915_request", WITHOUT("the end of requests is not seen")),
	[GPUMON_I915_ROLE_NEW_DEVICE] = GPUMON_KPROBE_AT(
		"i915", "i915_driver_probe", GPUMON_I915_ROLE_NEW_DEVICE, i915_new_device, NULL,
		NULL, WITHOUT("a GPU that is unbound and bound again may be taken for another one")),
};

static struct gpumon_statistics *const i915_statistics[] = {
	&gpumon_i915_memory,
	&gpumon_i915_bindings,
	&gpumon_i915_accesses,
	&gpumon_i915_engines,
};

static struct gpumon_track *const i915_tracks[] = {
	&gpumon_i915_known_devices,
	&gpumon_i915_known_engines,
	&gpumon_i915_objects,
	&gpumon_i915_requests,
};

struct gpumon_group gpumon_i915 = {
	.name = "i915",
	GPUMON_PROBES(i915_probes),
	GPUMON_FIELDS(gpumon_i915_fields),
	GPUMON_TABLES(i915_statistics),
	GPUMON_TRACKS(i915_tracks),
	.start = i915_start,
};
