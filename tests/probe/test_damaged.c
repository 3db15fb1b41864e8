// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* An object of clang's with something changed in it: each is refused, with its reason. */
#include "common.h"

#include <elf.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "insn.h"
#include "load.h"
#include "object_file.h"
#include "gpuprog/object/flatten.h"
#include "gpuprog/object/elf.h"

#define PROGRAM "kretprobe/_Z9vectorAddPKfS0_Pf"

static Elf64_Rel *relocation_of(const struct object_file *object, const char *symbol)
{
	const Elf64_Shdr *table = object_section(object, ".rel" PROGRAM);
	Elf64_Rel *relocations = object_data(object, ".rel" PROGRAM);
	size_t index = (size_t)(object_symbol(object, symbol) -
				(Elf64_Sym *)object_data(object, ".symtab"));

	for (size_t i = 0; i < table->sh_size / sizeof(*relocations); i++) {
		if (ELF64_R_SYM(relocations[i].r_info) == index)
			return &relocations[i];
	}
	fail_msg("there is no relocation of %s", symbol);
	return NULL;
}

/* The instruction that a relocation of this symbol is about. */
static struct bpf_insn *insn_of(const struct object_file *object, const char *symbol)
{
	return (struct bpf_insn *)((uint8_t *)object_data(object, PROGRAM) +
				   relocation_of(object, symbol)->r_offset);
}

/* --- files that are something else */

static void make_empty(struct object_file *object)
{
	object->size = 0;
}

static void make_text(struct object_file *object)
{
	memset(object->bytes, 'x', object->size);
}

static void make_header_only(struct object_file *object)
{
	object->size = sizeof(Elf64_Ehdr) - 1;
}

static void make_archive(struct object_file *object)
{
	memcpy(object->bytes, "!<arch>\n", 8);
}

static void make_x86(struct object_file *object)
{
	object_header(object)->e_machine = EM_X86_64;
}

static void make_linked(struct object_file *object)
{
	object_header(object)->e_type = ET_DYN;
}

static void make_large(struct object_file *object)
{
	object->size = GPUMON_GPUPROG_MAX_OBJECT + 1;
	object->bytes = realloc(object->bytes, object->size);
	assert_non_null(object->bytes);
}

/* --- tables */

static void cut_at_half(struct object_file *object)
{
	object->size /= 2;
}

static void cut_code(struct object_file *object)
{
	object_section(object, PROGRAM)->sh_offset = object->size - 8;
}

static void lose_names(struct object_file *object)
{
	object_header(object)->e_shstrndx = 0xff00 - 1;
}

static void lose_name(struct object_file *object)
{
	object_section(object, PROGRAM)->sh_name = 0x7fffffff;
}

static void lose_symbol_name(struct object_file *object)
{
	object_symbol(object, "cuda__exit")->st_name = 0x7fffffff;
}

static void change_symbol_size(struct object_file *object)
{
	object_section(object, ".symtab")->sh_entsize = 16;
}

static void double_symbols(struct object_file *object)
{
	*object_section(object, "license") = *object_section(object, ".symtab");
}

static void double_relocations(struct object_file *object)
{
	/* That of another section, for this one. */
	object_section(object, ".relkprobe/__memcapture")->sh_info =
		object_section(object, ".rel" PROGRAM)->sh_info;
}

static void lose_relocated(struct object_file *object)
{
	object_section(object, ".rel" PROGRAM)->sh_info = 0x7fffffff;
}

static void make_tables_large(struct object_file *object)
{
	object_section(object, ".rel" PROGRAM)->sh_size = 1ull << 60;
}

/* --- functions */

static void make_function_empty(struct object_file *object)
{
	object_symbol(object, "cuda__exit")->st_size = 0;
}

static void make_function_long(struct object_file *object)
{
	object_symbol(object, "cuda__exit")->st_size = 1ull << 40;
}

static void make_function_odd(struct object_file *object)
{
	object_symbol(object, "cuda__exit")->st_value += 4;
}

static void move_function(struct object_file *object)
{
	object_symbol(object, "cuda__exit")->st_value = ~0ull - 7;
}

static void name_function_oddly(struct object_file *object)
{
	char *names = object_data(object, ".strtab");

	names[object_symbol(object, "cuda__exit")->st_name + 4] = '\n';
}

