/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shared by all fuzzers. A fuzzer is one file with LLVMFuzzerTestOneInput(), which ends the program
 * on an error. libFuzzer makes the inputs, and the sanitizers check the rest.
 */
#ifndef GPUMON_FUZZ_H
#define GPUMON_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct json_object;

#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- taking an input apart */

struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

/* 0 after the end. */
uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
uint32_t fuzz_u32(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);

/**
 * fuzz_text - read a text: a length byte, then that many bytes without NULs
 * @input: input
 *
 * Return: a heap block of its exact size, so that reading beyond it is detected; to be freed.
 */
char *fuzz_text(struct fuzz_input *input);

/* The remaining bytes, at most @most, in a heap block of their exact size. To be freed. */
uint8_t *fuzz_bytes(struct fuzz_input *input, size_t most, size_t *size);

/* --- files */

/* A folder of this process, in memory if possible. Removed at the end. */
const char *fuzz_folder(void);

/* The path of a file in that folder, in one of 16 buffers used in turn. */
const char *fuzz_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Create a folder in that folder, or remove it with its contents. */
void fuzz_folder_make(const char *name);
void fuzz_folder_remove(const char *name);

/* Replaces an existing file. */
void fuzz_write(const char *path, const void *data, size_t size);

/* The whole file, NUL-terminated. To be freed. */
char *fuzz_read(const char *path, size_t *size);

/* --- what is written, read again */

/**
 * struct fuzz_stream - a stream into memory
 * @stream: stream to write to
 * @data: written text, NUL-terminated after fuzz_stream_end()
 * @size: its size
 */
struct fuzz_stream {
	FILE *stream;
	char *data;
	size_t size;
};

void fuzz_stream_begin(struct fuzz_stream *stream);
void fuzz_stream_end(struct fuzz_stream *stream);
void fuzz_stream_free(struct fuzz_stream *stream);

/* Parse exactly one well-formed JSON document. To be released. */
struct json_object *fuzz_json(const char *text, size_t size);

/* Is the JSON string equal to @from, except that each invalid byte is U+FFFD? */
bool fuzz_same_json(const char *from, struct json_object *string);

/*
 * Check well-formed XML. @each is called with each element's name and its attributes; may be NULL.
 */
void fuzz_xml(const char *text, size_t size,
	      void (*each)(const char *name, const char **attributes));

/* Check that an output is UTF-8, without control characters except these. */
void fuzz_is_text(const char *text, size_t size, const char *controls);

#endif /* GPUMON_FUZZ_H */
