// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "libbpf_said.h"

static char said[256];

int gpumon_libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !said[0]) {
		vsnprintf(said, sizeof(said), format, args);
		said[strcspn(said, "\n")] = '\0';
	}
	return 0;
}

void gpumon_libbpf_forget(void)
{
	said[0] = '\0';
}

const char *gpumon_libbpf_said(void)
{
	return said;
}