static void name_section_oddly(struct object_file *object)
{
	const Elf64_Shdr *names = object_section_at(object, object_header(object)->e_shstrndx);
	char *name =
		(char *)object->bytes + names->sh_offset + object_section(object, PROGRAM)->sh_name;

	/* Its relocations' name may be the same text. */
	name[strlen(name) - 1] = '\x1b';
}

/* --- relocations */

static void relocate_no_symbol(struct object_file *object)
{
	relocation_of(object, "spent")->r_info = ELF64_R_INFO(0xffffffff, 1);
}

static void relocate_in_another_way(struct object_file *object)
{
	Elf64_Rel *relocation = relocation_of(object, "spent");

	relocation->r_info = ELF64_R_INFO(ELF64_R_SYM(relocation->r_info), 3);
}

static void relocate_address_as_call(struct object_file *object)
{
	Elf64_Rel *relocation = relocation_of(object, "spent");

	relocation->r_info = ELF64_R_INFO(ELF64_R_SYM(relocation->r_info), 10);
}

static void relocate_second_half(struct object_file *object)
{
	relocation_of(object, "spent")->r_offset += sizeof(struct bpf_insn);
}

static void relocate_middle(struct object_file *object)
{
	relocation_of(object, "spent")->r_offset += 4;
}

static void relocate_twice(struct object_file *object)
{
	*relocation_of(object, "limit") = *relocation_of(object, "spent");
}

static void relocate_addition(struct object_file *object)
{
	insn_of(object, "spent")[0] = MOV_K(1, 0);
	insn_of(object, "spent")[1] = MOV_K(1, 0);
}

static void point_into_map(struct object_file *object)
{
	insn_of(object, "spent")->imm = 8;
}

static void point_behind_data(struct object_file *object)
{
	insn_of(object, "limit")->imm = 4096;
}

static void point_before_data(struct object_file *object)
{
	insn_of(object, "limit")->imm = -1;
}

static void point_to_license(struct object_file *object)
{
	object_symbol(object, "limit")->st_shndx = object_symbol(object, "LICENSE")->st_shndx;
}

/* The last of as many instructions as there may be is the first half of a constant. */
static void end_with_first_half(struct object_file *object)
{
	size_t size = GPUMON_GPUPROG_MAX_INSTRUCTIONS * sizeof(struct bpf_insn);
	Elf64_Rel relocation = *relocation_of(object, "spent");
	struct bpf_insn *code;

	object->bytes = realloc(object->bytes, object->size + size);
	assert_non_null(object->bytes);
	memset(object->bytes + object->size, 0, size);
	object_section(object, PROGRAM)->sh_offset = object->size;
	object_section(object, PROGRAM)->sh_size = size;
	object->size += size;
	object_symbol(object, "cuda__exit")->st_size = size;
	relocation.r_offset = size - sizeof(*code);
	object_section(object, ".rel" PROGRAM)->sh_size = sizeof(relocation);
	*(Elf64_Rel *)object_data(object, ".rel" PROGRAM) = relocation;
	code = object_data(object, PROGRAM);
	code[GPUMON_GPUPROG_MAX_INSTRUCTIONS - 1].code = BPF_LD | BPF_IMM | BPF_DW;
}

static void name_map_by_number(struct object_file *object)
{
	insn_of(object, "spent")->src_reg = BPF_PSEUDO_MAP_IDX;
	*relocation_of(object, "spent") = *relocation_of(object, "limit");
	/* Two of one instruction would be the reason. */
	relocation_of(object, "limit")->r_offset = 1ull << 40;
}

static void call_middle(struct object_file *object)
{
	struct bpf_insn *insn = object_data(object, PROGRAM);

	while (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != BPF_PSEUDO_CALL)
		insn++;
	insn->imm++;
}

/* --- types */

static void hide_types(struct object_file *object)
{
	object_section(object, ".BTF")->sh_type = SHT_NOTE;
	object_section(object, ".BTF.ext")->sh_type = SHT_NOTE;
}

static void damage_types(struct object_file *object)
{
	memset(object_data(object, ".BTF"), 0, 2);
}

