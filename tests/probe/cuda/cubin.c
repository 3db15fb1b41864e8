// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"

#define EM_CUDA_GPU 190
#define CUDA_ENTRY  0x10
#define MARK	    "mock machine code"

enum {
	NULL_SECTION,
	NAMES,
	SYMBOLS,
	STRINGS,
	CODE,
	SECTIONS
};

#define NAME_TEXTS "\0.shstrtab\0.symtab\0.strtab\0.text"
static const unsigned int name_at[SECTIONS] = { 0, 1, 11, 19, 27 };

struct names {
	char text[2048];
	size_t text_n;
	Elf64_Sym symbols[32];
	unsigned int symbols_n;
};

/* Names behind this word. */
static void find_symbols(const char *text, const char *word, unsigned char type,
			 unsigned char other, struct names *names)
{
	while ((text = strstr(text, word)) && names->symbols_n < 32) {
		Elf64_Sym *symbol = &names->symbols[names->symbols_n];
		size_t length;

		text += strlen(word);
		length = strcspn(text, " (\n{[");
		if (names->text_n + length + 1 > sizeof(names->text))
			break;
		names->symbols_n++;
		symbol->st_name = (Elf64_Word)names->text_n;
		symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, type);
		symbol->st_other = other;
		symbol->st_shndx = CODE;
		memcpy(names->text + names->text_n, text, length);
		names->text_n += length + 1;
	}
}

static void find_names(const char *text, struct names *names)
{
	names->text_n = names->symbols_n = 1;
	find_symbols(text, ".entry ", STT_FUNC, CUDA_ENTRY, names);
	find_symbols(text, ".const .align 8 .b64 ", STT_OBJECT, 0, names);
}

void *cubin_make(const char *text, size_t *size)
{
	struct names *names = calloc(1, sizeof(*names));
	struct cubin {
		Elf64_Ehdr header;
		Elf64_Shdr sections[SECTIONS];
	} head = { 0 };
	const void *parts[SECTIONS] = { NULL };
	char *code = malloc(sizeof(MARK) + strlen(text) + 1), *cubin;
	size_t at = sizeof(head);

	find_names(text, names);
	memcpy(code, MARK, sizeof(MARK));
	strcpy(code + sizeof(MARK), text);
	memcpy(head.header.e_ident, ELFMAG, SELFMAG);
	head.header.e_ident[EI_CLASS] = ELFCLASS64;
	head.header.e_ident[EI_DATA] = ELFDATA2LSB;
	head.header.e_ident[EI_VERSION] = EV_CURRENT;
	head.header.e_type = ET_EXEC;
	head.header.e_machine = EM_CUDA_GPU;
	head.header.e_version = EV_CURRENT;
	head.header.e_ehsize = sizeof(Elf64_Ehdr);
	head.header.e_shoff = offsetof(struct cubin, sections);
	head.header.e_shentsize = sizeof(Elf64_Shdr);
	head.header.e_shnum = SECTIONS;
	head.header.e_shstrndx = NAMES;
	parts[NAMES] = NAME_TEXTS;
	parts[SYMBOLS] = names->symbols;
	parts[STRINGS] = names->text;
	parts[CODE] = code;
	head.sections[NAMES].sh_type = head.sections[STRINGS].sh_type = SHT_STRTAB;
	head.sections[SYMBOLS].sh_type = SHT_SYMTAB;
	head.sections[SYMBOLS].sh_link = STRINGS;
	head.sections[SYMBOLS].sh_info = 1;
	head.sections[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
	head.sections[CODE].sh_type = SHT_PROGBITS;
	head.sections[NAMES].sh_size = sizeof(NAME_TEXTS);
	head.sections[SYMBOLS].sh_size = names->symbols_n * sizeof(Elf64_Sym);
	head.sections[STRINGS].sh_size = names->text_n;
	head.sections[CODE].sh_size = sizeof(MARK) + strlen(text) + 1;
	for (int i = NAMES; i < SECTIONS; i++) {
		head.sections[i].sh_name = name_at[i];
		head.sections[i].sh_offset = at;
		head.sections[i].sh_addralign = 8;
		at += (head.sections[i].sh_size + 7) & ~7ull;
	}
	cubin = calloc(1, at);
	memcpy(cubin, &head, sizeof(head));
	for (int i = NAMES; i < SECTIONS; i++)
		memcpy(cubin + head.sections[i].sh_offset, parts[i], head.sections[i].sh_size);
	free(code);
	free(names);
	*size = at;
	return cubin;
}

const char *cubin_text(const void *cubin)
{
	const char *base = cubin;
	Elf64_Ehdr header;
	Elf64_Shdr code;

	memcpy(&header, base, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_CUDA_GPU ||
	    header.e_shnum != SECTIONS)
		return NULL;
	memcpy(&code, base + header.e_shoff + CODE * sizeof(code), sizeof(code));
	base += code.sh_offset;
	return memcmp(base, MARK, sizeof(MARK)) ? NULL : base + sizeof(MARK);
}
