/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of group i915: the members of its private types, its tables, its probes'
 * bodies, and how a device is found.
 */
#ifndef GPUMON_I915_PRIV_H
#define GPUMON_I915_PRIV_H

#include <linux/kprobes.h>

#include "core/field.h"
#include "core/statistics.h"
#include "core/track.h"

struct drm_device;
struct drm_i915_gem_object;
struct drm_i915_private;
struct drm_mm_node;
struct i915_address_space;
struct i915_request;
struct i915_vma;

/* One identity for all addresses that are remembered: they are forgotten when a device comes. */
#define I915_KNOWN 1

/* Number of devices, the unknown device included. */
#define GPUMON_I915_DEVICES 16

/* Members of private types, in gpumon_i915_fields[]. */
#define I915_FIELDS(X)                                        \
	X(OBJECT_SIZE, "drm_i915_gem_object", "base.size", 8) \
	X(OBJECT_DEVICE, "drm_i915_gem_object", "base.dev", 8) \
	X(VMA_OBJECT, "i915_vma", "obj", 8)                   \
	X(VMA_SIZE, "i915_vma", "node.size", 8)               \
	X(VM_DEVICE, "i915_address_space", "i915", 8)         \
	/* Only its address is used. */                       \
	X(DRM, "drm_i915_private", "drm", 0)                  \
	X(DRM_PARENT, "drm_i915_private", "drm.dev", 8)       \
	X(REQUEST_ENGINE, "i915_request", "engine", 8)        \
	X(REQUEST_CONTEXT, "i915_request", "fence.context", 8) \
	X(REQUEST_SEQNO, "i915_request", "fence.seqno", 8)    \
	/* Eight characters, read as one word. */             \
	X(ENGINE_NAME, "intel_engine_cs", "name", 8)          \
	X(ENGINE_DEVICE, "intel_engine_cs", "i915", 8)

enum {
#define I915_FIELD_ENUM(_name, ...) I915_FIELD_##_name,
	I915_FIELDS(I915_FIELD_ENUM)
	I915_FIELD_COUNT
};

#define I915_FIELD(_name) (&gpumon_i915_fields[I915_FIELD_##_name])

/* Purpose of a probe; also its place in the table. */
enum gpumon_i915_role {
	GPUMON_I915_ROLE_CREATE,
	GPUMON_I915_ROLE_BIND,
	GPUMON_I915_ROLE_UNBIND,
	GPUMON_I915_ROLE_DESTROY,
	GPUMON_I915_ROLE_SHRINK,
	GPUMON_I915_ROLE_EVICT,
	GPUMON_I915_ROLE_EVICT_NODE,
	GPUMON_I915_ROLE_EVICT_VM,
	GPUMON_I915_ROLE_PREAD,
	GPUMON_I915_ROLE_PWRITE,
	GPUMON_I915_ROLE_FAULT,
	GPUMON_I915_ROLE_REQUEST_ADD,
	GPUMON_I915_ROLE_REQUEST_RETIRE,
	GPUMON_I915_ROLE_NEW_DEVICE,
};

/* Tables whose rows are devices. */
enum gpumon_i915_table {
	GPUMON_I915_MEMORY,
	GPUMON_I915_BINDINGS,
	GPUMON_I915_ACCESSES,
	GPUMON_I915_DEVICE_TABLES
};

/**
 * struct gpumon_i915_device - a device, there for ever once it was seen
 * @key: from its name, 0 if the place is free
 * @name: its name, that of the bus: "0000:00:02.0"
 * @row: its row in each table and 1, 0 while it has none
 */
struct gpumon_i915_device {
	u64 key;
	char name[GPUMON_LABEL_LEN];
	u32 row[GPUMON_I915_DEVICE_TABLES];
};

/**
 * struct gpumon_i915_object - an object of which an event was seen
 * @size: its bytes, if its creation was seen
 * @unbound: a bit for each of its bindings that was unbound, see vma_bit()
 * @process_id: id of the process that created it, for gpumon_process_change()
 * @process: slot that this process had, GPUMON_NONE if it had none
 * @device: index of its device in gpumon_i915_devices[]
 * @created: its creation was seen, else it is in no gauge and in no level
 */
struct gpumon_i915_object {
	u64 size;
	unsigned long unbound;
	u64 process_id;
	u32 process;
	u16 device;
	bool created;
};
GPUMON_TRACKED_TYPE(struct gpumon_i915_object);

