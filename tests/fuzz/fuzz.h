/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What all fuzzers share. A fuzzer is one file with LLVMFuzzerTestOneInput(), which ends the program
 * where something is wrong; libFuzzer makes the inputs, the sanitizers see the rest.
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

/* 0 behind the end. */
uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
uint32_t fuzz_u32(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);

/**
 * fuzz_text - a text: a byte of length, then so many bytes, none of them a NUL
 * @input: input
 *
 * Return: in its exact size on the heap, so that a byte too far is seen; to be freed.
 */
char *fuzz_text(struct fuzz_input *input);

/* Bytes that are left, or @most of them, in their exact size on the heap. To be freed. */
uint8_t *fuzz_bytes(struct fuzz_input *input, size_t most, size_t *size);

/* --- files */

/* A folder of this process, in memory where there is such a place; removed when it ends. */
const char *fuzz_folder(void);

/* The path of a file in that folder, in a buffer of its own for each of 16 calls in turn. */
const char *fuzz_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A folder in that folder, and all that is in it. */
void fuzz_folder_make(const char *name);
void fuzz_folder_remove(const char *name);

/* Replaces it. */
void fuzz_write(const char *path, const void *data, size_t size);

/* All of a file, with a NUL behind it. To be freed. */
char *fuzz_read(const char *path, size_t *size);

/* --- what is written, read again */

/**
 * struct fuzz_stream - a stream into memory
 * @stream: to be written to
 * @data: what was written, with a NUL behind it, after fuzz_stream_end()
 * @size: bytes of it
 */
struct fuzz_stream {
	FILE *stream;
	char *data;
	size_t size;
};

void fuzz_stream_begin(struct fuzz_stream *stream);
void fuzz_stream_end(struct fuzz_stream *stream);
void fuzz_stream_free(struct fuzz_stream *stream);

/* One well-formed JSON document and nothing else. To be released. */
struct json_object *fuzz_json(const char *text, size_t size);

/* Is a string of JSON @from, but for bytes that are no UTF-8, each of which is U+FFFD? */
bool fuzz_same_json(const char *from, struct json_object *string);

/* Well-formed XML. @each is called with each element's name and its attributes, NULL for none. */
void fuzz_xml(const char *text, size_t size,
	      void (*each)(const char *name, const char **attributes));

/* Characters as they have to be in an output: UTF-8, without control characters but these. */
void fuzz_is_text(const char *text, size_t size, const char *controls);

#endif /* GPUMON_FUZZ_H */
