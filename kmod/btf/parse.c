// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads BTF, the format of the kernel's Documentation/bpf/btf.rst.
 *
 * The kernel has verified what it shows in /sys/kernel/btf. It is all the same
 * read as if anything could be in it: every offset, id and count is held
 * against the size of what it points into, every descent is bounded. What is
 * odd makes an error and never a wrong answer.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/vmalloc.h>

#include "parse.h"

#define BUCKETS 16384

/* A file with more types is not BTF. */
#define MAX_TYPES (1U << 24)

/* Typedefs of typedefs, arrays of arrays. */
#define MAX_CHAIN 32

/* Anonymous structs in each other. */
#define MAX_NESTED 8

/* Members that are looked at for one answer. */
#define MAX_STEPS (1U << 20)

/* Both have fields that older headers lack; older files have zeroes there. */
#define INFO_KIND(info)	 (((info) >> 24) & 0x7f)
#define INFO_COUNT(info) ((info)&0xffffff)
#define INFO_FLAG(info)	 ((info) >> 31)

#define NAMED_KINDS \
	(BIT(BTF_KIND_STRUCT) | BIT(BTF_KIND_UNION) | BIT(BTF_KIND_TYPEDEF) | BIT(BTF_KIND_FUNC))

/* As newer files have it; the last two are not in older ones, nor in older kernels' headers. */
struct file_header {
	u16 magic;
	u8 version;
	u8 flags;
	u32 header_bytes;
	u32 type_at;
	u32 type_bytes;
	u32 string_at;
	u32 string_bytes;
	u32 layout_at;
	u32 layout_bytes;
};

#define OLD_HEADER_BYTES offsetof(struct file_header, layout_at)

/* Lengths of the entries of each kind, as the file gives them. */
struct layout_entry {
	u8 info_size;
	u8 element_size;
	u16 flags;
};

struct layout {
	const struct layout_entry *entries;
	u32 count;
};

/* Bytes that follow a struct btf_type, negative if the kind is not known. */
static s64 type_extra(const struct btf_type *type, const struct layout *layout)
{
	u32 kind = INFO_KIND(type->info), count = INFO_COUNT(type->info);

	switch (kind) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (s64)count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return (s64)count * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return (s64)count * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return (s64)count * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return (s64)count * sizeof(struct btf_var_secinfo);
	}
	if (!kind || kind >= layout->count)
		return -1;
	return layout->entries[kind].info_size + (s64)count * layout->entries[kind].element_size;
}

static const char *name_at(const struct gpumon_btf *btf, u32 offset)
{
	while (btf->base && offset < btf->first_string)
		btf = btf->base;
	offset -= btf->first_string;
	return offset < btf->string_bytes ? btf->strings + offset : NULL;
}

/* NULL for void and for ids that do not exist. */
static const struct btf_type *type_at(const struct gpumon_btf *btf, u32 id)
{
	while (btf->base && id < btf->first_id)
		btf = btf->base;
	id -= btf->first_id;
	return id < btf->count ? btf->types + btf->offset[id] : NULL;
}

static u32 name_bucket(const char *name)
{
	return full_name_hash(NULL, name, strlen(name)) % BUCKETS;
}

static bool section_fits(u32 offset, u32 length, size_t room)
{
	return offset <= room && length <= room - offset;
}

static const char *find_sections(struct gpumon_btf *btf, struct layout *layout, size_t size)
{
	const struct file_header *header = btf->data;
	const void *sections;
	size_t room;

	if (size < OLD_HEADER_BYTES)
		return "shorter than its header";
	if (header->magic != BTF_MAGIC)
		return "not BTF";
	if (header->version != BTF_VERSION)
		return "unknown version";
	if (header->header_bytes < OLD_HEADER_BYTES || header->header_bytes > size ||
	    !IS_ALIGNED(header->header_bytes, sizeof(u32)))
		return "odd header";
	sections = btf->data + header->header_bytes;
	room = size - header->header_bytes;
	if (!section_fits(header->type_at, header->type_bytes, room) ||
	    !IS_ALIGNED(header->type_at, sizeof(u32)))
		return "odd type section";
	/* All names of a small module can be the kernel's. */
	if (!section_fits(header->string_at, header->string_bytes, room) ||
	    (!header->string_bytes && !btf->base))
		return "odd string section";
	btf->types = sections + header->type_at;
	btf->type_bytes = header->type_bytes;
	btf->strings = sections + header->string_at;
	btf->string_bytes = header->string_bytes;
	if (btf->string_bytes && btf->strings[btf->string_bytes - 1])
		return "string without an end";
	if (header->header_bytes >= sizeof(*header) && header->layout_bytes) {
		if (!section_fits(header->layout_at, header->layout_bytes, room) ||
		    !IS_ALIGNED(header->layout_at, sizeof(u16)))
			return "odd layout section";
		layout->entries = sections + header->layout_at;
		layout->count = header->layout_bytes / sizeof(*layout->entries);
	}
	return NULL;
}

