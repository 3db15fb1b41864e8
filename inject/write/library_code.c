// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <link.h>

#include "library_code.h"

/* From where an address is to all of the library that it is in. */
static int find_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	uintptr_t start = UINTPTR_MAX, end = 0, from, to;
	struct inject_code *code = argument;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		to = from + info->dlpi_phdr[i].p_memsz;
		start = from < start ? from : start;
		end = to > end ? to : end;
	}
	if (code->start < start || code->start >= end)
		return 0;
	*code = (struct inject_code){ start, end - start };
	return 1;
}

bool inject_library_code(const void *address, struct inject_code *code)
{
	*code = (struct inject_code){ .start = (uintptr_t)address };
	return dl_iterate_phdr(find_library, code);
}
