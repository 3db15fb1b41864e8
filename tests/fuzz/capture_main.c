// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * capture_main [--seconds N] DIRECTORY...: what libFuzzer does, where there is none. Every file of
 * the directories is an input; then, for N seconds, inputs that are made of them with bytes
 * changed, cut out, repeated and joined. The one that ends the program is in crash-input.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"

#define INPUT_MAX (1 << 16)

struct input {
	uint8_t *bytes;
	size_t size;
};

static struct input *inputs;
static size_t n_inputs;
static uint64_t executions;

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Kept on disk while it runs: what is there when the program dies was the one. */
static void execute(const uint8_t *bytes, size_t size, bool keep)
{
	if (keep) {
		FILE *out = fopen("crash-input", "wb");

		if (out) {
			fwrite(bytes, 1, size, out);
			fclose(out);
		}
	}
	executions++;
	LLVMFuzzerTestOneInput(bytes, size);
}

static void add_directory(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir) {
		perror(path);
		exit(1);
	}
	while ((entry = readdir(dir))) {
		struct input input = { malloc(INPUT_MAX), 0 };
		char file[4096];
		struct stat stat;
		FILE *in;

		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		in = lstat(file, &stat) == 0 && S_ISREG(stat.st_mode) ? fopen(file, "rb") : NULL;
		if (!in || !input.bytes) {
			free(input.bytes);
			continue;
		}
		input.size = fread(input.bytes, 1, INPUT_MAX, in);
		fclose(in);
		inputs = realloc(inputs, (n_inputs + 1) * sizeof(*inputs));
		if (!inputs)
			exit(1);
		inputs[n_inputs++] = input;
	}
	closedir(dir);
}

static size_t mutate(uint8_t *to)
{
	const struct input *from = &inputs[random_number() % n_inputs];
	size_t size = from->size;

	memcpy(to, from->bytes, size);
	for (uint64_t n = 1 + random_number() % 6; n-- && size > 1;) {
		size_t at = 1 + random_number() % (size - 1);
		size_t length = 1 + random_number() % (random_number() % 4 ? 16 : size);

		if (length > size - at)
			length = size - at;
		switch (random_number() % 7) {
		case 0:
			to[at] ^= (uint8_t)(1u << random_number() % 8);
			break;
		case 1:
			to[at] = (uint8_t)random_number();
			break;
		case 2: /* a number of 4 bytes that is on some edge */
			if (length >= 4) {
				static const uint32_t edges[] = { 0,	   1,	 7,	  8,
								  64,	   4096, 1 << 16, 1 << 20,
								  1 << 31, ~0u,	 ~0u - 7, 512 };

				memcpy(to + at, &edges[random_number() % 12], 4);
			}
			break;
		case 3:
			memmove(to + at, to + at + length, size - at - length);
			size -= length;
			break;
		case 4:
			if (size + length <= INPUT_MAX) {
				memmove(to + at + length, to + at, size - at);
				size += length;
			}
			break;
		case 5:
			size = at + 1;
			break;
		default: {
			const struct input *other = &inputs[random_number() % n_inputs];
			size_t begin = random_number() % (other->size + 1);

			if (length > other->size - begin)
				length = other->size - begin;
			memcpy(to + at, other->bytes + begin, length);
			break;
		}
		}
	}
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[INPUT_MAX];
	double seconds = 0;
	time_t end;
	bool keep;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
			seconds = strtod(argv[++i], NULL);
		else
			add_directory(argv[i]);
	}
	if (!n_inputs) {
		fprintf(stderr, "usage: %s [--seconds N] DIRECTORY...\n", argv[0]);
		return 2;
	}
	keep = seconds > 0;
	for (size_t i = 0; i < n_inputs; i++)
		execute(inputs[i].bytes, inputs[i].size, keep);
	end = time(NULL) + (time_t)seconds;
	while (time(NULL) < end) {
		size_t size = mutate(bytes);

		execute(bytes, size, keep);
	}
	if (keep)
		unlink("crash-input");
	printf("Done %llu runs\n", (unsigned long long)executions);
	for (size_t i = 0; i < n_inputs; i++)
		free(inputs[i].bytes);
	free(inputs);
	return 0;
}
