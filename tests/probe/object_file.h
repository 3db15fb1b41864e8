/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* An object file in memory, whose parts can be changed. A test fails where it has no such part. */
#ifndef PROBE_OBJECT_FILE_H
#define PROBE_OBJECT_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct object_file {
	uint8_t *bytes;
	size_t size;
};

Elf64_Ehdr *object_header(const struct object_file *object);
Elf64_Shdr *object_section_at(const struct object_file *object, size_t index);
Elf64_Shdr *object_section(const struct object_file *object, const char *name);
Elf64_Sym *object_symbol(const struct object_file *object, const char *name);

/* What a section has. */
void *object_data(const struct object_file *object, const char *name);

/* Room behind the file for a section, with what the section had at its begin. Its size becomes @size. */
void *object_move_section(struct object_file *object, const char *name, size_t size);

#endif /* PROBE_OBJECT_FILE_H */
