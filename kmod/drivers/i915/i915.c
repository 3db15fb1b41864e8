// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group i915: Intel's driver of that name, which has its own scheduler.
 * i915_memory.c has what its objects do, i915_request.c its engines,
 * i915_device.c tells devices apart.
 */
#include "attach/probe.h"
#include "common/process.h"
#include "i915.h"
#include "internal.h"

#define I915_FIELD(_type, _member, _size)                                         \
	{                                                                         \
		.module = "i915", .type = _type, .member = _member, .size = _size \
	}

struct gpumon_field gpumon_i915_fields[GPUMON_I915_FIELDS] = {
	[GPUMON_I915_OBJECT_SIZE] = I915_FIELD("drm_i915_gem_object", "base.size", 8),
	[GPUMON_I915_OBJECT_DEVICE] = I915_FIELD("drm_i915_gem_object", "base.dev", 8),
	[GPUMON_I915_VMA_OBJECT] = I915_FIELD("i915_vma", "obj", 8),
	[GPUMON_I915_VMA_SIZE] = I915_FIELD("i915_vma", "node.size", 8),
	[GPUMON_I915_VM_DEVICE] = I915_FIELD("i915_address_space", "i915", 8),
	/* Whole, its address is what counts. */
	[GPUMON_I915_DRM] = I915_FIELD("drm_i915_private", "drm", 0),
	[GPUMON_I915_DRM_PARENT] = I915_FIELD("drm_i915_private", "drm.dev", 8),
	[GPUMON_I915_REQUEST_ENGINE] = I915_FIELD("i915_request", "engine", 8),
	[GPUMON_I915_REQUEST_CONTEXT] = I915_FIELD("i915_request", "fence.context", 8),
	[GPUMON_I915_REQUEST_SEQNO] = I915_FIELD("i915_request", "fence.seqno", 8),
	/* Eight characters, read as one word. */
	[GPUMON_I915_ENGINE_NAME] = I915_FIELD("intel_engine_cs", "name", 8),
	[GPUMON_I915_ENGINE_DEVICE] = I915_FIELD("intel_engine_cs", "i915", 8),
};

enum {
	PROBE_CREATE,
	PROBE_BIND,
	PROBE_UNBIND,
	PROBE_DESTROY,
	PROBE_SHRINK,
	PROBE_EVICT,
	PROBE_EVICT_NODE,
	PROBE_EVICT_VM,
	PROBE_PREAD,
	PROBE_PWRITE,
	PROBE_FAULT,
	PROBE_REQUEST_ADD,
	PROBE_REQUEST_RETIRE,
	PROBE_NEW_DEVICE,
};

