/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which programs a kernel or a device function gets, by its name and by the library that it is in. */
#ifndef GPUMON_GPUPROG_IMAGE_NAMES_H
#define GPUMON_GPUPROG_IMAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "exchange.h"
#define GPUMON_NAME_CHANGES 3 /* in a name that is near */

/**
 * gpumon_name_distance - count the letters to change, add or leave out to get from one name to the other
 * @one: name
 * @n: letters of it
 * @other: the other name
 * @m: letters of it
 *
 * Return: the number; GPUMON_NAME_CHANGES + 1 if there are more, or a name is longer than
 * GPUMON_NAME_LETTERS.
 */
unsigned int gpumon_name_distance(const char *one, size_t n, const char *other, size_t m);

#define GPUMON_EXCHANGE_OWNER 192

/**
 * gpumon_exchange_owner - whether PTX has to stay as it is
 * @file: name of the library that it is in, without folders, or ""; not trusted
 * @why: out: a sentence
 * @size: room in @why: GPUMON_EXCHANGE_OWNER is enough
 *
 * CUDA's licence forbids changes of NVIDIA's libraries. Their machine code can be reached in the way that
 * NVIDIA offers: its sanitizer (gpumon_gpuprog_patched()).
 *
 * Return: true for one of NVIDIA's libraries that are not open.
 */
bool gpumon_exchange_owner(const char *file, char *why, size_t size);

/**
 * struct gpumon_exchange - what the parts of an exchange share
 * @order: what to do
 * @run: what is known
 * @err: no memory
 */
struct gpumon_exchange {
	const struct gpumon_gpuprog_order *order;
	struct gpumon_gpuprog_run *run;
	struct gpumon_error *err;
};

/**
 * gpumon_exchange_wanted - find out which programs a function gets
 * @exchange: exchange
 * @name: mangled
 * @size: bytes of it
 * @kernel: it is a kernel
 *
 * Return: 1 << index of each program.
 */
uint32_t gpumon_exchange_wanted(struct gpumon_exchange *exchange, const char *name, size_t size,
				bool kernel);

/* Whether some program is for each kernel, whatever its name. */
bool gpumon_exchange_wants_all(const struct gpumon_gpuprog_order *order);

/* Whether some program is for a device function. */
bool gpumon_exchange_wants_functions(const struct gpumon_gpuprog_order *order);

#endif /* GPUMON_GPUPROG_IMAGE_NAMES_H */
