// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Fuzzes the module's BTF reader, kmod/btf/btf.c and parse.c, with shim/ in place of the kernel.
 * The first byte says what follows: the bytes of the kernel's and a module's file, or orders to
 * build such files with libbpf. In the files built by libbpf, each member must be found where
 * libbpf finds it.
 */
#include "shim/nofault.h"

#include <bpf/btf.h>

#include "btf/btf.h"
#include "btf/read_file.h"
#include "core/field.h"
#include "fuzz.h"

#define FIELDS	  6
#define NAMES	  10
#define TYPES_MAX 60
#define DEPTH_MAX 6

static struct gpumon_field fields[FIELDS];
static struct gpumon_btf_wanted wanted_prototypes[FIELDS];

static const char module_name[] = "mod";

static const uint8_t *file_data[2];
static size_t file_size[2];

/* Replaces kmod/btf/read_file.c: of each of the two files there is one, in a block of its exact size. */
struct file {
	uint8_t *data;
	size_t size;
};

struct file *gpumon_file_open(const char *path)
{
	unsigned int which = strcmp(path, "/sys/kernel/btf/vmlinux") ? 1 : 0;
	struct file *file;

	if (!file_data[which])
		return ERR_PTR(-ENOENT);
	file = malloc(sizeof(*file));
	MUST(file);
	file->size = file_size[which];
	file->data = malloc(file->size ? file->size : 1);
	MUST(file->data);
	memcpy(file->data, file_data[which], file->size);
	return file;
}

size_t gpumon_file_size(const struct file *file)
{
	return file->size;
}

ssize_t gpumon_file_read(struct file *file, void *to, size_t size, loff_t at)
{
	MUST(at >= 0);
	if ((size_t)at >= file->size)
		return 0;
	if (size > file->size - (size_t)at)
		size = file->size - (size_t)at;
	memcpy(to, file->data + at, size);
	return (ssize_t)size;
}

void gpumon_file_close(struct file *file)
{
	if (file)
		free(file->data);
	free(file);
}

static bool ends(const char *text, size_t room)
{
	return strnlen(text, room) < room;
}

static void resolve_module(const char *module)
{
	struct gpumon_btf_module read;
	char reason[192];

	gpumon_btf_read(module, &read);
	for (unsigned int i = 0; i < FIELDS; i++) {
		if (fields[i].module != module)
			continue;
		MUST(gpumon_btf_check_prototype(&read, &wanted_prototypes[i], reason,
						sizeof(reason)) <= 0);
		MUST(ends(reason, sizeof(reason)));
		gpumon_btf_resolve_field(&read, &fields[i]);
		MUST(ends(fields[i].reason, sizeof(fields[i].reason)));
		/* A known field lies within its type. */
		MUST(fields[i].offset < 0 ? fields[i].reason[0] : !fields[i].reason[0]);
		MUST(fields[i].offset < 0 || !fields[i].bit_size ||
		     fields[i].bit_offset + fields[i].bit_size <= 8 * fields[i].found_size);
	}
	gpumon_btf_release(&read);
}

/* Everything that the module does with them from load to unload. */
static void resolve(void)
{
	resolve_module(NULL);
	resolve_module(module_name);
	gpumon_btf_done();
	/* The module comes again. */
	resolve_module(module_name);
	gpumon_btf_done();
	gpumon_btf_stop();
	for (unsigned int i = 0; i < FIELDS; i++) {
		gpumon_btf_forget_field(&fields[i]);
		MUST(fields[i].offset < 0 && ends(fields[i].reason, sizeof(fields[i].reason)));
	}
}

/* A name as a whole, and as a path to a member. */
static void want_path(const char *path)
{
	size_t length = strlen(path);

	MUST(!gpumon_btf_want(path, length, false) && !gpumon_btf_want(path, length, true));
	for (length = strcspn(path, "."); path[length]; length = strcspn(path, ".")) {
		MUST(!gpumon_btf_want(path, length, false));
		path += length + 1;
	}
	MUST(!gpumon_btf_want(path, length, false));
}

static void ask_for(char **names, uint8_t how)
{
	memset(fields, 0, sizeof(fields));
	memset(wanted_prototypes, 0, sizeof(wanted_prototypes));
	for (unsigned int i = 0; i < NAMES; i++)
		want_path(names[i]);
	for (unsigned int i = 0; i < FIELDS; i++) {
		fields[i].module = i % 2 ? module_name : NULL;
		fields[i].type = names[i];
		fields[i].member = names[(i + how) % NAMES];
		fields[i].size = i == 5 ? how % 9 : 0;
		wanted_prototypes[i].in_module = i % 2;
		wanted_prototypes[i].name = names[i];
		wanted_prototypes[i].tracepoint = i % 3 == 0;
		wanted_prototypes[i].arguments = i % 2 ? "*file u32 | *char u64 ..." : "u32 u32";
		wanted_prototypes[i].returns = i == 4 ? "void|i32" : NULL;
	}
}

