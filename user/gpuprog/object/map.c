// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "map_memory.h"

#define GPUMON_GPUPROG_MAX_FIELDS 32 /* of a type: more are not shown one by one */

/* Types that linux/bpf.h does not have. */
enum {
	GPUMON_GPUPROG_TYPE_GPU_HASH = 1501,
	GPUMON_GPUPROG_TYPE_THREAD_ARRAY = 1502,
	GPUMON_GPUPROG_TYPE_GPU_ARRAY = 1503,
	GPUMON_GPUPROG_TYPE_SHARED_ARRAY = 1504,
	GPUMON_GPUPROG_TYPE_THREAD_ARRAY_HOST = 1512,
	GPUMON_GPUPROG_TYPE_GPU_ARRAY_HOST = 1513,
	GPUMON_GPUPROG_TYPE_GPU_RING = 1527,
	GPUMON_GPUPROG_TYPE_HISTOGRAM = 1601,
};

#define GPUMON_GPUPROG_DEFAULT_THREADS	  (1u << 20)  /* of a thread array with one entry */
#define GPUMON_GPUPROG_DEFAULT_RING_BYTES (16u << 20) /* of a ring whose size is for each thread */

#define MAX_DEPTH    8	 /* types within types, and typedefs of typedefs */
#define MAX_STEPS    512 /* looks at a type, against types that are wide and empty */
#define NAME_SIZE    96
#define MAX_COMPARED (1u << 22) /* types that are looked at for the names of a section */

struct walk {
	const struct btf *btf;
	struct gpumon_pool *pool;
	struct gpumon_gpuprog_field fields[GPUMON_GPUPROG_MAX_FIELDS];
	uint32_t n;
	uint32_t size;
	uint32_t steps;
};

static bool walk_type(struct walk *walk, uint32_t id, uint64_t offset, const char *name,
		      unsigned int depth);

static bool add_field(struct walk *walk, const struct btf_type *type, uint64_t offset,
		      const char *name, bool is_signed)
{
	struct gpumon_gpuprog_field *field = &walk->fields[walk->n];
	uint32_t size = type->size;

	if (walk->n == GPUMON_GPUPROG_MAX_FIELDS ||
	    (size != 1 && size != 2 && size != 4 && size != 8) || offset > walk->size ||
	    size > walk->size - offset)
		return false;
	*field = (struct gpumon_gpuprog_field){ .name = gpumon_pool_text(walk->pool, name),
						.offset = (uint32_t)offset,
						.size = (uint8_t)size,
						.is_signed = is_signed };
	walk->n++;
	return true;
}

static bool walk_array(struct walk *walk, const struct btf_array *array, uint64_t offset,
		       const char *name, unsigned int depth)
{
	int64_t bytes = btf__resolve_size(walk->btf, array->type);
	char inner[NAME_SIZE];

	if (bytes <= 0 || array->nelems > GPUMON_GPUPROG_MAX_FIELDS)
		return false;
	for (uint32_t i = 0; i < array->nelems; i++) {
		if ((size_t)snprintf(inner, sizeof(inner), "%s[%u]", name, i) >= sizeof(inner) ||
		    !walk_type(walk, array->type, offset + i * (uint64_t)bytes, inner, depth))
			return false;
	}
	return true;
}

static bool walk_struct(struct walk *walk, const struct btf_type *type, uint64_t offset,
			const char *name, unsigned int depth)
{
	const struct btf_member *member = btf_members(type);
	const char *own;
	char inner[NAME_SIZE];
	uint32_t bits;

	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		bits = btf_member_bit_offset(type, i);
		own = btf__name_by_offset(walk->btf, member[i].name_off);
		if (!own || bits % 8 || btf_member_bitfield_size(type, i))
			return false;
		/* Members of an anonymous struct count as members of the struct around it. */
		if ((size_t)snprintf(inner, sizeof(inner), "%s%s%s", name, *name && *own ? "." : "",
				     own) >= sizeof(inner) ||
		    !walk_type(walk, member[i].type, offset + bits / 8, inner, depth))
			return false;
	}
	return true;
}

