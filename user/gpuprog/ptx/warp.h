/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Helpers that the lanes of a warp run together, and the place of a thread. */
#ifndef GPUMON_GPUPROG_PTX_WARP_H
#define GPUMON_GPUPROG_PTX_WARP_H

#include "text.h"

/* A special register as a new %gw: "%laneid". */
uint32_t text_special(struct text *text, const char *name);
/* The lanes that run this at the same time, as a new %gw. */
uint32_t text_active_mask(struct text *text);
/* How many lanes of a mask are before this one, as a new %gw. */
uint32_t text_lanes_before(struct text *text, uint32_t mask);
/* A %gw of another lane as a new %gw. All lanes of the mask run this. */
uint32_t text_shuffle(struct text *text, uint32_t mask, uint32_t value, uint32_t lane);

/* Number of the thread in the grid: rows of the whole grid, then planes. A new %gd. */
uint32_t text_thread(struct text *text);
/* Number of the block in the grid, as a new %gd. */
uint32_t text_block(struct text *text);
/* Number of the warp in its block, as a new %gd. */
uint32_t text_warp_in_block(struct text *text);
/* Number of distinct 32-byte sectors that the warp accesses, as a new %gd: gpumon_sectors(). */
uint32_t text_sectors(struct text *text, uint32_t address, uint32_t size);
/* Whether a whole warp accesses one piece, as a new %gd: gpumon_contiguous(). */
uint32_t text_contiguous(struct text *text, uint32_t address, uint32_t size);

#endif /* GPUMON_GPUPROG_PTX_WARP_H */
