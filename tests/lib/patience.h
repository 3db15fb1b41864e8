/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Included in each file of a library that is built for tests. It waits long for a recorder and for its
 * thread: a busy machine may hold up both for seconds. MOCK_IMPATIENT=1: as long as in real programs.
 * MOCK_ANSWER_MS: how long it waits for a recorder's answer.
 */
#ifndef GPUMON_TESTS_LIB_PATIENCE_H
#define GPUMON_TESTS_LIB_PATIENCE_H

#include <stdlib.h>

#define INJECT_PATIENCE(ms) (getenv("MOCK_IMPATIENT") ? (ms) : 60000)
#define INJECT_ANSWER_MS                                                           \
	(getenv("MOCK_ANSWER_MS") ? (unsigned int)atoi(getenv("MOCK_ANSWER_MS")) : \
				    INJECT_PATIENCE(GPUMON_CHANNEL_ANSWER_MS))

#endif /* GPUMON_TESTS_LIB_PATIENCE_H */
