// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Names come from untrusted files. A mangled name of some hundred bytes can expand to gigabytes,
 * because a few letters repeat earlier parts, or cause an endless search without output. So length,
 * output, stack and time are bounded here. A name beyond a bound stays mangled.
 */
#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libiberty/demangle.h>

#include "symbol.h"

#define NAME_MAX_BYTES	 (16u << 10) /* the longest seen in CUDA's template libraries: 10 KiB */
#define OUTPUT_MAX_BYTES (64u << 10)
#define OUTPUT_MAX_CALLS (256u << 10)

/* Smaller names are demangled on the caller's stack, see is_small(). */
#define SMALL_BYTES	 1000 /* libiberty itself refuses those of 1024 and more */
#define SMALL_REFERENCES 24

#define WORKER_STACK_BYTES ((size_t)64 << 20) /* only touched as far as needed */
#define WORKER_MS	   200
#define LOOK_MS		   20
#define GIVE_UP_MAX	   50 /* names; after these no more threads are started */

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

/* libiberty has no way to stop. It holds no heap memory during this call, so jump out. */
static void append_output(const char *text, size_t length, void *data)
{
	struct output *output = data;

	if (++output->calls > OUTPUT_MAX_CALLS || length > OUTPUT_MAX_BYTES - output->length)
		longjmp(output->stop, 1);
	/* The Rust demangler signals an error by NULL. */
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
 * S_, S0_, T_, T0_ and so on repeat earlier parts. With N of them a text grows to at most 3^(N/3)
 * times its length. Letters of ordinary words are counted, too, which only costs a thread.
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
	 * Nothing below takes a lock or allocates, so the thread can be cancelled anywhere. Use no
	 * local variables here: AddressSanitizer would not notice the cancellation.
	 */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	output->good = demangle_cxx(output);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	return NULL;
}

/* Measure CPU time, since a busy machine is not the name's fault. */
static bool took_too_long(clockid_t clock)
{
	struct timespec used;

	return clock_gettime(clock, &used) ||
	       used.tv_sec * 1000 + used.tv_nsec / 1000000 >= WORKER_MS;
}

static atomic_uint given_up;

/* Demangle on a separate stack, for at most WORKER_MS. */
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
	/* The thread may have ended before we got its clock. */
	if (result != PTHREAD_CANCELED)
		return output->good;
	given_up++;
	return false;
}

/* SYCL names a kernel by the name of a type, _ZTS...: what is meant is the type. */
static const char *without_kind(const char *text)
{
	static const char kind[] = "typeinfo name for ";

	return strncmp(text, kind, sizeof(kind) - 1) ? text : text + sizeof(kind) - 1;
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
			/* libiberty's limit is one of length, and this stack is large enough. */
			output.options |= DMGL_NO_RECURSE_LIMIT;
			good = demangle_apart(&output);
		}
	}
	if (good && output.length) {
		const char *from;
		char *text;

		output.text[output.length] = '\0';
		from = strncmp(name, "_ZTS", 4) ? output.text : without_kind(output.text);
		output.length -= (size_t)(from - output.text);
		memmove(output.text, from, output.length + 1);
		text = realloc(output.text, output.length + 1);
		return text ? text : output.text;
	}
	free(output.text);
	return strdup(name);
}

/* --- names of API functions */

static bool ends_with(const char *name, size_t length, const char *end)
{
	size_t size = strlen(end);

	return length > size && !memcmp(name + length - size, end, size);
}

/* Length without a trailing "_v7000" or "_v2". */
static size_t without_version(const char *name, size_t length)
{
	size_t i = length;

	while (i && isdigit((unsigned char)name[i - 1]))
		i--;
	if (i == length || i < 3 || name[i - 1] != 'v' || name[i - 2] != '_')
		return length;
	return i - 2;
}

const char *gpumon_function_base(const char *name, size_t *length)
{
	size_t left = *length;
	size_t before;

	/* _ptsz or _ptds and the version come in either order. */
	do {
		before = left;
		left = without_version(name, left);
		if (ends_with(name, left, "_ptsz") || ends_with(name, left, "_ptds"))
			left -= strlen("_ptsz");
	} while (left != before);
	if (left > 2 && name[0] == '_' && name[1] == '_') {
		name += 2;
		left -= 2;
	}
	*length = left;
	return name;
}