#define I915_TRACEPOINT(_number, _name, _body, _prototype, ...) \
	[_number] = { .module = "i915",                         \
		      .name = _name,                            \
		      .kind = GPUMON_PROBE_KIND_TRACEPOINT,     \
		      .role = _number,                          \
		      .body = _body,                            \
		      .prototype = _prototype,                  \
		      ##__VA_ARGS__ }
#define WITHOUT(_what) .optional = true, .without = _what

/* Beginnings before ends, each in the order in which they are detached. */
static struct gpumon_probe i915_probes[] = {
	I915_TRACEPOINT(PROBE_CREATE, "i915_gem_object_create", gpumon_i915_create,
			"*drm_i915_gem_object",
			.process_words = BIT(GPUMON_PROCESS_ALLOCATED_BYTES),
			.process_needs = &gpumon_i915_fields[GPUMON_I915_OBJECT_SIZE]),
	I915_TRACEPOINT(PROBE_BIND, "i915_vma_bind", gpumon_i915_bind, "*i915_vma u32",
			WITHOUT("bindings are not counted")),
	I915_TRACEPOINT(PROBE_UNBIND, "i915_vma_unbind", gpumon_i915_unbind, "*i915_vma",
			WITHOUT("rebinds are not seen")),
	I915_TRACEPOINT(PROBE_DESTROY, "i915_gem_object_destroy", gpumon_i915_destroy,
			"*drm_i915_gem_object"),
	I915_TRACEPOINT(PROBE_SHRINK, "i915_gem_shrink", gpumon_i915_shrink,
			"*drm_i915_private u64 u32", WITHOUT("shrinks are not counted")),
	I915_TRACEPOINT(PROBE_EVICT, "i915_gem_evict", gpumon_i915_evict,
			"*i915_address_space u64 u64 u32", WITHOUT("evictions are not counted")),
	I915_TRACEPOINT(PROBE_EVICT_NODE, "i915_gem_evict_node", gpumon_i915_evict_node,
			"*i915_address_space *drm_mm_node u32",
			WITHOUT("evictions of a range are not counted")),
	I915_TRACEPOINT(PROBE_EVICT_VM, "i915_gem_evict_vm", gpumon_i915_evict_vm,
			"*i915_address_space",
			WITHOUT("evictions of an address space are not counted")),
	I915_TRACEPOINT(PROBE_PREAD, "i915_gem_object_pread", gpumon_i915_pread,
			"*drm_i915_gem_object u64 u64", WITHOUT("reads are not counted")),
	I915_TRACEPOINT(PROBE_PWRITE, "i915_gem_object_pwrite", gpumon_i915_pwrite,
			"*drm_i915_gem_object u64 u64", WITHOUT("writes are not counted")),
	I915_TRACEPOINT(PROBE_FAULT, "i915_gem_object_fault", gpumon_i915_fault,
			"*drm_i915_gem_object u64 bool bool",
			.process_words = BIT(GPUMON_PROCESS_FAULTS),
			WITHOUT("faults are not counted")),
	I915_TRACEPOINT(PROBE_REQUEST_ADD, "i915_request_add", gpumon_i915_request_add,
			"*i915_request",
			.process_words = BIT(GPUMON_PROCESS_SUBMISSIONS),
			WITHOUT("requests are not counted")),
	I915_TRACEPOINT(PROBE_REQUEST_RETIRE, "i915_request_retire", gpumon_i915_request_retire,
			"*i915_request", WITHOUT("the end of requests is not seen")),
	[PROBE_NEW_DEVICE] = {
		.module = "i915",
		.name = "i915_driver_probe",
		.kind = GPUMON_PROBE_KIND_KPROBE,
		.role = PROBE_NEW_DEVICE,
		.body = gpumon_i915_new_device,
		WITHOUT("a GPU that is unbound and bound again may be taken for another one"),
	},
};

static bool attached(unsigned int probe)
{
	return READ_ONCE(i915_probes[probe].state) == GPUMON_ATTACH_STATE_ATTACHED;
}

/**
 * gpumon_i915_levels_known - are creation and destruction of objects both seen
 *
 * Return: whether they are: with one of them a level is no level.
 */
bool gpumon_i915_levels_known(void)
{
	return attached(PROBE_CREATE) && attached(PROBE_DESTROY);
}

/**
 * gpumon_i915_requests_known - are begin and end of requests both seen
 *
 * Return: whether they are.
 */
bool gpumon_i915_requests_known(void)
{
	return attached(PROBE_REQUEST_ADD) && attached(PROBE_REQUEST_RETIRE);
}

static void begin_anew(void)
{
	gpumon_group_forget(&gpumon_i915);
	gpumon_i915_forget_known();
}

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
	.probes = i915_probes,
	.count = ARRAY_SIZE(i915_probes),
	.fields = gpumon_i915_fields,
	.field_count = ARRAY_SIZE(gpumon_i915_fields),
	.statistics = i915_statistics,
	.statistics_count = ARRAY_SIZE(i915_statistics),
	.tracks = i915_tracks,
	.track_count = ARRAY_SIZE(i915_tracks),
	.start = begin_anew,
	.module_gone = begin_anew,
};
