/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Finds functions, files and lines for addresses of a process, with the ELF symbols and DWARF of
 * mapped files, and perf-PID.map for generated code.
 *
 * Names only come from the file that was mapped: a file whose build id (or, without one, inode) has
 * changed is not used. Debug information is searched in the file, beside it, in .debug there and in
 * /usr/lib/debug, by build id and .gnu_debuglink. If DEBUGINFOD_URLS is set, elfutils' client asks
 * a debuginfod server; it respects DEBUGINFOD_TIMEOUT and similar variables. A server that returns
 * nothing for 20 s is not asked again.
 */
#ifndef GPUMON_CAPTURE_SYMBOL_H
#define GPUMON_CAPTURE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/format.h"

/**
 * struct gpumon_symbol - a function at an address; there are several if calls are inlined
 * @function: demangled name, or "module+0x123" if it is unknown: the address for addr2line if the
 *            file can be read, otherwise the file offset
 * @module: base name of the file, "[jit]" for code named by a perf-PID.map, "[unknown]" without a
 *          file
 * @file: source file, "" if unknown
 * @line: 0 if unknown
 * @inlined: inlined into the next one of the array
 */
struct gpumon_symbol {
	const char *function;
	const char *module;
	const char *file;
	unsigned int line;
	bool inlined;
};

/* The symbols of one process. Strings live as long as this. */
struct gpumon_symbols;

/**
 * gpumon_symbols_new - create symbols without any mappings
 * @root: prefix of paths, normally ""; "/proc/PID/root" for a live container or any live process:
 *        then deleted files have names as well. Links in it cannot lead out of it.
 * @perf_map: path of the perf-PID.map to use, NULL for none. For a container, copy it with
 *            gpumon_perf_map_write().
 *
 * Return: NULL without memory.
 */
struct gpumon_symbols *gpumon_symbols_new(const char *root, const char *perf_map);

/* Allow or forbid asking the servers of DEBUGINFOD_URLS. It is allowed at first. */
void gpumon_symbols_use_debuginfod(bool use);

/*
 * Add a mapping with its time, see struct gpumon_record_mapping. Mappings may be added in any order
 * and repeatedly. @path may end with " (deleted)". -1 without memory.
 */
int gpumon_symbols_map(struct gpumon_symbols *symbols, const struct gpumon_record_mapping *mapping,
		       const char *path);
void gpumon_symbols_unmap(struct gpumon_symbols *symbols,
			  const struct gpumon_record_unmapping *unmapping);

/**
 * gpumon_symbols_find - find the functions at an address
 * @symbols: symbols of the process
 * @address: address; subtract one from a return address, since the call can be the last instruction
 *           of its function
 * @time_ns: time, for files that were unmapped since; 0 if unknown: an address that belonged to
 *           several files is then in none
 * @found: out, the innermost first
 * @room: size of @found, at least 1; further functions are left out
 *
 * Return: number of functions, at least 1.
 */
unsigned int gpumon_symbols_find(struct gpumon_symbols *symbols, uint64_t address, uint64_t time_ns,
				 struct gpumon_symbol *found, unsigned int room);

/**
 * gpumon_demangle - demangle a C++ or Rust name
 * @name: name, mangled or not
 *
 * Stack, time and memory are bounded for hostile input: a name stays mangled if it is longer than
 * 16 KiB, its demangled form than 64 KiB, or if demangling takes more than 0.2 s.
 *
 * Return: an allocated name; a copy of @name if it is not mangled; NULL without memory.
 */
char *gpumon_demangle(const char *name);

/* Longer names are not API functions. */
#define GPUMON_FUNCTION_MAX 96

/**
 * gpumon_function_base - find the common name of all variants of an API function
 * @name: name of a function
 * @length: in: its length; out: length of the result
 *
 * Variants differ in "_ptsz", "_ptds", a version such as "_v7000", and two underscores in front.
 *
 * Return: beginning of the result in @name.
 */
const char *gpumon_function_base(const char *name, size_t *length);

void gpumon_symbols_free(struct gpumon_symbols *symbols);

#endif /* GPUMON_CAPTURE_SYMBOL_H */
