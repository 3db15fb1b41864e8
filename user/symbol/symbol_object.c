// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "symbol_dwarf.h"
#include "symbol_file.h"
#include "symbol_object.h"
#include "symbol_table.h"

#define UNKNOWN	    "[unknown]"
#define VDSO	    "[vdso]"
#define LOADS_MAX   64
#define INLINED_MAX 64
#define BUCKETS	    4096

/* Descriptors and memory: what was used longest ago is closed, and opened again when needed. */
#define OPEN_MAX  256
#define BYTES_MAX ((size_t)1 << 30)

struct load {
	uint64_t address;
	uint64_t offset;
	uint64_t size;
};

enum state {
	STATE_NEW,
	STATE_MEMORY, /* no file */
	STATE_OPEN,
	STATE_CLOSED,  /* was open, and is good */
	STATE_MISSING, /* @why */
};

struct gpumon_symbol_object {
	struct gpumon_symbol_object *next;    /* of the same bucket */
	struct gpumon_symbol_object *earlier; /* of all */
	char *path;			      /* as in the capture */
	const char *module;
	uint64_t inode;
	uint64_t start; /* of a mapping */
	uint64_t end;
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	size_t build_id_size;
	enum state state;
	char *why;
	uint64_t used; /* when, in look-ups */
	Dwfl *dwfl;
	Dwfl_Module *elf;
	struct load loads[LOADS_MAX]; /* executable ones first */
	size_t n_loads;
	struct gpumon_symbol_table table;
	struct gpumon_symbol_dwarf *dwarf; /* NULL: there is none */
	uint64_t dwarf_bias;
	bool dwarf_tried;
};

struct gpumon_symbol_objects {
	struct gpumon_symbol_search search;
	struct gpumon_symbol_strings *strings;
	struct gpumon_symbol_object *buckets[BUCKETS];
	struct gpumon_symbol_object *last;
	uint64_t now;
	size_t n_open;
};

struct gpumon_symbol_objects *gpumon_symbol_objects_new(const char *root,
							struct gpumon_symbol_strings *strings)
{
	struct gpumon_symbol_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->strings = strings;
	if (gpumon_symbol_search_init(&objects->search, root)) {
		free(objects);
		return NULL;
	}
	return objects;
}

