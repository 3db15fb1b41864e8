/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_I915_H
#define GPUMON_I915_H

struct gpumon_group;

extern struct gpumon_group gpumon_i915;

#endif /* GPUMON_I915_H */