static bool walk_type(struct walk *walk, uint32_t id, uint64_t offset, const char *name,
		      unsigned int depth)
{
	const struct btf_type *type = btf__type_by_id(walk->btf, id);

	if (!type || depth == MAX_DEPTH || ++walk->steps > MAX_STEPS)
		return false;
	if (btf_is_mod(type) || btf_is_typedef(type))
		return walk_type(walk, type->type, offset, name, depth + 1);
	if (btf_is_struct(type))
		return walk_struct(walk, type, offset, name, depth + 1);
	if (btf_is_array(type))
		return walk_array(walk, btf_array(type), offset, name, depth + 1);
	if (btf_is_int(type))
		return add_field(walk, type, offset, name, btf_int_encoding(type) & BTF_INT_SIGNED);
	if (btf_is_any_enum(type))
		return add_field(walk, type, offset, name, btf_kflag(type));
	return false;
}

static void keep_fields(const struct walk *walk, struct gpumon_gpuprog_fields *fields)
{
	*fields = (struct gpumon_gpuprog_fields){ 0 };
	if (!walk->n)
		return;
	fields->fields = memcpy(gpumon_pool_zalloc(walk->pool, walk->n * sizeof(*walk->fields)),
				walk->fields, walk->n * sizeof(*walk->fields));
	fields->n = walk->n;
}

/**
 * fields_read - find the numbers in a type
 * @btf: types of the object, not trusted
 * @id: of the type
 * @size: bytes of a value: it has to have room for all of them
 * @pool: for the names
 * @fields: out
 */
static void fields_read(const struct btf *btf, uint32_t id, uint32_t size, struct gpumon_pool *pool,
			struct gpumon_gpuprog_fields *fields)
{
	struct walk walk = { .btf = btf, .pool = pool, .size = size };

	if (!walk_type(&walk, id, 0, "", 0))
		walk.n = 0;
	keep_fields(&walk, fields);
}

static void walk_variable(struct walk *walk, const struct gpumon_gpuprog_symbol *symbol)
{
	int32_t id = btf__find_by_name_kind(walk->btf, symbol->name, BTF_KIND_VAR);
	const struct btf_type *variable = id < 0 ? NULL : btf__type_by_id(walk->btf, (uint32_t)id);
	uint32_t before = walk->n;

	walk->steps = 0;
	if (!variable || !walk_type(walk, variable->type, symbol->value, symbol->name, 0))
		walk->n = before;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct gpumon_gpuprog_field *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

void gpumon_gpuprog_fields_of_data(const struct gpumon_gpuprog_image *image, const struct btf *btf,
				   uint32_t section, struct gpumon_gpuprog_fields *fields)
{
	struct walk walk = { .btf = btf, .pool = image->pool };
	const struct gpumon_gpuprog_symbol *symbol;
	uint32_t looked = 0, most = btf ? MAX_COMPARED / btf__type_cnt(btf) : 0;

	/* Names are looked up once, since each look-up searches all types. */
	if (most > MAX_STEPS)
		most = MAX_STEPS;
	walk.size = (uint32_t)image->sections[section].size;
	for (uint32_t i = 0; i < image->symbols_n && looked < most; i++) {
		symbol = &image->symbols[i];
		if (symbol->section != section || symbol->type != STT_OBJECT ||
		    strnlen(symbol->name, NAME_SIZE) == NAME_SIZE)
			continue;
		looked++;
		walk_variable(&walk, symbol);
	}
	qsort(walk.fields, walk.n, sizeof(walk.fields[0]), compare_offsets);
	keep_fields(&walk, fields);
}

#define HISTOGRAM_BYTES	 (64 * sizeof(uint64_t))
#define LEAST_RING_BYTES 4096
#define MAX_MODIFIERS	 32 /* typedef, const and so on above a type */
#define HARMLESS_FLAGS	 (BPF_F_NO_PREALLOC | BPF_F_MMAPABLE)

/* Attributes of a map that the object states outside of the map itself. */
struct definition {
	struct gpumon_gpuprog_map *map;
	uint32_t map_flags;
	uint32_t key_type; /* 0: only its size is given */
	uint32_t value_type;
};

static const struct type {
	uint32_t type;
	enum gpumon_gpuprog_map_kind kind;
} types[] = {
	{ BPF_MAP_TYPE_HASH, GPUMON_GPUPROG_MAP_HASH },
	{ BPF_MAP_TYPE_ARRAY, GPUMON_GPUPROG_MAP_ARRAY },
	{ BPF_MAP_TYPE_PERCPU_ARRAY, GPUMON_GPUPROG_MAP_SM_ARRAY },
	{ BPF_MAP_TYPE_RINGBUF, GPUMON_GPUPROG_MAP_RING },
	{ GPUMON_GPUPROG_TYPE_GPU_HASH, GPUMON_GPUPROG_MAP_HASH },
	{ GPUMON_GPUPROG_TYPE_THREAD_ARRAY, GPUMON_GPUPROG_MAP_THREAD_ARRAY },
	{ GPUMON_GPUPROG_TYPE_GPU_ARRAY, GPUMON_GPUPROG_MAP_ARRAY },
	{ GPUMON_GPUPROG_TYPE_SHARED_ARRAY, GPUMON_GPUPROG_MAP_ARRAY },
	{ GPUMON_GPUPROG_TYPE_THREAD_ARRAY_HOST, GPUMON_GPUPROG_MAP_THREAD_ARRAY },
	{ GPUMON_GPUPROG_TYPE_GPU_ARRAY_HOST, GPUMON_GPUPROG_MAP_ARRAY },
	{ GPUMON_GPUPROG_TYPE_GPU_RING, GPUMON_GPUPROG_MAP_RING },
	{ GPUMON_GPUPROG_TYPE_HISTOGRAM, GPUMON_GPUPROG_MAP_HISTOGRAM },
};

static const struct btf_type *skip_modifiers(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (int i = 0; type && i < MAX_MODIFIERS; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type))
			return type;
		type = btf__type_by_id(btf, type->type);
	}
	return NULL;
}