static void cut_types(struct object_file *object)
{
	object_section(object, ".BTF")->sh_size /= 2;
}

static void damage_extra(struct object_file *object)
{
	memset(object_data(object, ".BTF.ext"), 0, 2);
}

static void cut_extra(struct object_file *object)
{
	object_section(object, ".BTF.ext")->sh_size = 20;
}

static void cut_lines(struct object_file *object)
{
	object_section(object, ".BTF.ext")->sh_size -=
		object_section(object, ".BTF.ext")->sh_size / 4;
}

/* The header's words 4 and 5 are offset and length of the lines. */
static uint32_t *lines_of(const struct object_file *object)
{
	uint8_t *extra = object_data(object, ".BTF.ext");
	uint32_t *words = (uint32_t *)extra;

	return (uint32_t *)(extra + words[1] + words[4]);
}

static void shrink_lines(struct object_file *object)
{
	lines_of(object)[0] = 4;
}

static void multiply_lines(struct object_file *object)
{
	lines_of(object)[2] = 0xffffffff;
}

static void lose_name_of_lines(struct object_file *object)
{
	lines_of(object)[1] = 0x7fffffff;
}

#define LONG_NAME (1u << 20)
#define TABLES	  40000 /* of lines: fewer than one for each 24 bytes of a file */

/* Lines of many sections, all with the name at this place among the types' strings. */
static void repeat_lines_of(struct object_file *object, uint32_t name)
{
	const uint32_t words[6] = { name, 1 };
	uint32_t *extra = object_move_section(object, ".BTF.ext", 32 + 4 + TABLES * sizeof(words));

	/* The header's words 2 and 3 are offset and length of functions, 4 and 5 those of the lines. */
	extra[1] = 32;
	memset(extra + 2, 0, 24);
	extra[5] = 4 + TABLES * sizeof(words);
	extra[8] = 16;
	for (size_t i = 0; i < TABLES; i++)
		memcpy(extra + 9 + i * 6, words, sizeof(words));
}

static void repeat_lines(struct object_file *object)
{
	repeat_lines_of(object, lines_of(object)[1]);
}

/* These lines' name is nearly that of each section of code, so that comparisons take long. */
static void name_sections_long(struct object_file *object)
{
	size_t n = object_section_at(object, object_header(object)->e_shstrndx)->sh_size;
	struct btf_header *types = object_data(object, ".BTF");
	size_t strings = types->hdr_len + types->str_off + types->str_len;
	char *names = object_move_section(object, ".strtab", n + LONG_NAME);

	memset(names + n, 'x', LONG_NAME - 1);
	for (size_t i = 0; i < object_header(object)->e_shnum; i++)
		if (object_section_at(object, i)->sh_flags & SHF_EXECINSTR)
			object_section_at(object, i)->sh_name = (uint32_t)n;
	types = object_move_section(object, ".BTF", strings + LONG_NAME);
	memset((char *)types + strings, 'x', LONG_NAME - 2);
	((char *)types)[strings + LONG_NAME - 2] = 'y';
	repeat_lines_of(object, types->str_len);
	types = object_data(object, ".BTF");
	types->str_len += LONG_NAME;
}

#define DAMAGED ": the file is damaged, compile it again"

