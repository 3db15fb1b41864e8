/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Texts to numbers, each text once: what files with tables of strings are written with. */
#ifndef GPUMON_OUTPUT_TEXT_INTERN_H
#define GPUMON_OUTPUT_TEXT_INTERN_H

#include <stdbool.h>
#include <stdint.h>

struct gpumon_intern {
	char **texts; /* by number - 1 */
	uint64_t *hashes;
	uint32_t *slots; /* numbers, 0 of a free slot */
	uint32_t n;
	uint32_t room; /* of slots, a power of 2; half of it in texts */
};

/**
 * gpumon_intern - the number of a text
 * @intern: table, zeroed is empty
 * @text: text
 * @added: set to whether it was not there before; may be NULL
 *
 * Return: from 1 on, 0 without memory.
 */
uint32_t gpumon_intern(struct gpumon_intern *intern, const char *text, bool *added);

/* The number of a text that is there, 0 of one that is not. */
uint32_t gpumon_intern_find(const struct gpumon_intern *intern, const char *text);

/* A second table's key: several texts as one. */
uint32_t gpumon_intern_parts(struct gpumon_intern *intern, const char *const *parts,
			     unsigned int count, bool *added);

void gpumon_intern_clear(struct gpumon_intern *intern);

#endif /* GPUMON_OUTPUT_TEXT_INTERN_H */
