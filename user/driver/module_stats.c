// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "module_stats.h"

char *gpumon_module_left_out(const char *root)
{
	static const char key[] = "left_out ";
	char path[512], *line = NULL, *words = NULL;
	size_t size = 0;
	bool inside = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s" GPUMON_MODULE_STATS, root);
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (inside && line[0] == '#')
			break;
		if (inside && !strncmp(line, key, strlen(key))) {
			free(words);
			words = gpumon_strdup(line + strlen(key));
		} else if (!strcmp(line, "# gpumon")) {
			inside = true;
			words = gpumon_strdup("");
		}
	}
	free(line);
	if (file)
		fclose(file);
	return words;
}
