// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "memory.h"

static void (*finish_before_exit)(void *data);
static void *finish_data;

void gpumon_memory_on_failure(void (*finish)(void *data), void *data)
{
	finish_before_exit = finish;
	finish_data = data;
}

void gpumon_memory_failed(size_t size)
{
	void (*finish)(void *data) = finish_before_exit;
	char line[96];
	int length = size ? snprintf(line, sizeof(line),
				     "gpumon-user: out of memory, for an allocation of %zu bytes\n",
				     size) :
			    snprintf(line, sizeof(line), "gpumon-user: out of memory\n");

	/* If standard error is closed, the exit status says it. */
	(void)!write(STDERR_FILENO, line, (size_t)length);
	finish_before_exit = NULL;
	if (finish)
		finish(finish_data);
	exit(GPUMON_EXIT_FAILED);
}

static void *checked(void *memory, size_t size)
{
	if (!memory)
		gpumon_memory_failed(size);
	return memory;
}

void *gpumon_malloc(size_t size)
{
	return checked(malloc(size ? size : 1), size);
}

void *gpumon_calloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1),
		       n && size > SIZE_MAX / n ? SIZE_MAX : n * size);
}

void *gpumon_realloc(void *from, size_t size)
{
	return checked(realloc(from, size ? size : 1), size);
}

void *gpumon_reallocarray(void *from, size_t n, size_t size)
{
	if (n && size > SIZE_MAX / n)
		gpumon_memory_failed(SIZE_MAX);
	return gpumon_realloc(from, n * size);
}

char *gpumon_strdup(const char *from)
{
	return checked(strdup(from), strlen(from) + 1);
}

char *gpumon_strndup(const char *from, size_t size)
{
	return checked(strndup(from, size), size);
}

char *gpumon_asprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		gpumon_memory_failed(strlen(format));
	va_end(args);
	return text;
}

FILE *gpumon_memstream_open(char **text, size_t *size)
{
	FILE *stream = open_memstream(text, size);

	if (!stream)
		gpumon_memory_failed(0);
	return stream;
}

void gpumon_memstream_close(FILE *stream)
{
	bool bad = ferror(stream);

	if (fclose(stream) || bad)
		gpumon_memory_failed(0);
}
