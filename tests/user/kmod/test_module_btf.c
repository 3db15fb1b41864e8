// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The module's BTF reader, kmod/btf/parse.c, with tests/fuzz/shim in place of the kernel. */
#include "shim/nofault.h"

#include <bpf/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "btf/parse.h"
#include "btf/read_file.h"

/* Replaces kmod/btf/read_file.c. */
struct file {
	void *data;
	size_t size;
	size_t read;
};

size_t gpumon_file_size(const struct file *file)
{
	return file->size;
}

ssize_t gpumon_file_read(struct file *file, void *to, size_t size, loff_t at)
{
	size_t from = (size_t)at < file->size ? (size_t)at : file->size;

	if (size > file->size - from)
		size = file->size - from;
	memcpy(to, (char *)file->data + from, size);
	file->read += size;
	return (ssize_t)size;
}

/* What is asked for in these tests. */
static struct gpumon_btf_names names;
static struct file files[2];

static int add_names(void **state)
{
	static const char *const plain[] = { "id",	  "ident", "i",		  "identity", "ide",
					     "identityx", "inner", "inner_first", "inne",     "low",
					     "high",	  "flags", "three",	  "more",     "far",
					     "near",	  "outer", "function" };

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_int_equal(gpumon_btf_name_add(&names, plain[i], strlen(plain[i]), false), 0);
	assert_int_equal(gpumon_btf_name_add(&names, "event", 5, true), 0);
	return 0;
}

static int free_names(void **state)
{
	(void)state;
	gpumon_btf_names_free(&names);
	return 0;
}

/* A file built by libbpf, in a block of its exact size, so that ASan detects reads beyond it. */
static void *file_of(const struct btf *btf, size_t *size)
{
	__u32 length;
	const void *raw = btf__raw_data(btf, &length);
	void *copy = malloc(length);

	assert_non_null(raw);
	memcpy(copy, raw, length);
	*size = length;
	return copy;
}

static void parse_on(struct gpumon_btf *read, struct gpumon_btf *base, const struct btf *btf)
{
	struct file *file = &files[base != NULL];
	const char *wrong;

	file->data = file_of(btf, &file->size);
	assert_int_equal(gpumon_btf_parse(read, base, &names, file, &wrong), 0);
	assert_null(wrong);
}

static void parse(struct gpumon_btf *read, const struct btf *btf)
{
	parse_on(read, NULL, btf);
}

static void done(struct gpumon_btf *read)
{
	free(read->file->data);
	gpumon_btf_free(read);
}

static void assert_at(struct gpumon_btf *read, u32 id, const char *path, u32 offset, u32 size)
{
	struct gpumon_btf_place place;

	assert_int_equal(gpumon_btf_member(read, id, path, &place), 0);
	assert_int_equal(place.offset, offset);
	assert_int_equal(place.size, size);
	assert_int_equal(place.bit_size, 0);
}

/* In any order. */
static void names_that_begin_like_others(void **state)
{
	static const char *const names[] = { "id", "ident", "i", "identity" };
	struct btf *btf = btf__new_empty();
	int word = btf__add_int(btf, "unsigned int", 4, 0);
	struct gpumon_btf_place place;
	struct gpumon_btf read;
	int structs[4], outer;

	(void)state;
	for (int first = 0; first < 4; first++) {
		structs[first] = btf__add_struct(btf, "inner", 16);
		for (int i = 0; i < 4; i++)
			btf__add_field(btf, names[(first + i) % 4], word, 32 * i, 0);
	}
	outer = btf__add_struct(btf, "outer", 40);
	btf__add_field(btf, "inner_first", structs[1], 8 * 8, 0);
	btf__add_field(btf, "inner", structs[2], 24 * 8, 0);
	parse(&read, btf);
	for (int first = 0; first < 4; first++) {
		for (int i = 0; i < 4; i++)
			assert_at(&read, structs[first], names[(first + i) % 4], 4 * i, 4);
		assert_int_equal(gpumon_btf_member(&read, structs[first], "ide", &place), -ENOENT);
		assert_int_equal(gpumon_btf_member(&read, structs[first], "identityx", &place),
				 -ENOENT);
	}
	assert_at(&read, outer, "inner.i", 24, 4);
	assert_at(&read, outer, "inner_first.id", 8 + 12, 4);
	assert_int_equal(gpumon_btf_member(&read, outer, "inne.i", &place), -ENOENT);
	done(&read);
	btf__free(btf);
}

