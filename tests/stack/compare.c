// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "compare.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int failures;
/* Includes those of children. */
static unsigned int *tests;
static pid_t program;

/* Runs before the constructors of the tests, which also walk. */
__attribute__((constructor(101))) static void test_begin(void)
{
	tests = mmap(NULL, sizeof(*tests), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	program = getpid();
}

bool test_says(bool good, const char *name, const char *format, ...)
{
	va_list arguments;

	pthread_mutex_lock(&lock);
	(*tests)++;
	printf("%s - %s", good ? "ok" : "not ok", name);
	if (!good) {
		failures++;
		printf(": ");
		va_start(arguments, format);
		vprintf(format, arguments);
		va_end(arguments);
	}
	printf("\n");
	fflush(stdout);
	pthread_mutex_unlock(&lock);
	return good;
}

void test_skips(const char *name, const char *reason)
{
	(*tests)++;
	printf("ok - %s # SKIP %s\n", name, reason);
}

static bool errno_changed;

void test_errno(void)
{
	if (errno != ERRNO_BEFORE)
		__atomic_store_n(&errno_changed, true, __ATOMIC_RELAXED);
}

int test_end(void)
{
	SAY(!errno_changed, "errno of the program is left alone", "a walk changed it");
	if (getpid() == program)
		printf("1..%u\n", *tests);
	return failures ? 1 : 0;
}

/*
 * The return address of a handler. unw_is_signal_frame() is not about that frame, but about others.
 */
static bool is_restorer(uint64_t address)
{
	return !memcmp((const void *)address, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
}

void NOINLINE reference_walk(struct walk *walk)
{
	unw_context_t context;
	unw_cursor_t cursor;
	bool interrupted = false;

	memset(walk, 0, sizeof(*walk));
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	while (unw_step(&cursor) > 0 && walk->count < FRAMES_MAX) {
		unw_word_t address;

		unw_get_reg(&cursor, UNW_REG_IP, &address);
		if (!address)
			break;
		walk->frames[walk->count++] = address + interrupted;
		interrupted = is_restorer(address);
	}
}

static const char *name_of(uint64_t frame, char *text, size_t size)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)(frame - 1), &info) && info.dli_sname)
		snprintf(text, size, "%#lx (%s)", (unsigned long)frame, info.dli_sname);
	else
		snprintf(text, size, "%#lx", (unsigned long)frame);
	return text;
}

bool test_same(const char *name, const struct walk *ours, const struct walk *theirs)
{
	char left[128];
	char right[128];

	if (ours->truncated)
		return SAY(false, name, "truncated after %u frames, at %s; libunwind has %u",
			   ours->count,
			   name_of(ours->frames[ours->count ? ours->count - 1 : 0], left,
				   sizeof(left)),
			   theirs->count);
	for (unsigned int i = 1; i < ours->count && i < theirs->count; i++) {
		if (ours->frames[i] != theirs->frames[i])
			return SAY(false, name, "frame %u is %s, libunwind has %s", i,
				   name_of(ours->frames[i], left, sizeof(left)),
				   name_of(theirs->frames[i], right, sizeof(right)));
	}
	return SAY(ours->count == theirs->count && ours->count > 2, name,
		   "%u frames, libunwind has %u", ours->count, theirs->count);
}

bool is_in(uint64_t frame, const char *function)
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)(frame - 1), &info) && info.dli_sname &&
	       !strcmp(info.dli_sname, function);
}

int find_in(const struct walk *walk, const char *function)
{
	for (unsigned int i = 0; i < walk->count; i++) {
		if (is_in(walk->frames[i], function))
			return (int)i;
	}
	return -1;
}
