// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Any bytes as a mangled name: a result comes back soon, and is not endless. */
#include <string.h>
#include <time.h>

#include "fuzz.h"
#include "capture/symbol.h"

#define SECONDS_MAX 2.0
#define OUTPUT_MAX  (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), *demangled;
	struct timespec begin, end;
	double seconds;

	MUST(name);
	memcpy(name, data, size);
	name[size] = '\0';
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	demangled = gpumon_demangle(name);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	seconds =
		(double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
	MUST(demangled && seconds < SECONDS_MAX);
	MUST(strlen(demangled) <= OUTPUT_MAX || !strcmp(demangled, name));
	/* A name that is not mangled stays unchanged. */
	MUST(name[0] == '_' || !strcmp(demangled, name));
	free(demangled);
	free(name);
	return 0;
}
