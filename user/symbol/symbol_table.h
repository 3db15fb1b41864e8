/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The functions of one ELF file by address, from its symbol tables. */
#ifndef GPUMON_SYMBOL_TABLE_H
#define GPUMON_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

struct gpumon_symbol_entry {
	uint64_t start;
	uint64_t end;
	const char *name; /* of the file, good as long as the module */
	uint32_t outer;	  /* index + 1 of the next one before that reaches further, 0: none */
	uint32_t rank;	  /* of several at one address the lowest stays */
};

struct gpumon_symbol_table {
	struct gpumon_symbol_entry *entries; /* by start, one at each */
	size_t count;
};

/**
 * gpumon_symbol_table_read - read what a file and its debug file have
 * @table: filled in
 * @module: file
 *
 * Return: 0, or -1 without memory. A broken table gives what could be read of it.
 */
int gpumon_symbol_table_read(struct gpumon_symbol_table *table, Dwfl_Module *module);

/**
 * gpumon_symbol_table_find - the function that an address belongs to
 * @table: of the file
 * @address: in the file's own numbers
 *
 * Never one that just happens to begin before it.
 *
 * Return: its mangled name, NULL if there is none.
 */
const char *gpumon_symbol_table_find(const struct gpumon_symbol_table *table, uint64_t address);

void gpumon_symbol_table_free(struct gpumon_symbol_table *table);

#endif /* GPUMON_SYMBOL_TABLE_H */
