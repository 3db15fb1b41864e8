// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "elf_find.h"
#include "symbol_dwarf.h"
#include "symbol_object.h"
#include "symbol_table.h"

#define DELETED	    " (deleted)"
#define LOADS_MAX   64
#define INLINED_MAX 64

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
	struct gpumon_symbol_object *next;
	char *path; /* as in the capture */
	const char *module;
	uint64_t inode;
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	size_t build_id_size;
	enum state state;
	char *why;
	uint64_t used; /* when, in look-ups */
	Dwfl *dwfl;
	struct load loads[LOADS_MAX]; /* executable ones first */
	size_t n_loads;
	struct gpumon_symbol_table table;
	struct gpumon_symbol_dwarf *dwarf; /* NULL: there is none */
	uint64_t dwarf_bias;
	bool dwarf_tried;
};

struct gpumon_symbol_objects {
	char *root;
	char *debug_path; /* NULL: elfutils' own */
	struct gpumon_symbol_strings *strings;
	struct gpumon_symbol_object *first;
	uint64_t now;
	size_t n_open;
	Dwfl_Callbacks callbacks;
};

struct gpumon_symbol_objects *gpumon_symbol_objects_new(const char *root,
							struct gpumon_symbol_strings *strings)
{
	struct gpumon_symbol_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->strings = strings;
	objects->root = strdup(root ? root : "");
	if (!objects->root)
		goto fail;
	/* A colon would be taken for the end of a folder. */
	if (*objects->root && !strchr(objects->root, ':') &&
	    asprintf(&objects->debug_path, ":.debug:%s/usr/lib/debug:/usr/lib/debug",
		     objects->root) < 0) {
		objects->debug_path = NULL;
		goto fail;
	}
	objects->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = objects->debug_path ? &objects->debug_path : NULL,
	};
	return objects;
fail:
	gpumon_symbol_objects_free(objects);
	return NULL;
}

static bool is_memory(const char *path)
{
	static const char *const begins[] = { "[",     "//anon",      "/memfd:", "/dev/",
					      "/SYSV", "anon_inode:", "/i915" };

	if (!*path)
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	}
	return false;
}

struct gpumon_symbol_object *gpumon_symbol_objects_get(struct gpumon_symbol_objects *objects,
						       const struct gpumon_record_mapping *mapping,
						       const char *path)
{
	size_t build_id_size = mapping->build_id_size, length = strlen(path);
	struct gpumon_symbol_object *object;
	const char *base;

	if (build_id_size > GPUMON_BUILD_ID_SIZE)
		build_id_size = GPUMON_BUILD_ID_SIZE;
	for (object = objects->first; object; object = object->next) {
		if (!strcmp(object->path, path) && object->inode == mapping->inode &&
		    object->build_id_size == build_id_size &&
		    !memcmp(object->build_id, mapping->build_id, build_id_size))
			return object;
	}

	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->path = strdup(path);
	if (length > strlen(DELETED) && !strcmp(path + length - strlen(DELETED), DELETED))
		length -= strlen(DELETED);
	base = memrchr(path, '/', length);
	base = base ? base + 1 : path;
	if (is_memory(path) && *path != '[')
		object->module = "[unknown]";
	else
		object->module = gpumon_symbol_strings_add(objects->strings, base,
							   length - (size_t)(base - path));
	if (!object->path || !object->module) {
		free(object->path);
		free(object);
		return NULL;
	}
	object->inode = mapping->inode;
	object->build_id_size = build_id_size;
	memcpy(object->build_id, mapping->build_id, build_id_size);
	object->state = is_memory(path) && strcmp(path, "[vdso]") ? STATE_MEMORY : STATE_NEW;
	object->next = objects->first;
	objects->first = object;
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
	objects->n_open--;
	if (object->state == STATE_OPEN)
		object->state = STATE_CLOSED;
}

static size_t bytes_of(const struct gpumon_symbol_object *object)
{
	return object->table.count * sizeof(*object->table.entries) +
	       (object->dwarf ? gpumon_symbol_dwarf_bytes(object->dwarf) : 0);
}

/* Makes room for another one; @keep is in use. */
static void close_oldest(struct gpumon_symbol_objects *objects,
			 const struct gpumon_symbol_object *keep)
{
	for (;;) {
		struct gpumon_symbol_object *oldest = NULL;
		size_t bytes = 0;

		for (struct gpumon_symbol_object *o = objects->first; o; o = o->next) {
			if (!o->dwfl)
				continue;
			bytes += bytes_of(o);
			if (o != keep && (!oldest || o->used < oldest->used))
				oldest = o;
		}
		if (!oldest || (objects->n_open < OPEN_MAX && bytes < BYTES_MAX))
			return;
		close_object(objects, oldest);
	}
}

__attribute__((format(printf, 2, 3))) static void refuse(struct gpumon_symbol_object *object,
							 const char *format, ...)
{
	va_list args;

	object->state = STATE_MISSING;
	free(object->why);
	va_start(args, format);
	if (vasprintf(&object->why, format, args) < 0)
		object->why = NULL;
	va_end(args);
}

