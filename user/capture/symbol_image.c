// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/map.h"
#include "symbol_dwarf.h"
#include "symbol_file.h"
#include "symbol_image.h"
#include "symbol_table.h"

#define LOADS_MAX   64
#define INLINED_MAX 64
#define BUCKETS	    4096

/* Limits descriptors and memory: the least recently used file is closed and reopened on demand. */
#define OPEN_MAX  256
#define BYTES_MAX ((size_t)1 << 30)

struct load {
	uint64_t address;
	uint64_t offset;
	uint64_t size;
};

enum state {
	STATE_CLOSED, /* not needed yet, or evicted */
	STATE_OPEN,
	STATE_MISSING,
};

struct gpumon_symbol_image {
	struct gpumon_symbol_image *next; /* in the same bucket */
	unsigned int users;
	struct gpumon_symbol_search search;
	struct gpumon_symbol_wanted wanted;
	char *path; /* part of @wanted, like its build id */
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	enum state state;
	/* Used while it is open. */
	struct gpumon_symbol_image *earlier;
	struct gpumon_symbol_image *later;
	Dwfl *dwfl;
	Dwfl_Module *elf;
	struct load loads[LOADS_MAX]; /* executable ones first */
	size_t n_loads;
	struct gpumon_symbol_table table;
	struct gpumon_symbol_dwarf *dwarf; /* NULL: there is none */
	uint64_t dwarf_bias;
	bool dwarf_tried;
	size_t bytes;
};

/* All images, and the open ones in order of their use. */
static struct {
	pthread_mutex_t lock;
	struct gpumon_symbol_image *buckets[BUCKETS];
	struct gpumon_symbol_image *first;
	struct gpumon_symbol_image *last;
	size_t n_open;
	size_t bytes;
} images = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct gpumon_symbol_image **bucket_of(const char *path)
{
	return &images.buckets[gpumon_hash_bytes(path, strlen(path)) % BUCKETS];
}

static bool is_same(const struct gpumon_symbol_image *image, const char *root,
		    const struct gpumon_symbol_wanted *wanted)
{
	return !strcmp(image->path, wanted->path) && !strcmp(image->search.root, root) &&
	       image->wanted.inode == wanted->inode &&
	       image->wanted.build_id_size == wanted->build_id_size &&
	       !memcmp(image->build_id, wanted->build_id, wanted->build_id_size);
}

static struct gpumon_symbol_image *new_image(const char *root,
					     const struct gpumon_symbol_wanted *wanted)
{
	struct gpumon_symbol_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->path = strdup(wanted->path);
	if (!image->path || gpumon_symbol_search_init(&image->search, root)) {
		free(image->path);
		free(image);
		return NULL;
	}
	memcpy(image->build_id, wanted->build_id, wanted->build_id_size);
	image->wanted = *wanted;
	image->wanted.path = image->path;
	image->wanted.build_id = image->build_id;
	return image;
}

struct gpumon_symbol_image *gpumon_symbol_image_get(const char *root,
						    const struct gpumon_symbol_wanted *wanted)
{
	struct gpumon_symbol_image **bucket = bucket_of(wanted->path), *image;

	pthread_mutex_lock(&images.lock);
	for (image = *bucket; image && !is_same(image, root, wanted); image = image->next)
		;
	if (!image) {
		image = new_image(root, wanted);
		if (image) {
			image->next = *bucket;
			*bucket = image;
		}
	}
	if (image)
		image->users++;
	pthread_mutex_unlock(&images.lock);
	return image;
}

/* --- the list of those that are open */

static void remove_from_open(struct gpumon_symbol_image *image)
{
	*(image->earlier ? &image->earlier->later : &images.first) = image->later;
	*(image->later ? &image->later->earlier : &images.last) = image->earlier;
	images.n_open--;
	images.bytes -= image->bytes;
}

static void list_last(struct gpumon_symbol_image *image)
{
	image->earlier = images.last;
	image->later = NULL;
	*(images.last ? &images.last->later : &images.first) = image;
	images.last = image;
	images.n_open++;
	images.bytes += image->bytes;
}

static void close_image(struct gpumon_symbol_image *image)
{
	if (!image->dwfl)
		return;
	remove_from_open(image);
	gpumon_symbol_table_free(&image->table);
	gpumon_symbol_dwarf_free(image->dwarf);
	image->dwarf = NULL;
	image->dwarf_tried = false;
	dwfl_end(image->dwfl);
	image->dwfl = NULL;
	image->elf = NULL;
	image->bytes = 0;
	if (image->state == STATE_OPEN)
		image->state = STATE_CLOSED;
}

void gpumon_symbol_image_put(struct gpumon_symbol_image *image)
{
	struct gpumon_symbol_image **at;

	if (!image)
		return;
	pthread_mutex_lock(&images.lock);
	if (!--image->users) {
		close_image(image);
		for (at = bucket_of(image->path); *at != image; at = &(*at)->next)
			;
		*at = image->next;
		gpumon_symbol_search_free(&image->search);
		free(image->path);
		free(image);
	}
	pthread_mutex_unlock(&images.lock);
}

/* --- opening one */

