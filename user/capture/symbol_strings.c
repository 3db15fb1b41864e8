// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "lib/pool.h"
#include "symbol.h"
#include "symbol_strings.h"

struct gpumon_symbol_strings {
	struct gpumon_pool pool;
	struct gpumon_map demangled; /* of a text in the pool, by its address */
	size_t bytes;
};

struct gpumon_symbol_strings *gpumon_symbol_strings_new(void)
{
	return calloc(1, sizeof(struct gpumon_symbol_strings));
}

const char *gpumon_symbol_strings_add(struct gpumon_symbol_strings *strings, const char *text,
				      size_t length)
{
	size_t before = strings->pool.used;
	const char *kept = gpumon_pool_part(&strings->pool, text, length);

	if (strings->pool.used > before)
		strings->bytes += strlen(kept) + 1;
	return kept;
}

const char *gpumon_symbol_strings_demangled(struct gpumon_symbol_strings *strings, const char *name)
{
	const char *kept;
	char *demangled;

	name = gpumon_symbol_strings_add(strings, name, strnlen(name, GPUMON_SYMBOL_NAME_MAX));
	if (!name)
		return NULL;
	kept = (const char *)(uintptr_t)gpumon_map_get(&strings->demangled, (uintptr_t)name);
	if (kept)
		return kept;
	demangled = gpumon_demangle(name);
	if (!demangled)
		return NULL;
	kept = gpumon_symbol_strings_add(strings, demangled, strlen(demangled));
	free(demangled);
	/* Without memory it is demangled again the next time. */
	if (kept)
		gpumon_map_set(&strings->demangled, (uintptr_t)name, (uintptr_t)kept);
	return kept;
}

size_t gpumon_symbol_strings_bytes(const struct gpumon_symbol_strings *strings)
{
	return strings->bytes;
}

void gpumon_symbol_strings_free(struct gpumon_symbol_strings *strings)
{
	if (!strings)
		return;
	gpumon_pool_clear(&strings->pool);
	gpumon_map_clear(&strings->demangled);
	free(strings);
}