/* A file with symbols that is the one that was mapped, or -1. */
static int open_file(struct gpumon_symbol_objects *objects, struct gpumon_symbol_object *object,
		     const char *path)
{
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	size_t build_id_size;
	struct stat st;
	int fd;

	fd = gpumon_elf_open(objects->root, path, &st);
	if (fd == -ENOENT) {
		refuse(object, "it is not there any more: its functions have no names");
		return -1;
	}
	if (fd < 0) {
		refuse(object, "it cannot be read (%s): its functions have no names",
		       strerror(-fd));
		return -1;
	}
	build_id_size = gpumon_elf_build_id(fd, build_id);
	if (object->build_id_size ? build_id_size != object->build_id_size ||
					    memcmp(build_id, object->build_id, build_id_size) :
				    object->inode && object->inode != st.st_ino) {
		refuse(object,
		       "it is another file now than the one that ran (%s): its functions "
		       "have no names; put the old one back, or record again",
		       object->build_id_size ? "build id" : "inode");
		close(fd);
		return -1;
	}
	return fd;
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

static int open_object(struct gpumon_symbol_objects *objects, struct gpumon_symbol_object *object)
{
	size_t length = strlen(object->path);
	Dwfl_Module *module;
	char *name = NULL;
	GElf_Addr bias;
	int fd;

	close_oldest(objects, object);
	if (length > strlen(DELETED) && !strcmp(object->path + length - strlen(DELETED), DELETED))
		length -= strlen(DELETED);
	if (asprintf(&name, "%s%.*s", objects->root, (int)length, object->path) < 0)
		return -1;
	fd = open_file(objects, object, name + strlen(objects->root));
	if (fd < 0)
		goto fail;
	object->dwfl = dwfl_begin(&objects->callbacks);
	if (!object->dwfl) {
		close(fd);
		goto fail;
	}
	objects->n_open++;
	/* At its own addresses: what is asked for is in them. */
	module = dwfl_report_elf(object->dwfl, object->module, name, fd, 0, true);
	if (!module || dwfl_report_end(object->dwfl, NULL, NULL)) {
		if (!module)
			close(fd);
		refuse(object, "it is no ELF file that can be read (%s)", dwfl_errmsg(-1));
		close_object(objects, object);
		goto fail;
	}
	read_loads(object, dwfl_module_getelf(module, &bias));
	if (gpumon_symbol_table_read(&object->table, module)) {
		close_object(objects, object);
		goto fail;
	}
	object->state = STATE_OPEN;
	free(name);
	return 0;
fail:
	free(name);
	return -1;
}

static int find_module(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr start,
		       void *data)
{
	(void)userdata;
	(void)name;
	(void)start;
	*(Dwfl_Module **)data = module;
	return DWARF_CB_ABORT;
}

static void open_dwarf(struct gpumon_symbol_object *object)
{
	Dwfl_Module *module = NULL;
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (object->dwarf_tried)
		return;
	object->dwarf_tried = true;
	dwfl_getmodules(object->dwfl, find_module, &module, 0);
	dwarf = module ? dwfl_module_getdwarf(module, &bias) : NULL;
	if (!dwarf)
		return;
	object->dwarf_bias = bias;
	object->dwarf = gpumon_symbol_dwarf_new(dwarf);
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
	const char *kept = text ? gpumon_symbol_strings_add(objects->strings, text, strlen(text)) :
				  NULL;

	return kept ? kept : "";
}

/*
 * The linker's name says more than DWARF's where that has no namespace; where
 * DWARF has all of it, a part that was moved elsewhere (.cold) is the same function.
 */
static const char *name_of(struct gpumon_symbol_objects *objects,
			   const struct gpumon_symbol_scope *scope, const char *linker)
{
	const char *name = scope->linkage_name;

	if (!name && scope->is_c)
		name = scope->name;
	if (!name && !scope->inlined)
		name = linker;
	if (!name)
		name = scope->name;
	return name && *name ? gpumon_symbol_strings_demangled(objects->strings, name) : NULL;
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
	open_dwarf(object);
	if (object->dwarf)
		count = gpumon_symbol_dwarf_find(object->dwarf, *address - object->dwarf_bias,
						 scopes, room < INLINED_MAX ? room : INLINED_MAX);
	if (!count && linker) {
		scopes[0] = (struct gpumon_symbol_scope){ 0 };
		count = 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		const char *name = name_of(objects, &scopes[i], linker);

		found[i] = (struct gpumon_symbol){
			.function = name,
			.module = object->module,
			.file = keep(objects, scopes[i].file),
			.line = scopes[i].line,
			.inlined = scopes[i].inlined,
		};
	}
	return count;
}

unsigned int gpumon_symbol_objects_missing(const struct gpumon_symbol_objects *objects,
					   void (*each)(void *data, const char *path,
							const char *why),
					   void *data)
{
	unsigned int count = 0;

	for (struct gpumon_symbol_object *o = objects->first; o; o = o->next) {
		if (o->state != STATE_MISSING)
			continue;
		count++;
		if (each)
			each(data, o->path, o->why ? o->why : "not enough memory");
	}
	return count;
}

void gpumon_symbol_objects_free(struct gpumon_symbol_objects *objects)
{
	struct gpumon_symbol_object *next;

	if (!objects)
		return;
	for (struct gpumon_symbol_object *o = objects->first; o; o = next) {
		next = o->next;
		close_object(objects, o);
		free(o->path);
		free(o->why);
		free(o);
	}
	free(objects->root);
	free(objects->debug_path);
	free(objects);
}
