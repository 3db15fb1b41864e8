// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Runs a target on files, without libFuzzer: `replay [-m N] FILE...`. With -m, on N
 * changed copies of each one as well, always the same ones: bytes changed,
 * numbers made large, pieces left out or cut off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

static uint64_t next(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static size_t change(uint8_t *data, size_t size, uint64_t *seed)
{
	static const uint64_t numbers[] = {
		0,	    1,	       0x7f,	   0x80,	   0xff,
		0x7fff,	    0xffff,    0x7fffffff, 0x80000000,	   0xffffffff,
		1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX - 7, UINT64_MAX
	};
	unsigned int count = 1 + next(seed) % 8;

	while (count-- && size > 16) {
		size_t at = next(seed) % (size - 8), width = (size_t)1 << next(seed) % 4, n;

		switch (next(seed) % 8) {
		case 0:
			size = at + 8;
			break;
		case 1:
			n = next(seed) % (size - at) % 64;
			memmove(data + at, data + at + n, size - at - n);
			size -= n;
			break;
		case 2:
		case 3:
			memcpy(data + at,
			       &numbers[next(seed) % (sizeof(numbers) / sizeof(*numbers))], width);
			break;
		case 4:
			memmove(data + at, data + next(seed) % (size - 8), width);
			break;
		default:
			data[at] ^= (uint8_t)(1 << next(seed) % 8);
		}
	}
	return size;
}

int main(int argc, char **argv)
{
	long changed = 0, runs = 0;
	uint64_t seed = 1;
	int option;

	while ((option = getopt(argc, argv, "m:")) != -1) {
		if (option != 'm')
			return 2;
		changed = atol(optarg);
	}
	for (; optind < argc; optind++) {
		FILE *file = fopen(argv[optind], "re");
		uint8_t *data, *copy;
		size_t size;

		if (!file) {
			perror(argv[optind]);
			return 1;
		}
		data = malloc(1 << 20);
		if (!data)
			return 1;
		size = fread(data, 1, 1 << 20, file);
		fclose(file);
		LLVMFuzzerTestOneInput(data, size);
		runs++;
		for (long i = 0; i < changed; i++, runs++) {
			size_t n;

			/* On the heap in its size, so that its end is guarded. */
			copy = malloc(size + 1);
			if (!copy)
				return 1;
			memcpy(copy, data, size);
			n = change(copy, size, &seed);
			copy = realloc(copy, n ? n : 1);
			LLVMFuzzerTestOneInput(copy, n);
			free(copy);
		}
		free(data);
	}
	printf("%ld runs\n", runs);
	return 0;
}