static void members_of_anonymous_ones(void **state)
{
	struct btf *btf = btf__new_empty();
	int word = btf__add_int(btf, "unsigned int", 4, 0);
	int inner, both, outer, array;
	struct gpumon_btf_place place;
	struct gpumon_btf read;

	(void)state;
	inner = btf__add_struct(btf, NULL, 8);
	btf__add_field(btf, "low", word, 0, 0);
	btf__add_field(btf, "high", word, 32, 0);
	both = btf__add_union(btf, NULL, 8);
	btf__add_field(btf, NULL, inner, 0, 0);
	btf__add_field(btf, "flags", word, 0, 0);
	array = btf__add_array(btf, word, inner, 3);
	outer = btf__add_struct(btf, "outer", 32);
	btf__add_field(btf, "head", word, 0, 0);
	btf__add_field(btf, "bits", word, 32, 5);
	btf__add_field(btf, "more", word, 37, 11);
	btf__add_field(btf, NULL, both, 64, 0);
	btf__add_field(btf, "three", array, 128, 0);
	parse(&read, btf);
	assert_at(&read, outer, "high", 12, 4);
	assert_at(&read, outer, "low", 8, 4);
	assert_at(&read, outer, "flags", 8, 4);
	assert_int_equal(gpumon_btf_member(&read, outer, "three", &place), -EINVAL);
	assert_int_equal(gpumon_btf_member(&read, outer, "more", &place), 0);
	assert_int_equal(place.offset, 4);
	assert_int_equal(place.size, 2);
	assert_int_equal(place.bit_offset, 5);
	assert_int_equal(place.bit_size, 11);
	done(&read);
	btf__free(btf);
}

static void prototypes(void **state)
{
	struct btf *btf = btf__new_empty();
	int i32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int u32_ = btf__add_int(btf, "unsigned int", 4, 0);
	int i64 = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	int u8_ = btf__add_int(btf, "unsigned char", 1, 0);
	int flag = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	int character = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	int text = btf__add_ptr(btf, btf__add_const(btf, character));
	int words = btf__add_ptr(btf, u32_);
	int file = btf__add_struct(btf, "file", 8);
	int files = btf__add_ptr(btf, file);
	int any = btf__add_ptr(btf, 0);
	int kind = btf__add_enum(btf, "kind", 4);
	const int arguments[] = { i32, u32_, i64, u8_, flag, text, words, files, any, kind };
	struct gpumon_btf_prototype prototype;
	struct gpumon_btf read;
	int proto, function, nothing, pointer;

	(void)state;
	btf__add_enum_value(btf, "one", 1);
	proto = btf__add_func_proto(btf, i64);
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		btf__add_func_param(btf, "a", arguments[i]);
	btf__add_func_param(btf, "", 0);
	function = btf__add_func(btf, "function", BTF_FUNC_STATIC, proto);
	pointer = btf__add_typedef(btf, "btf_trace_event", btf__add_ptr(btf, proto));
	nothing = btf__add_func(btf, "nothing", BTF_FUNC_STATIC, btf__add_func_proto(btf, 0));
	parse(&read, btf);
	assert_int_equal(gpumon_btf_function(&read, function, false, &prototype), 0);
	assert_string_equal(prototype.arguments, "i32 u32 i64 u8 bool *char * *file * u32 ...");
	assert_string_equal(prototype.returns, "i64");
	/* The first argument of a tracepoint is that of its probe. */
	assert_int_equal(gpumon_btf_function(&read, pointer, true, &prototype), 0);
	assert_string_equal(prototype.arguments, "u32 i64 u8 bool *char * *file * u32 ...");
	assert_int_equal(gpumon_btf_function(&read, nothing, false, &prototype), 0);
	assert_string_equal(prototype.arguments, "");
	assert_string_equal(prototype.returns, "void");
	assert_int_equal(gpumon_btf_function(&read, pointer, false, &prototype), -EINVAL);
	assert_int_equal(gpumon_btf_function(&read, function, true, &prototype), -EINVAL);
	done(&read);
	btf__free(btf);
}

