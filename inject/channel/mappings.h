/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CHANNEL_MAPPINGS_H
#define GPUMON_INJECT_CHANNEL_MAPPINGS_H

#include "thread.h"

/* A library may be new: the worker looks soon. */
void inject_mappings_expect(void);

/**
 * inject_mappings_notice - a library on a stack, which may be gone when the worker looks
 * @thread: caller, whose stack it is: it stays loaded meanwhile
 * @start: where its ELF header is
 * @end: behind its highest segment
 * @base: what its addresses are relative to
 * @name: the loader's
 *
 * Writes its MAPPING, unless it was the last one that was noticed there; without its inode: no file
 * is touched.
 */
void inject_mappings_notice(struct inject_thread *thread, uint64_t start, uint64_t end,
			    uint64_t base, const char *name);

/* Was inject_mappings_expect() called since the last time? */
bool inject_mappings_expected(void);

/**
 * inject_mappings_write - MAPPING of what is new, UNMAPPING of what is gone, since the last time
 * @thread: caller, one that may wait for the loader
 *
 * Return: true if anything came or went.
 */
bool inject_mappings_write(struct inject_thread *thread);

/* Forget what was written: a new capture begins. */
void inject_mappings_reset(void);

/**
 * inject_library_code - where a library is
 * @address: in it
 * @code: filled
 *
 * Return: false if it is in none. Takes the loader's lock.
 */
bool inject_library_code(const void *address, struct inject_code *code);

#endif /* GPUMON_INJECT_CHANNEL_MAPPINGS_H */
