// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "symbol_file.h"
#include "symbol_image.h"
#include "symbol_object.h"

#define UNKNOWN "[unknown]"
#define VDSO	"[vdso]"
#define BUCKETS 4096

struct gpumon_symbol_object {
	struct gpumon_symbol_object *next;    /* in the same bucket */
	struct gpumon_symbol_object *earlier; /* of all objects */
	char *path;			      /* as in the capture */
	const char *module;
	uint64_t inode;
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	size_t build_id_size;
	struct gpumon_symbol_image *image; /* NULL: memory without a file */
};

struct gpumon_symbol_objects {
	char *root;
	struct gpumon_symbol_strings *strings;
	struct gpumon_symbol_object *buckets[BUCKETS];
	struct gpumon_symbol_object *last;
};

struct gpumon_symbol_objects *gpumon_symbol_objects_new(const char *root,
							struct gpumon_symbol_strings *strings)
{
	struct gpumon_symbol_objects *objects = calloc(1, sizeof(*objects));
	size_t length;

	if (!objects)
		return NULL;
	objects->strings = strings;
	objects->root = strdup(root ? root : "");
	if (!objects->root) {
		free(objects);
		return NULL;
	}
	length = strlen(objects->root);
	while (length && objects->root[length - 1] == '/')
		objects->root[--length] = '\0';
	return objects;
}

/* Anything with a build id is a file, whatever its name. */
static bool is_memory(const char *path, size_t build_id_size)
{
	static const char *const begins[] = { "//", "/memfd:", "/dev/", "/SYSV", "/anon_hugepage" };

	if (build_id_size || !strcmp(path, VDSO))
		return false;
	if (*path != '/')
		return true;
	if (!strncmp(path, "/dev/shm/", strlen("/dev/shm/")))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	}
	return false;
}

/* Loaders use this name. Old captures have it instead of "[vdso]". */
static bool is_vdso(const char *path)
{
	return !strncmp(path, "linux-vdso", strlen("linux-vdso")) ||
	       !strncmp(path, "linux-gate.so", strlen("linux-gate.so"));
}

static const char *module_name(struct gpumon_symbol_objects *objects, const char *path)
{
	size_t length = gpumon_symbol_path_length(path);
	const char *base = memrchr(path, '/', length);

	base = base ? base + 1 : path;
	length -= (size_t)(base - path);
	if (!length || !strncmp(path, "//", 2))
		return UNKNOWN;
	return gpumon_symbol_strings_add(objects->strings, base, length);
}

static void free_object(struct gpumon_symbol_object *object)
{
	gpumon_symbol_image_put(object->image);
	free(object->path);
	free(object);
}

struct gpumon_symbol_object *gpumon_symbol_objects_get(struct gpumon_symbol_objects *objects,
						       const struct gpumon_record_mapping *mapping,
						       const char *path)
{
	struct gpumon_symbol_object **bucket;
	struct gpumon_symbol_wanted wanted = {
		.inode = mapping->inode,
		.start = mapping->start,
		.end = mapping->end,
		.build_id = mapping->build_id,
		.build_id_size = mapping->build_id_size,
	};
	struct gpumon_symbol_object *object;

	if (is_vdso(path))
		path = VDSO;
	wanted.path = path;
	bucket = &objects->buckets[gpumon_hash_bytes(path, strlen(path)) % BUCKETS];
	if (wanted.build_id_size > GPUMON_BUILD_ID_SIZE)
		wanted.build_id_size = GPUMON_BUILD_ID_SIZE;
	for (object = *bucket; object; object = object->next) {
		if (!strcmp(object->path, path) && object->inode == wanted.inode &&
		    object->build_id_size == wanted.build_id_size &&
		    !memcmp(object->build_id, wanted.build_id, wanted.build_id_size))
			return object;
	}

	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->path = strdup(path);
	object->module = module_name(objects, path);
	if (!is_memory(path, wanted.build_id_size))
		object->image = gpumon_symbol_image_get(objects->root, &wanted);
	if (!object->path || !object->module ||
	    (!object->image && !is_memory(path, wanted.build_id_size))) {
		free_object(object);
		return NULL;
	}
	object->inode = wanted.inode;
	object->build_id_size = wanted.build_id_size;
	memcpy(object->build_id, wanted.build_id, wanted.build_id_size);
	object->next = *bucket;
	*bucket = object;
	object->earlier = objects->last;
	objects->last = object;
	return object;
}

bool gpumon_symbol_object_is_memory(const struct gpumon_symbol_object *object)
{
	return !object->image;
}

const char *gpumon_symbol_object_module(const struct gpumon_symbol_object *object)
{
	return object->module;
}

unsigned int gpumon_symbol_object_find(struct gpumon_symbol_objects *objects,
				       struct gpumon_symbol_object *object, uint64_t offset,
				       struct gpumon_symbol *found, unsigned int room,
				       uint64_t *address)
{
	unsigned int count;

	*address = offset;
	if (!object->image)
		return 0;
	count = gpumon_symbol_image_find(object->image, objects->strings, offset, found, room,
					 address);
	for (unsigned int i = 0; i < count; i++)
		found[i].module = object->module;
	return count;
}

void gpumon_symbol_objects_free(struct gpumon_symbol_objects *objects)
{
	struct gpumon_symbol_object *earlier;

	if (!objects)
		return;
	for (struct gpumon_symbol_object *o = objects->last; o; o = earlier) {
		earlier = o->earlier;
		free_object(o);
	}
	free(objects->root);
	free(objects);
}