/* What has a build id is a file, by whatever name. */
static bool is_memory(const char *path, size_t build_id_size)
{
	static const char *const begins[] = { "//", "/memfd:", "/dev/", "/SYSV" };

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

static size_t bucket_of(const char *path)
{
	size_t hash = 5381;

	while (*path)
		hash = hash * 33 + (unsigned char)*path++;
	return hash % BUCKETS;
}

struct gpumon_symbol_object *gpumon_symbol_objects_get(struct gpumon_symbol_objects *objects,
						       const struct gpumon_record_mapping *mapping,
						       const char *path)
{
	struct gpumon_symbol_object **bucket = &objects->buckets[bucket_of(path)];
	size_t build_id_size = mapping->build_id_size;
	struct gpumon_symbol_object *object;

	if (build_id_size > GPUMON_BUILD_ID_SIZE)
		build_id_size = GPUMON_BUILD_ID_SIZE;
	for (object = *bucket; object; object = object->next) {
		if (!strcmp(object->path, path) && object->inode == mapping->inode &&
		    object->build_id_size == build_id_size &&
		    !memcmp(object->build_id, mapping->build_id, build_id_size))
			return object;
	}

	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->path = strdup(path);
	object->module = module_name(objects, path);
	if (!object->path || !object->module) {
		free(object->path);
		free(object);
		return NULL;
	}
	object->inode = mapping->inode;
	object->start = mapping->start;
	object->end = mapping->end;
	object->build_id_size = build_id_size;
	memcpy(object->build_id, mapping->build_id, build_id_size);
	object->state = is_memory(path, build_id_size) ? STATE_MEMORY : STATE_NEW;
	object->next = *bucket;
	*bucket = object;
	object->earlier = objects->last;
	objects->last = object;
	return object;
}

bool gpumon_symbol_object_is_memory(const struct gpumon_symbol_object *object)
{
	return object->state == STATE_MEMORY;
}

const char *gpumon_symbol_object_module(const struct gpumon_symbol_object *object)
{
	return object->module;
}

static void close_object(struct gpumon_symbol_objects *objects, struct gpumon_symbol_object *object)
{
	if (!object->dwfl)
		return;
	gpumon_symbol_table_free(&object->table);
	gpumon_symbol_dwarf_free(object->dwarf);
	object->dwarf = NULL;
	object->dwarf_tried = false;
	dwfl_end(object->dwfl);
	object->dwfl = NULL;
	object->elf = NULL;
	objects->n_open--;
	if (object->state == STATE_OPEN)
		object->state = STATE_CLOSED;
}

static size_t bytes_of(const struct gpumon_symbol_object *object)
{
	return object->table.count * sizeof(*object->table.entries) +
	       (object->dwarf ? gpumon_symbol_dwarf_bytes(object->dwarf) : 0);
}

/* Makes room for another one. */
static void close_oldest(struct gpumon_symbol_objects *objects)
{
	for (;;) {
		struct gpumon_symbol_object *oldest = NULL;
		size_t bytes = 0;

		for (struct gpumon_symbol_object *o = objects->last; o; o = o->earlier) {
			if (!o->dwfl)
				continue;
			bytes += bytes_of(o);
			if (!oldest || o->used < oldest->used)
				oldest = o;
		}
		if (!oldest || (objects->n_open < OPEN_MAX && bytes < BYTES_MAX))
			return;
		close_object(objects, oldest);
	}
}

static void read_loads(struct gpumon_symbol_object *object, Elf *elf)
{
	size_t count;

	object->n_loads = 0;
	if (!elf || elf_getphdrnum(elf, &count))
		return;
	for (GElf_Word wanted = PF_X;; wanted = 0) {
		for (size_t i = 0; i < count && object->n_loads < LOADS_MAX; i++) {
			GElf_Phdr header;

			if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
			    (header.p_flags & PF_X) != wanted)
				continue;
			object->loads[object->n_loads++] =
				(struct load){ header.p_vaddr, header.p_offset, header.p_filesz };
		}
		if (!wanted)
			break;
	}
}

static void refuse(struct gpumon_symbol_object *object, char *why)
{
	object->state = STATE_MISSING;
	free(object->why);
	object->why = why;
}

static int open_object(struct gpumon_symbol_objects *objects, struct gpumon_symbol_object *object)
{
	const struct gpumon_symbol_wanted wanted = {
		.path = object->path,
		.inode = object->inode,
		.start = object->start,
		.end = object->end,
		.build_id = object->build_id,
		.build_id_size = object->build_id_size,
	};
	char *name, *why;
	GElf_Addr bias;
	int fd;

	close_oldest(objects);
	fd = gpumon_symbol_file_open(&objects->search, &wanted, &name, &why);
	if (fd < 0) {
		refuse(object, why);
		return -1;
	}
	object->dwfl = dwfl_begin(&objects->search.callbacks);
	if (!object->dwfl) {
		close(fd);
		free(name);
		return -1;
	}
	objects->n_open++;
	/* At its own addresses: what is asked for is in them. */
	object->elf = dwfl_report_elf(object->dwfl, object->module, name ? name : object->path, fd,
				      0, true);
	free(name);
	if (!object->elf) {
		close(fd);
		if (asprintf(&why,
			     "it is no ELF file that can be read (%s): put the one that ran back",
			     dwfl_errmsg(-1)) < 0)
			why = NULL;
		refuse(object, why);
		close_object(objects, object);
		return -1;
	}
	dwfl_report_end(object->dwfl, NULL, NULL);
	gpumon_symbol_search_use(&objects->search, object->elf);
	read_loads(object, dwfl_module_getelf(object->elf, &bias));
	if (gpumon_symbol_table_read(&object->table, object->elf)) {
		close_object(objects, object);
		return -1;
	}
	object->state = STATE_OPEN;
	return 0;
}

