// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads BTF, the format of the kernel's Documentation/bpf/btf.rst.
 *
 * The kernel's file has some 6 MiB, and a driver's types refer to it. So a file is never in memory as a
 * whole: it is read through once, a page at a time, for the types that have one of the names that are
 * asked for, and for the places of some of the others. Another type is read when one refers to it. Some
 * 12 KiB are kept of the kernel's file, while drivers come and go.
 *
 * Names are compared by their offsets in the strings, each of which is there once: the name of a
 * module's type may be among the kernel's strings or among the module's own.
 *
 * The kernel has verified the files in /sys/kernel/btf. They are nevertheless read as if anything
 * could be in them: every offset, id and count is checked against the size of the part that it points
 * into, every descent is bounded. An odd file causes an error and never a wrong answer.
 */
#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringhash.h>

#include "parse.h"
#include "read_file.h"

/* The largest kernels have 8 MiB. */
#define MAX_FILE (256 << 20)

/* Bytes read at a time: sysfs gives no more than a page. */
#define WINDOW 4096U

/*
 * The place of every so many types is kept. The window, read from there on, mostly reaches to the
 * next kept place.
 */
#define MARK 128

/*
 * Bits of a set of hashes. It is so large that a hundredth of a file's names are left to be
 * compared.
 */
#define FILTER 65536

/* Bounds chains: typedefs of typedefs, arrays of arrays. */
#define MAX_CHAIN 32

/* Bounds the depth of anonymous structs in each other. */
#define MAX_NESTED 8

/* Bounds the members that are looked at for one answer. */
#define MAX_STEPS (1U << 20)

#define TRACEPOINT_PREFIX "btf_trace_"

/*
 * Kind and count of a type. The macros of older headers have fewer bits of each; older files have
 * zeroes there.
 */
#define INFO_KIND(info)	 (((info) >> 24) & 0x7f)
#define INFO_COUNT(info) ((info)&0xffffff)
#define INFO_FLAG(info)	 ((info) >> 31)
#define KINDS		 128

#define NAMED_KINDS \
	(BIT(BTF_KIND_STRUCT) | BIT(BTF_KIND_UNION) | BIT(BTF_KIND_TYPEDEF) | BIT(BTF_KIND_FUNC))

/* The header of newer files; older files and older kernels' headers lack the last two members. */
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

/* Lengths of the entries of a kind, as the file gives them. */
struct gpumon_btf_layout {
	u8 info_size;
	u8 element_size;
	u16 flags;
};

/* A type that was read, with what follows it. */
struct gpumon_btf_copy {
	struct gpumon_btf_copy *next;
	u32 id;
	struct btf_type type;
};

/**
 * gpumon_btf_name_add - from now on a name can be asked for
 * @names: names, zeroes at first
 * @text: name, to stay there; it need not end with a NUL
 * @length: its length
 * @tracepoint: it is that of a tracepoint
 *
 * Return: 0, -ENOMEM, or -EINVAL if it is too long.
 */
int gpumon_btf_name_add(struct gpumon_btf_names *names, const char *text, size_t length,
			bool tracepoint)
{
	struct gpumon_btf_name *more;

	if (length >= GPUMON_BTF_NAME_LEN)
		return -EINVAL;
	if (gpumon_btf_name_find(names, text, length, tracepoint) < names->count)
		return 0;
	if (names->count == names->room) {
		more = krealloc(names->name, (names->room + 64) * sizeof(*more), GFP_KERNEL);
		if (!more)
			return -ENOMEM;
		names->name = more;
		names->room += 64;
	}
	names->name[names->count++] = (struct gpumon_btf_name){ text, length, tracepoint };
	return 0;
}

/* Number of a name; names->count if it is none of them. */
u32 gpumon_btf_name_find(const struct gpumon_btf_names *names, const char *text, size_t length,
			 bool tracepoint)
{
	const struct gpumon_btf_name *name;
	u32 i;

	for (i = 0; i < names->count; i++) {
		name = &names->name[i];
		if (name->length == length && name->tracepoint == tracepoint &&
		    !memcmp(name->text, text, length))
			break;
	}
	return i;
}

