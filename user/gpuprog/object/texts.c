// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "texts.h"

uint32_t gpumon_probe_texts_add(struct gpumon_probe_texts *texts, const char *text)
{
	size_t size = strlen(text) + 1;
	uint32_t at;

	for (at = 0; at < texts->used; at += (uint32_t)strlen(texts->bytes + at) + 1)
		if (!strcmp(texts->bytes + at, text))
			return at;
	if (size > sizeof(texts->bytes) - texts->used)
		return UINT32_MAX;
	memcpy(texts->bytes + at, text, size);
	texts->used += (uint32_t)size;
	return at;
}
