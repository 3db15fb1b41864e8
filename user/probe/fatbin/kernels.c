// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <gelf.h>

#include "fatbin.h"
#include "layout.h"

/* In st_other of a symbol of a cubin: it is the entry of a kernel. */
#define CUDA_ENTRY 0x10

static int each_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       int (*each)(void *context, const char *name), void *context)
{
	Elf_Data *symbols = elf_getdata(section, NULL);
	size_t n = symbols && header->sh_entsize ? symbols->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym symbol;
		int result;

		if (!gelf_getsym(symbols, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & CUDA_ENTRY))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		result = name ? each(context, name) : 0;
		if (result)
			return result;
	}
	return 0;
}

int gpumon_fatbin_elf_kernels(const void *data, size_t size,
			      int (*each)(void *context, const char *name), void *context,
			      struct gpumon_error *err)
{
	Elf *elf = NULL;
	int result = 0;

	/* libelf only reads from this memory, but does not say so. */
	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_memory((char *)(uintptr_t)data, size);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		result = gpumon_fatbin_refuse(err, "a cubin that is no ELF file");
	for (Elf_Scn *section = NULL; !result && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			result = each_symbol(elf, section, &header, each, context);
	}
	elf_end(elf);
	return result;
}