void gpumon_btf_names_free(struct gpumon_btf_names *names)
{
	kfree(names->name);
	memset(names, 0, sizeof(*names));
}

/* Bytes that follow a struct btf_type, negative if the kind is not known. */
static s64 type_extra(const struct gpumon_btf *btf, const struct btf_type *type)
{
	u32 kind = INFO_KIND(type->info), count = INFO_COUNT(type->info);
	const struct gpumon_btf_layout *layout;

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
	if (!kind || kind >= btf->layout_count)
		return -1;
	layout = &btf->layouts[kind];
	return layout->info_size + (s64)count * layout->element_size;
}

/*
 * At least @bytes of the file, valid until the next call; @have: set to how many there are. An
 * error pointer if they cannot be read, -EINVAL if the file is shorter.
 */
static const void *file_window(struct gpumon_btf *btf, u32 at, u32 bytes, u32 *have)
{
	ssize_t got;

	*have = 0;
	if (!btf->window)
		btf->window = kmalloc(WINDOW, GFP_KERNEL);
	if (!btf->window)
		return ERR_PTR(-ENOMEM);
	if (at < btf->window_at || at + bytes > btf->window_at + btf->window_bytes) {
		btf->window_bytes = 0;
		got = gpumon_file_read(btf->file, btf->window, WINDOW, at);
		if (got < 0)
			return ERR_PTR(got);
		btf->window_at = at;
		btf->window_bytes = got;
		if (got < bytes)
			return ERR_PTR(-EINVAL);
	}
	*have = btf->window_at + btf->window_bytes - at;
	return btf->window + (at - btf->window_at);
}

/*
 * A type, valid until gpumon_btf_forget_copies(). NULL for void and for ids that do not exist, an
 * error pointer if it cannot be read.
 */
static const struct btf_type *type_at(struct gpumon_btf *btf, u32 id)
{
	struct gpumon_btf_copy *copy, **bucket;
	const struct btf_type *type;
	u32 at, i, have;
	s64 bytes = 0;
	ssize_t got;

	while (btf->base && id < btf->first_id)
		btf = btf->base;
	id -= btf->first_id;
	if (id >= btf->count)
		return NULL;
	bucket = &btf->copies[id % GPUMON_BTF_COPY_BUCKETS];
	for (copy = *bucket; copy; copy = copy->next)
		if (copy->id == id)
			return &copy->type;
	at = btf->marks[id / MARK];
	for (i = 0; i <= id % MARK; i++) {
		at += bytes;
		type = file_window(btf, btf->types_at + at, sizeof(*type), &have);
		if (IS_ERR(type))
			return type;
		bytes = type_extra(btf, type);
		if (bytes < 0 || bytes > btf->type_bytes - at - sizeof(*type))
			return ERR_PTR(-EINVAL);
		bytes += sizeof(*type);
	}
	copy = kvmalloc(offsetof(struct gpumon_btf_copy, type) + bytes, GFP_KERNEL);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	copy->id = id;
	copy->next = *bucket;
	*bucket = copy;
	got = gpumon_file_read(btf->file, &copy->type, bytes, btf->types_at + at);
	if (got == bytes)
		return &copy->type;
	*bucket = copy->next;
	kvfree(copy);
	return ERR_PTR(got < 0 ? got : -EINVAL);
}

/*
 * Reads the text of a name. -EOPNOTSUPP if it is too long for @to, -EINVAL if the file has no such
 * name.
 */
static int name_read(struct gpumon_btf *btf, u32 offset, char *to, size_t size)
{
	u32 bytes, have;
	const char *text;

	while (btf->base && offset < btf->first_string)
		btf = btf->base;
	offset -= btf->first_string;
	if (offset >= btf->string_bytes)
		return -EINVAL;
	bytes = min_t(u32, size, btf->string_bytes - offset);
	text = file_window(btf, btf->strings_at + offset, bytes, &have);
	if (IS_ERR(text))
		return PTR_ERR(text);
	memcpy(to, text, bytes);
	return memchr(to, '\0', bytes) ? 0 : -EOPNOTSUPP;
}

