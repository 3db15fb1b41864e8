// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Any bytes as a file that was mapped: symbols, lines and functions are asked for all over it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "symbol/elf_find.h"
#include "symbol/symbol.h"

#define AT 0x10000

static int use_function(void *data, const struct gpumon_elf_function *function)
{
	size_t *sum = data;

	*sum += strlen(function->name) + function->offset;
	if (function->version)
		*sum += strlen(function->version);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpumon_record_mapping mapping = { .start = AT, .end = AT + size };
	struct gpumon_symbols *symbols = gpumon_symbols_new("", NULL);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gpumon_symbol found[64];
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	const char *why;
	size_t sum = 0;
	char path[64];

	if (!symbols || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (gpumon_symbols_map(symbols, &mapping, path))
		abort();
	for (size_t at = 0; at < size; at += size / 300 + 1) {
		unsigned int count = gpumon_symbols_find(symbols, AT + at, 0, found, 64);

		if (!count || count > 64)
			abort();
		for (unsigned int i = 0; i < count; i++)
			sum += strlen(found[i].function) + strlen(found[i].module) +
			       strlen(found[i].file);
	}
	gpumon_symbols_free(symbols);
	gpumon_elf_functions(fd, use_function, &sum, &why);
	gpumon_elf_build_id(fd, build_id);
	close(fd);
	/* So that nothing of it is left out. */
	return sum == SIZE_MAX ? 1 : 0;
}
