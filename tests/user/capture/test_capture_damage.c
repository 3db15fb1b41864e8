// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Truncated, damaged or crafted captures: everything intact is read, and the rest is counted. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/pack.h"
#include "capture/reader.h"
#include "capture_maker.h"
#include "common.h"

#define NAME "process-1-1"

/* A capture with one file, and the contents of its chunks. */
struct fixture {
	char *directory;
	char *path;
	char *info_path;
	unsigned char *bytes;
	size_t size;
	/* For each chunk: its offset, and the number of its first record. */
	size_t n_chunks;
	size_t begin[64];
	size_t first[65];
	unsigned char *info;
	size_t info_size;
	struct capture_maker *expected;
	const struct gpumon_record *records[256];
	size_t n_records;
	struct gpumon_capture *kept; /* rewound for each test, see keep_open() */
};

static unsigned char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat stat;
	unsigned char *bytes;

	assert_int_equal(fstat(fd, &stat), 0);
	bytes = malloc((size_t)stat.st_size + 1);
	assert_int_equal(read(fd, bytes, (size_t)stat.st_size), stat.st_size);
	close(fd);
	*size = (size_t)stat.st_size;
	return bytes;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static size_t count_records(const struct gpumon_chunk *chunk)
{
	static char records[GPUMON_CHUNK_SIZE_MAX] __attribute__((aligned(8)));
	size_t size = chunk->unpacked, count = 0;

	if (chunk->version == GPUMON_CHUNK_PLAIN) {
		size = chunk->size;
		memcpy(records, chunk + 1, size);
	} else {
		assert_true(gpumon_unpack(chunk + 1, chunk->size, records, size));
	}
	for (size_t at = 0; at < size; count++)
		at += ((const struct gpumon_record *)(const void *)(records + at))->size;
	return count;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct capture_maker *maker = capture_maker_new();
	size_t record = 0;

	fixture->directory = capture_maker_directory();
	fixture->expected = capture_maker_new();
	make_example(maker, 1000000, 0);
	make_example(fixture->expected, 1000000, 0);
	for (const struct gpumon_record *r = NULL; (r = capture_maker_next(fixture->expected, r));)
		fixture->records[fixture->n_records++] = r;
	assert_int_equal(gpumon_capture_create(fixture->directory, "x", &writer), 0);
	assert_int_equal(gpumon_capture_add_file(writer, NAME, &file), 0);
	capture_maker_flush(maker, file, 7, 450);
	assert_int_equal(gpumon_capture_close(writer), 0);
	capture_maker_free(maker);

	assert_true(asprintf(&fixture->path, "%s/" NAME "%s", fixture->directory,
			     GPUMON_CAPTURE_SUFFIX) > 0);
	assert_true(asprintf(&fixture->info_path, "%s/%s", fixture->directory,
			     GPUMON_CAPTURE_INFO) > 0);
	fixture->bytes = read_file(fixture->path, &fixture->size);
	fixture->info = read_file(fixture->info_path, &fixture->info_size);
	for (size_t at = 0; at < fixture->size; fixture->n_chunks++) {
		const struct gpumon_chunk *chunk = (const void *)(fixture->bytes + at);
		size_t end = at + sizeof(*chunk) + chunk->size;

		fixture->begin[fixture->n_chunks] = at;
		fixture->first[fixture->n_chunks] = record;
		record += count_records(chunk);
		at = end;
	}
	fixture->first[fixture->n_chunks] = record;
	assert_int_equal(record, fixture->n_records);
	assert_true(fixture->n_chunks > 8);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	gpumon_capture_free(fixture->kept);
	free(fixture->path);
	free(fixture->info_path);
	free(fixture->bytes);
	free(fixture->info);
	capture_maker_free(fixture->expected);
	capture_maker_remove(fixture->directory);
	free(fixture);
	return 0;
}

/* A capture that is marked as not ended. */
static void make_unended(struct fixture *fixture)
{
	char *at = memmem(fixture->info, fixture->info_size, "\"ended\":true", 12);

	assert_non_null(at);
	memcpy(at, "\"ended\":null", 12);
	write_file(fixture->info_path, fixture->info, fixture->info_size);
}

/* The same capture is read thousands of times: rewind instead of opening it again. */
static void keep_open(struct fixture *fixture)
{
	gpumon_capture_free(fixture->kept);
	assert_int_equal(gpumon_capture_open(fixture->directory, &fixture->kept), 0);
}

/* Expect all records except @from to @to (exclusive). Returns the damage. */
static struct gpumon_capture_damage expect_without(struct fixture *fixture, size_t from, size_t to)
{
	struct gpumon_capture_damage damage;
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture = fixture->kept;
	size_t n = 0;

