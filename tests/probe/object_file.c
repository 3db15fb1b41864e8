// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "object_file.h"

Elf64_Ehdr *object_header(const struct object_file *object)
{
	return (Elf64_Ehdr *)object->bytes;
}

Elf64_Shdr *object_section_at(const struct object_file *object, size_t index)
{
	return (Elf64_Shdr *)(object->bytes + object_header(object)->e_shoff) + index;
}

Elf64_Shdr *object_section(const struct object_file *object, const char *name)
{
	const Elf64_Shdr *names = object_section_at(object, object_header(object)->e_shstrndx);

	for (size_t i = 0; i < object_header(object)->e_shnum; i++) {
		Elf64_Shdr *section = object_section_at(object, i);

		if (!strcmp((char *)object->bytes + names->sh_offset + section->sh_name, name))
			return section;
	}
	fail_msg("there is no section %s", name);
	return NULL;
}

void *object_data(const struct object_file *object, const char *name)
{
	return object->bytes + object_section(object, name)->sh_offset;
}

Elf64_Sym *object_symbol(const struct object_file *object, const char *name)
{
	const Elf64_Shdr *table = object_section(object, ".symtab");
	const char *names = object_data(object, ".strtab");
	Elf64_Sym *symbols = object_data(object, ".symtab");

	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		if (!strcmp(names + symbols[i].st_name, name))
			return &symbols[i];
	}
	fail_msg("there is no symbol %s", name);
	return NULL;
}

void *object_move_section(struct object_file *object, const char *name, size_t size)
{
	Elf64_Shdr *section = object_section(object, name);
	size_t at = (object->size + 7) & ~(size_t)7, before = section->sh_size,
	       from = section->sh_offset;

	section->sh_offset = at;
	section->sh_size = size;
	object->bytes = realloc(object->bytes, at + size);
	assert_non_null(object->bytes);
	memset(object->bytes + object->size, 0, at + size - object->size);
	memcpy(object->bytes + at, object->bytes + from, before < size ? before : size);
	object->size = at + size;
	return object->bytes + at;
}