/*
 * A module's types on those of the kernel, of which there are many: they are found by name, by number
 * and by what leads to them, and little of the kernel's file is read for it.
 */
static void types_of_two_files(void **state)
{
	struct btf *btf = btf__new_empty(), *split;
	struct gpumon_btf kernel, module;
	struct gpumon_btf_prototype prototype;
	int word, last = 0, inner, outer, function, event, any, pointer;
	char name[8192];
	size_t before;
	u32 found;

	(void)state;
	word = btf__add_int(btf, "unsigned int", 4, 0);
	inner = btf__add_struct(btf, "inner", 16);
	btf__add_field(btf, "low", word, 64, 0);
	for (int i = 0; i < 8000; i++) {
		snprintf(name, sizeof(name), "another_%d", i);
		last = btf__add_struct(btf, name, 8);
		btf__add_field(btf, name, word, 0, 0);
	}
	/* Longer than what is read at once, and it ends with a name that is asked for. */
	memset(name, 'y', sizeof(name));
	strcpy(name + 4096, "low");
	btf__add_struct(btf, name, 4);
	btf__add_typedef(btf, "near", inner);
	last = btf__add_struct(btf, "far", 24);
	btf__add_field(btf, "three", inner, 64, 0);
	any = btf__add_ptr(btf, 0);
	pointer = btf__add_ptr(btf, last);
	event = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "data", any);
	btf__add_func_param(btf, "of", pointer);
	btf__add_typedef(btf, "btf_trace_event", btf__add_ptr(btf, event));

	split = btf__new_empty_split(btf);
	outer = btf__add_struct(split, "outer", 64);
	btf__add_field(split, "more", last, 256, 0);
	btf__add_field(split, "high", word, 32, 0);
	function = btf__add_func_proto(split, word);
	btf__add_func_param(split, "one", pointer);
	function = btf__add_func(split, "function", BTF_FUNC_STATIC, function);

	parse(&kernel, btf);
	parse_on(&module, &kernel, split);
	before = files[0].read;
	assert_int_equal(gpumon_btf_find(&module, "outer", false, BIT(BTF_KIND_STRUCT), 0), outer);
	assert_int_equal(gpumon_btf_find(&kernel, "outer", false, BIT(BTF_KIND_STRUCT), 0), 0);
	assert_int_equal(gpumon_btf_find(&kernel, "far", false, BIT(BTF_KIND_STRUCT), 0), last);
	assert_int_equal(gpumon_btf_find(&kernel, "far", false, BIT(BTF_KIND_UNION), 0), 0);
	assert_int_equal(gpumon_btf_find(&kernel, "near", false, BIT(BTF_KIND_TYPEDEF), 0),
			 last - 1);
	assert_at(&module, (u32)outer, "more.three.low", 32 + 8 + 8, 4);
	assert_at(&module, (u32)outer, "high", 4, 4);
	assert_at(&module, (u32)last - 1, "low", 8, 4);
	assert_int_equal(gpumon_btf_function(&module, (u32)function, false, &prototype), 0);
	assert_string_equal(prototype.arguments, "*far");
	assert_string_equal(prototype.returns, "u32");
	/* Known as a tracepoint, and not as a type of that name. */
	assert_int_equal(gpumon_btf_find(&kernel, "event", false, ~0UL, 0), 0);
	found = gpumon_btf_find(&kernel, "event", true, BIT(BTF_KIND_TYPEDEF), 0);
	assert_int_not_equal(found, 0);
	assert_int_equal(gpumon_btf_function(&module, found, true, &prototype), 0);
	assert_string_equal(prototype.arguments, "*far");
	assert_true(files[0].size > 200000);
	assert_true(files[0].read - before < 100000);
	/* Between look-ups nothing of it is there but what finds it again. */
	gpumon_btf_forget_copies(&kernel);
	assert_true(gpumon_btf_bytes(&kernel) < 4096);
	assert_at(&module, (u32)outer, "more.three.low", 48, 4);
	done(&module);
	done(&kernel);
	btf__free(split);
	btf__free(btf);
}