	if (capture)
		gpumon_capture_rewind(capture);
	else if (gpumon_capture_open(fixture->directory, &capture))
		fail_msg("%s", gpumon_capture_error()->message);
	while ((record = gpumon_capture_next(capture, &cursor))) {
		if (n == from)
			n = to;
		assert_true(n < fixture->n_records);
		assert_int_equal(record->size, fixture->records[n]->size);
		assert_memory_equal(record, fixture->records[n], record->size);
		assert_int_equal(cursor.tid, 7);
		n++;
	}
	if (n == from)
		n = to;
	assert_int_equal(n, fixture->n_records);
	damage = *gpumon_capture_damage(capture);
	if (!fixture->kept)
		gpumon_capture_free(capture);
	return damage;
}

static bool any(const struct gpumon_capture_damage *damage)
{
	return damage->truncated_bytes || damage->broken_chunks || damage->broken_records ||
	       damage->unknown_records || damage->missing_chunks || damage->broken_info ||
	       damage->unreadable_files;
}

static void truncated_at_every_byte(void **state)
{
	struct fixture *fixture = *state;
	struct gpumon_capture_damage damage;

	for (int ended = 1; ended >= 0; ended--) {
		write_file(fixture->path, fixture->bytes, fixture->size);
		keep_open(fixture);
		damage = expect_without(fixture, 0, 0);
		assert_false(any(&damage));
		for (size_t size = fixture->size; size-- > 0;) {
			size_t whole = 0;

			assert_int_equal(truncate(fixture->path, (off_t)size), 0);
			/* The last chunk that ends before it. */
			for (size_t i = 0; i < fixture->n_chunks; i++) {
				if (fixture->begin[i] <= size)
					whole = i;
			}
			damage = expect_without(fixture, fixture->first[whole], fixture->n_records);
			assert_int_equal(damage.truncated_bytes, size - fixture->begin[whole]);
			assert_int_equal(damage.broken_chunks, 0);
			assert_int_equal(damage.missing_chunks,
					 ended ? fixture->n_chunks - whole : 0);
		}
		if (ended)
			make_unended(fixture);
	}
}

static void every_byte_flipped(void **state)
{
	struct fixture *fixture = *state;
	uint64_t random = 1;
	size_t chunk = 0;
	int fd = open(fixture->path, O_WRONLY);

	for (size_t i = 0; i < fixture->size; i++) {
		const unsigned char masks[] = { 0xff,
						(unsigned char)(1u << (test_random(&random) % 8)) };

		if (chunk + 1 < fixture->n_chunks && i == fixture->begin[chunk + 1])
			chunk++;
		/* Opening a capture reads the first head, too. */
		if (i == sizeof(struct gpumon_chunk))
			keep_open(fixture);
		for (size_t j = 0; j < sizeof(masks); j++) {
			struct gpumon_capture_damage damage;
			unsigned char flipped = fixture->bytes[i] ^ masks[j];

			assert_int_equal(pwrite(fd, &flipped, 1, (off_t)i), 1);
			damage = expect_without(fixture, fixture->first[chunk],
						fixture->first[chunk + 1]);
			assert_true(damage.broken_chunks == 1 || damage.truncated_bytes > 0);
		}
		assert_int_equal(pwrite(fd, fixture->bytes + i, 1, (off_t)i), 1);
	}
	close(fd);
}

static void expect_newer(struct fixture *fixture)
{
	struct gpumon_capture *capture;

	assert_int_equal(gpumon_capture_open(fixture->directory, &capture), -1);
	assert_int_equal(gpumon_capture_error()->sys, -ENOTSUP);
}

static void every_byte_of_capture_json_flipped(void **state)
{
	static const char key[] = "\"version\":";
	struct fixture *fixture = *state;
	const char *found = memmem(fixture->info, fixture->info_size, key, strlen(key));
	size_t version = (size_t)(found - (const char *)fixture->info) + strlen(key);
	uint64_t random = 1;

	assert_non_null(found);
	assert_int_equal(fixture->info[version], '2');
	fixture->info[version] = '3';
	write_file(fixture->info_path, fixture->info, fixture->info_size);
	expect_newer(fixture);
	fixture->info[version] = '2';
	for (size_t i = 0; i < fixture->info_size; i++) {
		const unsigned char masks[] = { 0xff,
						(unsigned char)(1u << (test_random(&random) % 8)) };

		for (size_t j = 0; j < sizeof(masks); j++) {
			fixture->info[i] ^= masks[j];
			write_file(fixture->info_path, fixture->info, fixture->info_size);
			/* A number above ours is a newer version, whose records may mean other things. */
			if (i == version && fixture->info[i] > '2' && fixture->info[i] <= '9')
				expect_newer(fixture);
			else
				expect_without(fixture, 0, 0);
			fixture->info[i] ^= masks[j];
		}
	}
	for (size_t size = 0; size < fixture->info_size; size++) {
		struct gpumon_capture_damage damage;

		write_file(fixture->info_path, fixture->info, size);
		damage = expect_without(fixture, 0, 0);
		/* It is valid without the last newline. */
		assert_int_equal(damage.broken_info, size + 1 < fixture->info_size);
	}
	unlink(fixture->info_path);
	assert_true(expect_without(fixture, 0, 0).broken_info);
}

