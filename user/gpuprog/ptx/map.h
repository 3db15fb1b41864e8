/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The helpers on maps. Each writes R0. The map is @map of the text. */
#ifndef GPUMON_GPUPROG_PTX_MAP_H
#define GPUMON_GPUPROG_PTX_MAP_H

#include "memory.h"
#define TEXT_EAGAIN 11
#define TEXT_ENOSPC 28

void text_map_lookup(struct text *text);
void text_map_update(struct text *text);
void text_map_count(struct text *text);
void text_map_histogram(struct text *text);
void text_hash_delete(struct text *text);

/* Append a record to a ring. @memory: the argument with it. @result: error if it is full. */
void text_ring_output(struct text *text, unsigned int memory, int result);
/* Append a printed line to the print ring. */
void text_ring_print(struct text *text);

#endif /* GPUMON_GPUPROG_PTX_MAP_H */
