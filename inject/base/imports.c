// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "imports.h"

/* The begin of this library, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

typedef ElfW(Phdr) program_header_t;
typedef ElfW(Rela) relocation_t;

/**
 * struct dynamic - what a library's dynamic section says about its imports
 * @strings: their names
 * @symbols: by number
 * @tables: relocations of functions called through the PLT, and all others
 * @bytes: size of each table
 */
struct dynamic {
	const char *strings;
	const ElfW(Sym) * symbols;
	const relocation_t *tables[2];
	size_t bytes[2];
};

static void *find_replacement(const struct inject_import *import, const char *symbol)
{
	for (; import->name; import++)
		if (!strcmp(symbol, import->name))
			return import->replacement;
	return NULL;
}

static void read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * entry,
			 struct dynamic *dynamic)
{
	memset(dynamic, 0, sizeof(*dynamic));
	for (; entry->d_tag != DT_NULL; entry++) {
		/* The loader has relocated these, but not in the vDSO and not in musl. */
		uintptr_t value = entry->d_un.d_ptr;
		const void *at =
			(const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);

		if (entry->d_tag == DT_STRTAB)
			dynamic->strings = at;
		else if (entry->d_tag == DT_SYMTAB)
			dynamic->symbols = at;
		else if (entry->d_tag == DT_JMPREL)
			dynamic->tables[0] = at;
		else if (entry->d_tag == DT_PLTRELSZ)
			dynamic->bytes[0] = value;
		else if (entry->d_tag == DT_RELA)
			dynamic->tables[1] = at;
		else if (entry->d_tag == DT_RELASZ)
			dynamic->bytes[1] = value;
	}
}

/*
 * The table is read-only where all functions were looked up at the start. The loader protects whole pages
 * only: what ends within one, as on a machine with larger pages than the linker thought of, shares that one
 * with the library's data, which the program writes to.
 */
static void replace_import(void **import, void *replacement, const program_header_t *relro,
			   uintptr_t base)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)import & -page;
	bool is_protected = relro && at >= ((base + relro->p_vaddr) & -page) &&
			    at < ((base + relro->p_vaddr + relro->p_memsz) & -page);

	if (__atomic_load_n(import, __ATOMIC_RELAXED) == replacement)
		return;
	if (is_protected && mprotect((void *)at, page, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(import, replacement, __ATOMIC_RELEASE);
	if (is_protected)
		mprotect((void *)at, page, PROT_READ);
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *imports)
{
	const program_header_t *dynamic_header = NULL, *relro = NULL;
	struct dynamic dynamic;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic_header = &info->dlpi_phdr[i];
		else if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			relro = &info->dlpi_phdr[i];
	}
	if (!dynamic_header || info->dlpi_addr == (uintptr_t)__ehdr_start)
		return 0;
	read_dynamic(info, (const void *)(info->dlpi_addr + dynamic_header->p_vaddr), &dynamic);
	if (!dynamic.strings || !dynamic.symbols)
		return 0;
	for (unsigned int table = 0; table < 2; table++) {
		const relocation_t *relocation = dynamic.tables[table];
		size_t count = relocation ? dynamic.bytes[table] / sizeof(*relocation) : 0;

		for (; count; count--, relocation++) {
			uint32_t symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);
			void *replacement = NULL;

			if (symbol)
				replacement = find_replacement(
					imports, dynamic.strings + dynamic.symbols[symbol].st_name);
			if (replacement)
				replace_import((void **)(info->dlpi_addr + relocation->r_offset),
					       replacement, relro, info->dlpi_addr);
		}
	}
	return 0;
}

void inject_imports_replace(const struct inject_import *imports)
{
	dl_iterate_phdr(look_at_library, (void *)(uintptr_t)imports);
}