static bool section_fits(u32 offset, u32 length, size_t room)
{
	return offset <= room && length <= room - offset;
}

/* Says what is odd in a file. */
static int file_odd(const char **wrong, const char *what)
{
	*wrong = what;
	return -EINVAL;
}

static int file_unreadable(const char **wrong, const void *error)
{
	*wrong = PTR_ERR(error) == -ENOMEM ? "no memory" : "cut off";
	return PTR_ERR(error);
}

static int find_layouts(struct gpumon_btf *btf, const struct file_header *header, size_t room,
			const char **wrong)
{
	u32 bytes = min_t(u32, header->layout_bytes, KINDS * sizeof(*btf->layouts)), have;
	const void *layouts;

	if (!section_fits(header->layout_at, header->layout_bytes, room) ||
	    !IS_ALIGNED(header->layout_at, sizeof(u16)))
		return file_odd(wrong, "odd layout section");
	layouts = file_window(btf, header->header_bytes + header->layout_at, bytes, &have);
	if (IS_ERR(layouts))
		return file_unreadable(wrong, layouts);
	btf->layouts = kmemdup(layouts, bytes, GFP_KERNEL);
	if (!btf->layouts)
		return file_unreadable(wrong, ERR_PTR(-ENOMEM));
	btf->layout_count = bytes / sizeof(*btf->layouts);
	return 0;
}

static int find_sections(struct gpumon_btf *btf, size_t size, const char **wrong)
{
	struct file_header header;
	const void *bytes;
	const char *last;
	size_t room;
	u32 have;
	int ret;

	if (size < OLD_HEADER_BYTES)
		return file_odd(wrong, "shorter than its header");
	if (size > MAX_FILE)
		return file_odd(wrong, "longer than any");
	bytes = file_window(btf, 0, OLD_HEADER_BYTES, &have);
	if (IS_ERR(bytes))
		return file_unreadable(wrong, bytes);
	memset(&header, 0, sizeof(header));
	memcpy(&header, bytes, min_t(u32, have, sizeof(header)));
	if (header.magic != BTF_MAGIC)
		return file_odd(wrong, "not BTF");
	if (header.version != BTF_VERSION)
		return file_odd(wrong, "unknown version");
	if (header.header_bytes < OLD_HEADER_BYTES || header.header_bytes > size ||
	    !IS_ALIGNED(header.header_bytes, sizeof(u32)))
		return file_odd(wrong, "odd header");
	room = size - header.header_bytes;
	if (!section_fits(header.type_at, header.type_bytes, room) ||
	    !IS_ALIGNED(header.type_at, sizeof(u32)))
		return file_odd(wrong, "odd type section");
	/* A small module may have no strings: all its names are among the kernel's. */
	if (!section_fits(header.string_at, header.string_bytes, room) ||
	    (!header.string_bytes && !btf->base))
		return file_odd(wrong, "odd string section");
	btf->types_at = header.header_bytes + header.type_at;
	btf->type_bytes = header.type_bytes;
	btf->strings_at = header.header_bytes + header.string_at;
	btf->string_bytes = header.string_bytes;
	if (check_add_overflow(btf->first_string, btf->string_bytes, &have))
		return file_odd(wrong, "odd string section");
	if (header.header_bytes >= sizeof(header) && header.layout_bytes) {
		ret = find_layouts(btf, &header, room, wrong);
		if (ret)
			return ret;
	}
	if (!btf->string_bytes)
		return 0;
	last = file_window(btf, btf->strings_at + btf->string_bytes - 1, 1, &have);
	if (IS_ERR(last))
		return file_unreadable(wrong, last);
	return *last ? file_odd(wrong, "string without an end") : 0;
}

static u32 text_hash(const char *text, size_t length)
{
	return full_name_hash(NULL, text, length) % FILTER;
}

static u32 offset_hash(u32 offset)
{
	return offset % FILTER;
}

