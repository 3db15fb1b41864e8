// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads what nobody wrote. Beside what the sanitizers see: it ends, what comes is whole, reading it
 * again gives the same, and what a channel puts into a capture can be read.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "capture/capture.h"
#include "capture/channel_reader.h"
#include "capture/channel_writer.h"
#include "capture/internal.h"

#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static char directory[64];
static char first_path[128], second_path[128], info_path[128];
static char channel_directory[128];
static struct gpumon_capture *kept; /* of the files, rewound each time */

static void clean_up(void)
{
	char path[256];

	gpumon_capture_free(kept);
	unlink(first_path);
	unlink(second_path);
	unlink(info_path);
	snprintf(path, sizeof(path), "%s/process-1-1.records", channel_directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/capture.json", channel_directory);
	unlink(path);
	rmdir(channel_directory);
	rmdir(directory);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0);
	MUST(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void set_up(void)
{
	static const char info[] = "{\"format\":\"gpumon-capture\",\"version\":1}";

	if (directory[0])
		return;
	/* In memory, where there is such a place: thousands of files a second. */
	snprintf(directory, sizeof(directory), "%s/gpumon-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	MUST(mkdtemp(directory));
	snprintf(first_path, sizeof(first_path), "%s/process-1-1.records", directory);
	snprintf(second_path, sizeof(second_path), "%s/process-2-1.records", directory);
	snprintf(info_path, sizeof(info_path), "%s/capture.json", directory);
	snprintf(channel_directory, sizeof(channel_directory), "%s/channel", directory);
	write_file(info_path, info, strlen(info));
	write_file(first_path, "", 0);
	write_file(second_path, "", 0);
	MUST(gpumon_capture_open(directory, &kept) == 0);
	atexit(clean_up);
}

/* A number that depends on every byte of every record. */
static uint64_t read_all(struct gpumon_capture *capture, uint64_t *bytes)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	uint64_t hash = 0;

	*bytes = 0;
	while ((record = gpumon_capture_next(capture, &cursor))) {
		struct gpumon_record_kernel kernel;

		MUST((uintptr_t)record % 8 == 0);
		MUST(gpumon_record_check(record, record->size) == GPUMON_RECORD_GOOD);
		MUST(gpumon_record_name(record->type) && record->type != GPUMON_RECORD_PAD);
		MUST(cursor.process < gpumon_capture_processes(capture));
		gpumon_record_copy(&kernel, sizeof(kernel), record);
		for (uint32_t i = 0; i < record->size; i += 8) {
			uint64_t word;

			memcpy(&word, (const char *)record + i, 8);
			hash = (hash ^ word) * 1099511628211u + cursor.process;
		}
		*bytes += record->size;
	}
	return hash;
}

static void fuzz_files(uint8_t *data, size_t size, bool right_crc)
{
	struct gpumon_capture_damage damage;
	uint64_t hash, bytes, again;
	size_t half = size / 2;

	for (size_t at = 0; right_crc && at + sizeof(struct gpumon_chunk) <= size;) {
		struct gpumon_chunk chunk;

		memcpy(&chunk, data + at, sizeof(chunk));
		if (chunk.magic != GPUMON_CHUNK_MAGIC || chunk.size > size - at - sizeof(chunk)) {
			at++;
			continue;
		}
		/* The second file begins with a chunk as well as the first one. */
		if (at + sizeof(chunk) + chunk.size <= size / 2 + 64)
			half = at + sizeof(chunk) + chunk.size;
		chunk.crc = gpumon_chunk_crc(&chunk, data + at + sizeof(chunk));
		memcpy(data + at, &chunk, sizeof(chunk));
		at += sizeof(chunk) + chunk.size;
	}
	write_file(first_path, data, half);
	write_file(second_path, data + half, size - half);
	gpumon_capture_rewind(kept);
	hash = read_all(kept, &bytes);
	damage = *gpumon_capture_damage(kept);
	MUST(bytes + damage.truncated_bytes <= size);
	MUST(damage.unreadable_files == 0);
	gpumon_capture_rewind(kept);
	MUST(read_all(kept, &again) == hash && again == bytes);
	MUST(memcmp(&damage, gpumon_capture_damage(kept), sizeof(damage)) == 0);
}

static void fuzz_info(const uint8_t *data, size_t size)
{
	static const char info[] = "{\"format\":\"gpumon-capture\",\"version\":1}";
	struct gpumon_capture *capture;
	uint64_t bytes;

	write_file(first_path, "", 0);
	write_file(second_path, "", 0);
	write_file(info_path, data, size);
	if (gpumon_capture_open(directory, &capture) == 0) {
		const struct gpumon_capture_info *about = gpumon_capture_info(capture);

		read_all(capture, &bytes);
		MUST(bytes == 0);
		MUST(strlen(about->command) <= size && strlen(about->host) < sizeof(about->host));
		gpumon_capture_free(capture);
	} else {
		MUST(strlen(gpumon_capture_error()->message) > 0);
	}
	write_file(info_path, info, strlen(info));
}

static void fuzz_channel(const uint8_t *data, size_t size)
{
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
	struct gpumon_capture *capture;
	char path[256];
	uint64_t bytes;

	MUST(gpumon_channel_create(3, &reader) == 0);
	MUST(gpumon_channel_map(&map, gpumon_channel_descriptor(reader)) == 0);
	MUST(gpumon_capture_create(channel_directory, "", &writer) == 0);
	MUST(gpumon_capture_add_file(writer, "process-1-1", &file) == 0);
	/*
	 * Pieces to the head and to the beginnings of blocks, where something depends on them;
	 * each is two bytes of length and place, then so many bytes. Emptied between.
	 */
	for (size_t at = 0; at + 2 <= size;) {
		size_t room = data[at];
		size_t place = data[at + 1] % 4 * GPUMON_BLOCK_SIZE + data[at + 1] / 4 * 16;

		at += 2;
		if (room > size - at)
			room = size - at;
		memcpy((char *)map.channel + place, data + at, room);
		at += room;
		gpumon_channel_drain(reader, file);
	}
	gpumon_channel_finish(reader, file);
	gpumon_channel_unmap(&map);
	gpumon_channel_free(reader);
	MUST(gpumon_capture_close(writer) == 0);
	MUST(gpumon_capture_open(channel_directory, &capture) == 0);
	read_all(capture, &bytes);
	MUST(bytes >= sizeof(struct gpumon_record_totals));
	MUST(gpumon_capture_damage(capture)->broken_records == 0);
	MUST(gpumon_capture_damage(capture)->broken_chunks == 0);
	MUST(gpumon_capture_damage(capture)->missing_chunks == 0);
	gpumon_capture_free(capture);
	snprintf(path, sizeof(path), "%s/process-1-1.records", channel_directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/capture.json", channel_directory);
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *own;

	if (!size)
		return 0;
	set_up();
	/* In its exact size, so that a byte too far is seen. */
	own = malloc(size - 1 ? size - 1 : 1);
	MUST(own);
	memcpy(own, data + 1, size - 1);
	switch (data[0] % FUZZ_KINDS) {
	case FUZZ_FILES:
		fuzz_files(own, size - 1, false);
		break;
	case FUZZ_FILES_RIGHT_CRC:
		fuzz_files(own, size - 1, true);
		break;
	case FUZZ_INFO:
		fuzz_info(own, size - 1);
		break;
	default:
		fuzz_channel(own, size - 1);
		break;
	}
	free(own);
	return 0;
}
