/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The functions of an ELF file by address, from its symbol tables. */
#ifndef GPUMON_CAPTURE_SYMBOL_TABLE_H
#define GPUMON_CAPTURE_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct gpumon_symbol_entry {
	uint64_t start;
	uint64_t end;
	const char *name; /* owned by the module */
	uint32_t outer;	  /* index + 1 of the previous one that reaches further, 0: none */
	uint32_t rank;	  /* of several at one address, the lowest is kept */
};

struct gpumon_symbol_table {
	struct gpumon_symbol_entry *entries; /* sorted by start, one for each */
	size_t count;
};

/**
 * gpumon_symbol_table_read - read the symbols of a file and its debug file
 * @table: out
 * @module: module of the file
 *
 * Return: 0, or -1 without memory. A broken table is read as far as possible.
 */
int gpumon_symbol_table_read(struct gpumon_symbol_table *table, Dwfl_Module *module);

/**
 * gpumon_symbol_table_find - find the function of an address
 * @table: table of the file
 * @address: address in the file
 *
 * Never returns a function that merely begins before the address.
 *
 * Return: its mangled name, or NULL.
 */
const char *gpumon_symbol_table_find(const struct gpumon_symbol_table *table, uint64_t address);

void gpumon_symbol_table_free(struct gpumon_symbol_table *table);

/* Strings that are stored once, and freed together. */

/*
 * Longer names are cut. A broken file can have one text of hundreds of megabytes as the name of
 * each function.
 */
#define GPUMON_SYMBOL_NAME_MAX (64u << 10)

struct gpumon_symbol_strings;

struct gpumon_symbol_strings *gpumon_symbol_strings_new(void);

/**
 * gpumon_symbol_strings_add - get the only copy of a text
 * @strings: storage
 * @text: text, need not be NUL-terminated
 * @length: its length
 *
 * Return: the NUL-terminated copy, the same pointer for the same text; NULL without memory.
 */
const char *gpumon_symbol_strings_add(struct gpumon_symbol_strings *strings, const char *text,
				      size_t length);

/**
 * gpumon_symbol_strings_demangled - demangle a name
 * @strings: storage for both names
 * @name: name, mangled or not
 *
 * Each name is only demangled once.
 *
 * Return: the demangled name; NULL without memory.
 */
const char *gpumon_symbol_strings_demangled(struct gpumon_symbol_strings *strings,
					    const char *name);

/* Bytes of all strings. */
size_t gpumon_symbol_strings_bytes(const struct gpumon_symbol_strings *strings);

void gpumon_symbol_strings_free(struct gpumon_symbol_strings *strings);

#endif /* GPUMON_CAPTURE_SYMBOL_TABLE_H */
