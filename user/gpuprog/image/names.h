/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which programs a kernel or a device function gets, by its name. */
#ifndef GPUMON_GPUPROG_IMAGE_NAMES_H
#define GPUMON_GPUPROG_IMAGE_NAMES_H

#include "exchange.h"

/**
 * struct gpumon_exchange - what the parts of an exchange share
 * @order: what to do
 * @run: what is known
 * @err: no memory
 */
struct gpumon_exchange {
	const struct gpumon_probe_order *order;
	struct gpumon_probe_run *run;
	struct gpumon_error *err;
};

int gpumon_exchange_no_memory(const struct gpumon_exchange *exchange);

/**
 * gpumon_exchange_wanted - find out which programs a function gets
 * @exchange: exchange
 * @name: mangled
 * @size: bytes of it
 * @kernel: it is a kernel
 * @programs: out, 1 << index of a program
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_exchange_wanted(struct gpumon_exchange *exchange, const char *name, size_t size,
			   bool kernel, uint32_t *programs);

/* Whether some program is for each kernel, whatever its name. */
bool gpumon_exchange_wants_all(const struct gpumon_probe_order *order);

/* Whether some program is for a device function. */
bool gpumon_exchange_wants_functions(const struct gpumon_probe_order *order);

#endif /* GPUMON_GPUPROG_IMAGE_NAMES_H */