/* Bytes inserted or removed between chunks move everything after them. */
static void bytes_inserted_and_removed(void **state)
{
	struct fixture *fixture = *state;
	size_t chunk = fixture->n_chunks / 2;
	size_t at = fixture->begin[chunk];
	unsigned char *changed = malloc(fixture->size + 16);
	struct gpumon_capture_damage damage;

	for (size_t n = 1; n <= 16; n++) {
		memcpy(changed, fixture->bytes, at);
		memset(changed + at, 0x47, n);
		memcpy(changed + at + n, fixture->bytes + at, fixture->size - at);
		write_file(fixture->path, changed, fixture->size + n);
		damage = expect_without(fixture, 0, 0);
		assert_int_equal(damage.broken_chunks, 1);

		memcpy(changed + at, fixture->bytes + at + n, fixture->size - at - n);
		write_file(fixture->path, changed, fixture->size - n);
		damage = expect_without(fixture, fixture->first[chunk], fixture->first[chunk + 1]);
		assert_int_equal(damage.broken_chunks, 1);
		assert_int_equal(damage.missing_chunks, 0);
	}
	free(changed);
}

/* The reader searches one window at a time. A head can cross the end of a window. */
static void a_chunk_across_the_end_of_a_window(void **state)
{
	enum {
		WINDOW = sizeof(((struct gpumon_reader_buffer *)NULL)->window)
	};
	struct fixture *fixture = *state;
	size_t at = fixture->begin[2];
	unsigned char *changed = malloc(fixture->size + WINDOW + 64);
	struct gpumon_capture_damage damage;

	memcpy(changed, fixture->bytes, at);
	memset(changed + at, 0x47, WINDOW + 64);
	/* The search begins after the first invalid byte. */
	for (size_t before = 0; before <= sizeof(struct gpumon_chunk) + 1; before++) {
		size_t n = 1 + WINDOW - before;

		memset(changed + at, 0x47, n);
		memcpy(changed + at + n, fixture->bytes + at, fixture->size - at);
		write_file(fixture->path, changed, fixture->size + n);
		damage = expect_without(fixture, 0, 0);
		assert_int_equal(damage.broken_chunks, 1);
		assert_int_equal(damage.missing_chunks, 0);
	}
	free(changed);
}

/* It counts as broken, and not as missing as well. */
static void a_last_chunk_that_is_broken(void **state)
{
	struct fixture *fixture = *state;
	size_t last = fixture->n_chunks - 1;
	struct gpumon_capture_damage damage;

	for (size_t n = 1; n <= 3; n++) {
		fixture->bytes[fixture->begin[last + 1 - n] + sizeof(struct gpumon_chunk)] ^= 1;
		write_file(fixture->path, fixture->bytes, fixture->size);
		damage = expect_without(fixture, fixture->first[last + 1 - n], fixture->n_records);
		assert_int_equal(damage.broken_chunks, n);
		assert_int_equal(damage.missing_chunks, 0);
		assert_int_equal(damage.truncated_bytes, 0);
	}
}

/* A gap behind a broken chunk is not that chunk's once more. */
static void a_broken_chunk_and_a_gap(void **state)
{
	struct fixture *fixture = *state;
	size_t from = fixture->begin[4], to = fixture->begin[5], end = fixture->begin[6];
	struct gpumon_capture_damage damage;

	/* The second one is broken, the fifth one is gone, what follows the sixth one as well. */
	fixture->bytes[fixture->begin[1] + sizeof(struct gpumon_chunk)] ^= 1;
	memmove(fixture->bytes + from, fixture->bytes + to, end - to);
	write_file(fixture->path, fixture->bytes, from + end - to);
	keep_open(fixture);
	while (gpumon_capture_next(fixture->kept, &(struct gpumon_capture_cursor){ 0 }))
		;
	damage = *gpumon_capture_damage(fixture->kept);
	assert_int_equal(damage.broken_chunks, 1);
	assert_int_equal(damage.missing_chunks, 1 + fixture->n_chunks - 6);
}

