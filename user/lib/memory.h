/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Allocations of gpumon-user. Without memory the program ends with a sentence and exit status 1, so
 * callers have nothing to check. A size that comes from a file is bounded before it is allocated.
 * Nothing of this is for inject/, whose program must live on.
 */
#ifndef GPUMON_LIB_MEMORY_H
#define GPUMON_LIB_MEMORY_H

#include <stddef.h>
#include <stdio.h>

void *gpumon_malloc(size_t size) __attribute__((malloc, returns_nonnull));
void *gpumon_calloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *gpumon_realloc(void *from, size_t size) __attribute__((returns_nonnull));
void *gpumon_reallocarray(void *from, size_t n, size_t size) __attribute__((returns_nonnull));
char *gpumon_strdup(const char *from) __attribute__((malloc, returns_nonnull));
/* As strndup(): at most @size bytes and an ending zero. */
char *gpumon_strndup(const char *from, size_t size) __attribute__((malloc, returns_nonnull));
char *gpumon_asprintf(const char *format, ...)
	__attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* As open_memstream(); *@text and *@size are there when the stream is closed. */
FILE *gpumon_memstream_open(char **text, size_t *size) __attribute__((returns_nonnull));
void gpumon_memstream_close(FILE *stream);

/**
 * gpumon_memory_on_failure - what is done once before the program ends for want of memory
 * @finish: writes what would be lost, a capture for example. It must not allocate much: if it has
 *	no memory either, the program ends within it. NULL: nothing
 * @data: for it
 *
 * Called by the thread that has no memory.
 */
void gpumon_memory_on_failure(void (*finish)(void *data), void *data);

/*
 * End the program as a failed allocation of @size bytes does; 0: of a size that is not known. For
 * libraries that return an error.
 */
void gpumon_memory_failed(size_t size) __attribute__((noreturn));

#endif /* GPUMON_LIB_MEMORY_H */
