// SPDX-License-Identifier: GPL-2.0-only
/* Group i915: the members of the driver's types. */
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
	/* Only its address is used. */
	[GPUMON_I915_DRM] = I915_FIELD("drm_i915_private", "drm", 0),
	[GPUMON_I915_DRM_PARENT] = I915_FIELD("drm_i915_private", "drm.dev", 8),
	[GPUMON_I915_REQUEST_ENGINE] = I915_FIELD("i915_request", "engine", 8),
	[GPUMON_I915_REQUEST_CONTEXT] = I915_FIELD("i915_request", "fence.context", 8),
	[GPUMON_I915_REQUEST_SEQNO] = I915_FIELD("i915_request", "fence.seqno", 8),
	/* Eight characters, read as one word. */
	[GPUMON_I915_ENGINE_NAME] = I915_FIELD("intel_engine_cs", "name", 8),
	[GPUMON_I915_ENGINE_DEVICE] = I915_FIELD("intel_engine_cs", "i915", 8),
};
