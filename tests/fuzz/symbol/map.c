// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Any bytes as a perf-PID.map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpumon_perf_map *map;
	const char *top = getenv("TMPDIR");
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/gpumon-fuzz-%d.map", top ? top : "/tmp", getpid());
	file = fopen(path, "we");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		abort();
	map = gpumon_perf_map_new(path);
	if (!map)
		abort();
	for (uint64_t address = 0; address < 4096; address += 7) {
		size_t length;
		const char *name = gpumon_perf_map_find(map, address, &length);

		/* Within the file's text. */
		if (name && (!length || length > size || memchr(name, '\n', length)))
			abort();
	}
	gpumon_perf_map_free(map);
	unlink(path);
	return 0;
}
