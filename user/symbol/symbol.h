/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * From addresses of a process to functions, files and lines: ELF symbols and
 * DWARF of the files that were mapped, perf-PID.map of code made at run time.
 */
#ifndef GPUMON_SYMBOL_H
#define GPUMON_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../capture/format.h"

/**
 * struct gpumon_symbol - one function at an address; several where calls are inlined
 * @function: demangled; "module+0x123" where no name is known
 * @module: base name of the file, "[unknown]" without one
 * @file: source, "" where not known
 * @line: 0 where not known
 * @inlined: into the next one of the array
 */
struct gpumon_symbol {
	const char *function;
	const char *module;
	const char *file;
	unsigned int line;
	bool inlined;
};

/* Of one process. Strings live as long as it. */
struct gpumon_symbols;

/**
 * gpumon_symbols_new - nothing is mapped yet
 * @root: in front of paths, "" here; "/proc/PID/root" of a container that still is
 * @perf_map: perf-PID.map to be used, NULL for none
 *
 * Return: it, NULL without memory.
 */
struct gpumon_symbols *gpumon_symbols_new(const char *root, const char *perf_map);

/* A file is mapped from a time on, see struct gpumon_record_mapping. -1 without memory. */
int gpumon_symbols_map(struct gpumon_symbols *symbols, const struct gpumon_record_mapping *mapping,
		       const char *path);
void gpumon_symbols_unmap(struct gpumon_symbols *symbols,
			  const struct gpumon_record_unmapping *unmapping);

/**
 * gpumon_symbols_find - functions at an address
 * @symbols: of the process
 * @address: address; of a return address one less than it
 * @time_ns: when, for files that were unmapped since
 * @found: filled in, the innermost first
 * @room: of @found, at least 1
 *
 * Return: how many, at least 1.
 */
unsigned int gpumon_symbols_find(struct gpumon_symbols *symbols, uint64_t address, uint64_t time_ns,
				 struct gpumon_symbol *found, unsigned int room);

/**
 * gpumon_demangle - a C++ or Rust name for people
 * @name: mangled or not
 *
 * Return: allocated; a copy of @name where it is not mangled; NULL without memory.
 */
char *gpumon_demangle(const char *name);

/* Files that were not there any more or are another one now (build id): by build id or path. */
unsigned int gpumon_symbols_missing(const struct gpumon_symbols *symbols,
				    void (*each)(void *data, const char *path, const char *why),
				    void *data);

void gpumon_symbols_free(struct gpumon_symbols *symbols);

#endif /* GPUMON_SYMBOL_H */