static const char *index_types(struct gpumon_btf *btf, const struct layout *layout, int *error)
{
	u32 most = btf->type_bytes / sizeof(struct btf_type);
	const struct btf_type *type;
	const char *name;
	u32 at, bucket;
	s64 extra;

	if (most > MAX_TYPES)
		return "too many types";
	*error = -ENOMEM;
	btf->offset = kvmalloc_array(most + 1, sizeof(*btf->offset), GFP_KERNEL);
	btf->next = kvmalloc_array(most + 1, sizeof(*btf->next), GFP_KERNEL);
	btf->bucket = kvcalloc(BUCKETS, sizeof(*btf->bucket), GFP_KERNEL);
	if (!btf->offset || !btf->next || !btf->bucket)
		return "no memory";
	*error = -EINVAL;
	for (at = 0; at < btf->type_bytes; at += sizeof(*type) + extra) {
		if (btf->type_bytes - at < sizeof(*type))
			return "type cut off";
		type = btf->types + at;
		extra = type_extra(type, layout);
		if (extra < 0)
			return "unknown kind of type";
		if (!IS_ALIGNED(extra, sizeof(u32)) || extra > btf->type_bytes - at - sizeof(*type))
			return "type cut off";
		name = name_at(btf, type->name_off);
		if (!name)
			return "name outside the strings";
		btf->offset[btf->count] = at;
		btf->next[btf->count] = 0;
		if (*name && INFO_KIND(type->info) < BITS_PER_LONG &&
		    (BIT(INFO_KIND(type->info)) & NAMED_KINDS)) {
			bucket = name_bucket(name);
			btf->next[btf->count] = btf->bucket[bucket];
			btf->bucket[bucket] = btf->count + 1;
		}
		btf->count++;
	}
	return NULL;
}

/*
 * Takes a file in, of a module with the kernel's as @base. @data is from vmalloc() and becomes
 * @btf's, to be freed whatever is returned: -EINVAL with what is @wrong, or -ENOMEM.
 */
int gpumon_btf_parse(struct gpumon_btf *btf, const struct gpumon_btf *base, void *data, size_t size,
		     const char **wrong)
{
	struct layout layout = {};
	int error = -EINVAL;

	memset(btf, 0, sizeof(*btf));
	btf->data = data;
	btf->base = base;
	/* Id 0 is void, and is in no file. */
	btf->first_id = base ? base->first_id + base->count : 1;
	btf->first_string = base ? base->first_string + base->string_bytes : 0;
	*wrong = find_sections(btf, &layout, size) ?: index_types(btf, &layout, &error);
	return *wrong ? error : 0;
}

/* @btf is parsed or half parsed, or all zeroes. */
void gpumon_btf_free(struct gpumon_btf *btf)
{
	kvfree(btf->bucket);
	kvfree(btf->next);
	kvfree(btf->offset);
	vfree(btf->data);
	memset(btf, 0, sizeof(*btf));
}

/*
 * Id of a type of a name and kinds, bits of which; 0 if there is none after @after. A name need not
 * be unique. The base of @btf is not searched.
 */
u32 gpumon_btf_find(const struct gpumon_btf *btf, const char *name, unsigned long kinds, u32 after)
{
	const struct btf_type *type;
	const char *other;
	u32 at;

	at = after ? btf->next[after - btf->first_id] : btf->bucket[name_bucket(name)];
	for (; at; at = btf->next[at - 1]) {
		type = btf->types + btf->offset[at - 1];
		other = name_at(btf, type->name_off);
		if ((BIT(INFO_KIND(type->info)) & kinds) && other && !strcmp(other, name))
			return btf->first_id + at - 1;
	}
	return 0;
}

/* The type behind typedefs and qualifiers; NULL for void, an error pointer if it is odd. */
static const struct btf_type *type_behind(const struct gpumon_btf *btf, u32 id)
{
	const struct btf_type *type;
	unsigned int links;

	for (links = 0; links < MAX_CHAIN; links++) {
		if (!id)
			return NULL;
		type = type_at(btf, id);
		if (!type)
			return ERR_PTR(-EINVAL);
		switch (INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = type->type;
			break;
		default:
			return type;
		}
	}
	return ERR_PTR(-EINVAL);
}