/* The type of variable NAME in section .maps, or NULL. */
static const struct btf_type *find_definition(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, MAPS_ELF_SEC, BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_type *var =
			btf__type_by_id(btf, btf_var_secinfos(section)[i].type);
		const char *is = var && btf_is_var(var) ? btf__name_by_offset(btf, var->name_off) :
							  NULL;

		if (is && !strcmp(is, name))
			return skip_modifiers(btf, var->type);
	}
	return NULL;
}

/* __uint(NAME, N) is a pointer to an array of N. */
static bool read_number(const struct btf *btf, const struct btf_member *member, uint32_t *number)
{
	const struct btf_type *pointer = skip_modifiers(btf, member->type);
	const struct btf_type *array =
		pointer && btf_is_ptr(pointer) ? btf__type_by_id(btf, pointer->type) : NULL;

	if (!array || !btf_is_array(array))
		return false;
	*number = btf_array(array)->nelems;
	return true;
}

/* __type(NAME, TYPE) is a pointer to the type. */
static bool read_size(const struct btf *btf, const struct btf_member *member, uint32_t *size,
		      uint32_t *type)
{
	const struct btf_type *pointer = skip_modifiers(btf, member->type);
	int64_t bytes = pointer && btf_is_ptr(pointer) ? btf__resolve_size(btf, pointer->type) : -1;

	if (bytes < 0 || bytes > UINT32_MAX)
		return false;
	*size = (uint32_t)bytes;
	*type = pointer->type;
	return true;
}

static int read_member(const struct gpumon_gpuprog_image *image, const struct btf *btf,
		       const struct btf_member *member, struct definition *definition,
		       struct gpumon_error *err)
{
	struct gpumon_gpuprog_map *map = definition->map;
	const struct {
		const char *name;
		uint32_t *number;
		uint32_t *type;
	} known[] = {
		{ "type", &map->type, NULL },
		{ "key", &map->key_size, &definition->key_type },
		{ "value", &map->value_size, &definition->value_type },
		{ "key_size", &map->key_size, NULL },
		{ "value_size", &map->value_size, NULL },
		{ "max_entries", &map->max_entries, NULL },
		{ "map_flags", &definition->map_flags, NULL },
	};
	const char *name = btf__name_by_offset(btf, member->name_off);

