/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A profile made of an input, and what is written of one, read again and compared with it. */
#ifndef GPUMON_FUZZ_OUTPUT_H
#define GPUMON_FUZZ_OUTPUT_H

#include "fuzz.h"
#include "output/output.h"

/**
 * struct fuzz_profile - all that a view points to
 * @view: what the outputs get
 */
struct fuzz_profile {
	struct gpumon_view view;
	struct gpumon_correlate_counts counts;
	struct gpumon_capture_damage damage;
	uint64_t losses[GPUMON_LOSS_CAUSES];
};

/* Names and numbers are the input's; only what a profile never is, it is not here either. */
void fuzz_profile_make(struct fuzz_profile *profile, struct fuzz_input *input);
void fuzz_profile_free(struct fuzz_profile *profile);

/* Each ends the program where the output is not what the view says. */
void fuzz_check_json(const struct gpumon_view *view);
void fuzz_check_folded(const struct gpumon_view *view);
void fuzz_check_pprof(const struct gpumon_view *view);
/* @which: of the flame graphs, or the page. */
void fuzz_check_pictures(const struct gpumon_view *view, unsigned int which);
void fuzz_check_texts(const struct gpumon_view *view, unsigned int columns);
void fuzz_check_diff(const struct gpumon_view *before, const struct gpumon_view *after);
/* Of captures. */
void fuzz_check_chrome(const char *const *paths, unsigned int count);
void fuzz_check_perfetto(const char *const *paths, unsigned int count);

/* Is @to @from, but for characters that are replaced in it, and ';' with @semicolon? */
bool fuzz_same_name(const char *from, const char *to, size_t size, char semicolon);

/* A member of an object of JSON, which has it, be it null. */
struct json_object *fuzz_json_get(struct json_object *object, const char *key);

/* --- protobuf */

/**
 * struct fuzz_field - a field of a message
 * @number: which
 * @value: of a number
 * @data: of bytes, in the message; NULL of a number
 * @size: of these
 */
struct fuzz_field {
	unsigned int number;
	uint64_t value;
	const uint8_t *data;
	size_t size;
};

/* Takes a field off the front; false at the end. What is no message ends the program. */
bool fuzz_protobuf_next(const uint8_t **at, const uint8_t *end, struct fuzz_field *field);
uint64_t fuzz_protobuf_varint(const uint8_t **at, const uint8_t *end);

#endif /* GPUMON_FUZZ_OUTPUT_H */
