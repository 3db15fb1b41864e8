// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "capture_check.h"
#include "common.h"

#include <stdio.h>

char *capture_inside(const char *directory, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

struct gpumon_capture_writer *capture_create(const char *path)
{
	struct gpumon_capture_writer *writer;

	if (gpumon_capture_create(path, "./train --fast", &writer))
		fail_msg("%s", gpumon_capture_error()->message);
	return writer;
}

struct gpumon_capture_file *capture_add(struct gpumon_capture_writer *writer, const char *name)
{
	struct gpumon_capture_file *file;

	if (gpumon_capture_add_file(writer, name, &file))
		fail_msg("%s", gpumon_capture_error()->message);
	return file;
}

struct gpumon_capture *capture_open(const char *path)
{
	struct gpumon_capture *capture;

	if (gpumon_capture_open(path, &capture))
		fail_msg("%s", gpumon_capture_error()->message);
	return capture;
}

void capture_assert_whole(const struct gpumon_capture *capture)
{
	const struct gpumon_capture_damage *damage = gpumon_capture_damage(capture);

	assert_int_equal(damage->truncated_bytes, 0);
	assert_int_equal(damage->broken_chunks, 0);
	assert_int_equal(damage->broken_records, 0);
	assert_int_equal(damage->unknown_records, 0);
	assert_int_equal(damage->missing_chunks, 0);
	assert_int_equal(damage->unreadable_files, 0);
	assert_false(damage->broken_info);
}

void capture_append_hit(struct gpumon_capture_file *file, uint32_t tid, uint64_t number)
{
	struct gpumon_record_hit hit = {
		.head = { .type = GPUMON_RECORD_HIT, .size = sizeof(hit) },
		.number = number,
		.tid = tid,
	};

	assert_int_equal(gpumon_capture_append(file, tid, &hit, sizeof(hit)), 0);
}
