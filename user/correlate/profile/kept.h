/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Names of functions that are kept in a capture: found on the machine that was
 * recorded, while it still has the files, and read wherever the capture goes.
 */
#ifndef GPUMON_CORRELATE_KEPT_H
#define GPUMON_CORRELATE_KEPT_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "symbol/symbol.h"

/* Of a process, beside its records: "process-123-456" and this. */
#define GPUMON_KEPT_SUFFIX ".symbols"

/* Names of one process. */
struct gpumon_kept;

/**
 * gpumon_kept_read - the names of a process, if there are any
 * @path: file; what is broken in it is left out
 *
 * Return: them, freed with gpumon_kept_free(); NULL with errno where there is no such file, it
 * cannot be read, is no file of names, or there is no memory.
 */
struct gpumon_kept *gpumon_kept_read(const char *path);

/**
 * gpumon_kept_find - functions at an address, as gpumon_symbols_find()
 * @kept: names, NULL has none
 * @address: as looked for: of a return address one less than it
 * @epoch: gpumon_tables_epoch() of the time
 * @found: filled in, strings live as long as @kept
 * @room: of @found
 *
 * Return: how many, 0 where it is not known.
 */
unsigned int gpumon_kept_find(const struct gpumon_kept *kept, uint64_t address, uint32_t epoch,
			      struct gpumon_symbol *found, unsigned int room);
void gpumon_kept_free(struct gpumon_kept *kept);

/* Not "libfoo.so+0x123", which is said where there is no name. */
bool gpumon_symbol_is_name(const struct gpumon_symbol *symbol);

/**
 * gpumon_kept_write - an address, and the functions there
 * @out: file, empty before the first
 * @address: as gpumon_kept_find() will be asked
 * @epoch: likewise
 * @found: functions, the innermost first
 * @count: of them
 *
 * Failures are left in ferror(@out).
 */
void gpumon_kept_write(FILE *out, uint64_t address, uint32_t epoch,
		       const struct gpumon_symbol *found, unsigned int count);

/**
 * gpumon_keep_names - find the names of all functions on the stacks of a capture, and keep them
 * @directory: descriptor of the capture, which nobody writes any more
 * @path: its name, for messages
 * @err: why not
 *
 * Files of a process that is still there are looked for as it sees them, in its container.
 * What has no name is left to who reads the capture. Names of a capture that has some are
 * replaced.
 *
 * Return: 0, or -1 with @err: the capture is as it was.
 */
int gpumon_keep_names(int directory, const char *path, struct gpumon_error *err);

#endif /* GPUMON_CORRELATE_KEPT_H */
