// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objects: named memory that a test lays out using BTF, and the words of a command that stand
 * for values and addresses.
 */
#include <linux/dma-fence.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/platform_device.h>
#include <linux/poison.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <drm/gpu_scheduler.h>

#include "fire_gpu.h"

#define FIRE_MAX_OBJECT		(64UL << 20)

/**
 * struct fire_object - a piece of memory
 * @node: entry in the list of objects
 * @name: name in commands
 * @memory: allocated memory
 * @address: address of the object, within @memory
 * @size: size of the object
 * @readable: bytes at the beginning that are mapped
 */
struct fire_object {
	struct list_head node;
	char name[FIRE_NAME_LEN];
	void *memory;
	void *address;
	size_t size;
	size_t readable;
};

/* Protected by the lock of the commands. */
static LIST_HEAD(fire_objects);
/* Nothing is mapped in the guard page after it. */
static void *fire_guarded;

/*
 * The scheduler recognises a finished fence by its operations, and the tracepoints of amdgpu call
 * their functions when ftrace is enabled. These are for fences within a simulated struct
 * drm_sched_fence.
 */
static const char *fire_fence_driver_name(struct dma_fence *fence)
{
	return "fire_gpu";
}

static const char *fire_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct drm_sched_fence, finished)->sched->name;
}

static const struct dma_fence_ops fire_fence_ops = {
	.get_driver_name = fire_fence_driver_name,
	.get_timeline_name = fire_fence_timeline_name,
};

static struct fire_object *fire_object_find(const char *name)
{
	struct fire_object *object;

	list_for_each_entry(object, &fire_objects, node)
		if (!strcmp(object->name, name))
			return object;
	return NULL;
}

/**
 * fire_object_add() - create a zeroed object
 * @name: its name
 * @size: in bytes, up to 64 MiB
 * @readable: if less than @size, only this number of bytes can be read or set, as for an object
 *            that extends into an unmapped page; a multiple of 8
 *
 * Return: 0; -EEXIST, -EINVAL, -ENAMETOOLONG, -ENOMEM.
 */
int fire_object_add(const char *name, size_t size, size_t readable)
{
	struct fire_object *object;

	if (strlen(name) >= sizeof(object->name))
		return -ENAMETOOLONG;
	if (!size || size > FIRE_MAX_OBJECT || readable > size)
		return -EINVAL;
	if (readable < size && (!readable || readable % sizeof(u64)))
		return -EINVAL;
	if (fire_object_find(name))
		return -EEXIST;

	object = kzalloc(sizeof(*object), GFP_KERNEL);
	if (!object)
		return -ENOMEM;
	if (readable < size) {
		/* The readable part of the object ends at the guard page. */
		object->memory = vzalloc(PAGE_ALIGN(readable));
		object->address = object->memory + PAGE_ALIGN(readable) - readable;
	} else {
		object->memory = kvzalloc(size, GFP_KERNEL);
		object->address = object->memory;
	}
	if (!object->memory) {
		kfree(object);
		return -ENOMEM;
	}
	strscpy(object->name, name, sizeof(object->name));
	object->size = size;
	object->readable = readable;
	list_add(&object->node, &fire_objects);
	return 0;
}

static void fire_object_delete(struct fire_object *object)
{
	list_del(&object->node);
	kvfree(object->memory);
	kfree(object);
}

/**
 * fire_object_free() - free an object
 * @name: its name, or "*" for all
 *
 * Return: 0 or -ENOENT.
 */
int fire_object_free(const char *name)
{
	struct fire_object *object, *next;

	if (!strcmp(name, "*")) {
		list_for_each_entry_safe(object, next, &fire_objects, node)
			fire_object_delete(object);
		return 0;
	}
	object = fire_object_find(name);
	if (!object)
		return -ENOENT;
	fire_object_delete(object);
	return 0;
}

/* The address to write to, NULL if it is not mapped. */
static void *fire_object_at(const char *name, size_t offset, size_t size, int *error)
{
	struct fire_object *object = fire_object_find(name);

	*error = object ? -ERANGE : -ENOENT;
	if (!object || size > object->readable || offset > object->readable - size)
		return NULL;
	return object->address + offset;
}

/**
 * fire_object_set() - set a member
 * @name: name of the object
 * @offset: offset of the member in bytes
 * @size: size of the member in bytes: 1, 2, 4 or 8
 * @value: its low bytes are written
 *
 * Return: 0; -ENOENT, -ERANGE beyond the readable end of the object, -EINVAL.
 */