static const struct damage {
	const char *name;
	void (*change)(struct object_file *object);
	const char *reason;
} damages[] = {
	{ "empty", make_empty, "it is no object file (ELF)" },
	{ "text", make_text, "it is no object file (ELF)" },
	{ "header only", make_header_only, "it is no object file (ELF)" },
	{ "archive", make_archive, "it is no object file (ELF)" },
	{ "for x86", make_x86, "it is for machine 62, not for eBPF" },
	{ "linked", make_linked, "it is linked: give the object file itself" },
	{ "large", make_large, "it has 4194305 bytes, 4194304 are possible" },
	{ "cut at half", cut_at_half, "the table of sections is not in the file" DAMAGED },
	{ "cut code", cut_code, "is not in the file: the file is cut off" },
	{ "no names", lose_names, "a section has no name" DAMAGED },
	{ "no name", lose_name, "a section has no name" DAMAGED },
	{ "no symbol's name", lose_symbol_name, "a symbol has no name" DAMAGED },
	{ "symbol size", change_symbol_size, "the table of symbols cannot be read" DAMAGED },
	{ "two symbol tables", double_symbols, "there are two tables of symbols" DAMAGED },
	{ "two relocation tables", double_relocations,
	  "a section has two tables of relocations" DAMAGED },
	{ "no section relocated", lose_relocated, "a table of relocations cannot be read" DAMAGED },
	{ "large table", make_tables_large, "tables are larger than the file" DAMAGED },
	{ "empty function", make_function_empty, "function cuda__exit is not within its section" },
	{ "long function", make_function_long, "function cuda__exit is not within its section" },
	{ "odd function", make_function_odd, "function cuda__exit is not within its section" },
	{ "moved function", move_function, "function cuda__exit is not within its section" },
	{ "odd name", name_function_oddly, "give it a name of letters, digits and _" },
	{ "odd section", name_section_oddly, "printable names with one comma in between" },
	{ "no symbol", relocate_no_symbol, "a relocation names no symbol" DAMAGED },
	{ "other relocation", relocate_in_another_way, "relocation 3 does not fit opcode 0x18" },
	{ "address as call", relocate_address_as_call, "relocation 10 does not fit opcode 0x18" },
	{ "second half", relocate_second_half, "a relocation lies within it" },
	{ "middle", relocate_middle, "a relocation lies within it" },
	{ "twice", relocate_twice, "a relocation lies within it" },
	{ "no address", relocate_addition, "relocation 1 does not fit opcode 0xb7" },
	{ "into map", point_into_map, "no map begins at byte" },
	{ "behind data", point_behind_data, "it takes the address of byte 4096 of .rodata" },
	{ "before data", point_before_data, "it takes the address of byte -1 of .rodata" },
	{ "license", point_to_license, "it takes an address in section license" },
	{ "end with a first half", end_with_first_half,
	  "the second half of a 64-bit constant is missing" },
	{ "map by number", name_map_by_number, "it names a map by its number" },
	{ "call of the middle", call_middle, "it calls what is no beginning of a function" },
	{ "no types", hide_types, "has no definition (BTF): compile with clang -g" },
	{ "damaged types", damage_types, "section .BTF is damaged: compile it again" },
	{ "cut types", cut_types, "section .BTF is damaged: compile it again" },
	{ "damaged lines", damage_extra, "section .BTF.ext is damaged: compile it again" },
	{ "header of lines cut", cut_extra, "section .BTF.ext is damaged: compile it again" },
	{ "lines cut", cut_lines, "section .BTF.ext is damaged: compile it again" },
	{ "short lines", shrink_lines, "section .BTF.ext is damaged: compile it again" },
	{ "too many lines", multiply_lines, "section .BTF.ext is damaged: compile it again" },
	{ "long names of sections", name_sections_long, "the name of a section is longer than" },
	{ "lines of too many sections", repeat_lines,
	  "section .BTF.ext is damaged: compile it again" },
	{ "lines of no section", lose_name_of_lines,
	  "section .BTF.ext is damaged: compile it again" },
};

/* In a block of its exact size, for ASan. */
static int read_exactly(const struct object_file *object, struct gpumon_error *err)
{
	struct gpumon_gpuprog_object read;
	void *copy = malloc(object->size);
	int failed;

	memcpy(copy, object->bytes, object->size);
	failed = gpumon_gpuprog_object_read(copy, object->size, "x.bpf.o", &read, err);
	gpumon_gpuprog_object_clear(&read);
	free(copy);
	return failed;
}

static void damaged_objects_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(damages); i++) {
		struct gpumon_error err = { 0 };
		struct object_file object;

		object.bytes = load_bytes("v3", "style", &object.size);
		damages[i].change(&object);
		if (!read_exactly(&object, &err))
			fail_msg("%s: it is accepted", damages[i].name);
		if (!strstr(err.message, damages[i].reason))
			fail_msg("%s: \"%s\" does not say \"%s\"", damages[i].name, err.message,
				 damages[i].reason);
		free(object.bytes);
	}
}

