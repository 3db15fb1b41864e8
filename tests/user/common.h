/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What several tests of gpumon-user share. Include it instead of cmocka.h. */
#ifndef GPUMON_TEST_COMMON_H
#define GPUMON_TEST_COMMON_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/netlink.h>
#include <stdbool.h>

#include "cli/commands.h"
#include "model/model.h"

/* A netlink message in the making; it lives on the heap in its exact size, so ASan guards its end. */
struct message {
	unsigned char *data;
	size_t len;
};

void message_begin(struct message *message, int command);
void message_attr(struct message *message, int type, const void *data, size_t len);
void message_u32(struct message *message, int type, uint32_t value);
void message_u64(struct message *message, int type, uint64_t value);
void message_string(struct message *message, int type, const char *text);
/* Returns where the nest begins, for message_nest_end(). */
size_t message_nest(struct message *message, int type);
void message_nest_end(struct message *message, size_t nest);
const struct nlmsghdr *message_header(const struct message *message);
/* A copy of the first @len bytes whose header says the same length. */
struct message message_cut(const struct message *message, size_t len);
void message_free(struct message *message);

/* Deterministic random numbers. */
uint64_t test_random(uint64_t *state);

/* Two groups, three rings (two of the same name on two devices), histograms, two processes. */
void test_model(struct gpumon_model *model);

/*
 * Adds the group drm_vblank with the table "crtcs" of two rows: the second one's device is
 * unknown, and so is its level. An unknown and a known field, an alert, and counters of both
 * processes that test_model() made.
 */
void test_tables(struct gpumon_model *model);

/* What a command line printed; free with captured_free(). */
struct captured {
	int status;
	char *out;
	char *err;
};

/* Arguments end with NULL, without the program's name. */
struct captured capture(const char *root, ...) __attribute__((sentinel));
void captured_free(struct captured *captured);

#endif /* GPUMON_TEST_COMMON_H */
