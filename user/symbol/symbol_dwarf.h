/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Lines and inlined calls of one file, from its DWARF. A compilation unit is
 * read through once, at the first address that is asked for in it.
 */
#ifndef GPUMON_SYMBOL_DWARF_H
#define GPUMON_SYMBOL_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol_strings.h"

struct gpumon_symbol_dwarf;

/**
 * struct gpumon_symbol_scope - a function at an address
 * @linkage_name: mangled, NULL where DWARF has none
 * @name: without a @linkage_name: as in the source, with namespaces and classes
 *        in front of it where these are known; NULL where DWARF has none
 * @is_c: of a language that has names as they are
 * @file: source, NULL where not known
 * @line: 0 where not known
 * @inlined: into the next one
 */
struct gpumon_symbol_scope {
	const char *linkage_name;
	const char *name;
	bool is_c;
	const char *file;
	unsigned int line;
	bool inlined;
};

/* NULL without memory; @dwarf stays the caller's and has to outlive it. */
struct gpumon_symbol_dwarf *gpumon_symbol_dwarf_new(Dwarf *dwarf);

/**
 * gpumon_symbol_dwarf_find - functions at an address
 * @dwarf: of the file
 * @strings: where names are kept that are put together
 * @address: in the numbers of the DWARF
 * @scopes: filled in, the innermost first; strings are good as long as the Dwarf. Where
 *          there is a line but no function, one without names.
 * @room: of @scopes
 *
 * Return: how many, 0 where DWARF knows nothing of the address.
 */
unsigned int gpumon_symbol_dwarf_find(struct gpumon_symbol_dwarf *dwarf,
				      struct gpumon_symbol_strings *strings, uint64_t address,
				      struct gpumon_symbol_scope *scopes, unsigned int room);

/* Bytes that it takes by now, about. */
size_t gpumon_symbol_dwarf_bytes(const struct gpumon_symbol_dwarf *dwarf);

void gpumon_symbol_dwarf_free(struct gpumon_symbol_dwarf *dwarf);

#endif /* GPUMON_SYMBOL_DWARF_H */
