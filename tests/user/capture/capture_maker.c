// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_maker.h"

/* An object with an id, found again by its bytes. */
struct interned {
	void *key;
	size_t size;
	uint32_t id;
	struct interned *next;
};

#define INTERN_BUCKETS 4096

enum intern_kind {
	INTERN_STRING,
	INTERN_FRAME,
	INTERN_STACK,
	INTERN_KINDS
};

struct capture_maker {
	unsigned char *records;
	size_t size;
	size_t room;
	struct interned *table[INTERN_KINDS][INTERN_BUCKETS];
	uint32_t last_id[INTERN_KINDS];
};

static void *must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "capture_maker: out of memory\n");
		abort();
	}
	return memory;
}

struct capture_maker *capture_maker_new(void)
{
	return must(calloc(1, sizeof(struct capture_maker)));
}

void capture_maker_free(struct capture_maker *maker)
{
	if (!maker)
		return;
	for (int kind = 0; kind < INTERN_KINDS; kind++) {
		for (int i = 0; i < INTERN_BUCKETS; i++) {
			struct interned *one = maker->table[kind][i];

			while (one) {
				struct interned *next = one->next;

				free(one->key);
				free(one);
				one = next;
			}
		}
	}
	free(maker->records);
	free(maker);
}

const void *capture_maker_records(const struct capture_maker *maker, size_t *size)
{
	*size = maker->size;
	return maker->records;
}

const struct gpumon_record *capture_maker_next(const struct capture_maker *maker,
					       const struct gpumon_record *previous)
{
	const unsigned char *at = maker->records;

	if (previous)
		at = (const unsigned char *)previous + previous->size;
	return at < maker->records + maker->size ? (const void *)at : NULL;
}

void capture_maker_clear(struct capture_maker *maker)
{
	maker->size = 0;
}

void capture_maker_raw(struct capture_maker *maker, const void *bytes, size_t size)
{
	if (!size)
		return;
	while (maker->size + size > maker->room) {
		maker->room = maker->room ? maker->room * 2 : 4096;
		maker->records = must(realloc(maker->records, maker->room));
	}
	memcpy(maker->records + maker->size, bytes, size);
	maker->size += size;
}

void capture_maker_put(struct capture_maker *maker, enum gpumon_record_type type,
		       struct gpumon_record *record, size_t size)
{
	static const char zero[8];
	size_t whole = (size + 7) / 8 * 8;

	record->type = (uint16_t)type;
	record->size = (uint32_t)whole;
	capture_maker_raw(maker, record, size);
	capture_maker_raw(maker, zero, whole - size);
}

/* The id of these bytes; *fresh: they are new. */
static uint32_t intern(struct capture_maker *maker, enum intern_kind kind, const void *key,
		       size_t size, int *fresh)
{
	uint64_t hash = 1469598103934665603u;
	struct interned **bucket;
	struct interned *one;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)key)[i]) * 1099511628211u;
	bucket = &maker->table[kind][(hash ^ hash >> 32) % INTERN_BUCKETS];
	*fresh = 0;
	for (one = *bucket; one; one = one->next) {
		if (one->size == size && memcmp(one->key, key, size) == 0)
			return one->id;
	}
	one = must(calloc(1, sizeof(*one)));
	one->key = must(malloc(size + 1));
	memcpy(one->key, key, size);
	one->size = size;
	one->id = ++maker->last_id[kind];
	one->next = *bucket;
	*bucket = one;
	*fresh = 1;
	return one->id;
}

/* A record of a head and more data. */
static void put_long(struct capture_maker *maker, enum gpumon_record_type type,
		     const struct gpumon_record *head, size_t head_size, const void *rest,
		     size_t rest_size)
{
	unsigned char *whole = must(malloc(head_size + rest_size));

	memcpy(whole, head, head_size);
	memcpy(whole + head_size, rest, rest_size);
	capture_maker_put(maker, type, (struct gpumon_record *)whole, head_size + rest_size);
	free(whole);
}

