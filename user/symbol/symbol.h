/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * From addresses of a process to functions, files and lines: ELF symbols and
 * DWARF of the files that were mapped, perf-PID.map of code made at run time.
 *
 * Names are of the file that was mapped, or there are none: a file that has
 * another build id by now (or, without one, another inode) is not used.
 * Debug information is looked for in the file, beside it, in .debug there and in
 * /usr/lib/debug, by build id and .gnu_debuglink. A debuginfod server is asked if
 * DEBUGINFOD_URLS is set, by elfutils' client, which follows DEBUGINFOD_TIMEOUT and the
 * like; one that takes 20 s for nothing is not asked again. Without DEBUGINFOD_URLS
 * nothing is asked.
 */
#ifndef GPUMON_SYMBOL_H
#define GPUMON_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"

/**
 * struct gpumon_symbol - one function at an address; several where calls are inlined
 * @function: demangled; "module+0x123" where no name is known: addr2line's address where
 *            the file can be read, else the place in it
 * @module: base name of the file, "[jit]" of code that a perf-PID.map names, "[unknown]"
 *          without one
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
 * @root: in front of paths, "" here; "/proc/PID/root" of a container that still is, or of any
 *        live process: then files that were deleted since have names as well. Nothing in it
 *        leads out of it.
 * @perf_map: perf-PID.map to be used, as it is; NULL for none. A container's is to be had by
 *            gpumon_perf_map_copy().
 *
 * Return: it, NULL without memory.
 */
struct gpumon_symbols *gpumon_symbols_new(const char *root, const char *perf_map);

/* May servers of DEBUGINFOD_URLS be asked from now on? At first they may. */
void gpumon_symbols_use_debuginfod(bool use);

/*
 * A file is mapped from a time on, see struct gpumon_record_mapping. In any order of time,
 * again and again. @path may end with " (deleted)". -1 without memory.
 */
int gpumon_symbols_map(struct gpumon_symbols *symbols, const struct gpumon_record_mapping *mapping,
		       const char *path);
void gpumon_symbols_unmap(struct gpumon_symbols *symbols,
			  const struct gpumon_record_unmapping *unmapping);

/**
 * gpumon_symbols_find - functions at an address
 * @symbols: of the process
 * @address: address; of a return address one less than it: the call can be the last thing in
 *           its function, and what follows is another one's
 * @time_ns: when, for files that were unmapped since; 0 where not known: an address that was of
 *           several files is then of none
 * @found: filled in, the innermost first
 * @room: of @found, at least 1; what finds none is left out
 *
 * Return: how many, at least 1.
 */
unsigned int gpumon_symbols_find(struct gpumon_symbols *symbols, uint64_t address, uint64_t time_ns,
				 struct gpumon_symbol *found, unsigned int room);

/**
 * gpumon_demangle - a C++ or Rust name for people
 * @name: mangled or not
 *
 * Of a hostile name the stack, time and memory are bounded: it stays as it is beyond
 * 16 KiB of it, 64 KiB for people or 0.2 s.
 *
 * Return: allocated; a copy of @name where it is not mangled; NULL without memory.
 */
char *gpumon_demangle(const char *name);

/**
 * gpumon_symbols_missing - what could not be used
 * @symbols: of the process
 * @each: called with each file that was asked for and is not there any more, is another one
 *        now or cannot be read: why, and what to do; NULL to count
 * @data: for @each
 *
 * Return: how many.
 */
unsigned int gpumon_symbols_missing(const struct gpumon_symbols *symbols,
				    void (*each)(void *data, const char *path, const char *why),
				    void *data);

void gpumon_symbols_free(struct gpumon_symbols *symbols);

#endif /* GPUMON_SYMBOL_H */