/* Cut anywhere: refused or, behind all that matters, read. */
static void cuts_do_no_harm(void **state)
{
	struct object_file object;
	size_t whole;

	(void)state;
	object.bytes = load_bytes("v4", "points", &whole);
	for (object.size = 0; object.size < whole; object.size += 7) {
		struct gpumon_error err = { 0 };

		if (read_exactly(&object, &err))
			assert_true(*err.message);
	}
	free(object.bytes);
}

/* Each byte, changed to three others. */
static void single_bytes_do_no_harm(void **state)
{
	static const uint8_t others[] = { 0x00, 0x80, 0xff };
	struct object_file object;
	unsigned int accepted = 0, refused = 0;

	(void)state;
	object.bytes = load_bytes("v3", "threadhist", &object.size);
	for (size_t at = 0; at < object.size; at++) {
		uint8_t before = object.bytes[at];

		for (size_t i = 0; i < COUNT(others); i++) {
			struct gpumon_error err = { 0 };

			object.bytes[at] = others[i];
			if (read_exactly(&object, &err))
				refused++;
			else
				accepted++;
		}
		object.bytes[at] = before;
	}
	assert_true(refused > 100 && accepted > 100);
	free(object.bytes);
}

#define SYMBOLS	  512 /* as many as are looked at in a section */
#define VARIABLES 60000

/* Many symbols and types of .rodata, with names that differ only at their end. */
static void name_variables_long(struct object_file *object)
{
	uint16_t section = object_symbol(object, "limit")->st_shndx;
	size_t symbols = object_section(object, ".symtab")->sh_size;
	size_t n = object_section(object, ".strtab")->sh_size;
	struct btf_header *types = object_data(object, ".BTF");
	uint32_t end = types->type_len, strings = types->str_len;
	char *names = object_move_section(object, ".strtab", n + LONG_NAME), *at;
	Elf64_Sym *added;

	memset(names + n, 'x', LONG_NAME - 1);
	added = (Elf64_Sym *)((uint8_t *)object_move_section(object, ".symtab",
							     symbols + SYMBOLS * sizeof(*added)) +
			      symbols);
	for (size_t i = 0; i < SYMBOLS; i++)
		added[i] = (Elf64_Sym){ .st_name = (uint32_t)n,
					.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					.st_shndx = section };
	types = object_move_section(object, ".BTF",
				    sizeof(*types) + end + VARIABLES * 16 + strings + LONG_NAME);
	assert_int_equal(types->hdr_len, sizeof(*types));
	at = (char *)types + types->hdr_len;
	memmove(at + end + VARIABLES * 16, at + types->str_off, strings);
	for (uint32_t i = 0; i < VARIABLES; i++) {
		const uint32_t words[4] = { strings, BTF_KIND_VAR << 24, 1, 1 };

		memcpy(at + end + i * sizeof(words), words, sizeof(words));
	}
	at += end + VARIABLES * 16 + strings;
	memset(at, 'x', LONG_NAME - 2);
	at[LONG_NAME - 2] = 'y';
	at[LONG_NAME - 1] = '\0';
	types->type_len = types->str_off = end + VARIABLES * 16;
	types->str_len = strings + LONG_NAME;
}

static uint32_t rodata_fields(const struct object_file *object)
{
	const struct gpumon_gpuprog_map *map;
	struct gpumon_gpuprog_object read;
	struct gpumon_error err = { 0 };
	uint32_t n;

	if (gpumon_gpuprog_object_read(object->bytes, object->size, "x.bpf.o", &read, &err))
		fail_msg("%s", err.message);
	map = gpumon_gpuprog_object_map(&read, ".rodata", strlen(".rodata"));
	assert_non_null(map);
	n = map->value_fields.n;
	gpumon_gpuprog_object_clear(&read);
	return n;
}

/* They are left out soon: comparisons of each with each would take minutes. */
static void variables_with_long_names(void **state)
{
	struct object_file object;
	uint32_t n;

	(void)state;
	object.bytes = load_bytes("v3", "style", &object.size);
	n = rodata_fields(&object);
	assert_int_not_equal(n, 0);
	name_variables_long(&object);
	assert_int_equal(rodata_fields(&object), n);
	free(object.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_objects_are_refused),
		cmocka_unit_test(variables_with_long_names),
		cmocka_unit_test(cuts_do_no_harm),
		cmocka_unit_test(single_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
