/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The helpers on maps. Each writes R0. The map is @map of the text. */
#ifndef GPUMON_GPUPROG_PTX_MAP_H
#define GPUMON_GPUPROG_PTX_MAP_H

#include "memory.h"

/* Errors that helpers return, the kernel's numbers. */
#define TEXT_ENOENT 2
#define TEXT_E2BIG  7
#define TEXT_EAGAIN 11
#define TEXT_EEXIST 17
#define TEXT_EINVAL 22
#define TEXT_ENOSPC 28

/* What of a key or a value a helper takes into registers: words of 8 bytes, the last one shorter. */
#define TEXT_MAX_WORDS (GPUMON_PROBE_MAX_RECORD_SIZE / 8)

struct text_words {
	uint32_t reg[TEXT_MAX_WORDS];
	uint32_t n;
	uint32_t size;
};

/* Load what argument @argument, from 0, of the present call points to. */
void text_words_load(struct text *text, unsigned int argument, uint32_t size,
		     struct text_words *words);
void text_words_store(struct text *text, const struct text_words *words,
		      const struct text_place *place);

void text_map_lookup(struct text *text);
void text_map_update(struct text *text);
void text_map_count(struct text *text);
void text_map_histogram(struct text *text);

/* Of hashes: hash.c. */
void text_hash_lookup(struct text *text);
void text_hash_update(struct text *text);
void text_hash_delete(struct text *text);

/* Append a record to a ring: ring.c. @memory: the argument with it. @result: error if it is full. */
void text_ring_output(struct text *text, unsigned int memory, int result);
/* The same with the print ring. */
void text_ring_print(struct text *text);

#endif /* GPUMON_GPUPROG_PTX_MAP_H */