static void chunks_that_are_gone(void **state)
{
	struct fixture *fixture = *state;
	size_t from = fixture->begin[3];
	size_t to = fixture->begin[5];
	unsigned char *changed = malloc(fixture->size);
	struct gpumon_capture_damage damage;

	memcpy(changed, fixture->bytes, from);
	memcpy(changed + from, fixture->bytes + to, fixture->size - to);
	write_file(fixture->path, changed, fixture->size - (to - from));
	damage = expect_without(fixture, fixture->first[3], fixture->first[5]);
	assert_int_equal(damage.missing_chunks, 2);
	assert_int_equal(damage.broken_chunks, 0);
	free(changed);

	/* capture.json lists a file that is missing. */
	unlink(fixture->path);
	damage = expect_without(fixture, 0, fixture->n_records);
	assert_int_equal(damage.missing_chunks, fixture->n_chunks);
}

/* The result of some crashes of file systems: the right size, but zeroes. */
static void a_tail_of_zeros(void **state)
{
	struct fixture *fixture = *state;
	struct gpumon_capture_damage damage;
	size_t from = fixture->begin[4] + 11;

	write_file(fixture->path, fixture->bytes, from);
	assert_int_equal(truncate(fixture->path, 3 << 20), 0);
	damage = expect_without(fixture, fixture->first[4], fixture->n_records);
	/* Its head is intact, so its end is known. */
	assert_int_equal(damage.broken_chunks, 1);
	assert_int_equal(damage.truncated_bytes, (3 << 20) - fixture->begin[5]);
}

/* An incomplete chunk at the end of a growing capture is not permanent damage. */
static void half_a_chunk_that_becomes_whole(void **state)
{
	struct fixture *fixture = *state;
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;
	size_t n = 0;
	int fd;

	make_unended(fixture);
	assert_int_equal(truncate(fixture->path, 0), 0);
	fd = open(fixture->path, O_WRONLY | O_APPEND);
	assert_int_equal(gpumon_capture_open(fixture->directory, &capture), 0);
	for (size_t i = 0; i < fixture->size; i += 37) {
		size_t piece = fixture->size - i < 37 ? fixture->size - i : 37;
		const struct gpumon_record *record;

		assert_int_equal(write(fd, fixture->bytes + i, piece), (ssize_t)piece);
		while ((record = gpumon_capture_next(capture, &cursor))) {
			assert_memory_equal(record, fixture->records[n], record->size);
			n++;
		}
		assert_true(gpumon_capture_damage(capture)->truncated_bytes < 500);
	}
	assert_int_equal(n, fixture->n_records);
	assert_false(any(gpumon_capture_damage(capture)));
	gpumon_capture_free(capture);
	close(fd);
}