int fire_object_set(const char *name, size_t offset, size_t size, u64 value)
{
	void *at;
	int error;

	at = fire_object_at(name, offset, size, &error);
	if (!at)
		return error;
	switch (size) {
	case 1:
		*(u8 *)at = value;
		return 0;
	case 2:
		*(u16 *)at = value;
		return 0;
	case 4:
		*(u32 *)at = value;
		return 0;
	case 8:
		*(u64 *)at = value;
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * fire_object_bits() - set a bit field
 * @name: name of the object
 * @bit: the first, counted from the beginning of the object
 * @bits: its width, 1 to 64
 * @value: value of the bit field
 *
 * Return: 0; -ENOENT, -ERANGE beyond the readable end of the object, -EINVAL.
 */
int fire_object_bits(const char *name, size_t bit, unsigned int bits, u64 value)
{
	size_t first = bit / 8, last;
	int error;
	u8 *at;

	if (!bits || bits > 64)
		return -EINVAL;
	last = (bit + bits - 1) / 8;
	at = fire_object_at(name, first, last - first + 1, &error);
	if (!at)
		return error;
	for (bit %= 8; bits--; bit++, value >>= 1) {
		at[bit / 8] &= ~BIT(bit % 8);
		at[bit / 8] |= (value & 1) << (bit % 8);
	}
	return 0;
}

/**
 * fire_object_string() - write a string with its terminating 0
 * @name: name of the object
 * @offset: offset in bytes
 * @text: the string
 *
 * Return: 0; -ENOENT, -ERANGE beyond the readable end of the object.
 */
int fire_object_string(const char *name, size_t offset, const char *text)
{
	size_t size = strlen(text) + 1;
	void *at;
	int error;

	at = fire_object_at(name, offset, size, &error);
	if (!at)
		return error;
	memcpy(at, text, size);
	return 0;
}

/**
 * fire_object_value() - get the value of a word in a command
 * @word: a number, "null", "poison", "unmapped", "user", "fence_ops", "device_type", or "@NAME" or
 *        "@NAME+OFFSET" for the address of an object; modified
 * @user: value of "user"
 * @value: out
 *
 * Return: 0; -ENOENT if there is no such object, -EINVAL.
 */
int fire_object_value(char *word, const char __user *user, unsigned long *value)
{
	struct fire_object *object;
	unsigned long offset = 0;
	char *plus;
	long number;

	if (!strcmp(word, "null")) {
		*value = 0;
	} else if (!strcmp(word, "poison")) {
		*value = (unsigned long)LIST_POISON1;
	} else if (!strcmp(word, "unmapped")) {
		*value = (unsigned long)fire_guarded + PAGE_SIZE;
	} else if (!strcmp(word, "user")) {
		*value = (unsigned long)user;
	} else if (!strcmp(word, "fence_ops")) {
		*value = (unsigned long)&fire_fence_ops;
	} else if (!strcmp(word, "device_type")) {
		*value = (unsigned long)platform_bus.kobj.ktype;
	} else if (word[0] == '@') {
		plus = strchr(word, '+');
		if (plus) {
			*plus++ = '\0';
			if (kstrtoul(plus, 0, &offset))
				return -EINVAL;
		}
		object = fire_object_find(word + 1);
		if (!object)
			return -ENOENT;
		*value = (unsigned long)object->address + offset;
	} else if (word[0] == '-') {
		if (kstrtol(word, 0, &number))
			return -EINVAL;
		*value = number;
	} else if (kstrtoul(word, 0, value)) {
		return -EINVAL;
	}
	return 0;
}

/**
 * fire_object_show() - print the objects, with their addresses
 * @m: output
 *
 * Only used by a test that compares them with the output of ftrace.
 */
void fire_object_show(struct seq_file *m)
{
	struct fire_object *object;

	seq_puts(m, "name size readable address\n");
	list_for_each_entry(object, &fire_objects, node)
		seq_printf(m, "%s %zu %zu 0x%lx\n", object->name, object->size, object->readable,
			   (unsigned long)object->address);
}

/**
 * fire_object_init() - get an address where nothing is mapped
 *
 * Return: 0 or -ENOMEM.
 */
int fire_object_init(void)
{
	fire_guarded = vmalloc(PAGE_SIZE);
	return fire_guarded ? 0 : -ENOMEM;
}

/**
 * fire_object_exit() - free all objects
 */
void fire_object_exit(void)
{
	fire_object_free("*");
	vfree(fire_guarded);
}