/* Number of the name that a string is; names->count if it is none of them. */
static u32 string_name(const struct gpumon_btf_names *names, const char *text, size_t length)
{
	const size_t prefix = strlen(TRACEPOINT_PREFIX);
	u32 plain = gpumon_btf_name_find(names, text, length, false);

	if (plain < names->count || length <= prefix || memcmp(text, TRACEPOINT_PREFIX, prefix))
		return plain;
	return gpumon_btf_name_find(names, text + prefix, length - prefix, true);
}

/* Set of the hashes of all names, as they are written in the strings. */
static void filter_names(const struct gpumon_btf_names *names, unsigned long *filter)
{
	char text[sizeof(TRACEPOINT_PREFIX) + GPUMON_BTF_NAME_LEN];
	const struct gpumon_btf_name *name;
	int length;
	u32 i;

	for (i = 0; i < names->count; i++) {
		name = &names->name[i];
		length = snprintf(text, sizeof(text), "%s%.*s",
				  name->tracepoint ? TRACEPOINT_PREFIX : "", name->length,
				  name->text);
		__set_bit(text_hash(text, length), filter);
	}
}

/* Finds the names in the strings of a file. */
static int find_names(struct gpumon_btf *btf, unsigned long *filter, const char **wrong)
{
	const struct gpumon_btf_names *names = btf->names;
	u32 at, length, have, name;
	const char *text, *end;
	bool cut = false;

	filter_names(names, filter);
	for (at = 0; at < btf->string_bytes; at += length) {
		text = file_window(btf, btf->strings_at + at, 1, &have);
		end = IS_ERR(text) ? NULL : memchr(text, '\0', have);
		if (!IS_ERR(text) && !end) {
			text = file_window(btf, btf->strings_at + at,
				      min(WINDOW, btf->string_bytes - at), &have);
			end = IS_ERR(text) ? NULL : memchr(text, '\0', have);
		}
		if (IS_ERR(text))
			return file_unreadable(wrong, text);
		/* Longer than any name that is asked for. */
		length = end ? end - text + 1 : have;
		if (end && !cut && test_bit(text_hash(text, length - 1), filter)) {
			name = string_name(names, text, length - 1);
			if (name < names->count)
				btf->name_at[name] = btf->first_string + at;
		}
		cut = !end;
	}
	return 0;
}

/* Number of the name at an offset in the strings; names->count if it is none of them. */
static u32 name_number(const struct gpumon_btf *btf, u32 offset)
{
	u32 i;

	for (; btf; btf = btf->base)
		for (i = 0; i < btf->names->count; i++)
			if (btf->name_at[i] == offset)
				return i;
	return ~0U;
}

static int found_add(struct gpumon_btf *btf, u32 name, u32 kind)
{
	struct gpumon_btf_found *more;

	if (btf->found_count == btf->found_room) {
		more = krealloc(btf->found, (btf->found_room + 64) * sizeof(*more), GFP_KERNEL);
		if (!more)
			return -ENOMEM;
		btf->found = more;
		btf->found_room += 64;
	}
	btf->found[btf->found_count++] =
		(struct gpumon_btf_found){ btf->first_id + btf->count, name, kind };
	return 0;
}

/* Counts the types, and keeps those with one of the names. */
static int find_types(struct gpumon_btf *btf, unsigned long *filter, const char **wrong)
{
	const u32 names_end = btf->first_string + btf->string_bytes;
	const struct gpumon_btf *of;
	const struct btf_type *type;
	u32 at, i, kind, name, have;
	s64 extra;

	bitmap_zero(filter, FILTER);
	for (of = btf; of; of = of->base)
		for (i = 0; i < of->names->count; i++)
			if (of->name_at[i])
				__set_bit(offset_hash(of->name_at[i]), filter);
	for (at = 0; at < btf->type_bytes; at += sizeof(*type) + extra) {
		if (btf->type_bytes - at < sizeof(*type))
			return file_odd(wrong, "type cut off");
		type = file_window(btf, btf->types_at + at, sizeof(*type), &have);
		if (IS_ERR(type))
			return file_unreadable(wrong, type);
		extra = type_extra(btf, type);
		if (extra < 0)
			return file_odd(wrong, "unknown kind of type");
		if (!IS_ALIGNED(extra, sizeof(u32)) || extra > btf->type_bytes - at - sizeof(*type))
			return file_odd(wrong, "type cut off");
		if (type->name_off >= names_end)
			return file_odd(wrong, "name outside the strings");
		kind = INFO_KIND(type->info);
		if (kind < BITS_PER_LONG && (BIT(kind) & NAMED_KINDS) && type->name_off &&
		    test_bit(offset_hash(type->name_off), filter)) {
			name = name_number(btf, type->name_off);
			if (name != ~0U && found_add(btf, name, kind))
				return file_unreadable(wrong, ERR_PTR(-ENOMEM));
		}
		if (btf->count % MARK == 0)
			btf->marks[btf->count / MARK] = at;
		btf->count++;
	}
	return 0;
}

