// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The texts that are packed by pack.awk: what pages.awk has left of the pages, and the help of the commands,
 * which help.awk takes out of their files.
 */
#include <stdio.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/profile.h"
#include "pages.h"

static char *unpack(char *to, unsigned char byte)
{
	if (pairs[byte][0])
		return unpack(unpack(to, pairs[byte][0]), pairs[byte][1]);
	*to = (char)byte;
	return to + 1;
}

const char *gpumon_small_pages(void)
{
	static char *text;
	char *to;

	if (text)
		return text;
	to = text = gpumon_malloc(UNPACKED_SIZE + 1);
	for (size_t i = 0; i < sizeof(packed); i++)
		to = unpack(to, packed[i]);
	*to = '\0';
	return text;
}

char *gpumon_small_help(const char *name)
{
	char heading[64];
	const char *text;

	snprintf(heading, sizeof(heading), "<!-- help %s -->\n", name);
	text = strstr(gpumon_small_pages(), heading);
	if (!text)
		return gpumon_strdup("");
	text += strlen(heading);
	return gpumon_strndup(text, (size_t)(strstr(text, "<!-- end -->") - text));
}