static void open_dwarf(struct gpumon_symbol_objects *objects, struct gpumon_symbol_object *object)
{
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (object->dwarf_tried)
		return;
	object->dwarf_tried = true;
	dwarf = dwfl_module_getdwarf(object->elf, &bias);
	if (!dwarf)
		return;
	object->dwarf_bias = bias;
	object->dwarf = gpumon_symbol_dwarf_new(dwarf, objects->strings);
}

static bool to_address(const struct gpumon_symbol_object *object, uint64_t offset,
		       uint64_t *address)
{
	for (size_t i = 0; i < object->n_loads; i++) {
		const struct load *load = &object->loads[i];

		if (offset >= load->offset && offset - load->offset < load->size) {
			*address = offset - load->offset + load->address;
			return true;
		}
	}
	return false;
}

static const char *keep(struct gpumon_symbol_objects *objects, const char *text)
{
	const char *kept = NULL;

	if (text)
		kept = gpumon_symbol_strings_add(objects->strings, text, strlen(text));
	return kept ? kept : "";
}

/*
 * DWARF's name where it is the whole one: a part that the compiler moved away
 * ("f.cold") is the same function. The linker's where DWARF has no namespace.
 */
static const char *name_of(struct gpumon_symbol_objects *objects,
			   const struct gpumon_symbol_scope *scope, const char *linker)
{
	const char *name = scope->linkage_name;

	if (!name && (scope->is_c || scope->inlined || !linker))
		return scope->name && *scope->name ? keep(objects, scope->name) : NULL;
	if (!name)
		name = linker;
	return *name ? gpumon_symbol_strings_demangled(objects->strings, name) : NULL;
}

unsigned int gpumon_symbol_object_find(struct gpumon_symbol_objects *objects,
				       struct gpumon_symbol_object *object, uint64_t offset,
				       struct gpumon_symbol *found, unsigned int room,
				       uint64_t *address)
{
	struct gpumon_symbol_scope scopes[INLINED_MAX];
	unsigned int count = 0;
	const char *linker;

	*address = offset;
	if (object->state == STATE_MEMORY || object->state == STATE_MISSING)
		return 0;
	object->used = ++objects->now;
	if (object->state != STATE_OPEN && open_object(objects, object))
		return 0;
	if (!to_address(object, offset, address))
		return 0;
	linker = gpumon_symbol_table_find(&object->table, *address);
	open_dwarf(objects, object);
	if (object->dwarf)
		count = gpumon_symbol_dwarf_find(object->dwarf, *address - object->dwarf_bias,
						 scopes, room < INLINED_MAX ? room : INLINED_MAX);
	if (!count && linker) {
		scopes[0] = (struct gpumon_symbol_scope){ 0 };
		count = 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		found[i] = (struct gpumon_symbol){
			.function = name_of(objects, &scopes[i], linker),
			.module = object->module,
			.file = keep(objects, scopes[i].file),
			.line = scopes[i].line,
			.inlined = scopes[i].inlined,
		};
	}
	if (bytes_of(object) > BYTES_MAX)
		close_object(objects, object);
	return count;
}

unsigned int gpumon_symbol_objects_missing(const struct gpumon_symbol_objects *objects,
					   void (*each)(void *data, const char *path,
							const char *why),
					   void *data)
{
	unsigned int count = 0;

	for (struct gpumon_symbol_object *o = objects->last; o; o = o->earlier) {
		if (o->state != STATE_MISSING)
			continue;
		count++;
		if (each)
			each(data, o->path, o->why ? o->why : "there is not enough memory");
	}
	return count;
}

void gpumon_symbol_objects_free(struct gpumon_symbol_objects *objects)
{
	struct gpumon_symbol_object *earlier;

	if (!objects)
		return;
	for (struct gpumon_symbol_object *o = objects->last; o; o = earlier) {
		earlier = o->earlier;
		close_object(objects, o);
		free(o->path);
		free(o->why);
		free(o);
	}
	gpumon_symbol_search_free(&objects->search);
	free(objects);
}
