/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What tests do to captures where it has to succeed: otherwise the test fails. */
#ifndef GPUMON_TEST_CAPTURE_CHECK_H
#define GPUMON_TEST_CAPTURE_CHECK_H

#include <stdint.h>

#include "capture/capture.h"

/* The caller frees it. */
char *capture_inside(const char *directory, const char *name);
struct gpumon_capture_writer *capture_create(const char *path);
struct gpumon_capture_file *capture_add(struct gpumon_capture_writer *writer, const char *name);
struct gpumon_capture *capture_open(const char *path);
void capture_assert_whole(const struct gpumon_capture *capture);
/* A hit with a number, which identifies the records of a thread. */
void capture_append_hit(struct gpumon_capture_file *file, uint32_t tid, uint64_t number);

#endif /* GPUMON_TEST_CAPTURE_CHECK_H */
