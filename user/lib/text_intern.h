/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Numbers for texts, or other bytes, each once, for file formats with string tables. Without memory
 * the program ends: memory.h.
 */
#ifndef GPUMON_LIB_TEXT_INTERN_H
#define GPUMON_LIB_TEXT_INTERN_H

#include <stdbool.h>
#include <stdint.h>

struct gpumon_intern {
	char **texts; /* by number - 1, with a NUL behind each */
	uint32_t *sizes;
	uint64_t *hashes;
	uint32_t *slots; /* numbers, 0 of a free slot */
	uint32_t n;
	uint32_t room; /* number of slots, a power of 2; at most half of them are used */
};

/**
 * gpumon_intern - look up or assign the number of a text
 * @intern: table; a zeroed one is empty
 * @text: text
 * @added: set to whether the text is new; may be NULL
 *
 * Return: a number from 1 on.
 */
uint32_t gpumon_intern(struct gpumon_intern *intern, const char *text, bool *added);

/* The same for bytes, of which a text is one kind. */
uint32_t gpumon_intern_bytes(struct gpumon_intern *intern, const void *bytes, uint32_t size,
			     bool *added);

/* The number of a known text, or 0. */
uint32_t gpumon_intern_find(const struct gpumon_intern *intern, const char *text);

/* The same for several texts that form one key. */
uint32_t gpumon_intern_parts(struct gpumon_intern *intern, const char *const *parts,
			     unsigned int count, bool *added);

void gpumon_intern_clear(struct gpumon_intern *intern);

#endif /* GPUMON_LIB_TEXT_INTERN_H */
