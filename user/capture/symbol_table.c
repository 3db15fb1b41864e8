// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "symbol.h"
#include "symbol_table.h"

#define ENTRIES_MAX (64 << 20)
#define NESTING_MAX 64	/* nested functions: more are not plausible */
#define COMPARED    256 /* bytes of names compared: broken files have endless ones */

/* Ranks: a known size counts more than visibility. */
#define RANK_NO_SIZE	(1u << 24)
#define RANK_NO_TYPE	(1u << 20)
#define RANK_LOCAL	(2u << 16)
#define RANK_WEAK	(1u << 16)
#define RANK_UNDERSCORE (1u << 8) /* for each one: internal aliases have more of them */

struct reader {
	Elf *elf; /* the ELF file of the next three */
	uint64_t bias;
	bool complete; /* it has a .symtab, so no function is missing between two others */
};

static bool has_symtab(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

static bool has_dwarf(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) :
							NULL;
		if (name && (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8)))
			return true;
	}
	return false;
}

/*
 * libdwfl (0.188) forgets a debug file whose symbols it has read, with its descriptor, if it then
 * finds DWARF in the main file. So if both may exist, ask for the DWARF first.
 */
static void keep_debug_file(Dwfl_Module *module)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);

	if (elf && !has_symtab(elf) && has_dwarf(elf))
		(void)dwfl_module_getdwarf(module, &bias);
}

static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	uint32_t rank = 0;

	if (!symbol->st_size)
		rank += RANK_NO_SIZE;
	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank += RANK_NO_TYPE;
	if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
		rank += RANK_LOCAL;
	else if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
		rank += RANK_WEAK;
	for (int i = 0; i < 15 && name[i] == '_'; i++)
		rank += RANK_UNDERSCORE;
	return rank;
}

/* Check whether the symbol names code. Sets its end, or that of its section if it has no size. */
static bool is_function(struct reader *reader, const GElf_Sym *symbol, const char *name,
			GElf_Word section, uint64_t address, uint64_t *end)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	GElf_Shdr header;
	Elf_Scn *found;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (section == SHN_UNDEF || !name || !*name)
		return false;
	if (symbol->st_size && type != STT_NOTYPE) {
		*end = address + symbol->st_size;
		return *end > address;
	}
	/* An assembler's label. If functions are missing, it would name those after it. */
	if (!reader->complete || name[0] == '$' || !strncmp(name, ".L", 2))
		return false;
	found = elf_getscn(reader->elf, section);
	if (!found || !gelf_getshdr(found, &header) || !(header.sh_flags & SHF_EXECINSTR))
		return false;
	*end = symbol->st_size ? address + symbol->st_size :
				 header.sh_addr + reader->bias + header.sh_size;
	return *end > address;
}

static int compare_entries(const void *a, const void *b)
{
	const struct gpumon_symbol_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return strncmp(x->name, y->name, COMPARED);
}

/* Keep one entry for each start. Labels end where the next function begins. */
static void remove_duplicates(struct gpumon_symbol_table *table)
{
	struct gpumon_symbol_entry *entries = table->entries;
	size_t n = 0;

	for (size_t i = 0; i < table->count; i++) {
		if (n && entries[n - 1].start == entries[i].start)
			continue;
		if (n && entries[n - 1].rank >= RANK_NO_SIZE &&
		    entries[n - 1].end > entries[i].start)
			entries[n - 1].end = entries[i].start;
		entries[n++] = entries[i];
	}
	table->count = n;

	for (size_t i = 0; i < n; i++) {
		uint32_t outer = (uint32_t)i;

		while (outer && entries[outer - 1].end <= entries[i].end)
			outer = entries[outer - 1].outer;
		entries[i].outer = outer;
	}
}

int gpumon_symbol_table_read(struct gpumon_symbol_table *table, Dwfl_Module *module)
{
	struct reader reader = { 0 };
	void *smaller;
	int count;

	keep_debug_file(module);
	count = dwfl_module_getsymtab(module);
	*table = (struct gpumon_symbol_table){ 0 };
	if (count <= 1)
		return 0;
	if (count > ENTRIES_MAX)
		count = ENTRIES_MAX;
	table->entries = malloc((size_t)count * sizeof(*table->entries));
	if (!table->entries)
		return -1;

	for (int i = 1; i < count; i++) {
		GElf_Addr address, bias;
		GElf_Sym symbol;
		GElf_Word section;
		const char *name;
		uint64_t end;
		Elf *elf;

		name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, &bias);
		if (!name)
			continue;
		if (elf && elf != reader.elf)
			reader = (struct reader){ .elf = elf, .complete = has_symtab(elf) };
		reader.bias = bias;
		if (!elf || !is_function(&reader, &symbol, name, section, address, &end))
			continue;
		table->entries[table->count++] = (struct gpumon_symbol_entry){
			.start = address, .end = end, .name = name, .rank = rank_of(&symbol, name)
		};
	}
	qsort(table->entries, table->count, sizeof(*table->entries), compare_entries);
	remove_duplicates(table);
	smaller = realloc(table->entries, (table->count + 1) * sizeof(*table->entries));
	if (smaller)
		table->entries = smaller;
	return 0;
}

const char *gpumon_symbol_table_find(const struct gpumon_symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (int i = 0; low && i < NESTING_MAX; i++) {
		if (table->entries[low - 1].end > address)
			return table->entries[low - 1].name;
		low = table->entries[low - 1].outer;
	}
	return NULL;
}

void gpumon_symbol_table_free(struct gpumon_symbol_table *table)
{
	free(table->entries);
	*table = (struct gpumon_symbol_table){ 0 };
}

struct gpumon_symbol_strings {
	struct gpumon_pool pool;
	struct gpumon_map demangled; /* of a text in the pool, by its address */
	size_t bytes;
};

struct gpumon_symbol_strings *gpumon_symbol_strings_new(void)
{
	return calloc(1, sizeof(struct gpumon_symbol_strings));
}

const char *gpumon_symbol_strings_add(struct gpumon_symbol_strings *strings, const char *text,
				      size_t length)
{
	size_t before = strings->pool.used;
	const char *kept = gpumon_pool_part(&strings->pool, text, length);

	if (strings->pool.used > before)
		strings->bytes += strlen(kept) + 1;
	return kept;
}

const char *gpumon_symbol_strings_demangled(struct gpumon_symbol_strings *strings, const char *name)
{
	const char *kept;
	char *demangled;

	name = gpumon_symbol_strings_add(strings, name, strnlen(name, GPUMON_SYMBOL_NAME_MAX));
	if (!name)
		return NULL;
	kept = (const char *)(uintptr_t)gpumon_map_get(&strings->demangled, (uintptr_t)name);
	if (kept)
		return kept;
	demangled = gpumon_demangle(name);
	if (!demangled)
		return NULL;
	kept = gpumon_symbol_strings_add(strings, demangled, strlen(demangled));
	free(demangled);
	/* Without memory the name is demangled again the next time. */
	if (kept)
		gpumon_map_set(&strings->demangled, (uintptr_t)name, (uintptr_t)kept);
	return kept;
}

size_t gpumon_symbol_strings_bytes(const struct gpumon_symbol_strings *strings)
{
	return strings->bytes;
}

void gpumon_symbol_strings_free(struct gpumon_symbol_strings *strings)
{
	if (!strings)
		return;
	gpumon_pool_clear(&strings->pool);
	gpumon_map_clear(&strings->demangled);
	free(strings);
}
