/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Programs that call a real library and count their calls themselves:
 *
 * PROGRAM ROUNDS GO [MODE [WORK]]
 *
 * A program calls before_go(), prints {"pid":N}, waits until the file GO exists, calls after_go(),
 * waits until the file WORK exists, if there is one, calls work() ROUNDS times in each thread, and
 * prints {"threads":{TID:{FUNCTION:COUNT}},"work":ADDRESS}.
 */
#ifndef REAL_H
#define REAL_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Count a call and make it. */
#define CALL(function, ...) (called(#function), function(__VA_ARGS__))
/* The same by a pointer. */
#define CALL_BY(pointer, function, ...) (called(#function), pointer(__VA_ARGS__))

#define NEED(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

/* Count a call of this thread. */
void called(const char *function);

/* Each program has these. @mode is "" if there is none. */
extern const unsigned int threads;
void before_go(const char *mode);
void after_go(const char *mode);
void work(unsigned int thread);

#endif /* REAL_H */
