/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Objects of the driver of these tests: driver.c makes them, commands.c has what they do. */
#ifndef ZE_TEST_DRIVER_H
#define ZE_TEST_DRIVER_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Most calls need only some of what they are given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define HERE __attribute__((visibility("default")))

/* An object that commands are put into, or that they signal. */
struct pool {
	ze_event_pool_flags_t flags;
	struct context *context;
};

struct event {
	struct pool *pool;
	uint64_t start, end; /* 0: not signalled */
	bool is_signalled;
};

struct context {
	int pools, events, fences;
};

struct queue {
	struct context *context;
	uint64_t busy_until;
	bool is_synchronous;
};

struct fence {
	struct queue *queue;
	uint64_t end;
};

struct command;

struct list {
	struct queue *immediate;
	bool is_closed;
	struct command *commands;
	size_t count, room;
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A line of the log, with two numbers. */
__attribute__((visibility("hidden"))) void say(const char *format, uint64_t a, uint64_t b);

#endif /* ZE_TEST_DRIVER_H */
