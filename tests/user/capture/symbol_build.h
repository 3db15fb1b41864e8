/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs and libraries built during a test, in a folder of its own. */
#ifndef GPUMON_TEST_SYMBOL_BUILD_H
#define GPUMON_TEST_SYMBOL_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/symbol.h"

/* For cmocka's setup and teardown: *state is the folder's path. */
int symbol_setup(void **state);
int symbol_teardown(void **state);

void symbol_write(const char *folder, const char *name, const void *data, size_t size);

/* Run a command in the folder, which must succeed. */
void symbol_run(const char *folder, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True if a program is installed. */
bool symbol_has(const char *program);

/* The whole file, to be freed. */
char *symbol_read(const char *folder, const char *name, size_t *size);

/**
 * symbol_load - map a file's code as a loader would
 * @symbols: symbols
 * @folder: folder of the file
 * @name: name of the file
 * @at: address of its first page
 * @time_ns: time of the mapping
 *
 * Return: the offset from addresses in the file.
 */
uint64_t symbol_load(struct gpumon_symbols *symbols, const char *folder, const char *name,
		     uint64_t at, uint64_t time_ns);

/* The mapping of symbol_load(), for tests with another path or build id. */
uint64_t symbol_mapping(struct gpumon_record_mapping *mapping, const char *folder, const char *name,
			uint64_t at, uint64_t time_ns);

/* Address and size of a symbol of .symtab or .dynsym, as in the file. */
uint64_t symbol_address(const char *folder, const char *name, const char *symbol, uint64_t *size);

/* The innermost function at an address, at time 1. */
const char *symbol_name(struct gpumon_symbols *symbols, uint64_t address);

#endif /* GPUMON_TEST_SYMBOL_BUILD_H */
