/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a program did, counted by itself: "did FUNCTION COUNT BYTES" in the end. For one file of it, which
 * has NEED() for a call that must not fail.
 */
#ifndef GPUMON_TESTS_OPENCL_DID_H
#define GPUMON_TESTS_OPENCL_DID_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	const char *name;
	unsigned long count;
	unsigned long bytes;
} did_what[40];

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void did(const char *name, unsigned long bytes)
{
	unsigned int i = 0;

	pthread_mutex_lock(&counting);
	while (did_what[i].name && strcmp(did_what[i].name, name) != 0)
		i++;
	did_what[i].name = name;
	did_what[i].count++;
	did_what[i].bytes += bytes;
	pthread_mutex_unlock(&counting);
}

#define DID(function, bytes, ...)            \
	do {                                 \
		NEED(function(__VA_ARGS__)); \
		did(#function, bytes);       \
	} while (0)

static void say_what(void)
{
	for (unsigned int i = 0; did_what[i].name; i++)
		printf("did %s %lu %lu\n", did_what[i].name, did_what[i].count, did_what[i].bytes);
	fflush(stdout);
}

#endif /* GPUMON_TESTS_OPENCL_DID_H */