static int find_all_types(struct gpumon_btf *btf, const char **wrong)
{
	const u32 most = btf->type_bytes / sizeof(struct btf_type);
	unsigned long *filter = bitmap_zalloc(FILTER, GFP_KERNEL);
	int ret;

	btf->marks = kvmalloc_array(most / MARK + 1, sizeof(*btf->marks), GFP_KERNEL);
	btf->name_at = kvcalloc(btf->names->count + 1, sizeof(*btf->name_at), GFP_KERNEL);
	if (filter && btf->marks && btf->name_at)
		ret = find_names(btf, filter, wrong) ?: find_types(btf, filter, wrong);
	else
		ret = file_unreadable(wrong, ERR_PTR(-ENOMEM));
	bitmap_free(filter);
	return ret;
}

/**
 * gpumon_btf_parse - read a file through
 * @btf: filled in; gpumon_btf_free() has to follow, whatever is returned
 * @base: of a module the kernel's, which has to stay
 * @names: what can be asked for, they have to stay
 * @file: the file. gpumon_btf_member() and gpumon_btf_function() read from @btf->file: that has to
 *        be this file then, or the same one opened again
 * @wrong: set to what is wrong, NULL if nothing is
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if it is odd; another negative error if it cannot be read now.
 */
int gpumon_btf_parse(struct gpumon_btf *btf, struct gpumon_btf *base,
		     const struct gpumon_btf_names *names, struct file *file, const char **wrong)
{
	memset(btf, 0, sizeof(*btf));
	*wrong = NULL;
	btf->file = file;
	btf->base = base;
	btf->names = names;
	/* Id 0 is void, which no file has. */
	btf->first_id = base ? base->first_id + base->count : 1;
	btf->first_string = base ? base->first_string + base->string_bytes : 0;
	return find_sections(btf, gpumon_file_size(file), wrong) ?: find_all_types(btf, wrong);
}

/* Frees the types that were read again after gpumon_btf_parse(), and the memory to read more. */
void gpumon_btf_forget_copies(struct gpumon_btf *btf)
{
	struct gpumon_btf_copy *copy;
	u32 i;

	for (i = 0; i < GPUMON_BTF_COPY_BUCKETS; i++) {
		while ((copy = btf->copies[i])) {
			btf->copies[i] = copy->next;
			kvfree(copy);
		}
	}
	kfree(btf->window);
	btf->window = NULL;
	btf->window_bytes = 0;
}

/* @btf is parsed or half parsed, or all zeroes. */
void gpumon_btf_free(struct gpumon_btf *btf)
{
	gpumon_btf_forget_copies(btf);
	kfree(btf->layouts);
	kfree(btf->found);
	kvfree(btf->name_at);
	kvfree(btf->marks);
	memset(btf, 0, sizeof(*btf));
}

/* Bytes that are held between look-ups. */
size_t gpumon_btf_bytes(const struct gpumon_btf *btf)
{
	if (!btf->marks)
		return 0;
	return (btf->type_bytes / sizeof(struct btf_type) / MARK + 1) * sizeof(*btf->marks) +
	       (btf->names->count + 1) * sizeof(*btf->name_at) +
	       btf->names->room * sizeof(*btf->names->name) +
	       btf->found_room * sizeof(*btf->found) + btf->layout_count * sizeof(*btf->layouts);
}

