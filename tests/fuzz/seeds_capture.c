// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* seeds_capture DIRECTORY: writes initial inputs for the targets capture and correlate. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture_maker.h"
#include "abi/channel.h"

/* As in capture.c. */
enum kind {
	KIND_FILES,
	KIND_FILES_RIGHT_CRC,
	KIND_INFO,
	KIND_CHANNEL
};

static const char *to;

static void seed(const char *name, const void *head, size_t head_size, const void *bytes,
		 size_t size)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", to, name);
	out = fopen(path, "wb");
	if (!out || fwrite(head, 1, head_size, out) != head_size ||
	    fwrite(bytes, 1, size, out) != size || fclose(out)) {
		perror(path);
		exit(1);
	}
}

static void capture_seed(const char *name, enum kind kind, const void *bytes, size_t size)
{
	const unsigned char head[] = { (unsigned char)kind };
	char path[64];

	snprintf(path, sizeof(path), "capture/%s", name);
	seed(path, head, sizeof(head), bytes, size);
}

/* One for each output. */
static void correlate_seeds(unsigned int number, const void *bytes, size_t size)
{
	for (unsigned int output = 0; output < 8; output++) {
		const unsigned char head[] = { 0, (unsigned char)(output % 2 * 128 + 3 * number),
					       (unsigned char)(output / 2) };
		char path[64];

		snprintf(path, sizeof(path), "correlate/%u-%u", number, output);
		seed(path, head, sizeof(head), bytes, size);
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

/* A small capture of two processes, with chunks of one record, some records, and all records. */
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
		capture_seed(name, KIND_FILES, bytes, 2 * size);
		snprintf(name, sizeof(name), "crc-%u", i);
		capture_seed(name, KIND_FILES_RIGHT_CRC, bytes, 2 * size);
		correlate_seeds(i, bytes, 2 * size);
		snprintf(name, sizeof(name), "info-%u", i);
		size = read_file(directory, "capture.json", bytes, sizeof(bytes));
		capture_seed(name, KIND_INFO, bytes, size);
		capture_maker_free(maker);
		capture_maker_remove(directory);
	}
}

/* A channel: the head, a block being filled and a full one, with small records. */
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
	capture_seed("channel", KIND_CHANNEL, bytes, n);
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
