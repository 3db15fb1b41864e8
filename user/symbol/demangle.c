// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Names come from files that anybody may have made. A mangled name of some
 * hundred bytes can stand for a text of gigabytes, or for a search that never
 * ends without a word of output: what was said before can be said again twice
 * by a few letters. So length, output, stack and time have bounds here; a name
 * beyond one of them stays as it is.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libiberty/demangle.h>

#include "symbol.h"

#define NAME_MAX_BYTES	 (16u << 10) /* the longest seen of CUDA's template libraries: 10 KiB */
#define OUTPUT_MAX_BYTES (64u << 10)
#define OUTPUT_MAX_CALLS (256u << 10)

/* Up to here the caller's stack and patience are enough, see is_small(). */
#define SMALL_BYTES	 1000 /* libiberty refuses those of 1024 and more by itself */
#define SMALL_REFERENCES 24

#define WORKER_STACK_BYTES ((size_t)64 << 20) /* touched as far as it is needed */
#define WORKER_MS	   200
#define LOOK_MS		   20
#define GIVE_UP_MAX	   50 /* names; who sends more of them gets no further threads */

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

struct output {
	jmp_buf stop;
	const char *name;
	int options;
	char *text;
	size_t length;
	size_t calls;
	bool good;
};

/* libiberty cannot be told to stop; it holds nothing on the heap while it calls this. */
static void append_output(const char *text, size_t length, void *data)
{
	struct output *output = data;

	if (++output->calls > OUTPUT_MAX_CALLS || length > OUTPUT_MAX_BYTES - output->length)
		longjmp(output->stop, 1);
	/* Rust's says nothing by a NULL. */
	if (!length)
		return;
	memcpy(output->text + output->length, text, length);
	output->length += length;
}

static bool demangle_cxx(struct output *output)
{
	if (setjmp(output->stop))
		return false;
	return cplus_demangle_v3_callback(output->name, output->options, append_output, output);
}

static bool demangle_rust(struct output *output)
{
	if (setjmp(output->stop))
		return false;
	return rust_demangle_callback(output->name, output->options, append_output, output);
}

/*
 * What was said before is said again by S_, S0_, T_, T0_ and so on. With N of
 * those a text grows to 3^(N/3) times its length at most. Letters of ordinary
 * words count as well here: that only costs a thread.
 */
static bool is_small(const char *name, size_t length)
{
	unsigned int references = 0;

	if (length > SMALL_BYTES)
		return false;
	for (; *name; name++) {
		if ((*name == 'S' || *name == 'T') &&
		    (name[1] == '_' || (name[1] >= '0' && name[1] <= '9') ||
		     (name[1] >= 'A' && name[1] <= 'Z')))
			references++;
	}
	return references <= SMALL_REFERENCES;
}

static void *demangle_worker(void *data)
{
	struct output *output = data;

	/*
	 * Nothing below takes a lock or allocates: it can be ended anywhere. No
	 * variables here that AddressSanitizer would fence in: it is not told.
	 */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	output->good = demangle_cxx(output);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	return NULL;
}

/* Of its own time, not of the clock's: a busy machine is not the name's fault. */
static bool took_too_long(clockid_t clock)
{
	struct timespec used;

	return clock_gettime(clock, &used) ||
	       used.tv_sec * 1000 + used.tv_nsec / 1000000 >= WORKER_MS;
}

static atomic_uint given_up;

/* On a stack of its own, and not longer than WORKER_MS. */
static bool demangle_apart(struct output *output)
{
	pthread_attr_t attributes;
	struct timespec until;
	pthread_t thread;
	clockid_t clock;
	void *result;
	int err;

	if (given_up >= GIVE_UP_MAX || pthread_attr_init(&attributes))
		return false;
	err = pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
	if (!err)
		err = pthread_create(&thread, &attributes, demangle_worker, output);
	pthread_attr_destroy(&attributes);
	if (err)
		return false;

	if (!pthread_getcpuclockid(thread, &clock)) {
		do {
			clock_gettime(CLOCK_MONOTONIC, &until);
			until.tv_nsec += LOOK_MS * 1000000L;
			until.tv_sec += until.tv_nsec / 1000000000L;
			until.tv_nsec %= 1000000000L;
			if (!pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &until))
				return output->good;
		} while (!took_too_long(clock));
	}
	pthread_cancel(thread);
	pthread_join(thread, &result);
	/* It may have ended by itself before we asked for its clock: a thread that ended has none. */
	if (result != PTHREAD_CANCELED)
		return output->good;
	given_up++;
	return false;
}

char *gpumon_demangle(const char *name)
{
	struct output output = { .name = name, .options = OPTIONS };
	size_t length = strnlen(name, NAME_MAX_BYTES + 1);
	bool cxx = !strncmp(name, "_Z", 2) || !strncmp(name, "_GLOBAL_", 8);
	bool rust = !strncmp(name, "_ZN", 3) || !strncmp(name, "_R", 2);
	bool good = false;

	if ((!cxx && !rust) || length > NAME_MAX_BYTES)
		return strdup(name);
	output.text = malloc(OUTPUT_MAX_BYTES + 1);
	if (!output.text)
		return NULL;

	if (rust)
		good = demangle_rust(&output);
	if (!good && cxx) {
		output.length = 0;
		output.calls = 0;
		if (is_small(name, length)) {
			good = demangle_cxx(&output);
		} else {
			/* The limit of libiberty is one of length; the stack there is enough. */
			output.options |= DMGL_NO_RECURSE_LIMIT;
			good = demangle_apart(&output);
		}
	}
	if (good && output.length) {
		char *text;

		output.text[output.length] = '\0';
		text = realloc(output.text, output.length + 1);
		return text ? text : output.text;
	}
	free(output.text);
	return strdup(name);
}
