// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <gelf.h>
#include <string.h>

#include "cubin.h"
#include "fatbin.h"

/**
 * struct search - symbols that are looked for
 * @each: called for each kernel
 * @context: for @each
 * @defined: name of any symbol, or NULL: kernels are looked for
 */
struct search {
	int (*each)(void *context, const char *name);
	void *context;
	const char *defined;
};

static int look_at_symbol(const struct search *search, const GElf_Sym *symbol, const char *name)
{
	if (search->defined)
		return symbol->st_shndx != SHN_UNDEF && strcmp(name, search->defined) == 0;
	if (!gpumon_cubin_is_kernel(symbol))
		return 0;
	return search->each(search->context, name);
}

static int each_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       const struct search *search)
{
	Elf_Data *symbols = elf_getdata(section, NULL);
	size_t n = symbols && header->sh_entsize ? symbols->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym symbol;
		int result;

		if (!gelf_getsym(symbols, (int)i, &symbol))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		result = name ? look_at_symbol(search, &symbol, name) : 0;
		if (result)
			return result;
	}
	return 0;
}

static int search_elf(const void *data, size_t size, const struct search *search)
{
	Elf *elf = gpumon_cubin_open(data, size);
	int result = 0;

	for (Elf_Scn *section = NULL; !result && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			result = each_symbol(elf, section, &header, search);
	}
	elf_end(elf);
	return result;
}

int gpumon_fatbin_elf_kernels(const void *data, size_t size,
			      int (*each)(void *context, const char *name), void *context)
{
	const struct search search = { .each = each, .context = context };

	return search_elf(data, size, &search);
}

bool gpumon_fatbin_elf_defines(const void *data, size_t size, const char *name)
{
	const struct search search = { .defined = name };

	return search_elf(data, size, &search);
}