	for (size_t i = 0; name && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		if (known[i].type ? read_size(btf, member, known[i].number, known[i].type) :
				    read_number(btf, member, known[i].number))
			return 0;
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %.60s: its %s cannot be read: define it with __uint() or __type()",
			map->name, name);
	}
	return GPUMON_GPUPROG_IMAGE_REFUSE(
		image, err, "map %.60s: \"%.60s\" is not possible for a map on a GPU: leave it out",
		map->name, name ? name : "");
}

static int read_definition(const struct gpumon_gpuprog_image *image, const struct btf *btf,
			   struct definition *definition, struct gpumon_error *err)
{
	const char *name = definition->map->name;
	const struct btf_type *type = btf ? find_definition(btf, name) : NULL;

	if (!btf)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err, "map %.60s has no definition (BTF): compile with clang -g",
			name);
	if (!type || !btf_is_struct(type))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %.60s has no definition in section .maps: define it as a struct with __uint() and __type()",
			name);
	for (int i = 0; i < btf_vlen(type); i++) {
		if (read_member(image, btf, &btf_members(type)[i], definition, err))
			return -1;
	}
	return 0;
}

static int check_entries(const struct gpumon_gpuprog_image *image, struct gpumon_gpuprog_map *map,
			 struct gpumon_error *err)
{
	if (!map->max_entries)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err, "map %s: max_entries is 0: say how many values it has",
			map->name);
	if (map->kind == GPUMON_GPUPROG_MAP_THREAD_ARRAY && map->max_entries == 1)
		map->max_entries = GPUMON_GPUPROG_DEFAULT_THREADS;
	if (map->kind != GPUMON_GPUPROG_MAP_RING)
		return 0;
	/* bpftime has a ring for each thread. */
	if (map->type == GPUMON_GPUPROG_TYPE_GPU_RING)
		map->max_entries = GPUMON_GPUPROG_DEFAULT_RING_BYTES;
	if (map->max_entries < LEAST_RING_BYTES || map->max_entries & (map->max_entries - 1))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %s: max_entries of a ring are its bytes, a power of two, %u at least; it has %u",
			map->name, LEAST_RING_BYTES, map->max_entries);
	return 0;
}

static int check_sizes(const struct gpumon_gpuprog_image *image, struct gpumon_gpuprog_map *map,
		       struct gpumon_error *err)
{
	bool is_hash = map->kind == GPUMON_GPUPROG_MAP_HASH;

	switch (map->kind) {
	case GPUMON_GPUPROG_MAP_RING:
		map->key_size = 0;
		if (!map->value_size || map->value_size > GPUMON_GPUPROG_MAX_RECORD_SIZE)
			map->value_size = GPUMON_GPUPROG_MAX_RECORD_SIZE;
		return 0;
	case GPUMON_GPUPROG_MAP_HISTOGRAM:
		if (map->key_size || map->value_size)
			return GPUMON_GPUPROG_IMAGE_REFUSE(
				image, err,
				"map %s: a histogram has no key and no value: leave them out",
				map->name);
		map->key_size = sizeof(uint32_t);
		map->value_size = HISTOGRAM_BYTES;
		return 0;
	default:
		break;
	}
	if (!is_hash && map->key_size != sizeof(uint32_t))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err, "map %s: its key has %u bytes, an array's has 4: use a __u32",
			map->name, map->key_size);
	if (!map->key_size || map->key_size > GPUMON_GPUPROG_MAX_KEY_SIZE)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %s: its key has %u bytes, 1 to %u are possible: use another key",
			map->name, map->key_size, GPUMON_GPUPROG_MAX_KEY_SIZE);
	if (!map->value_size || map->value_size > gpumon_gpuprog_value_max(map))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %s: its value has %u bytes, 1 to %u are possible: use more and smaller values",
			map->name, map->value_size, gpumon_gpuprog_value_max(map));
	return 0;
}

bool gpumon_gpuprog_map_kind(uint32_t type, enum gpumon_gpuprog_map_kind *kind)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].type == type) {
			*kind = types[i].kind;
			return true;
		}
	}
	return false;
}

/* The sizes have been checked. */
static void read_fields(const struct gpumon_gpuprog_image *image, const struct btf *btf,
			const struct definition *definition)
{
	struct gpumon_gpuprog_map *map = definition->map;

	if (definition->key_type)
		fields_read(btf, definition->key_type, map->key_size, image->pool,
			    &map->key_fields);
	if (definition->value_type)
		fields_read(btf, definition->value_type, map->value_size, image->pool,
			    &map->value_fields);
}