/* --- against libbpf */

static bool is_struct(const struct btf_type *type)
{
	return btf_is_struct(type) || btf_is_union(type);
}

static const struct btf_type *skip(const struct btf *btf, __u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

static struct gpumon_btf *ours_of(struct gpumon_btf *ours, __u32 id)
{
	return ours->base && id < ours->first_id ? ours->base : ours;
}

struct wanted {
	const struct btf *btf;
	struct gpumon_btf *ours;
	__u32 id; /* of the requested type */
	char path[1024];
	const char *names[64]; /* names already seen: the first of each counts */
	unsigned int n_names;
	bool too_deep; /* there may be unseen names below this */
};

/* Whether the smallest aligned word with all of a bitfield lies in a struct of so many bytes. */
static bool has_word(uint64_t bits, __u32 bit_size, __u32 size)
{
	for (unsigned int word = 1; word <= 8; word *= 2) {
		if (bits % (8 * word) + bit_size <= 8 * word)
			return bits / (8 * word) * word + word <= size;
	}
	return false;
}

static void compare(struct wanted *wanted, __u32 type, uint64_t bits, __u32 bit_size)
{
	const struct btf_type *whole = skip(wanted->btf, wanted->id);
	struct gpumon_btf_place place;
	__s64 size = btf__resolve_size(wanted->btf, type);
	int ret = gpumon_btf_member(wanted->ours, wanted->id, wanted->path, &place);

	if (size < 0 || size > INT32_MAX)
		return;
	if (bit_size) {
		MUST(ret == -EINVAL || !ret == has_word(bits, bit_size, whole->size));
		MUST(ret || (place.bit_size == bit_size && place.bit_offset < 64 &&
			     8ull * place.offset + place.bit_offset == bits &&
			     place.offset + place.size <= whole->size));
		return;
	}
	if (bits % 8 || bits / 8 + (uint64_t)size > whole->size) {
		MUST(ret);
		return;
	}
	if (ret == -EOPNOTSUPP || ret == -EINVAL)
		return; /* old-style bitfields, or nested too deeply */
	MUST(!ret && place.offset == bits / 8 && place.size == size && !place.bit_size);
}

static void walk(struct wanted *wanted, const struct btf_type *type, uint64_t bits,
		 unsigned int depth)
{
	const struct btf_member *members = btf_members(type);

	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(wanted->btf, members[i].name_off);
		uint64_t at = bits + btf_member_bit_offset(type, i);
		const struct btf_type *inner = skip(wanted->btf, members[i].type);
		bool seen = false;

		if (wanted->too_deep)
			return;
		if (!*name) {
			if (!inner || !is_struct(inner))
				continue;
			if (depth < DEPTH_MAX)
				walk(wanted, inner, at, depth + 1);
			else
				wanted->too_deep = true;
			continue;
		}
		for (unsigned int k = 0; k < wanted->n_names; k++)
			seen |= !strcmp(wanted->names[k], name);
		if (seen || wanted->n_names == 64 || strchr(name, '.'))
			continue;
		wanted->names[wanted->n_names++] = name;
		snprintf(wanted->path, sizeof(wanted->path), "%s", name);
		compare(wanted, members[i].type, at, btf_member_bitfield_size(type, i));
	}
}

static void compare_all(const struct btf *btf, struct gpumon_btf *ours)
{
	struct wanted wanted = { .btf = btf, .ours = ours };

	MUST(btf__type_cnt(btf) == ours->first_id + ours->count);
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);
		struct gpumon_btf *in = ours_of(ours, id);
		u32 found = 0;

		if (!is_struct(type))
			continue;
		wanted.id = id;
		wanted.n_names = 0;
		wanted.too_deep = false;
		walk(&wanted, type, 0, 0);
		/* It is found by name as well, perhaps after others of that name. */
		while (*name && (found = gpumon_btf_find(in, name, false,
							 BIT(BTF_KIND_STRUCT) | BIT(BTF_KIND_UNION),
							 found)) != id)
			MUST(found);
	}
}

