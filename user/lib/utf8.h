/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Validation of UTF-8. */
#ifndef GPUMON_LIB_UTF8_H
#define GPUMON_LIB_UTF8_H

#include <stddef.h>
#include <string.h>

#include "memory.h"

/* Length of the well-formed UTF-8 character at @text, which may be a control character, or 0. */
static inline size_t gpumon_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t bytes = at[0] < 0x80	      ? 1 :
		       (at[0] & 0xe0) == 0xc0 ? 2 :
		       (at[0] & 0xf0) == 0xe0 ? 3 :
		       (at[0] & 0xf8) == 0xf0 ? 4 :
						0;

	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Reject overlong forms, surrogates, and characters beyond U+10FFFF. */
	if ((bytes == 2 && at[0] < 0xc2) || (bytes == 3 && at[0] == 0xe0 && at[1] < 0xa0) ||
	    (bytes == 3 && at[0] == 0xed && at[1] > 0x9f) ||
	    (bytes == 4 && at[0] == 0xf0 && at[1] < 0x90) ||
	    (bytes == 4 && (at[0] > 0xf4 || (at[0] == 0xf4 && at[1] > 0x8f))))
		return 0;
	return bytes;
}

/* A copy in which invalid bytes are U+FFFD. Free it. */
static inline char *gpumon_utf8_copy(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const size_t length = sizeof(replacement) - 1;
	char *copy = gpumon_malloc(strlen(text) * length + 1);
	size_t at = 0;

	while (*text) {
		size_t bytes = gpumon_utf8(text);

		memcpy(copy + at, bytes ? text : replacement, bytes ? bytes : length);
		at += bytes ? bytes : length;
		text += bytes ? bytes : 1;
	}
	copy[at] = '\0';
	return copy;
}

#endif /* GPUMON_LIB_UTF8_H */
