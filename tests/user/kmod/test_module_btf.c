// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The module's BTF reader, kmod/btf/parse.c, with tests/fuzz/shim in place of the kernel. */
#include "shim/nofault.h"

#include <bpf/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "btf/parse.h"

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

static void parse(struct gpumon_btf *read, const struct btf *btf)
{
	const char *wrong;
	size_t size;
	void *file = file_of(btf, &size);

	assert_int_equal(gpumon_btf_parse(read, NULL, file, size, &wrong), 0);
	assert_null(wrong);
}

static void assert_at(const struct gpumon_btf *read, u32 id, const char *path, u32 offset, u32 size)
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
	gpumon_btf_free(&read);
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
	gpumon_btf_free(&read);
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
	gpumon_btf_free(&read);
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
	ret = gpumon_btf_parse(&read, NULL, changed, size, &wrong);
	assert_int_equal(!ret, !wrong);
	gpumon_btf_free(&read);
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
		cmocka_unit_test(sections_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
