/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs and libraries made while a test runs, in a folder of its own. */
#ifndef GPUMON_TEST_SYMBOL_BUILD_H
#define GPUMON_TEST_SYMBOL_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbol.h"

/* For cmocka's setup and teardown: *state is the folder's path. */
int symbol_setup(void **state);
int symbol_teardown(void **state);

void symbol_write(const char *folder, const char *name, const void *data, size_t size);

/* A command in the folder, which has to end well. */
void symbol_run(const char *folder, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a program is there. */
bool symbol_has(const char *program);

/* The whole file, to be freed. */
char *symbol_read(const char *folder, const char *name, size_t *size);

/**
 * symbol_load - map a file's code as a loader would
 * @symbols: where to
 * @folder: of the file
 * @name: of it
 * @at: where its first page gets to
 * @time_ns: when
 *
 * Return: what is to be added to its own addresses.
 */
uint64_t symbol_load(struct gpumon_symbols *symbols, const char *folder, const char *name,
		     uint64_t at, uint64_t time_ns);

/* The mapping that symbol_load() makes, for tests that want another path or build id. */
uint64_t symbol_mapping(struct gpumon_record_mapping *mapping, const char *folder, const char *name,
			uint64_t at, uint64_t time_ns);

/* Where a symbol of .symtab or .dynsym is, in the file's own addresses; and how long. */
uint64_t symbol_address(const char *folder, const char *name, const char *symbol, uint64_t *size);

/* The innermost function at an address, at time 1. */
const char *symbol_name(struct gpumon_symbols *symbols, uint64_t address);

#endif /* GPUMON_TEST_SYMBOL_BUILD_H */
