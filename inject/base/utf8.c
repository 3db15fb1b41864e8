// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdint.h>

#include "utf8.h"

size_t inject_utf8(const wchar_t *wide, char *text, size_t size)
{
	size_t length = 0, bytes, i;
	uint32_t c;

	for (; *wide; wide++) {
		c = (uint32_t)*wide;
		bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		if (length + bytes >= size)
			break;
		if (bytes == 1) {
			text[length++] = (char)c;
			continue;
		}
		text[length] = (char)(0xf0 << (4 - bytes) | c >> 6 * (bytes - 1));
		for (i = 1; i < bytes; i++)
			text[length + i] = (char)(0x80 | (c >> 6 * (bytes - 1 - i) & 0x3f));
		length += bytes;
	}
	text[length] = '\0';
	return length;
}