/* The header of newer files, with a section of layouts. */
struct header {
	u16 magic;
	u8 version;
	u8 flags;
	u32 header_bytes;
	u32 section[6]; /* offset and length of types, strings, layouts */
};

/* Is a file with this header accepted? */
static bool taken_with(const void *file, size_t size, const struct header *header)
{
	void *changed = malloc(size);
	struct gpumon_btf read;
	const char *wrong;
	int ret;

	memcpy(changed, file, size);
	memcpy(changed, header, header->header_bytes);
	files[0] = (struct file){ .data = changed, .size = size };
	ret = gpumon_btf_parse(&read, NULL, &names, &files[0], &wrong);
	assert_int_equal(!ret, !wrong);
	done(&read);
	return !ret;
}

/* Each may extend to the end of the file, but not a byte or a word beyond it. */
static void sections_at_the_end(void **state)
{
	struct btf *btf = btf__new_empty();
	struct header header;
	size_t size, longer;
	char *file, *with_layouts;
	u32 room;

	(void)state;
	btf__add_int(btf, "unsigned int", 4, 0);
	btf__add_struct(btf, "nothing", 0);
	file = file_of(btf, &size);
	memcpy(&header, file, 24);
	assert_int_equal(header.header_bytes, 24);
	room = (u32)size - 24;
	assert_int_equal(header.section[2] + header.section[3], room);
	assert_true(taken_with(file, size, &header));
	header.section[3]++;
	assert_false(taken_with(file, size, &header));
	/* Without its last NUL. */
	header.section[3] -= 2;
	assert_false(taken_with(file, size, &header));
	header.section[3]++;
	header.section[2] += room;
	assert_false(taken_with(file, size, &header));
	header.section[2] = 0xffffffff;
	assert_false(taken_with(file, size, &header));
	memcpy(&header, file, 24);
	header.section[1] = room + 4;
	assert_false(taken_with(file, size, &header));
	header.section[0] = 0xfffffffc;
	header.section[1] = 8;
	assert_false(taken_with(file, size, &header));
	header.section[0] = room;
	header.section[1] = 4;
	assert_false(taken_with(file, size, &header));

	/* With layouts after the strings. */
	longer = 32 + ((room + 3) & ~3u) + 8;
	with_layouts = calloc(1, longer);
	memcpy(&header, file, 24);
	memcpy(with_layouts + 32, file + 24, room);
	header.header_bytes = 32;
	header.section[4] = (room + 3) & ~3u;
	header.section[5] = 8;
	assert_true(taken_with(with_layouts, longer, &header));
	header.section[5] = 12;
	assert_false(taken_with(with_layouts, longer, &header));
	header.section[5] = 4;
	header.section[4]++;
	assert_false(taken_with(with_layouts, longer, &header));
	free(with_layouts);
	free(file);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_begin_like_others),
		cmocka_unit_test(members_of_anonymous_ones),
		cmocka_unit_test(prototypes),
		cmocka_unit_test(types_of_two_files),
		cmocka_unit_test(sections_at_the_end),
	};

	return cmocka_run_group_tests(tests, add_names, free_names);
}
