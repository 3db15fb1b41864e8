/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Results that a test makes up: maps are defined here, and their memory is written through the
 * functions of object/map_memory.h, as a GPU would.
 */
#ifndef GPUMON_TESTS_RESULT_SAMPLE_H
#define GPUMON_TESTS_RESULT_SAMPLE_H

#include <json.h>
#include <stdbool.h>

#include "gpuprog/result/view.h"

#define SAMPLE_MAPS	16
#define SAMPLE_DEVICES	4
#define SAMPLE_KERNELS	40
#define SAMPLE_LINES	40
#define SAMPLE_LAUNCHES 4096

struct sample {
	struct gpumon_gpuprog_object object;
	struct gpumon_gpuprog_map maps[SAMPLE_MAPS];
	struct gpumon_gpuprog_run run;
	struct gpumon_gpuprog_kernel kernels[SAMPLE_KERNELS];
	struct gpumon_gpuprog_line_of lines[SAMPLE_LINES];
	struct gpumon_gpuprog_device devices[SAMPLE_DEVICES];
	void *images[SAMPLE_DEVICES][SAMPLE_MAPS];
	struct gpumon_gpuprog_records records[SAMPLE_MAPS];
	struct gpumon_gpuprog_launch launches[SAMPLE_LAUNCHES];
	struct gpumon_gpuprog_result result;
	char *text;
	struct json_object *document;
};

void sample_init(struct sample *sample);
/* With the maps of a tool's object, compiled by the Makefile. */
void sample_init_tool(struct sample *sample, const char *tool);
void sample_clear(struct sample *sample);

/* Add a map; returns its number. All maps come before the first device. */
uint32_t sample_map(struct sample *sample, const char *name, enum gpumon_gpuprog_map_kind kind,
		    uint32_t key_size, uint32_t value_size, uint32_t entries);
/* A tool's object, with a device of four shards and a kernel, vectorAdd. */
void sample_begin(struct sample *sample, const char *tool);
/* Number of a map by its name. */
uint32_t sample_find(const struct sample *sample, const char *name);
/* Add a context, all of whose maps are zero; returns its number. */
uint32_t sample_device(struct sample *sample, uint32_t shards);
uint32_t sample_kernel(struct sample *sample, const char *mangled, enum gpumon_gpuprog_way way);
/* Returns the number that programs see, from 1 on. */
uint64_t sample_line(struct sample *sample, uint32_t kernel, const char *file, uint32_t line);

/* Add to a number of 64 bits in an array or histogram: @word counts them within the value. */
void sample_add(struct sample *sample, uint32_t device, uint32_t map, uint32_t shard,
		uint64_t index, uint32_t word, uint64_t amount);
/* Place of a value. */
void *sample_at(struct sample *sample, uint32_t device, uint32_t map, uint32_t shard,
		uint64_t index);
/* Put a key into a hash, on a GPU's way to it; returns the place of its value. */
void *sample_put(struct sample *sample, uint32_t device, uint32_t map, const void *key);
/* Mark a key as deleted. */
void sample_delete(struct sample *sample, uint32_t device, uint32_t map, const void *key);
/* A record that came out of a ring. */
void sample_record(struct sample *sample, uint32_t device, uint32_t map, const void *record,
		   uint32_t size);
void sample_launch(struct sample *sample, uint32_t device, uint32_t kernel, uint64_t ns);

/* What is printed, until the next call. The test fails if that fails. */
const char *sample_print(struct sample *sample, bool tty);
/* The document, parsed again, until the next call. */
struct json_object *sample_json(struct sample *sample);

/* Rows of a table of the document; the test fails without it. */
struct json_object *sample_rows(struct json_object *document, const char *table);
/* A number or text of a row; the test fails without it. */
uint64_t row_number(struct json_object *rows, size_t row, const char *key);
const char *row_text(struct json_object *rows, size_t row, const char *key);

/* Fail unless @text is in the output. */
void assert_in(const char *output, const char *text);
void assert_not_in(const char *output, const char *text);
/* Fail unless the document says it. */
void assert_found(struct sample *sample, const char *sentence);
void assert_noted(struct sample *sample, const char *sentence);

#endif /* GPUMON_TESTS_RESULT_SAMPLE_H */
