/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Ids of strings, stacks and frames, so that each is written once. The tables are
 * lock-free, of a fixed size, never emptied, and hold hashes of 64 bits only.
 */
#ifndef GPUMON_INJECT_CHANNEL_INTERN_H
#define GPUMON_INJECT_CHANNEL_INTERN_H

#include "thread.h"

/**
 * inject_intern_setup - make the tables
 *
 * Return: false where there is no memory.
 */
bool inject_intern_setup(void);

/**
 * inject_intern_string - id of a text, its STRING record written if this is its first use
 * @thread: caller
 * @text: NULL is none
 *
 * Return: the id; 0 for none, and where the table is full, which is counted.
 */
uint32_t inject_intern_string(struct inject_thread *thread, const char *text);

/* inject_intern_string() of a text with a length, which need not end with a 0. */
uint32_t inject_intern_text(struct inject_thread *thread, const char *text, size_t length);

/*
 * Whether the record of an id is in this capture. Where there was no room for it, the next call with
 * the same text writes it: a caller that keeps ids has to make that call. True of 0, which has none.
 */
bool inject_string_is_written(uint32_t id);
bool inject_frame_is_written(uint32_t id);

/*
 * Ids of texts that are kept for calls that come again and again, with the capture that they are of in
 * the upper half. 0: none is kept yet.
 */
static inline bool inject_kept_string(const _Atomic uint64_t *kept, uint32_t *id)
{
	uint64_t known = atomic_load_explicit(kept, memory_order_relaxed);

	*id = (uint32_t)known;
	return INJECT_LIKELY(known >> 32 == atomic_load_explicit(&inject_session.generation,
								 memory_order_relaxed));
}

/* The id of a text, which is kept if its record is in this capture. */
uint32_t inject_keep_string(struct inject_thread *thread, _Atomic uint64_t *kept, const char *text);

/* The id of a text, the one that is kept if there is one. */
static inline uint32_t inject_string_again(struct inject_thread *thread, _Atomic uint64_t *kept,
					   const char *text)
{
	uint32_t id;

	return inject_kept_string(kept, &id) ? id : inject_keep_string(thread, kept, text);
}

/**
 * inject_intern_stack - id of a stack, its STACK record written if this is its first use
 * @thread: caller
 * @frames: the innermost first
 * @count: of these
 * @truncated: the walk ended before the stack did
 * @same: how many of the outermost frames are the same as in this thread's stack before
 *
 * Return: the id; 0 where there are no frames, or where the table is full, which is counted.
 */
uint32_t inject_intern_stack(struct inject_thread *thread, const uint64_t *frames,
			     unsigned int count, bool truncated, unsigned int same);

/**
 * inject_intern_frame - id of a function that is no machine code
 * @thread: caller
 * @function: string id
 * @file: string id
 * @line: where it is
 * @first_line: where it begins
 *
 * Return: the id; 0 where the table is full, which is counted as a stack's loss.
 */
uint32_t inject_intern_frame(struct inject_thread *thread, uint32_t function, uint32_t file,
			     uint32_t line, uint32_t first_line);

#endif /* GPUMON_INJECT_CHANNEL_INTERN_H */
