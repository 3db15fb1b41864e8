/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Lines and inlined calls of one file, from its DWARF. A compilation unit is read when the first
 * address in it is looked up.
 */
#ifndef GPUMON_CAPTURE_SYMBOL_DWARF_H
#define GPUMON_CAPTURE_SYMBOL_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol_table.h"

struct gpumon_symbol_dwarf;

/**
 * struct gpumon_symbol_scope - a function at an address
 * @linkage_name: mangled name, NULL if DWARF has none
 * @name: without a @linkage_name, the name in the source with its known namespaces and classes;
 *        NULL if DWARF has none
 * @is_c: the language does not mangle names
 * @file: source file, NULL if unknown
 * @line: 0 if unknown
 * @inlined: inlined into the next one
 */
struct gpumon_symbol_scope {
	const char *linkage_name;
	const char *name;
	bool is_c;
	const char *file;
	unsigned int line;
	bool inlined;
};

/* NULL without memory. The caller keeps @dwarf, which must outlive this. */
struct gpumon_symbol_dwarf *gpumon_symbol_dwarf_new(Dwarf *dwarf);

/**
 * gpumon_symbol_dwarf_find - find the functions at an address
 * @dwarf: DWARF of the file
 * @strings: storage for composed names
 * @address: address in the DWARF
 * @scopes: out, the innermost first; strings are valid as long as the Dwarf. If there is a line but
 *          no function, the scope has no names.
 * @room: size of @scopes
 *
 * Return: number of scopes, 0 if DWARF does not cover the address.
 */
unsigned int gpumon_symbol_dwarf_find(struct gpumon_symbol_dwarf *dwarf,
				      struct gpumon_symbol_strings *strings, uint64_t address,
				      struct gpumon_symbol_scope *scopes, unsigned int room);

/* About how many bytes it uses now. */
size_t gpumon_symbol_dwarf_bytes(const struct gpumon_symbol_dwarf *dwarf);

void gpumon_symbol_dwarf_free(struct gpumon_symbol_dwarf *dwarf);

#endif /* GPUMON_CAPTURE_SYMBOL_DWARF_H */
