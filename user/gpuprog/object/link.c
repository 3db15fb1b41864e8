// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "flatten.h"
#include "link.h"
#include "map.h"

/*
 * The section is a header with three tables: functions, lines, and relocations. A table is the size
 * of its records, and then for each section of code its name, a count, and so many records.
 */

#define RECORD_SIZE 16 /* of lines and of relocations; longer ones are possible */

struct header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t length;
	uint32_t functions;
	uint32_t functions_length;
	uint32_t lines;
	uint32_t lines_length;
	uint32_t relocations;
	uint32_t relocations_length;
};

struct table {
	const uint8_t *at;
	size_t left;
};

static int refuse(const struct gpumon_gpuprog_image *image, struct gpumon_error *err)
{
	return GPUMON_GPUPROG_IMAGE_REFUSE(image, err,
					   "section .BTF.ext is damaged: compile it again");
}

static bool take_word(struct table *table, uint32_t *word)
{
	if (table->left < sizeof(*word))
		return false;
	memcpy(word, table->at, sizeof(*word));
	table->at += sizeof(*word);
	table->left -= sizeof(*word);
	return true;
}

static uint32_t find_section(const struct gpumon_gpuprog_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->sections_n; i++) {
		if (image->sections[i].code && !strcmp(image->sections[i].name, name))
			return i;
	}
	return 0;
}

/* Lines: offset, file, text, line. Relocations: offset, type, access, kind. */
static void add_notes(struct table *table, uint32_t section, uint32_t n, uint32_t size,
		      struct gpumon_gpuprog_notes *notes)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gpumon_gpuprog_note *note;
		uint32_t words[4];

		memcpy(words, table->at + (size_t)i * size, sizeof(words));
		note = GPUMON_ARRAY_ADD(notes->notes, notes->n, notes->room);
		*note = (struct gpumon_gpuprog_note){ .section = section,
						      .offset = words[0],
						      .file = words[1],
						      .text = words[2],
						      .word = words[3] };
	}
	table->at += (size_t)n * size;
	table->left -= (size_t)n * size;
}

static int compare_notes(const void *a, const void *b)
{
	const struct gpumon_gpuprog_note *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->word < y->word ? -1 : x->word > y->word;
}

static int read_table(const struct gpumon_gpuprog_image *image, const struct btf *btf,
		      struct table table, struct gpumon_gpuprog_notes *notes,
		      struct gpumon_error *err)
{
	uint32_t size, sections = 0;

	if (!table.left)
		return 0;
	if (!take_word(&table, &size) || size < RECORD_SIZE || size % sizeof(uint32_t))
		return refuse(image, err);
	while (table.left) {
		uint32_t name, n;
		const char *text;

		if (!take_word(&table, &name) || !take_word(&table, &n) || !n ||
		    n > table.left / size || sections++ == image->sections_n)
			return refuse(image, err);
		text = btf__name_by_offset(btf, name);
		if (!text)
			return refuse(image, err);
		add_notes(&table, find_section(image, text), n, size, notes);
	}
	if (notes->n)
		qsort(notes->notes, notes->n, sizeof(*notes->notes), compare_notes);
	return 0;
}

static bool find_table(const struct gpumon_gpuprog_section *section, uint32_t from, uint32_t offset,
		       uint32_t length, struct table *table)
{
	uint64_t start = (uint64_t)from + offset;

	if (start > section->size || length > section->size - start)
		return false;
	*table = (struct table){ .at = section->data + start, .left = length };
	return true;
}

int gpumon_gpuprog_extra_read(const struct gpumon_gpuprog_image *image, const struct btf *btf,
			      struct gpumon_gpuprog_extra *extra, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_section *section =
		gpumon_gpuprog_image_section(image, BTF_EXT_ELF_SEC);
	struct header header = { 0 };
	struct table lines, relocations;

	memset(extra, 0, sizeof(*extra));
	if (!section)
		return 0;
	/* The fields of relocations came later. */
	if (section->size < offsetof(struct header, relocations))
		return refuse(image, err);
	memcpy(&header, section->data,
	       section->size < sizeof(header) ? section->size : sizeof(header));
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION ||
	    header.length < offsetof(struct header, relocations) || header.length > section->size)
		return refuse(image, err);
	if (header.length < sizeof(header))
		header.relocations = header.relocations_length = 0;
	if (!find_table(section, header.length, header.lines, header.lines_length, &lines) ||
	    !find_table(section, header.length, header.relocations, header.relocations_length,
			&relocations))
		return refuse(image, err);
	if (read_table(image, btf, lines, &extra->lines, err))
		return -1;
	return read_table(image, btf, relocations, &extra->relocations, err);
}

