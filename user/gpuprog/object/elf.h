/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* An object file as ELF: its sections, symbols, functions and relocations. */
#ifndef GPUMON_GPUPROG_OBJECT_ELF_H
#define GPUMON_GPUPROG_OBJECT_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"
#include "lib/map.h"
#include "program.h"

/**
 * struct gpumon_gpuprog_relocation - an instruction or a word that names a symbol
 * @offset: bytes in its section
 * @symbol: index
 * @type: R_BPF_*
 */
struct gpumon_gpuprog_relocation {
	uint64_t offset;
	uint32_t symbol;
	uint32_t type;
};

/**
 * struct gpumon_gpuprog_section - a section
 * @name: name
 * @data: its bytes, at any alignment; NULL if it has none in the file
 * @size: bytes
 * @code: it has instructions
 * @relocations: by rising offset
 * @relocations_n: how many
 */
struct gpumon_gpuprog_section {
	const char *name;
	const uint8_t *data;
	uint64_t size;
	bool code;
	struct gpumon_gpuprog_relocation *relocations;
	uint32_t relocations_n;
};

/**
 * struct gpumon_gpuprog_symbol - a symbol
 * @name: name, "" for none
 * @value: offset in its section
 * @size: bytes
 * @section: index, 0: not defined in the object
 * @type: STT_*
 * @local: of this file alone (static)
 */
struct gpumon_gpuprog_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint32_t section;
	uint8_t type;
	bool local;
};

/**
 * struct gpumon_gpuprog_image - an object file
 * @name: for messages
 * @pool: owns the arrays; names point into the file
 * @size: bytes of the file
 * @functions: indices of symbols, by section and offset; each is inside its section, of whole
 *             instructions, and has at least one
 */
struct gpumon_gpuprog_image {
	const char *name;
	struct gpumon_pool *pool;
	Elf *elf;
	size_t size;
	struct gpumon_gpuprog_section *sections;
	uint32_t sections_n;
	struct gpumon_gpuprog_symbol *symbols;
	uint32_t symbols_n;
	uint32_t *functions;
	uint32_t functions_n;
};

/**
 * gpumon_gpuprog_image_open - read an object file's tables
 * @image: to be closed in both cases; @name and @pool are set
 * @bytes: the file; has to stay
 * @size: how many
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_image_open(struct gpumon_gpuprog_image *image, const void *bytes, size_t size,
			      struct gpumon_error *err);
void gpumon_gpuprog_image_close(struct gpumon_gpuprog_image *image);

/* The section with this name, or NULL. */
const struct gpumon_gpuprog_section *
gpumon_gpuprog_image_section(const struct gpumon_gpuprog_image *image, const char *name);

/* Position in @functions of the one that begins at this place, or -1. */
int64_t gpumon_gpuprog_image_function(const struct gpumon_gpuprog_image *image, uint32_t section,
				      uint64_t offset);

/* The first relocation of a section at this offset or behind it; its end if there is none. */
const struct gpumon_gpuprog_relocation *
gpumon_gpuprog_relocation_find(const struct gpumon_gpuprog_section *section, uint64_t offset);

/* Whether a name has only the characters of a C identifier. */
bool gpumon_gpuprog_image_identifier(const char *name);

/* Set err to "FILE: reason". Return: -1. */
#define GPUMON_GPUPROG_IMAGE_REFUSE(image, err, format, ...)                                  \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED, "%.200s: " format, \
			 (image)->name, ##__VA_ARGS__)

#endif /* GPUMON_GPUPROG_OBJECT_ELF_H */
