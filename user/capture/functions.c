// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "functions.h"

static bool ends_with(const char *name, size_t length, const char *end)
{
	size_t size = strlen(end);

	return length > size && !memcmp(name + length - size, end, size);
}

/* Length without a trailing "_v7000" or "_v2". */
static size_t without_version(const char *name, size_t length)
{
	size_t i = length;

	while (i && isdigit((unsigned char)name[i - 1]))
		i--;
	if (i == length || i < 3 || name[i - 1] != 'v' || name[i - 2] != '_')
		return length;
	return i - 2;
}

const char *gpumon_function_base(const char *name, size_t *length)
{
	size_t left = *length;
	size_t before;

	/* _ptsz or _ptds and the version come in either order. */
	do {
		before = left;
		left = without_version(name, left);
		if (ends_with(name, left, "_ptsz") || ends_with(name, left, "_ptds"))
			left -= strlen("_ptsz");
	} while (left != before);
	if (left > 2 && name[0] == '_' && name[1] == '_') {
		name += 2;
		left -= 2;
	}
	*length = left;
	return name;
}

/* Most strings are names of kernels, which need not be stored. */
static bool may_be_function(const char *base, size_t length)
{
	static const char *const prefixes[] = { "cu", "hip", "ze" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (length > strlen(prefixes[i]) && !memcmp(base, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

int64_t gpumon_functions_number(struct gpumon_functions *functions, const char *name, size_t length)
{
	const char *base = gpumon_function_base(name, &length);
	uint64_t hash, number;
	char *added;

	if (length >= GPUMON_FUNCTION_MAX || !may_be_function(base, length) ||
	    memchr(base, 0, length))
		return 0;
	/* If another text has the same hash, try the next one. */
	for (hash = gpumon_hash_bytes(base, length);; hash++) {
		number = gpumon_map_get(&functions->by_name, hash);
		if (!number)
			break;
		if (strlen(functions->names[number - 1]) == length &&
		    !memcmp(functions->names[number - 1], base, length))
			return (int64_t)number;
	}
	added = GPUMON_ARRAY_ADD(functions->names, functions->used, functions->room);
	if (!added)
		return -1;
	if (gpumon_map_set(&functions->by_name, hash, functions->used)) {
		functions->used--;
		return -1;
	}
	memcpy(added, base, length);
	return functions->used;
}

void gpumon_functions_clear(struct gpumon_functions *functions)
{
	gpumon_map_clear(&functions->by_name);
	free(functions->names);
	memset(functions, 0, sizeof(*functions));
}