void gpumon_gpuprog_extra_clear(struct gpumon_gpuprog_extra *extra)
{
	free(extra->lines.notes);
	free(extra->relocations.notes);
	memset(extra, 0, sizeof(*extra));
}

/* Index of the first note at this place or behind it. */
static uint32_t notes_find(const struct gpumon_gpuprog_notes *notes, uint32_t section,
			   uint64_t offset)
{
	uint32_t low = 0, high = notes->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct gpumon_gpuprog_note *note = &notes->notes[middle];

		if (note->section < section || (note->section == section && note->offset < offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define INSN	   sizeof(struct bpf_insn)
#define LDDW	   (BPF_LD | BPF_IMM | BPF_DW)
#define CALL_LOCAL (BPF_JMP | BPF_CALL)
#define MAX_FILE   255 /* bytes of a file's name that are kept */
#define MAX_TEXT   120 /* bytes of a source line */

#ifndef R_BPF_64_64
#define R_BPF_64_64 1
#endif
#ifndef R_BPF_64_32
#define R_BPF_64_32 10
#endif

#define TYPE_ID_LOCAL 6 /* CO-RE relocation whose answer clang has written already */

struct link {
	struct gpumon_gpuprog_linker *linker;
	struct gpumon_gpuprog *program;
	struct gpumon_error *err;
	struct gpumon_gpuprog_line *lines;
	uint32_t lines_n;
	uint32_t lines_room;
};

void gpumon_gpuprog_linker_init(struct gpumon_gpuprog_linker *linker,
				const struct gpumon_gpuprog_image *image)
{
	memset(linker, 0, sizeof(*linker));
	linker->image = image;
	linker->maps =
		gpumon_pool_zalloc(image->pool, GPUMON_GPUPROG_MAX_MAPS * sizeof(*linker->maps));
	linker->placed = gpumon_calloc(image->functions_n + 1, sizeof(*linker->placed));
	linker->chain = gpumon_calloc(image->functions_n + 1, sizeof(*linker->chain));
	linker->code = gpumon_calloc(GPUMON_GPUPROG_MAX_INSTRUCTIONS, INSN);
}

void gpumon_gpuprog_linker_clear(struct gpumon_gpuprog_linker *linker)
{
	free(linker->placed);
	free(linker->chain);
	free(linker->code);
	memset(linker, 0, sizeof(*linker));
}

static const struct gpumon_gpuprog_symbol *find_function(const struct link *link, uint32_t function)
{
	const struct gpumon_gpuprog_image *image = link->linker->image;

	return &image->symbols[image->functions[function]];
}

static void add_line(struct link *link, uint32_t instruction,
		     const struct gpumon_gpuprog_note *note)
{
	const struct btf *btf = link->linker->btf;
	struct gpumon_pool *pool = link->linker->image->pool;
	const char *file = btf__name_by_offset(btf, note->file);
	const char *text = btf__name_by_offset(btf, note->text);
	struct gpumon_gpuprog_line *line;

	/* If an instruction has several lines, the last one is right. */
	if (link->lines_n && link->lines[link->lines_n - 1].instruction == instruction)
		line = &link->lines[link->lines_n - 1];
	else
		line = GPUMON_ARRAY_ADD(link->lines, link->lines_n, link->lines_room);
	line->instruction = instruction;
	line->line = BPF_LINE_INFO_LINE_NUM(note->word);
	line->file = gpumon_pool_part(pool, file ? file : "", MAX_FILE);
	line->text = gpumon_pool_part(pool, text ? text : "", MAX_TEXT);
}

/* Source lines of a function that begins at @first. */
static void add_lines(struct link *link, const struct gpumon_gpuprog_symbol *symbol, uint32_t first)
{
	const struct gpumon_gpuprog_notes *lines = &link->linker->extra->lines;
	uint32_t i = notes_find(lines, symbol->section, symbol->value);

	for (; i < lines->n; i++) {
		const struct gpumon_gpuprog_note *note = &lines->notes[i];

		if (note->section != symbol->section ||
		    note->offset - symbol->value >= symbol->size)
			break;
		add_line(link, first + (uint32_t)((note->offset - symbol->value) / INSN), note);
	}
	link->program->lines = link->lines;
	link->program->lines_n = link->lines_n;
}

static int check_kernel_types(struct link *link, const struct gpumon_gpuprog_symbol *symbol,
			      uint32_t first)
{
	const struct gpumon_gpuprog_notes *relocations = &link->linker->extra->relocations;
	uint32_t i = notes_find(relocations, symbol->section, symbol->value);

	for (; i < relocations->n; i++) {
		const struct gpumon_gpuprog_note *note = &relocations->notes[i];

		if (note->section != symbol->section ||
		    note->offset - symbol->value >= symbol->size)
			break;
		if (note->word != TYPE_ID_LOCAL)
			return gpumon_gpuprog_refuse(
				link->program,
				first + (uint32_t)((note->offset - symbol->value) / INSN),
				link->err,
				"it depends on a type of the kernel (CO-RE), which a GPU does not see: use a type of your own, without preserve_access_index");
	}
	return 0;
}

/* Put a function behind the others, once. Its calls are done later. */
static int place(struct link *link, uint32_t function)
{
	struct gpumon_gpuprog_linker *linker = link->linker;
	const struct gpumon_gpuprog_symbol *symbol = find_function(link, function);
	const struct gpumon_gpuprog_section *section = &linker->image->sections[symbol->section];
	uint32_t first = linker->code_n;

	if (linker->placed[function])
		return 0;
	if (symbol->size / INSN > GPUMON_GPUPROG_MAX_INSTRUCTIONS - first)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			linker->image, link->err,
			"%s has more than %d instructions with the functions that it calls: make it shorter",
			link->program->name, GPUMON_GPUPROG_MAX_INSTRUCTIONS);
	memcpy(linker->code + first, section->data + symbol->value, symbol->size);
	linker->code_n += (uint32_t)(symbol->size / INSN);
	linker->placed[function] = first + 1;
	linker->chain[linker->chain_n++] = function;
	add_lines(link, symbol, first);
	return check_kernel_types(link, symbol, first);
}

static int find_map(struct link *link, uint32_t section, uint64_t offset, uint32_t *number)
{
	struct gpumon_gpuprog_linker *linker = link->linker;

	for (uint32_t i = 0; i < linker->maps_n; i++) {
		if (linker->sections[i] == section && linker->places[i] == offset) {
			*number = i;
			return 1;
		}
	}
	if (linker->maps_n == GPUMON_GPUPROG_MAX_MAPS)
		return GPUMON_GPUPROG_IMAGE_REFUSE(
			linker->image, link->err,
			"it has more than %d maps, with .rodata, .data and .bss: use fewer",
			GPUMON_GPUPROG_MAX_MAPS);
	linker->sections[linker->maps_n] = section;
	linker->places[linker->maps_n] = offset;
	*number = linker->maps_n;
	return 0;
}

static const char *find_map_name(const struct gpumon_gpuprog_image *image, uint32_t section,
				 uint64_t offset)
{
	for (uint32_t i = 0; i < image->symbols_n; i++) {
		const struct gpumon_gpuprog_symbol *symbol = &image->symbols[i];

		if (symbol->section == section && symbol->value == offset &&
		    symbol->type == STT_OBJECT)
			return symbol->name;
	}
	return NULL;
}

static int refer_to_map(struct link *link, uint32_t at, uint32_t section, uint64_t offset)
{
	struct gpumon_gpuprog_linker *linker = link->linker;
	struct bpf_insn *insn = &linker->code[at];
	uint32_t number;
	int found = find_map(link, section, offset, &number);

	if (found < 0)
		return -1;
	if (!found) {
		const char *name = find_map_name(linker->image, section, offset);

		if (!name)
			return gpumon_gpuprog_refuse(
				link->program, at, link->err,
				"no map begins at byte %llu of section .maps: use a map as a whole",
				(unsigned long long)offset);
		if (gpumon_gpuprog_map_define(linker->image, linker->btf, name,
					      &linker->maps[number], link->err))
			return -1;
		linker->maps_n++;
	}
	insn[0].src_reg = BPF_PSEUDO_MAP_IDX;
	insn[0].imm = (int32_t)number;
	insn[1].imm = 0;
	return 0;
}

static int refer_to_data(struct link *link, uint32_t at, uint32_t section, uint64_t offset)
{
	struct gpumon_gpuprog_linker *linker = link->linker;
	struct bpf_insn *insn = &linker->code[at];
	uint32_t number;
	int found = find_map(link, section, 0, &number);

	if (found < 0)
		return -1;
	if (!found) {
		if (gpumon_gpuprog_map_of_data(linker->image, &linker->image->sections[section],
					       &linker->maps[number], link->err))
			return -1;
		gpumon_gpuprog_fields_of_data(linker->image, linker->btf, section,
					      &linker->maps[number].value_fields);
		linker->maps_n++;
	}
	insn[0].src_reg = BPF_PSEUDO_MAP_IDX_VALUE;
	insn[0].imm = (int32_t)number;
	/* gpumon_gpuprog_flatten() refuses what is outside. */
	insn[1].imm = offset > INT32_MAX ? -1 : (int32_t)offset;
	return 0;
}

/* The address of a map, of data, or of a function. */
static int relocate_address(struct link *link, uint32_t at,
			    const struct gpumon_gpuprog_symbol *symbol)
{
	const struct gpumon_gpuprog_image *image = link->linker->image;
	const struct gpumon_gpuprog_section *section = &image->sections[symbol->section];
	struct bpf_insn *insn = &link->linker->code[at];
	uint64_t offset = symbol->value + (uint64_t)(int64_t)insn->imm;

	if (!symbol->section)
		return gpumon_gpuprog_refuse(
			link->program, at, link->err,
			"%.60s is not defined in this object: define it, a GPU does not see the kernel's variables",
			symbol->name);
	if (!strcmp(section->name, MAPS_ELF_SEC))
		return refer_to_map(link, at, symbol->section, offset);
	if (gpumon_gpuprog_map_is_data(section))
		return refer_to_data(link, at, symbol->section, offset);
	if (section->code) {
		/* gpumon_gpuprog_flatten() refuses it. */
		insn->src_reg = BPF_PSEUDO_FUNC;
		return 0;
	}
	return gpumon_gpuprog_refuse(
		link->program, at, link->err,
		"it takes an address in section %.60s: only .maps, .rodata, .data and .bss are possible",
		section->name);
}

static int call_function(struct link *link, uint32_t at, uint32_t section, uint64_t offset)
{
	struct gpumon_gpuprog_linker *linker = link->linker;
	int64_t function = gpumon_gpuprog_image_function(linker->image, section, offset);

	if (function < 0)
		return gpumon_gpuprog_refuse(
			link->program, at, link->err,
			"it calls what is no beginning of a function: the object is damaged, compile it again");
	if (place(link, (uint32_t)function))
		return -1;
	linker->code[at].imm = (int32_t)(linker->placed[function] - 1) - (int32_t)(at + 1);
	return 0;
}

static int relocate(struct link *link, uint32_t at,
		    const struct gpumon_gpuprog_relocation *relocation)
{
	const struct gpumon_gpuprog_symbol *symbol =
		&link->linker->image->symbols[relocation->symbol];
	const struct bpf_insn *insn = &link->linker->code[at];

	if (!symbol->section && !*symbol->name)
		return gpumon_gpuprog_refuse(
			link->program, at, link->err,
			"its relocation names no symbol: the object is damaged, compile it again");
	if (relocation->type == R_BPF_64_64 && insn->code == LDDW && !insn->src_reg)
		return relocate_address(link, at, symbol);
	if (relocation->type != R_BPF_64_32 || insn->code != CALL_LOCAL ||
	    insn->src_reg != BPF_PSEUDO_CALL)
		return gpumon_gpuprog_refuse(
			link->program, at, link->err,
			"relocation %u does not fit opcode 0x%02x: the object is damaged, compile it again",
			relocation->type, insn->code);
	if (!symbol->section)
		return gpumon_gpuprog_refuse(
			link->program, at, link->err,
			"it calls %.60s, which is not in this object: define it, or link the objects with bpftool gen object",
			symbol->name);
	/*
	 * The place of a static function is in the instruction; for others the instruction has -1
	 * and the symbol the place.
	 */
	return call_function(link, at, symbol->section,
			     symbol->value + (uint64_t)((int64_t)insn->imm + 1) * INSN);
}

static int link_instruction(struct link *link, uint32_t at,
			    const struct gpumon_gpuprog_symbol *symbol, uint64_t offset)
{
	const struct bpf_insn *insn = &link->linker->code[at];

	if (insn->code == CALL_LOCAL && insn->src_reg == BPF_PSEUDO_CALL)
		return call_function(link, at, symbol->section,
				     offset + (uint64_t)((int64_t)insn->imm + 1) * INSN);
	if (insn->code == LDDW &&
	    (insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE))
		return gpumon_gpuprog_refuse(
			link->program, at, link->err,
			"it names a map by its number: the object is damaged, compile it again");
	return 0;
}

static int link_function(struct link *link, uint32_t function)
{
	struct gpumon_gpuprog_linker *linker = link->linker;
	const struct gpumon_gpuprog_symbol *symbol = find_function(link, function);
	const struct gpumon_gpuprog_section *section = &linker->image->sections[symbol->section];
	const struct gpumon_gpuprog_relocation *next =
		gpumon_gpuprog_relocation_find(section, symbol->value);
	const struct gpumon_gpuprog_relocation *end =
		gpumon_gpuprog_relocation_find(section, symbol->value + symbol->size);
	uint32_t first = linker->placed[function] - 1;
	uint32_t n = (uint32_t)(symbol->size / INSN);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t offset = symbol->value + i * INSN;
		uint32_t at = first + i;
		/* Relocations of this instruction change it. */
		bool wide = linker->code[at].code == LDDW;
		bool has = next < end && next->offset == offset;

		if (wide && i + 1 == n)
			return gpumon_gpuprog_refuse(
				link->program, at, link->err,
				"the second half of a 64-bit constant is missing: the object is damaged, compile it again");
		if (has ? relocate(link, at, next++) : link_instruction(link, at, symbol, offset))
			return -1;
		if (wide)
			i++;
		if (next < end && next->offset < offset + (wide ? 2 : 1) * INSN)
			return gpumon_gpuprog_refuse(
				link->program, at, link->err,
				"a relocation lies within it: the object is damaged, compile it again");
	}
	return 0;
}

static int link_all(struct link *link, uint32_t function)
{
	struct gpumon_gpuprog_linker *linker = link->linker;

	if (place(link, function))
		return -1;
	for (uint32_t i = 0; i < linker->chain_n; i++) {
		if (link_function(link, linker->chain[i]))
			return -1;
	}
	return 0;
}

/* Messages needed the lines; now they go where they stay. */
static void keep_lines(struct link *link)
{
	size_t size = link->lines_n * sizeof(*link->lines);
	struct gpumon_gpuprog_line *lines;

	link->program->lines = NULL;
	link->program->lines_n = 0;
	if (!size)
		return;
	lines = gpumon_pool_zalloc(link->linker->image->pool, size);
	link->program->lines = memcpy(lines, link->lines, size);
	link->program->lines_n = link->lines_n;
}

int gpumon_gpuprog_link(struct gpumon_gpuprog_linker *linker, uint32_t function,
			struct gpumon_gpuprog *program, struct gpumon_error *err)
{
	struct link link = { .linker = linker, .program = program, .err = err };
	int ret;

	linker->code_n = 0;
	linker->chain_n = 0;
	ret = link_all(&link, function);
	keep_lines(&link);
	free(link.lines);
	for (uint32_t i = 0; i < linker->chain_n; i++)
		linker->placed[linker->chain[i]] = 0;
	program->maps = linker->maps;
	program->maps_n = linker->maps_n;
	return ret;
}
