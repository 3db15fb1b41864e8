// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "probe/verify/text.h"

int gpumon_text_conversions(const char *text)
{
	int n = 0;

	while ((text = strchr(text, '%'))) {
		text++;
		if (*text == '%') {
			text++;
			continue;
		}
		text += strspn(text, "-+ #0");
		text += strspn(text, "0123456789");
		text += strspn(text, "hlz");
		if (!*text || !strchr("diuxXcp", *text))
			return -1;
		text++;
		n++;
	}
	return n;
}
