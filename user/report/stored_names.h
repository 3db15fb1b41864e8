/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Function names stored in a capture. They are looked up on the recorded machine, while it still
 * has the files, so the capture can be read anywhere.
 */
#ifndef GPUMON_REPORT_STORED_NAMES_H
#define GPUMON_REPORT_STORED_NAMES_H

#include <stdint.h>
#include <stdio.h>

#include "lib/error.h"
#include "capture/symbol.h"

/* Suffix of the file beside a process's records: "process-123-456" with this suffix. */
#define GPUMON_STORED_NAMES_SUFFIX ".symbols"

/* Names of one process. */
struct gpumon_stored_names;

/**
 * gpumon_stored_names_read - read the names of a process, if there are any
 * @path: file; invalid parts are skipped
 *
 * Return: names, to be freed with gpumon_stored_names_free(); NULL with errno if the file is missing,
 * unreadable or invalid.
 */
struct gpumon_stored_names *gpumon_stored_names_read(const char *path);

/**
 * gpumon_stored_names_find - find the functions at an address, as gpumon_symbols_find()
 * @names: names, may be NULL
 * @address: address; for a return address one less than it
 * @epoch: gpumon_tables_epoch() of the time
 * @found: out; strings live as long as @names
 * @room: size of @found
 *
 * Return: number of functions, 0 if unknown.
 */
unsigned int gpumon_stored_names_find(const struct gpumon_stored_names *names, uint64_t address,
				      uint32_t epoch, struct gpumon_symbol *found,
				      unsigned int room);
void gpumon_stored_names_free(struct gpumon_stored_names *names);

/* False for "libfoo.so+0x123", which stands for a missing name. */
bool gpumon_symbol_is_name(const struct gpumon_symbol *symbol);

/**
 * gpumon_stored_names_write - write an address and its functions
 * @out: file, empty before the first call
 * @address: address, as for gpumon_stored_names_find()
 * @epoch: likewise
 * @found: functions, the innermost first
 * @count: number of @found
 *
 * Failures show in ferror(@out).
 */
void gpumon_stored_names_write(FILE *out, uint64_t address, uint32_t epoch,
			       const struct gpumon_symbol *found, unsigned int count);

/**
 * gpumon_store_names - store the names of all functions on the stacks of a capture
 * @directory: descriptor of the complete capture
 * @path: its path, for messages
 * @err: out
 *
 * Files of a live process are opened in its own root, for containers. Addresses without a name are
 * left to the reader of the capture. Existing names are replaced.
 *
 * Return: 0, or -1 with @err; the capture is unchanged then.
 */
int gpumon_store_names(int directory, const char *path, struct gpumon_error *err);

#endif /* GPUMON_REPORT_STORED_NAMES_H */
