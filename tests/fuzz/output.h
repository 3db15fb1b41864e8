/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A profile made from an input, and checks of its outputs by reading them again. */
#ifndef GPUMON_FUZZ_OUTPUT_H
#define GPUMON_FUZZ_OUTPUT_H

#include "fuzz.h"
#include "report/output.h"

/**
 * struct fuzz_profile - the data of a view
 * @view: argument of the outputs
 */
struct fuzz_profile {
	struct gpumon_view view;
	struct gpumon_sampling sampling;
	struct gpumon_correlate_counts counts;
	struct gpumon_capture_damage damage;
	uint64_t losses[GPUMON_LOSS_CAUSES];
};

/*
 * Names and numbers come from the input, but everything that is always true for a profile is true.
 */
void fuzz_profile_make(struct fuzz_profile *profile, struct fuzz_input *input);
void fuzz_profile_free(struct fuzz_profile *profile);

/* Each ends the program if the output does not match the view. */
void fuzz_check_json(const struct gpumon_view *view);
void fuzz_check_folded(const struct gpumon_view *view);
void fuzz_check_pprof(const struct gpumon_view *view);
/* @which: one of the flame graphs, or the page. */
void fuzz_check_pictures(const struct gpumon_view *view, unsigned int which);
void fuzz_check_texts(const struct gpumon_view *view, unsigned int columns);
void fuzz_check_diff(const struct gpumon_view *before, const struct gpumon_view *after);
/* For captures. */
void fuzz_check_chrome(const char *const *paths, unsigned int count);
void fuzz_check_perfetto(const char *const *paths, unsigned int count);
void fuzz_check_sqlite(const char *const *paths, unsigned int count);

/* Is @to equal to @from, except for replaced characters, and ';' with @semicolon? */
bool fuzz_same_name(const char *from, const char *to, size_t size, char semicolon);

/* Get a member of a JSON object, which must exist, but may be null. */
struct json_object *fuzz_json_get(struct json_object *object, const char *key);

/* --- protobuf */

/**
 * struct fuzz_field - a field of a message
 * @number: field number
 * @value: value of a number
 * @data: bytes in the message; NULL for a number
 * @size: number of bytes
 */
struct fuzz_field {
	unsigned int number;
	uint64_t value;
	const uint8_t *data;
	size_t size;
};

/* Take a field from the front. False at the end. An invalid message ends the program. */
bool fuzz_protobuf_next(const uint8_t **at, const uint8_t *end, struct fuzz_field *field);
uint64_t fuzz_protobuf_varint(const uint8_t **at, const uint8_t *end);

#endif /* GPUMON_FUZZ_OUTPUT_H */