static bool is_aggregate(const struct btf_type *type)
{
	u32 kind = INFO_KIND(type->info);

	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

/* Size in bytes of a type that can be a member. */
static s64 type_size(const struct gpumon_btf *btf, u32 id)
{
	const struct btf_array *array;
	const struct btf_type *type;
	unsigned int links;
	u64 size, count = 1;

	for (links = 0; links < MAX_CHAIN; links++) {
		type = type_behind(btf, id);
		if (IS_ERR_OR_NULL(type))
			return -EINVAL;
		switch (INFO_KIND(type->info)) {
		case BTF_KIND_ARRAY:
			array = (const void *)(type + 1);
			count *= array->nelems;
			if (count > S32_MAX)
				return -EINVAL;
			id = array->type;
			continue;
		case BTF_KIND_PTR:
			size = sizeof(void *);
			break;
		case BTF_KIND_INT:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
		case BTF_KIND_FLOAT:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
			size = type->size;
			break;
		default:
			return -EINVAL;
		}
		size *= count;
		return size > S32_MAX ? -EINVAL : size;
	}
	return -EINVAL;
}

struct found_member {
	u32 type;
	u32 bits;
	u32 bit_size;
};

/* The member of a name, also inside of anonymous structs and unions. */
static int find_member(const struct gpumon_btf *btf, const struct btf_type *type, const char *name,
		       size_t length, u32 nested, u32 *steps, struct found_member *found)
{
	const struct btf_member *member = (const void *)(type + 1);
	u32 i, bits, bit_size, count = INFO_COUNT(type->info);
	const struct btf_type *inner;
	const char *called;
	int ret;

	for (i = 0; i < count; i++, member++) {
		if (++*steps > MAX_STEPS)
			return -EINVAL;
		called = name_at(btf, member->name_off);
		if (!called)
			return -EINVAL;
		bits = member->offset;
		bit_size = 0;
		if (INFO_FLAG(type->info)) {
			bits = BTF_MEMBER_BIT_OFFSET(member->offset);
			bit_size = BTF_MEMBER_BITFIELD_SIZE(member->offset);
		}
		if (*called) {
			if (strncmp(called, name, length) || called[length])
				continue;
			*found = (struct found_member){ member->type, bits, bit_size };
			return 0;
		}
		inner = type_behind(btf, member->type);
		if (IS_ERR(inner))
			return PTR_ERR(inner);
		/* A bitfield without a name is padding. */
		if (!inner || !is_aggregate(inner))
			continue;
		if (nested == MAX_NESTED)
			return -EINVAL;
		ret = find_member(btf, inner, name, length, nested + 1, steps, found);
		if (ret == -ENOENT)
			continue;
		if (!ret && check_add_overflow(found->bits, bits, &found->bits))
			return -EINVAL;
		return ret;
	}
	return -ENOENT;
}

/* The smallest naturally aligned word that holds all of a bitfield. */
static int place_bits(u64 bits, u32 bit_size, u32 whole, struct gpumon_btf_place *place)
{
	u32 size, word;

#ifdef __BIG_ENDIAN
	return -EOPNOTSUPP;
#endif
	for (size = 1; size <= sizeof(u64); size *= 2) {
		word = 8 * size;
		if (bits % word + bit_size > word)
			continue;
		place->offset = bits / word * size;
		place->size = size;
		place->bit_offset = bits % word;
		place->bit_size = bit_size;
		return place->offset + size <= whole ? 0 : -EOPNOTSUPP;
	}
	return -EOPNOTSUPP;
}

/*
 * Where a member of a struct, union or typedef of one lies; @path is names with dots between them.
 * -ENOENT without such a member, -EOPNOTSUPP if it can be found but not read, -EINVAL if the BTF is
 * odd.
 */
int gpumon_btf_member(const struct gpumon_btf *btf, u32 id, const char *path,
		      struct gpumon_btf_place *place)
{
	const struct btf_type *type = type_behind(btf, id);
	struct found_member found = {};
	u32 whole, steps = 0;
	size_t length;
	u64 bits = 0;
	s64 size;
	int ret;

	if (IS_ERR_OR_NULL(type))
		return -EINVAL;
	if (!is_aggregate(type))
		return -ENOENT;
	whole = type->size;
	for (;;) {
		length = strcspn(path, ".");
		ret = find_member(btf, type, path, length, 0, &steps, &found);
		if (ret)
			return ret;
		bits += found.bits;
		if (!path[length])
			break;
		path += length + 1;
		type = type_behind(btf, found.type);
		if (IS_ERR_OR_NULL(type))
			return -EINVAL;
		if (!is_aggregate(type) || found.bit_size)
			return -ENOENT;
	}
	size = type_size(btf, found.type);
	if (size < 0)
		return size;
	if (bits / 8 > S32_MAX)
		return -EINVAL;
	memset(place, 0, sizeof(*place));
	if (found.bit_size)
		return place_bits(bits, found.bit_size, whole, place);
	/* Only the old encoding of bitfields looks like this. */
	type = type_behind(btf, found.type);
	if (bits % 8 || (INFO_KIND(type->info) == BTF_KIND_INT &&
			 BTF_INT_BITS(*(const u32 *)(type + 1)) != 8 * type->size))
		return -EOPNOTSUPP;
	place->offset = bits / 8;
	place->size = size;
	return place->offset + size <= whole ? 0 : -EINVAL;
}

/* One token of a prototype. Returns what snprintf() would, or a negative error. */
static int token(const struct gpumon_btf *btf, u32 id, char *to, size_t size)
{
	const struct btf_type *type = type_behind(btf, id);
	const char *name;
	u32 encoding;
	bool pointer;

	if (!type)
		return snprintf(to, size, "void");
	if (IS_ERR(type))
		return PTR_ERR(type);
	pointer = INFO_KIND(type->info) == BTF_KIND_PTR;
	if (pointer) {
		type = type_behind(btf, type->type);
		if (!type)
			return snprintf(to, size, "*");
		if (IS_ERR(type))
			return PTR_ERR(type);
	}
	name = name_at(btf, type->name_off);
	if (!name)
		return -EINVAL;
	switch (INFO_KIND(type->info)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FWD:
		return snprintf(to, size, "%s%s", pointer ? "*" : "struct:", name);
	case BTF_KIND_INT:
		if (pointer)
			return snprintf(to, size, "*%s", strcmp(name, "char") ? "" : name);
		encoding = BTF_INT_ENCODING(*(const u32 *)(type + 1));
		if (encoding & BTF_INT_BOOL)
			return snprintf(to, size, "bool");
		return snprintf(to, size, "%c%u", encoding & BTF_INT_SIGNED ? 'i' : 'u',
				8 * type->size);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return pointer ? snprintf(to, size, "*") :
				 snprintf(to, size, "u%u", 8 * type->size);
	default:
		return pointer ? snprintf(to, size, "*") : -EOPNOTSUPP;
	}
}

/*
 * Prototype of a function, or a typedef of a pointer to one; of a tracepoint without the first
 * argument, its data. -EOPNOTSUPP if it has no canonical form, -EINVAL if the BTF is odd.
 */
int gpumon_btf_function(const struct gpumon_btf *btf, u32 id, bool tracepoint,
			struct gpumon_btf_prototype *prototype)
{
	const struct btf_type *type = type_behind(btf, id);
	const struct btf_param *param;
	size_t at = 0, room;
	u32 i, count;
	int length;

	/* A tracepoint's typedef leads to a pointer, a function to its prototype. */
	if (IS_ERR_OR_NULL(type) ||
	    INFO_KIND(type->info) != (tracepoint ? BTF_KIND_PTR : BTF_KIND_FUNC))
		return -EINVAL;
	type = type_behind(btf, type->type);
	if (IS_ERR_OR_NULL(type) || INFO_KIND(type->info) != BTF_KIND_FUNC_PROTO)
		return -EINVAL;
	param = (const void *)(type + 1);
	count = INFO_COUNT(type->info);
	if (tracepoint && !count)
		return -EINVAL;
	prototype->arguments[0] = '\0';
	for (i = tracepoint ? 1 : 0; i < count; i++) {
		if (at)
			prototype->arguments[at++] = ' ';
		room = sizeof(prototype->arguments) - at;
		/* The last one of type 0 stands for any more. */
		if (!param[i].type)
			length = snprintf(prototype->arguments + at, room, "...");
		else
			length = token(btf, param[i].type, prototype->arguments + at, room);
		if (length < 0)
			return length;
		at += length;
		/* Room for a space and a NUL. */
		if (at + 2 > sizeof(prototype->arguments))
			return -EOPNOTSUPP;
	}
	length = token(btf, type->type, prototype->returns, sizeof(prototype->returns));
	if (length < 0)
		return length;
	return length < sizeof(prototype->returns) ? 0 : -EOPNOTSUPP;
}
