// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "utf8.h"

size_t inject_utf8_character(uint32_t c, char *to)
{
	size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	to[0] = (char)(bytes == 1 ? c : 0xf0u << (4 - bytes) | c >> 6 * (bytes - 1));
	for (i = 1; i < bytes; i++)
		to[i] = (char)(0x80 | (c >> 6 * (bytes - 1 - i) & 0x3f));
	return bytes;
}

size_t inject_utf8(const wchar_t *wide, char *text, size_t size)
{
	size_t length = 0, bytes;
	char character[4];

	for (; *wide; wide++) {
		bytes = inject_utf8_character((uint32_t)*wide, character);
		if (length + bytes >= size)
			break;
		memcpy(text + length, character, bytes);
		length += bytes;
	}
	text[length] = '\0';
	return length;
}