static void build_types(struct btf *btf, struct fuzz_input *input, char **names, __u32 first)
{
	for (unsigned int n = 0; n < TYPES_MAX && input->size; n++) {
		__u32 known = btf__type_cnt(btf), of = first + fuzz_u8(input) % (known + 2 - first);
		const char *name = names[fuzz_u8(input) % NAMES];
		uint8_t order = fuzz_u8(input), count = fuzz_u8(input) % 8;

		/* Sometimes a type of the base file, or one that follows later. */
		if (order & 0x80)
			of = 1 + order % (known + 1);
		switch (order % 12) {
		case 0:
			btf__add_int(btf, name, 1u << count % 5, order & 0x40 ? BTF_INT_SIGNED : 0);
			break;
		case 1:
			btf__add_ptr(btf, (int)of);
			break;
		case 2:
			btf__add_array(btf, (int)of, (int)of, fuzz_u16(input) >> count);
			break;
		case 3:
			btf__add_typedef(btf, name, (int)of);
			break;
		case 4:
			btf__add_const(btf, (int)of);
			break;
		case 5:
			btf__add_enum(btf, name, 4);
			btf__add_enum_value(btf, name, count);
			break;
		case 6:
			btf__add_func_proto(btf, (int)of);
			for (; count; count--)
				btf__add_func_param(btf, name, (int)(fuzz_u8(input) % known));
			break;
		case 7:
			btf__add_func(btf, name, BTF_FUNC_STATIC, (int)of);
			break;
		case 8:
			btf__add_fwd(btf, name, BTF_FWD_STRUCT);
			break;
		default:
			if (order % 12 == 9)
				btf__add_union(btf, name, fuzz_u16(input));
			else
				btf__add_struct(btf, name, fuzz_u16(input));
			for (; count; count--) {
				uint8_t which = fuzz_u8(input);

				btf__add_field(btf, which & 0x80 ? "" : names[which % NAMES],
					       (int)(1 + fuzz_u8(input) % (known + 1)),
					       order % 12 == 9 ? 0 : fuzz_u16(input),
					       order & 0x20 ? which % 33 : 0);
			}
		}
	}
}

/* Only our reader gets cyclic types: libbpf may loop for ever. */
static bool leads_on(const struct btf *btf)
{
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		if ((btf_is_mod(type) || btf_is_typedef(type)) && type->type >= id)
			return true;
		if (btf_is_array(type) && btf_array(type)->type >= id)
			return true;
		if (!is_struct(type))
			continue;
		for (unsigned int i = 0; i < btf_vlen(type); i++)
			if (btf_members(type)[i].type >= id)
				return true;
	}
	return false;
}

static struct gpumon_btf_names asked;

static void parse(struct gpumon_btf *ours, struct gpumon_btf *base, unsigned int which)
{
	const char *wrong;
	struct file *file =
		gpumon_file_open(which ? "/sys/kernel/btf/mod" : "/sys/kernel/btf/vmlinux");

	MUST(!gpumon_btf_parse(ours, base, &asked, file, &wrong) && !wrong);
}

static void done(struct gpumon_btf *ours)
{
	gpumon_file_close(ours->file);
	gpumon_btf_free(ours);
}

static void build(struct fuzz_input *input, char **names)
{
	struct btf *btf = btf__new_empty(), *split;
	struct gpumon_btf ours, ours_split;
	__u32 size;

	MUST(btf);
	build_types(btf, input, names, 1);
	split = btf__new_empty_split(btf);
	MUST(split);
	build_types(split, input, names, btf__type_cnt(btf));
	file_data[0] = btf__raw_data(btf, &size);
	file_size[0] = size;
	file_data[1] = btf__raw_data(split, &size);
	file_size[1] = size;
	MUST(file_data[0] && file_data[1]);
	resolve();
	if (!leads_on(split)) {
		for (unsigned int i = 0; i < NAMES; i++)
			MUST(!gpumon_btf_name_add(&asked, names[i], strlen(names[i]), false));
		parse(&ours, NULL, 0);
		compare_all(btf, &ours);
		parse(&ours_split, &ours, 1);
		compare_all(split, &ours_split);
		done(&ours_split);
		done(&ours);
		gpumon_btf_names_free(&asked);
	}
	btf__free(split);
	btf__free(btf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t kind = fuzz_u8(&input), how = fuzz_u8(&input);
	uint8_t *bytes[2];
	char *names[NAMES];

	/* Names of the kernel, so that bytes of a real file are searched for its contents. */
	for (unsigned int i = 0; i < NAMES; i++) {
		static const char *const real[] = { "file", "inner", "a.b", "value", "val" };

		names[i] = i < 5 ? strdup(real[i]) : fuzz_text(&input);
		if (strlen(names[i]) >= GPUMON_BTF_NAME_LEN)
			names[i][GPUMON_BTF_NAME_LEN - 1] = '\0';
	}
	ask_for(names, how);
	if (kind & 1) {
		build(&input, names);
	} else {
		bytes[0] = fuzz_bytes(&input, fuzz_u16(&input), &file_size[0]);
		bytes[1] = fuzz_bytes(&input, SIZE_MAX, &file_size[1]);
		file_data[0] = kind & 2 ? NULL : bytes[0];
		file_data[1] = kind & 4 ? NULL : bytes[1];
		resolve();
		free(bytes[0]);
		free(bytes[1]);
	}
	for (unsigned int i = 0; i < NAMES; i++)
		free(names[i]);
	return 0;
}
