// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Fuzzes the reader of captures. Besides the sanitizers' checks: it ends, records are whole, a
 * second reading gives the same, and what a channel writes to a capture is readable. The first byte
 * selects the kind of input; the rest is
 * - the two files of a capture with two processes,
 * - the same, with the CRC of each chunk corrected first, so that the records are reached,
 * - capture.json,
 * - the memory of a channel, as left by a target.
 */
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/channel_reader.h"
#include "abi/channel_writer.h"
#include "capture/capture_internal.h"
#include "chunks.h"
#include "fuzz.h"

enum kind {
	KIND_FILES,
	KIND_FILES_RIGHT_CRC,
	KIND_INFO,
	KIND_CHANNEL,
	KINDS
};

static const char plain_info[] = "{\"format\":\"gpumon-capture\",\"version\":1}";

static char directory[128], first_path[256], second_path[256], info_path[256];
static char channel_directory[256];
static struct gpumon_capture *kept; /* of the files, rewound each time */

static void clean_up(void)
{
	gpumon_capture_free(kept);
}

static void set_up(void)
{
	if (directory[0])
		return;
	fuzz_folder_make("capture");
	snprintf(directory, sizeof(directory), "%s", fuzz_path("capture"));
	snprintf(first_path, sizeof(first_path), "%s/process-1-1.records", directory);
	snprintf(second_path, sizeof(second_path), "%s/process-2-1.records", directory);
	snprintf(info_path, sizeof(info_path), "%s/capture.json", directory);
	snprintf(channel_directory, sizeof(channel_directory), "%s", fuzz_path("channel"));
	fuzz_write(info_path, plain_info, strlen(plain_info));
	fuzz_write(first_path, "", 0);
	fuzz_write(second_path, "", 0);
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
	size_t half = right_crc ? fuzz_right_chunks(data, size) : size / 2;

	fuzz_write(first_path, data, half);
	fuzz_write(second_path, data + half, size - half);
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
	struct gpumon_capture *capture;
	uint64_t bytes;

	fuzz_write(first_path, "", 0);
	fuzz_write(second_path, "", 0);
	fuzz_write(info_path, data, size);
	if (gpumon_capture_open(directory, &capture) == 0) {
		const struct gpumon_capture_info *about = gpumon_capture_info(capture);

		read_all(capture, &bytes);
		MUST(bytes == 0);
		MUST(strlen(about->command) <= size && strlen(about->host) < sizeof(about->host));
		gpumon_capture_free(capture);
	} else {
		MUST(strlen(gpumon_capture_error()->message) > 0);
	}
	fuzz_write(info_path, plain_info, strlen(plain_info));
}

static void fuzz_channel(const uint8_t *data, size_t size)
{
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
	struct gpumon_capture *capture;
	uint64_t bytes;

	MUST(gpumon_channel_create(3, &reader) == 0);
	MUST(gpumon_channel_map(&map, gpumon_channel_descriptor(reader)) == 0);
	MUST(gpumon_capture_create(channel_directory, "", &writer) == 0);
	MUST(gpumon_capture_add_file(writer, "process-1-1", &file) == 0);
	/*
	 * Patches for the head and the beginnings of blocks, where they matter: each is two bytes
	 * of length and offset, followed by the bytes. The channel is drained in between.
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
	fuzz_folder_remove("channel");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *own;

	if (!size)
		return 0;
	set_up();
	/* A block of the exact size, so that reading beyond it is detected. */
	own = malloc(size - 1 ? size - 1 : 1);
	MUST(own);
	memcpy(own, data + 1, size - 1);
	switch (data[0] % KINDS) {
	case KIND_FILES:
		fuzz_files(own, size - 1, false);
		break;
	case KIND_FILES_RIGHT_CRC:
		fuzz_files(own, size - 1, true);
		break;
	case KIND_INFO:
		fuzz_info(own, size - 1);
		break;
	default:
		fuzz_channel(own, size - 1);
		break;
	}
	free(own);
	return 0;
}