uint32_t make_string(struct capture_maker *maker, const char *text)
{
	struct gpumon_record_string record = { 0 };
	int fresh;

	if (!text)
		return 0;
	record.length = (uint32_t)strlen(text);
	record.id = intern(maker, INTERN_STRING, text, record.length, &fresh);
	if (fresh)
		put_long(maker, GPUMON_RECORD_STRING, &record.head, sizeof(record), text,
			 record.length);
	return record.id;
}

uint32_t make_python_frame(struct capture_maker *maker, const char *function, const char *file,
			   uint32_t line)
{
	struct gpumon_record_frame record = { 0 };
	int fresh;

	record.kind = GPUMON_FRAME_PYTHON;
	record.function = make_string(maker, function);
	record.file = make_string(maker, file);
	record.line = line;
	record.first_line = line > 5 ? line - 5 : 1;
	record.id = intern(maker, INTERN_FRAME, &record, sizeof(record), &fresh);
	if (fresh)
		capture_maker_put(maker, GPUMON_RECORD_FRAME, &record.head, sizeof(record));
	return record.id;
}

uint32_t capture_maker_stack(struct capture_maker *maker, const uint64_t *frames, uint32_t count,
			     uint16_t flags)
{
	struct gpumon_record_stack record = { .head.flags = flags, .count = count };
	int fresh;

	record.id = intern(maker, INTERN_STACK, frames, count * sizeof(*frames), &fresh);
	if (fresh)
		put_long(maker, GPUMON_RECORD_STACK, &record.head, sizeof(record), frames,
			 count * sizeof(*frames));
	return record.id;
}

void capture_maker_stalls(struct capture_maker *maker, const struct gpumon_record_stalls *record,
			  const struct gpumon_stall *stalls, uint32_t count)
{
	struct gpumon_record_stalls head = *record;

	head.count = count;
	put_long(maker, GPUMON_RECORD_STALLS, &head.head, sizeof(head), stalls,
		 count * sizeof(*stalls));
}

void make_driver_event(struct capture_maker *maker, const char *row, const void *event,
		       uint32_t size)
{
	struct gpumon_record_driver_event record = { .event_size = size,
						     .row = make_string(maker, row) };

	put_long(maker, GPUMON_RECORD_DRIVER_EVENT, &record.head, sizeof(record), event, size);
}

void capture_maker_flush(struct capture_maker *maker, struct gpumon_capture_file *file,
			 uint32_t tid, size_t chunk)
{
	size_t begin = 0;
	size_t end = 0;

	if (!chunk)
		chunk = 64 << 10;
	while (begin < maker->size) {
		const struct gpumon_record *record = (const void *)(maker->records + end);

		if (end == maker->size || (end > begin && end - begin + record->size > chunk)) {
			if (gpumon_capture_append(file, tid, maker->records + begin, end - begin)) {
				fprintf(stderr, "capture_maker: %s\n",
					gpumon_capture_error()->message);
				abort();
			}
			begin = end;
			continue;
		}
		end += record->size;
	}
	capture_maker_clear(maker);
}

void capture_maker_save(struct capture_maker *maker, const char *path, const char *name,
			uint32_t tid)
{
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	size_t size = maker->size;

	if (gpumon_capture_create(path, "example", &writer) ||
	    gpumon_capture_add_file(writer, name, &file)) {
		fprintf(stderr, "capture_maker: %s\n", gpumon_capture_error()->message);
		abort();
	}
	capture_maker_flush(maker, file, tid, 0);
	maker->size = size;
	if (gpumon_capture_close(writer)) {
		fprintf(stderr, "capture_maker: %s\n", gpumon_capture_error()->message);
		abort();
	}
}

char *capture_maker_directory(void)
{
	char *path = must(strdup("/tmp/gpumon-test-XXXXXX"));

	return must(mkdtemp(path));
}

static void remove_all(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char inner[4096];
		struct stat stat;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		if (lstat(inner, &stat) == 0 && S_ISDIR(stat.st_mode))
			remove_all(inner);
		else
			unlink(inner);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

void capture_maker_remove(char *path)
{
	if (path)
		remove_all(path);
	free(path);
}