int gpumon_gpuprog_map_define(const struct gpumon_gpuprog_image *image, const struct btf *btf,
			      const char *name, struct gpumon_gpuprog_map *map,
			      struct gpumon_error *err)
{
	struct definition definition = { .map = map };

	if (!gpumon_gpuprog_image_identifier(name))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"a map is called \"%.60s\": give it a name of letters, digits and _", name);
	memset(map, 0, sizeof(*map));
	map->name = gpumon_pool_text(image->pool, name);
	if (read_definition(image, btf, &definition, err))
		return -1;
	if (definition.map_flags & ~HARMLESS_FLAGS)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %s: map_flags 0x%x are not possible on a GPU: leave them out",
			map->name, definition.map_flags);
	if (!gpumon_gpuprog_map_kind(map->type, &map->kind))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"map %s: type %u does not exist on a GPU: use one of gpumon_gpu.h",
			map->name, map->type);
	if (check_entries(image, map, err) || check_sizes(image, map, err))
		return -1;
	read_fields(image, btf, &definition);
	return 0;
}

static bool is_or_continues(const char *name, const char *with)
{
	size_t length = strlen(with);

	return !strncmp(name, with, length) && (!name[length] || name[length] == '.');
}

bool gpumon_gpuprog_map_is_data(const struct gpumon_gpuprog_section *section)
{
	return is_or_continues(section->name, ".rodata") ||
	       is_or_continues(section->name, ".data") || is_or_continues(section->name, ".bss");
}

int gpumon_gpuprog_map_of_data(const struct gpumon_gpuprog_image *image,
			       const struct gpumon_gpuprog_section *section,
			       struct gpumon_gpuprog_map *map, struct gpumon_error *err)
{
	if (!gpumon_gpuprog_image_identifier(section->name))
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err, "section \"%.60s\" has an odd name: use .rodata, .data or .bss",
			section->name);
	if (!section->size || section->size > GPUMON_GPUPROG_MAX_HASH_VALUE)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"section %.60s has %llu bytes, 1 to %u are possible: put large data into a map",
			section->name, (unsigned long long)section->size,
			GPUMON_GPUPROG_MAX_HASH_VALUE);
	if (section->relocations_n)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			image, err,
			"section %.60s has addresses of other data in it (as a table of texts has): use an index",
			section->name);
	*map = (struct gpumon_gpuprog_map){ .kind = GPUMON_GPUPROG_MAP_DATA,
					    .type = BPF_MAP_TYPE_ARRAY,
					    .value_size = (uint32_t)section->size,
					    .max_entries = 1,
					    .read_only =
						    is_or_continues(section->name, ".rodata") };
	map->name = gpumon_pool_text(image->pool, section->name);
	if (section->data) {
		uint8_t *data = gpumon_pool_zalloc(image->pool, section->size);

		memcpy(data, section->data, section->size);
		map->data = data;
	}
	return 0;
}

int gpumon_gpuprog_maps_fit(const struct gpumon_gpuprog_image *image,
			    const struct gpumon_gpuprog_map *maps, uint32_t n,
			    struct gpumon_error *err)
{
	uint64_t sum = 0, largest = 0, bytes;
	const char *name = "";

	for (uint32_t i = 0; i < n; i++) {
		bytes = gpumon_gpuprog_map_bytes(&maps[i], GPUMON_GPUPROG_SHARDS);
		if (bytes > largest) {
			largest = bytes;
			name = maps[i].name;
		}
		sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
	}
	if (sum <= GPUMON_GPUPROG_MAX_MEMORY)
		return 0;
	return GPUMON_GPUPROG_IMAGE_REFUSE(
		image, err,
		"the maps take %s%.1f GiB on each GPU, map %s the most of it, and %llu GiB are possible: use smaller max_entries or values",
		sum == UINT64_MAX ? "more than " : "",
		sum == UINT64_MAX ? 1e15 / (1 << 30) : (double)sum / (1 << 30), name,
		(unsigned long long)(GPUMON_GPUPROG_MAX_MEMORY >> 30));
}
