/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A profile of a small capture of an invented program, and functions to check it. */
#ifndef GPUMON_TEST_PROFILE_FIXTURE_H
#define GPUMON_TEST_PROFILE_FIXTURE_H

#include "capture/capture_maker.h"
#include "common.h"
#include "report/profile.h"

#define PROGRAM_PID 4711

/* Functions of the invented program, 256 bytes each. */
#define PROGRAM_MAIN	0x10000u
#define PROGRAM_TRAIN	0x10100u
#define PROGRAM_FORWARD 0x10200u
#define PROGRAM_LAUNCH	0x10300u
#define PROGRAM_CAPTURE 0x10400u

/*
 * A return address in a function. After the function's last call it would be in the next function.
 */
#define IN(function)  ((function) + 0x40)
#define END(function) ((function) + 0x100)

struct profile_fixture {
	char *directory;
	char path[512];
	struct capture_maker *maker;
	struct gpumon_profile *profile;
};

int profile_setup(void **state);
int profile_teardown(void **state);

/* Saves the capture if necessary, and loads it with the names of the program. */
const struct gpumon_node *profile_load(struct profile_fixture *fixture,
				       const struct gpumon_profile_options *options);

/* The node at "main>train>saxpy"; NULL if there is none. */
const struct gpumon_node *profile_node(const struct gpumon_node *node, const char *path);
void profile_expect_node(const struct gpumon_node *root, const char *path,
			 enum gpumon_node_kind kind, uint64_t count, uint64_t gpu_ns,
			 uint64_t cpu_ns);
/* Time and calls of a node and its descendants, which must be sorted and unique. */
uint64_t profile_total(const struct gpumon_node *node, uint64_t *count);
const struct gpumon_kernel_row *profile_kernel(const struct profile_fixture *fixture,
					       const char *name);

/*
 * A launch of a kernel with a duration of 1000 ns plus its number, 500 ns after the beginning of
 * the call.
 */
void profile_make_pair(struct capture_maker *maker, uint32_t number, uint32_t tid, uint32_t stack,
		       const char *name);

#endif /* GPUMON_TEST_PROFILE_FIXTURE_H */
