// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program that presents, and stand-ins of the libraries that it presents by: no image is anywhere (mock hardware
 * only). It takes the time in front of each present and behind it, as account of its frames.
 *
 * usage: present LIBRARY FUNCTION FRAMES SHORT_US LONG_US EVERY [go=FILE] [until=FILE]
 *   LIBRARY   loaded by dlopen()
 *   FRAMES    number of frames, so there is one present more
 *   EVERY     each such frame takes LONG_US, others SHORT_US; 0: none
 *   go=       it presents once this file is there; the library is loaded before that
 *   until=    it repeats that until this file is there; its account has the last frames
 *
 * It prints a line with its pid when the library is loaded, and its account at the end: how long each frame took at the
 * least and at the most, in ns.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef PRESENT_LIBRARY

/* The present functions of both APIs, so that one source is each library. */
int eglSwapBuffers(void *display, void *surface);
int vkQueuePresentKHR(void *queue, const void *info);

int eglSwapBuffers(void *display, void *surface)
{
	return display != surface;
}

int vkQueuePresentKHR(void *queue, const void *info)
{
	return queue == info;
}

#else

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

static bool is_there(const char *file)
{
	return file && !access(file, F_OK);
}

struct present {
	uint64_t before;
	uint64_t after;
};

int main(int argc, char **argv)
{
	const char *go = NULL, *until = NULL;
	int (*present)(void *a, void *b) = NULL;
	struct present *presents;
	uint64_t frame_ns[2], count, every;
	void *library;

	for (int i = 7; i < argc; i++) {
		if (!strncmp(argv[i], "go=", 3))
			go = argv[i] + 3;
		else if (!strncmp(argv[i], "until=", 6))
			until = argv[i] + 6;
	}
	library = argc >= 7 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (library)
		*(void **)&present = dlsym(library, argv[2]);
	if (!present) {
		fprintf(stderr, "no such library or function: %s\n", library ? argv[2] : dlerror());
		return 1;
	}
	count = strtoull(argv[3], NULL, 10);
	frame_ns[0] = strtoull(argv[4], NULL, 10) * 1000;
	frame_ns[1] = strtoull(argv[5], NULL, 10) * 1000;
	every = strtoull(argv[6], NULL, 10);
	presents = calloc(count + 1, sizeof(*presents));
	if (!presents)
		return 1;
	printf("{\"pid\": %d}\n", (int)getpid());
	fflush(stdout);
	while (go && !is_there(go))
		usleep(1000);
	do {
		for (uint64_t i = 0; i <= count; i++) {
			presents[i].before = now_ns();
			present(NULL, NULL);
			presents[i].after = now_ns();
			if (i < count || until)
				sleep_until(presents[i].before +
					    frame_ns[every && i % every == every - 1]);
		}
	} while (until && !is_there(until));
	printf("{\"frames\": [");
	for (uint64_t i = 0; i < count; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
		       presents[i + 1].before - presents[i].after,
		       presents[i + 1].after - presents[i].before);
	printf("]}\n");
	return 0;
}

#endif
