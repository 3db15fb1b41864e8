// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Names stored in a capture: any bytes as such a file, with a correct beginning unless the input's
 * first byte says otherwise; and any names, written and read again.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "report/stored_names.h"
#include "fuzz.h"

#define HEAD  "gpumon-symbols 1\n"
#define NAMES 16

static void read_any(struct fuzz_input *input, bool head)
{
	const char *path = fuzz_path("any.symbols");
	struct gpumon_symbol found[8];
	struct gpumon_stored_names *kept;
	size_t size, at = head ? strlen(HEAD) : 0;
	uint8_t *bytes = fuzz_bytes(input, SIZE_MAX, &size);
	char *file = malloc(size + at + 1);

	MUST(file);
	memcpy(file, HEAD, at);
	memcpy(file + at, bytes, size);
	file[at + size] = '\0';
	fuzz_write(path, file, at + size);
	kept = gpumon_stored_names_read(path);
	MUST(kept || (!head && errno == EINVAL));
	/* Look up everything that it names, and some more. */
	for (char *line = file; kept && line;
	     line = memchr(line, '\n', (size_t)(file + size + at - line))) {
		uint64_t address;
		unsigned int count;

		line += *line == '\n';
		if (*line != '@')
			continue;
		address = strtoull(line + 1, NULL, 16);
		for (uint32_t epoch = 0; epoch < 3; epoch++) {
			count = gpumon_stored_names_find(kept, address, epoch, found, 8);
			MUST(count <= 8);
			for (unsigned int i = 0; i < count; i++)
				MUST(strlen(found[i].function) + strlen(found[i].module) +
					     strlen(found[i].file) <=
				     size + at);
		}
	}
	gpumon_stored_names_free(kept);
	free(file);
	free(bytes);
}

static void write_and_read(struct fuzz_input *input)
{
	struct gpumon_symbol symbols[NAMES][4] = { 0 }, found[8];
	const char *path = fuzz_path("own.symbols");
	unsigned int counts[NAMES] = { 0 }, n = 0;
	struct gpumon_stored_names *kept;
	FILE *out = fopen(path, "we");

	MUST(out);
	for (; n < NAMES && input->size; n++) {
		counts[n] = 1 + fuzz_u8(input) % 4;
		for (unsigned int i = 0; i < counts[n]; i++)
			symbols[n][i] = (struct gpumon_symbol){
				.function = fuzz_text(input),
				.module = fuzz_text(input),
				.file = fuzz_text(input),
				.line = fuzz_u32(input),
				.inlined = i + 1 < counts[n],
			};
		gpumon_stored_names_write(out, UINT64_MAX - n, n % 3, symbols[n], counts[n]);
	}
	MUST(!fclose(out));
	kept = n ? gpumon_stored_names_read(path) : NULL;
	MUST(kept || !n);
	for (unsigned int k = 0; k < n; k++) {
		MUST(gpumon_stored_names_find(kept, UINT64_MAX - k, k % 3, found, 8) == counts[k]);
		MUST(!gpumon_stored_names_find(kept, UINT64_MAX - k, k % 3 + 1, found, 8));
		for (unsigned int i = 0; i < counts[k]; i++) {
			MUST(!strcmp(found[i].function, symbols[k][i].function));
			MUST(!strcmp(found[i].module, symbols[k][i].module));
			MUST(!strcmp(found[i].file, symbols[k][i].file));
			MUST(found[i].line == symbols[k][i].line);
			MUST(found[i].inlined == symbols[k][i].inlined);
			free((char *)symbols[k][i].function);
			free((char *)symbols[k][i].module);
			free((char *)symbols[k][i].file);
		}
	}
	gpumon_stored_names_free(kept);
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t kind = fuzz_u8(&input);

	if (kind % 4 == 3)
		write_and_read(&input);
	else
		read_any(&input, kind % 4);
	return 0;
}
