// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* capture_seeds DIRECTORY: inputs to begin with, as capture.h describes them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "capture/channel.h"
#include "capture_maker.h"

static const char *to;

static void seed(const char *name, enum fuzz_kind kind, const void *bytes, size_t size)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", to, name);
	out = fopen(path, "wb");
	if (!out || fputc((int)kind, out) == EOF || fwrite(bytes, 1, size, out) != size ||
	    fclose(out)) {
		perror(path);
		exit(1);
	}
}

static size_t read_file(const char *directory, const char *name, char *bytes, size_t room)
{
	char path[4096];
	FILE *in;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	in = fopen(path, "rb");
	n = in ? fread(bytes, 1, room, in) : 0;
	if (!n) {
		perror(path);
		exit(1);
	}
	fclose(in);
	return n;
}

/* A small capture of two processes: chunks of one record, of some, of all. */
static void capture_seeds(void)
{
	static char bytes[1 << 18];
	static const size_t chunks[] = { 64, 500, 0 };

	for (unsigned int i = 0; i < 3; i++) {
		char *directory = capture_maker_directory();
		struct capture_maker *maker = capture_maker_new();
		struct gpumon_capture_writer *writer;
		struct gpumon_capture_file *file;
		char name[64];
		size_t size;

		if (gpumon_capture_create(directory, "train", &writer) ||
		    gpumon_capture_add_file(writer, "process-1-1", &file)) {
			fprintf(stderr, "%s\n", gpumon_capture_error()->message);
			exit(1);
		}
		make_example(maker, 1000, i);
		capture_maker_flush(maker, file, 5, chunks[i]);
		gpumon_capture_close(writer);
		size = read_file(directory, "process-1-1.records", bytes, sizeof(bytes) / 2);
		memcpy(bytes + size, bytes, size);
		snprintf(name, sizeof(name), "files-%u", i);
		seed(name, FUZZ_FILES, bytes, 2 * size);
		snprintf(name, sizeof(name), "crc-%u", i);
		seed(name, FUZZ_FILES_RIGHT_CRC, bytes, 2 * size);
		snprintf(name, sizeof(name), "info-%u", i);
		size = read_file(directory, "capture.json", bytes, sizeof(bytes));
		seed(name, FUZZ_INFO, bytes, size);
		capture_maker_free(maker);
		capture_maker_remove(directory);
	}
}

/* A channel: the head, a block that is filled and one that is full, of small records. */
static void channel_seed(void)
{
	unsigned char bytes[1024];
	size_t n = 0;

	for (unsigned int i = 0; i < 2; i++) {
		struct gpumon_block block = {
			.state = GPUMON_BLOCK_FILLING + i, .used = 32, .tid = 7, .sequence = i
		};
		struct gpumon_record_loss loss = {
			.head = { .type = GPUMON_RECORD_LOSS, .size = sizeof(loss) }, .count = 3
		};

		bytes[n++] = sizeof(block) + sizeof(loss);
		bytes[n++] = (unsigned char)(i + 1);
		memcpy(bytes + n, &block, sizeof(block));
		n += sizeof(block);
		memcpy(bytes + n, &loss, sizeof(loss));
		n += sizeof(loss);
	}
	{
		/* Numbers of blocks, then counters of losses: see struct gpumon_channel. */
		uint64_t words[] = { 9, 0, 1, 2, 3, 4 };

		bytes[n++] = sizeof(words);
		bytes[n++] = 4;
		memcpy(bytes + n, words, sizeof(words));
		n += sizeof(words);
	}
	seed("channel", FUZZ_CHANNEL, bytes, n);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	to = argv[1];
	capture_seeds();
	channel_seed();
	return 0;
}
