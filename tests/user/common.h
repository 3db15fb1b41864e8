/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by tests of gpumon-user. Include it instead of cmocka.h. */
#ifndef GPUMON_TEST_COMMON_H
#define GPUMON_TEST_COMMON_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/netlink.h>
#include <stdbool.h>

#include "cmd/commands.h"
#include "driver/model.h"

/* A netlink message under construction, in a heap block of its exact size for ASan. */
struct message {
	unsigned char *data;
	size_t len;
};

void message_begin(struct message *message, int command);
void message_attr(struct message *message, int type, const void *data, size_t len);
void message_u32(struct message *message, int type, uint32_t value);
void message_u64(struct message *message, int type, uint64_t value);
void message_string(struct message *message, int type, const char *text);
/* Returns the position of the nest, for message_nest_end(). */
size_t message_nest(struct message *message, int type);
void message_nest_end(struct message *message, size_t nest);
const struct nlmsghdr *message_header(const struct message *message);
/* A copy of the first @len bytes, whose header has that length. */
struct message message_cut(const struct message *message, size_t len);
void message_free(struct message *message);

/* How a kind of message is made and parsed into a model. */
struct message_kind {
	void (*make)(struct message *message);
	int (*parse)(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
};

/* Parsed where it ends at each byte: it becomes one of @elements, or is refused and leaves none. */
void message_parse_cut(const struct message_kind *kind,
		       size_t (*elements)(const struct gpumon_model *model));

/* A copy changed in one of so many ways: each bit flipped, then many times random bytes. */
size_t message_twists(const struct message *message);
struct message message_twist(const struct message *message, size_t way, uint64_t *seed);

/* Deterministic random numbers. */
uint64_t test_random(uint64_t *state);

/* The words of the first line of a text that begins with @begin after blanks, separated by single blanks, are @want. */
void test_line(const char *text, const char *begin, const char *want);

/* Two groups, three rings (two with the same name on two devices), histograms, two processes. */
void test_model(struct gpumon_model *model);

/*
 * Adds the group drm_vblank with a table "crtcs" of two rows: the device and the level of the
 * second one are unknown. Also adds an unknown and a known field, an alert, and counters for both
 * processes of test_model().
 */
void test_tables(struct gpumon_model *model);

/* A row of drm_sched.usage: who, where, and how much. */
struct test_usage {
	const char *device;
	const char *ring;
	uint64_t process;
	uint64_t client;
	uint64_t cgroup;
	uint64_t jobs;
	uint64_t gpu_ns;
	uint64_t queue_ns;
	uint64_t errors;
};

/* @number: of the row */
void test_usage_row(struct gpumon_model *model, uint64_t number, struct test_usage usage);

/* Device memory that the kernel charges to a container (or NULL) by its cgroup. */
void test_dmem(struct gpumon_model *model, const char *container, const char *cgroup,
	       const char *region, struct gpumon_value bytes);

/* Writes a file below a root, whose folders are made. */
void test_file(const char *root, const char *name, const char *text);

/* The output of a command line. Free it with captured_free(). */
struct captured {
	int status;
	char *out;
	char *err;
};

/* Arguments end with NULL, without the program's name. */
struct captured capture(const char *root, ...) __attribute__((sentinel));
void captured_free(struct captured *captured);

#endif /* GPUMON_TEST_COMMON_H */