/*
 * Id of the next type after @after that has a name and one of the kinds; 0 if there is none.
 * @kinds: a bit for each. Several types may have one name. The base of @btf is not searched.
 */
u32 gpumon_btf_find(const struct gpumon_btf *btf, const char *text, bool tracepoint,
		    unsigned long kinds, u32 after)
{
	const u32 name = gpumon_btf_name_find(btf->names, text, strlen(text), tracepoint);
	const struct gpumon_btf_found *found;
	u32 i;

	for (i = 0; i < btf->found_count; i++) {
		found = &btf->found[i];
		if (found->name == name && found->id > after && (BIT(found->kind) & kinds))
			return found->id;
	}
	return 0;
}

/* The type behind typedefs and qualifiers; NULL for void, an error pointer if it is odd. */
static const struct btf_type *type_behind(struct gpumon_btf *btf, u32 id)
{
	const struct btf_type *type;
	unsigned int links;

	for (links = 0; links < MAX_CHAIN; links++) {
		if (!id)
			return NULL;
		type = type_at(btf, id);
		if (!type)
			return ERR_PTR(-EINVAL);
		if (IS_ERR(type))
			return type;
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

/* The error for a type that cannot be read, or that is void where void is not allowed. */
static int type_error(const struct btf_type *type)
{
	return type ? PTR_ERR(type) : -EINVAL;
}

static bool is_aggregate(const struct btf_type *type)
{
	u32 kind = INFO_KIND(type->info);

	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

/* Size in bytes of a type that can be a member. */
static s64 type_size(struct gpumon_btf *btf, u32 id)
{
	const struct btf_array *array;
	const struct btf_type *type;
	unsigned int links;
	u64 size, count = 1;

	for (links = 0; links < MAX_CHAIN; links++) {
		type = type_behind(btf, id);
		if (IS_ERR_OR_NULL(type))
			return type_error(type);
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

/*
 * Finds a member by name, also inside of anonymous structs and unions. @name: its offsets in the
 * kernel's strings and in the module's, 0 if it is not there.
 */
static int find_member(struct gpumon_btf *btf, const struct btf_type *type, const u32 name[2],
		       u32 nested, u32 *steps, struct found_member *found)
{
	const struct btf_member *member = (const void *)(type + 1);
	u32 i, bits, bit_size, count = INFO_COUNT(type->info);
	const struct btf_type *inner;
	int ret;

	for (i = 0; i < count; i++, member++) {
		if (++*steps > MAX_STEPS)
			return -EINVAL;
		bits = member->offset;
		bit_size = 0;
		if (INFO_FLAG(type->info)) {
			bits = BTF_MEMBER_BIT_OFFSET(member->offset);
			bit_size = BTF_MEMBER_BITFIELD_SIZE(member->offset);
		}
		if (member->name_off) {
			if (member->name_off != name[0] && member->name_off != name[1])
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
		ret = find_member(btf, inner, name, nested + 1, steps, found);
		if (ret == -ENOENT)
			continue;
		if (!ret && check_add_overflow(found->bits, bits, &found->bits))
			return -EINVAL;
		return ret;
	}
	return -ENOENT;
}

/* The offsets of a name, for find_member(). */
static void name_offsets(const struct gpumon_btf *btf, const char *text, size_t length, u32 offset[2])
{
	const u32 name = gpumon_btf_name_find(btf->names, text, length, false);
	const bool known = name < btf->names->count;

	offset[0] = known && btf->base ? btf->base->name_at[name] : 0;
	offset[1] = known ? btf->name_at[name] : 0;
}

/* The smallest naturally aligned word that holds all of a bitfield. */
static int place_bits(u64 bits, u32 bit_size, u32 whole, struct gpumon_btf_place *place)
{
	u32 size, word, bit;

#ifdef __BIG_ENDIAN
	return -EOPNOTSUPP;
#endif
	for (size = 1; size <= sizeof(u64); size *= 2) {
		word = 8 * size;
		bit = bits & (word - 1);
		if (bit + bit_size > word)
			continue;
		place->offset = (bits - bit) / 8;
		place->size = size;
		place->bit_offset = bit;
		place->bit_size = bit_size;
		return place->offset + size <= whole ? 0 : -EOPNOTSUPP;
	}
	return -EOPNOTSUPP;
}

/*
 * Finds where a member of a struct, union or typedef of one lies. @path: names with dots between
 * them. -ENOENT without such a member, -EOPNOTSUPP if it can be found but not read, -EINVAL if the
 * BTF is odd.
 */
int gpumon_btf_member(struct gpumon_btf *btf, u32 id, const char *path,
		      struct gpumon_btf_place *place)
{
	const struct btf_type *type = type_behind(btf, id);
	struct found_member found = {};
	u32 whole, name[2], steps = 0;
	size_t length;
	u64 bits = 0;
	s64 size;
	int ret;

	if (IS_ERR_OR_NULL(type))
		return type_error(type);
	if (!is_aggregate(type))
		return -ENOENT;
	whole = type->size;
	for (;;) {
		length = strcspn(path, ".");
		name_offsets(btf, path, length, name);
		ret = find_member(btf, type, name, 0, &steps, &found);
		if (ret)
			return ret;
		bits += found.bits;
		if (!path[length])
			break;
		path += length + 1;
		type = type_behind(btf, found.type);
		if (IS_ERR_OR_NULL(type))
			return type_error(type);
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
	/* Such integers are the old encoding of bitfields. */
	type = type_behind(btf, found.type);
	if (IS_ERR_OR_NULL(type))
		return type_error(type);
	if (bits % 8 || (INFO_KIND(type->info) == BTF_KIND_INT &&
			 BTF_INT_BITS(*(const u32 *)(type + 1)) != 8 * type->size))
		return -EOPNOTSUPP;
	place->offset = bits / 8;
	place->size = size;
	return place->offset + size <= whole ? 0 : -EINVAL;
}

/* Writes one token of a prototype. Returns the length as snprintf() does, or a negative error. */
static int prototype_token(struct gpumon_btf *btf, u32 id, char *to, size_t size)
{
	const struct btf_type *type = type_behind(btf, id);
	char name[GPUMON_BTF_PROTOTYPE_LEN];
	u32 encoding;
	bool pointer;
	int ret;

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
	ret = name_read(btf, type->name_off, name, sizeof(name));
	if (ret)
		return ret;
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
 * Writes the prototype of a function, or of a typedef of a pointer to one; of a tracepoint without
 * the first argument, its data. -EOPNOTSUPP if it has no canonical form, -EINVAL if the BTF is odd.
 */
int gpumon_btf_function(struct gpumon_btf *btf, u32 id, bool tracepoint,
			struct gpumon_btf_prototype *prototype)
{
	const struct btf_type *type = type_behind(btf, id);
	const struct btf_param *param;
	size_t at = 0, room;
	u32 i, count;
	int length;

	if (IS_ERR_OR_NULL(type))
		return type_error(type);
	/*
	 * A tracepoint's typedef is of a pointer to the prototype, a function refers to the
	 * prototype itself.
	 */
	if (INFO_KIND(type->info) != (tracepoint ? BTF_KIND_PTR : BTF_KIND_FUNC))
		return -EINVAL;
	type = type_behind(btf, type->type);
	if (IS_ERR_OR_NULL(type))
		return type_error(type);
	if (INFO_KIND(type->info) != BTF_KIND_FUNC_PROTO)
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
		/* A last argument of type 0 stands for "...". */
		if (!param[i].type)
			length = snprintf(prototype->arguments + at, room, "...");
		else
			length = prototype_token(btf, param[i].type, prototype->arguments + at, room);
		if (length < 0)
			return length;
		at += length;
		/* Leaves room for a space and a NUL. */
		if (at + 2 > sizeof(prototype->arguments))
			return -EOPNOTSUPP;
	}
	length = prototype_token(btf, type->type, prototype->returns, sizeof(prototype->returns));
	if (length < 0)
		return length;
	return length < sizeof(prototype->returns) ? 0 : -EOPNOTSUPP;
}