extern struct gpumon_field gpumon_i915_fields[I915_FIELD_COUNT];
extern struct gpumon_i915_device gpumon_i915_devices[GPUMON_I915_DEVICES];

extern struct gpumon_statistics gpumon_i915_memory;
extern struct gpumon_statistics gpumon_i915_bindings;
extern struct gpumon_statistics gpumon_i915_accesses;
extern struct gpumon_statistics gpumon_i915_engines;

extern struct gpumon_track gpumon_i915_known_devices;
extern struct gpumon_track gpumon_i915_known_engines;
extern struct gpumon_track gpumon_i915_objects;
extern struct gpumon_track gpumon_i915_requests;

u32 gpumon_i915_device_learn(const struct drm_device *drm);
u32 gpumon_i915_row_learn(struct gpumon_statistics *statistics, enum gpumon_i915_table table,
			  u32 device);

void gpumon_i915_create(void *data, struct drm_i915_gem_object *object);
void gpumon_i915_destroy(void *data, struct drm_i915_gem_object *object);
void gpumon_i915_bind(void *data, struct i915_vma *vma, unsigned int flags);
void gpumon_i915_unbind(void *data, struct i915_vma *vma);
void gpumon_i915_shrink(void *data, struct drm_i915_private *i915, unsigned long target,
			unsigned int flags);
void gpumon_i915_evict(void *data, struct i915_address_space *vm, u64 size, u64 align,
		       unsigned int flags);
void gpumon_i915_evict_node(void *data, struct i915_address_space *vm, struct drm_mm_node *node,
			    unsigned int flags);
void gpumon_i915_evict_vm(void *data, struct i915_address_space *vm);
void gpumon_i915_pread(void *data, struct drm_i915_gem_object *object, u64 offset, u64 length);
void gpumon_i915_pwrite(void *data, struct drm_i915_gem_object *object, u64 offset, u64 length);
void gpumon_i915_fault(void *data, struct drm_i915_gem_object *object, u64 page, bool gtt,
		       bool write);
void gpumon_i915_request_add(void *data, struct i915_request *request);
void gpumon_i915_request_retire(void *data, struct i915_request *request);

/*
 * Index of a device in gpumon_i915_devices[], that of the unknown device if @drm, which may be any
 * value, cannot be read; GPUMON_NONE if there are too many.
 */
static __always_inline u32 gpumon_i915_device_of(const struct drm_device *drm)
{
	u32 number;

	if (unlikely(!drm))
		return 0;
	number = gpumon_track_known(&gpumon_i915_known_devices, (unsigned long)drm, I915_KNOWN);
	return likely(number) ? number - 1 : gpumon_i915_device_learn(drm);
}

/* Row of a device, which may be GPUMON_NONE or GPUMON_UNREADABLE; GPUMON_NONE if there is no room. */
static __always_inline u32 gpumon_i915_row_of(struct gpumon_statistics *statistics,
					      enum gpumon_i915_table table, u32 device)
{
	u32 row;

	if (unlikely(device >= GPUMON_UNREADABLE))
		return device;
	row = READ_ONCE(gpumon_i915_devices[device].row[table]);
	return likely(row) ? row - 1 : gpumon_i915_row_learn(statistics, table, device);
}

/* Device of an object without an entry, GPUMON_UNREADABLE if it cannot be read. */
static inline u32 gpumon_i915_device_unseen(const void *object)
{
	u64 drm;

	if (!object || !gpumon_field_get(I915_FIELD(OBJECT_DEVICE), object, &drm))
		return GPUMON_UNREADABLE;
	return gpumon_i915_device_of((void *)(unsigned long)drm);
}

/* Entry of an object, whose address may be any value; NULL if no event of it was seen. */
static __always_inline struct gpumon_i915_object *gpumon_i915_object_find(const void *object)
{
	return likely(object) ? gpumon_track_find(&gpumon_i915_objects, (unsigned long)object) :
				NULL;
}

/* gpumon_row_begin() for the row of a device. */
static __always_inline bool gpumon_i915_begin(struct gpumon_event_context *ctx,
					      struct gpumon_statistics *statistics,
					      enum gpumon_i915_table table, u32 device, u32 *row,
					      unsigned int column, local64_t **words)
{
	*row = gpumon_i915_row_of(statistics, table, device);
	return gpumon_row_begin(ctx, statistics, *row, column, words);
}

#endif /* GPUMON_I915_PRIV_H */
