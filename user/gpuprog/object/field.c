// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"

#define MAX_DEPTH    8	 /* types within types, and typedefs of typedefs */
#define MAX_STEPS    512 /* looks at a type, against types that are wide and empty */
#define NAME_SIZE    96
#define MAX_COMPARED (1u << 22) /* types that are looked at for the names of a section */

struct walk {
	const struct btf *btf;
	struct gpumon_pool *pool;
	struct gpumon_probe_field fields[GPUMON_PROBE_MAX_FIELDS];
	uint32_t n;
	uint32_t size;
	uint32_t steps;
	bool no_memory;
};

static bool walk_type(struct walk *walk, uint32_t id, uint64_t offset, const char *name,
		      unsigned int depth);

static bool add_field(struct walk *walk, const struct btf_type *type, uint64_t offset,
		      const char *name, bool is_signed)
{
	struct gpumon_probe_field *field = &walk->fields[walk->n];
	uint32_t size = type->size;

	if (walk->n == GPUMON_PROBE_MAX_FIELDS ||
	    (size != 1 && size != 2 && size != 4 && size != 8) || offset > walk->size ||
	    size > walk->size - offset)
		return false;
	*field = (struct gpumon_probe_field){ .name = gpumon_pool_text(walk->pool, name),
					      .offset = (uint32_t)offset,
					      .size = (uint8_t)size,
					      .is_signed = is_signed };
	walk->no_memory |= !field->name;
	walk->n++;
	return field->name;
}

static bool walk_array(struct walk *walk, const struct btf_array *array, uint64_t offset,
		       const char *name, unsigned int depth)
{
	int64_t bytes = btf__resolve_size(walk->btf, array->type);
	char inner[NAME_SIZE];

	if (bytes <= 0 || array->nelems > GPUMON_PROBE_MAX_FIELDS)
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
		/* What is within one without a name belongs to this one. */
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

static int keep_fields(const struct walk *walk, struct gpumon_probe_fields *fields)
{
	struct gpumon_probe_field *copy;

	*fields = (struct gpumon_probe_fields){ 0 };
	if (!walk->n)
		return walk->no_memory ? -1 : 0;
	copy = gpumon_pool_zalloc(walk->pool, walk->n * sizeof(*copy));
	if (!copy)
		return -1;
	memcpy(copy, walk->fields, walk->n * sizeof(*copy));
	fields->fields = copy;
	fields->n = walk->n;
	return 0;
}

int gpumon_probe_fields_read(const struct btf *btf, uint32_t id, uint32_t size,
			     struct gpumon_pool *pool, struct gpumon_probe_fields *fields)
{
	struct walk walk = { .btf = btf, .pool = pool, .size = size };

	if (!walk_type(&walk, id, 0, "", 0))
		walk.n = 0;
	return keep_fields(&walk, fields);
}

static void walk_variable(struct walk *walk, const struct gpumon_probe_symbol *symbol)
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
	const struct gpumon_probe_field *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

int gpumon_probe_fields_of_data(const struct gpumon_probe_image *image, const struct btf *btf,
				uint32_t section, struct gpumon_probe_fields *fields)
{
	struct walk walk = { .btf = btf, .pool = image->pool };
	const struct gpumon_probe_symbol *symbol;
	uint32_t looked = 0, most = btf ? MAX_COMPARED / btf__type_cnt(btf) : 0;

	/* Each look at a name takes a search of all types. */
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
	return keep_fields(&walk, fields);
}