static void read_loads(struct gpumon_symbol_image *image, Elf *elf)
{
	size_t count;

	image->n_loads = 0;
	if (!elf || elf_getphdrnum(elf, &count))
		return;
	for (GElf_Word wanted = PF_X;; wanted = 0) {
		for (size_t i = 0; i < count && image->n_loads < LOADS_MAX; i++) {
			GElf_Phdr header;

			if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
			    (header.p_flags & PF_X) != wanted)
				continue;
			image->loads[image->n_loads++] =
				(struct load){ header.p_vaddr, header.p_offset, header.p_filesz };
		}
		if (!wanted)
			break;
	}
}

/* A file needs up to three descriptors: for itself, its debug file, and a shared one of these. */
static size_t open_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 >= OPEN_MAX)
		return OPEN_MAX;
	return limit.rlim_cur / 4 + 1;
}

static int open_image(struct gpumon_symbol_image *image)
{
	char *name;
	GElf_Addr bias;
	int fd;

	while (images.first && (images.n_open >= open_max() || images.bytes >= BYTES_MAX))
		close_image(images.first);
	fd = gpumon_symbol_file_open(&image->search, &image->wanted, &name);
	if (fd < 0) {
		image->state = STATE_MISSING;
		return -1;
	}
	image->dwfl = dwfl_begin(&image->search.callbacks);
	if (!image->dwfl) {
		close(fd);
		free(name);
		return -1;
	}
	list_last(image);
	/* Use the file's own addresses, since look-ups use them. */
	image->elf = dwfl_report_elf(image->dwfl, "image", name ? name : image->path, fd, 0, true);
	free(name);
	if (!image->elf) {
		close(fd);
		image->state = STATE_MISSING;
		close_image(image);
		return -1;
	}
	dwfl_report_end(image->dwfl, NULL, NULL);
	gpumon_symbol_search_use(&image->search, image->elf);
	read_loads(image, dwfl_module_getelf(image->elf, &bias));
	if (gpumon_symbol_table_read(&image->table, image->elf)) {
		close_image(image);
		return -1;
	}
	image->state = STATE_OPEN;
	return 0;
}

static void open_dwarf(struct gpumon_symbol_image *image)
{
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (image->dwarf_tried)
		return;
	image->dwarf_tried = true;
	dwarf = dwfl_module_getdwarf(image->elf, &bias);
	if (!dwarf)
		return;
	image->dwarf_bias = bias;
	image->dwarf = gpumon_symbol_dwarf_new(dwarf);
}

/* --- looking into it */

static bool to_address(const struct gpumon_symbol_image *image, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < image->n_loads; i++) {
		const struct load *load = &image->loads[i];

		if (offset >= load->offset && offset - load->offset < load->size) {
			*address = offset - load->offset + load->address;
			return true;
		}
	}
	return false;
}

static const char *keep_string(struct gpumon_symbol_strings *strings, const char *text)
{
	const char *kept = text ? gpumon_symbol_strings_add(strings, text,
							    strnlen(text, GPUMON_SYMBOL_NAME_MAX)) :
				  NULL;

	return kept ? kept : "";
}

/*
 * Use DWARF's name if it is complete: a part that the compiler moved away ("f.cold") belongs to the
 * same function. Use the linker's name if DWARF has no namespace.
 */
static const char *name_of(struct gpumon_symbol_strings *strings,
			   const struct gpumon_symbol_scope *scope, const char *linker)
{
	const char *name = scope->linkage_name;

	if (!name && (scope->is_c || scope->inlined || !linker))
		return scope->name && *scope->name ? keep_string(strings, scope->name) : NULL;
	if (!name)
		name = linker;
	return *name ? gpumon_symbol_strings_demangled(strings, name) : NULL;
}

static unsigned int image_find_function(struct gpumon_symbol_image *image,
					struct gpumon_symbol_strings *strings, uint64_t offset,
					struct gpumon_symbol *found, unsigned int room,
					uint64_t *address)
{
	struct gpumon_symbol_scope scopes[INLINED_MAX];
	unsigned int count = 0;
	const char *linker;

	if (image->state == STATE_MISSING || (image->state != STATE_OPEN && open_image(image)) ||
	    !to_address(image, offset, address))
		return 0;
	linker = gpumon_symbol_table_find(&image->table, *address);
	open_dwarf(image);
	if (image->dwarf)
		count = gpumon_symbol_dwarf_find(image->dwarf, strings,
						 *address - image->dwarf_bias, scopes,
						 room < INLINED_MAX ? room : INLINED_MAX);
	if (!count && linker) {
		scopes[0] = (struct gpumon_symbol_scope){ 0 };
		count = 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		found[i] = (struct gpumon_symbol){
			.function = name_of(strings, &scopes[i], linker),
			.file = keep_string(strings, scopes[i].file),
			.line = scopes[i].line,
			.inlined = scopes[i].inlined,
		};
	}
	return count;
}

unsigned int gpumon_symbol_image_find(struct gpumon_symbol_image *image,
				      struct gpumon_symbol_strings *strings, uint64_t offset,
				      struct gpumon_symbol *found, unsigned int room,
				      uint64_t *address)
{
	unsigned int count;

	*address = offset;
	pthread_mutex_lock(&images.lock);
	count = image_find_function(image, strings, offset, found, room, address);
	if (image->dwfl) {
		remove_from_open(image);
		image->bytes = image->table.count * sizeof(*image->table.entries) +
			       (image->dwarf ? gpumon_symbol_dwarf_bytes(image->dwarf) : 0);
		list_last(image);
		if (image->bytes >= BYTES_MAX)
			close_image(image);
	}
	pthread_mutex_unlock(&images.lock);
	return count;
}

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