/* Impossible records in a chunk with a correct CRC. */
static void records_that_cannot_be(void **state)
{
	struct fixture *fixture = *state;
	static const uint32_t sizes[] = { 0, 1, 4, 7, 9, 12, 24 + 8, 1u << 31, ~0u };
	struct gpumon_record_hit hit = { .head = { GPUMON_RECORD_HIT, 0, sizeof(hit) } };
	struct capture_maker *maker = capture_maker_new();
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;
	char *directory = capture_maker_directory();
	uint64_t hits = 0;
	const size_t n_sizes = sizeof(sizes) / sizeof(sizes[0]);
	struct {
		struct gpumon_record_string string;
		char text[8];
	} string = { .string = { .head = { GPUMON_RECORD_STRING, 0, sizeof(string) },
				 .length = 9 } };
	struct {
		struct gpumon_record_stack stack;
		uint64_t frames[2];
	} stack = { .stack = { .head = { GPUMON_RECORD_STACK, 0, sizeof(stack) }, .count = 3 } };
	struct gpumon_record_driver_event event = {
		.head = { GPUMON_RECORD_DRIVER_EVENT, 0, sizeof(event) }, .event_size = 1
	};
	struct gpumon_record_mapping mapping = {
		.head = { GPUMON_RECORD_MAPPING, 0, sizeof(mapping) }, .build_id_size = 21
	};
	struct gpumon_record bare = { GPUMON_RECORD_STRING, 0, sizeof(bare) };

	assert_int_equal(gpumon_capture_create(directory, "x", &writer), 0);
	assert_int_equal(gpumon_capture_add_file(writer, NAME, &file), 0);
	for (size_t i = 0; i < n_sizes; i++) {
		struct gpumon_record bad = { .type = GPUMON_RECORD_HIT, .size = sizes[i] };

		capture_maker_raw(maker, &hit, sizeof(hit));
		capture_maker_raw(maker, &bad, sizeof(bad));
		capture_maker_raw(maker, "01234567", 8);
		{
			size_t size;
			const void *records = capture_maker_records(maker, &size);

			assert_int_equal(gpumon_capture_append(file, 1, records, size), 0);
		}
		capture_maker_clear(maker);
	}
	/* Here the next record can be found. */
	capture_maker_raw(maker, &string, sizeof(string));
	capture_maker_raw(maker, &stack, sizeof(stack));
	capture_maker_raw(maker, &event, sizeof(event));
	capture_maker_raw(maker, &mapping, sizeof(mapping));
	capture_maker_raw(maker, &bare, sizeof(bare));
	capture_maker_raw(maker, &hit, sizeof(hit));
	string.string.length = 8;
	stack.stack.count = 2;
	capture_maker_raw(maker, &string, sizeof(string));
	capture_maker_raw(maker, &stack, sizeof(stack));
	capture_maker_flush(maker, file, 1, 0);
	assert_int_equal(gpumon_capture_close(writer), 0);

	assert_int_equal(gpumon_capture_open(directory, &capture), 0);
	for (const struct gpumon_record *record; (record = gpumon_capture_next(capture, &cursor));)
		hits += record->type == GPUMON_RECORD_HIT;
	assert_int_equal(hits, n_sizes + 1);
	assert_int_equal(gpumon_capture_damage(capture)->broken_records, n_sizes + 5);
	assert_int_equal(gpumon_capture_damage(capture)->broken_chunks, 0);
	gpumon_capture_free(capture);
	capture_maker_free(maker);
	capture_maker_remove(directory);
	(void)fixture;
}

/* Only heads of long chunks, so that each byte could begin one: the search must end soon. */
static void heads_without_end(void **state)
{
	struct fixture *fixture = *state;
	enum {
		SIZE = 4 << 20
	};
	unsigned char *bytes = malloc(SIZE);
	struct gpumon_chunk chunk = { .magic = GPUMON_CHUNK_MAGIC,
				      .version = GPUMON_CAPTURE_VERSION };

	for (size_t at = 0; at < SIZE; at += sizeof(chunk)) {
		chunk.size = GPUMON_CHUNK_SIZE_MAX - 8 * (uint32_t)(at % 1024);
		chunk.crc = (uint32_t)at;
		memcpy(bytes + at, &chunk, sizeof(chunk));
	}
	for (int shift = 0; shift < 2; shift++) {
		/* Not at multiples of their distance, so that no size leads to another head. */
		write_file(fixture->path, bytes + (shift ? 20 : 0), SIZE - 20);
		{
			struct gpumon_capture_damage damage =
				expect_without(fixture, 0, fixture->n_records);

			assert_true(damage.broken_chunks + damage.truncated_bytes > 0);
		}
	}
	free(bytes);
}

/* Special files with the name of a records file must not block the reader. */
static void files_that_are_none(void **state)
{
	struct fixture *fixture = *state;
	struct gpumon_capture_damage damage;
	char *path;

	assert_true(asprintf(&path, "%s/a-pipe%s", fixture->directory, GPUMON_CAPTURE_SUFFIX) > 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	free(path);
	assert_true(asprintf(&path, "%s/b-link%s", fixture->directory, GPUMON_CAPTURE_SUFFIX) > 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	free(path);
	assert_true(asprintf(&path, "%s/c-directory%s", fixture->directory, GPUMON_CAPTURE_SUFFIX) >
		    0);
	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
	damage = expect_without(fixture, 0, 0);
	assert_int_equal(damage.unreadable_files, 3);
}

#define DAMAGE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DAMAGE_TEST(truncated_at_every_byte),
		DAMAGE_TEST(every_byte_flipped),
		DAMAGE_TEST(every_byte_of_capture_json_flipped),
		DAMAGE_TEST(bytes_inserted_and_removed),
		DAMAGE_TEST(a_chunk_across_the_end_of_a_window),
		DAMAGE_TEST(a_last_chunk_that_is_broken),
		DAMAGE_TEST(a_broken_chunk_and_a_gap),
		DAMAGE_TEST(chunks_that_are_gone),
		DAMAGE_TEST(a_tail_of_zeros),
		DAMAGE_TEST(half_a_chunk_that_becomes_whole),
		DAMAGE_TEST(records_that_cannot_be),
		DAMAGE_TEST(heads_without_end),
		DAMAGE_TEST(files_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
