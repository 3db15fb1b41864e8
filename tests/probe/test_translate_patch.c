// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Programs as functions for patches of machine code do what they do within a kernel, and what such a
 * function cannot do is refused.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "gpuprog/image/patch.h"
#include "gpuprog/server/load.h"
#include "sample.h"

#define THREADS 256

static void prepare(struct ptx_lane *lane, uint32_t thread)
{
	lane->special[PTX_KERNEL] = 3;
	lane->special[PTX_ADDRESS] = 0x7000 + 24 * thread;
	lane->special[PTX_SIZE] = 8;
	lane->special[PTX_FLAGS] = GPUMON_GPUPROG_READ;
}

static int make(struct sample *sample, const struct corpus_program *program, bool patch)
{
	struct gpumon_gpuprog_target target = sample_target;

	target.patch = patch;
	return sample_make(sample, program->code, program->code_n, corpus_maps, CORPUS_MAPS,
			   program->point, &target);
}

/* Runs it. Returns whether something was written. */
static bool run(struct sample *sample, uint64_t random)
{
	bool written = false;

	if (sample_run_with(sample, THREADS, random, prepare))
		fail_msg("%s\n%s", sample->error, sample->text);
	for (uint32_t i = 0; i < CORPUS_MAPS; i++) {
		uint64_t bytes = gpumon_gpuprog_map_bytes(&corpus_maps[i], sample->target.shards);

		for (uint64_t j = 0; j < bytes; j++)
			written |= sample->images[i][j];
	}
	return written;
}

static void compare(const struct corpus_program *program, const struct sample *one,
		    const struct sample *other)
{
	for (uint32_t i = 0; i < CORPUS_MAPS; i++)
		if (memcmp(one->images[i], other->images[i],
			   gpumon_gpuprog_map_bytes(&corpus_maps[i], one->target.shards)) != 0)
			fail_msg("%s: map %s differs", program->name, corpus_maps[i].name);
	assert_memory_equal(&one->control.lost, &other->control.lost, sizeof(one->control.lost));
}

static bool is_refused(const struct corpus_program *program, const char *why)
{
	return strstr(why, "bpf_cuda_exit") || program->point == GPUMON_GPUPROG_RUN;
}

static void test_same_as_inline(void **state)
{
	uint32_t same = 0, refused = 0, wrote = 0;

	(void)state;
	for (uint32_t i = 0; i < corpus_programs_n; i++) {
		const struct corpus_program *program = &corpus_programs[i];
		struct sample inlined, patch;

		if (make(&inlined, program, false))
			fail_msg("%s: %s", program->name, inlined.error);
		if (make(&patch, program, true)) {
			assert_true(is_refused(program, patch.error));
			refused++;
		} else {
			assert_null(strstr(patch.text, "gpumon_probe_table"));
			wrote += run(&inlined, 0);
			run(&patch, 0);
			compare(program, &inlined, &patch);
			same++;
		}
		sample_clear(&inlined);
		sample_clear(&patch);
	}
	print_message("%u programs do the same, %u of them write; %u are refused\n", same, wrote,
		      refused);
	assert_true(wrote > 10 && refused);
}

static const struct corpus_program *find(const char *name)
{
	for (uint32_t i = 0; i < corpus_programs_n; i++)
		if (strcmp(corpus_programs[i].name, name) == 0)
			return &corpus_programs[i];
	fail_msg("no program %s", name);
	return NULL;
}

/* Some warps are where others have been. */
static void move(struct ptx_lane *lane, uint32_t thread)
{
	prepare(lane, thread);
	lane->special[PTX_WARPID] ^= thread / PTX_LANES % 4 == 3;
}

/* What a thread keeps at its begin is there at its end, unless it has been moved. */
static void keep(void (*at_end)(struct ptx_lane *lane, uint32_t thread), uint64_t moved)
{
	const struct gpumon_gpuprog_map *map = &corpus_maps[CORPUS_HISTOGRAM];
	struct sample begin, end;
	uint64_t counts = 0, bytes;

	if (make(&begin, find("entry_time"), true) || make(&end, find("exit_histogram"), true))
		fail_msg("%s%s", begin.error, end.error);
	run(&begin, 0);
	memcpy(end.kept, begin.kept, SAMPLE_KEPT_BYTES);
	ptx_free(end.taking);
	end.taking = NULL;
	if (sample_run_with(&end, THREADS, 0, at_end))
		fail_msg("%s", end.error);
	bytes = gpumon_gpuprog_map_bytes(map, end.target.shards);
	for (uint64_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t count;

		memcpy(&count, end.images[CORPUS_HISTOGRAM] + i, sizeof(count));
		counts += count;
		/* The times are the same at both ends. */
		if (count)
			assert_int_equal(i / sizeof(count) % GPUMON_GPUPROG_BUCKETS, 0);
	}
	assert_int_equal(counts, THREADS - moved);
	assert_int_equal(end.control.lost[GPUMON_GPUPROG_LOST_MOVED], moved);
	sample_clear(&begin);
	sample_clear(&end);
}

static void test_kept(void **state)
{
	(void)state;
	keep(prepare, 0);
	keep(move, THREADS / 4);
}

/* Without memory for it nothing is kept, and that is counted. */
static void test_kept_without_memory(void **state)
{
	struct sample sample;

	(void)state;
	if (make(&sample, find("entry_time"), true))
		fail_msg("%s", sample.error);
	sample.control.kept_places = 0;
	run(&sample, 0);
	assert_int_equal(sample.control.lost[GPUMON_GPUPROG_LOST_MOVED], THREADS);
	sample_clear(&sample);
}

/* The module of an object of bpf/ here, to be freed, or NULL. */
static char *write_module(const char *name, uint32_t sample, uint32_t *places,
			  struct gpumon_error *err)
{
	static const struct gpumon_gpuprog_rules rules = { .allow_exit = true };
	const struct gpumon_gpuprog_fact *facts[GPUMON_GPUPROG_MAX_PROGRAMS];
	struct gpumon_gpuprog_patch patch = { .facts = facts,
					      .target = sample_target,
					      .sample = sample };
	struct gpumon_gpuprog_check check;
	char path[512], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret;

	snprintf(path, sizeof(path), OBJECTS "/bpf/v3/%s.bpf.o", name);
	if (gpumon_gpuprog_check(path, &rules, &check, err))
		fail_msg("%s", err->message);
	for (uint32_t i = 0; i < check.object.programs_n; i++)
		facts[i] = check.verdicts[i].facts;
	patch.object = &check.object;
	ret = gpumon_gpuprog_patch_write(&patch, out, places, err);
	fclose(out);
	gpumon_gpuprog_check_clear(&check);
	if (!ret)
		return text;
	free(text);
	return NULL;
}

static void test_places(void **state)
{
	struct gpumon_error err = { 0 };
	uint32_t places;
	char *text;

	(void)state;
	text = write_module("memtrace", 0, &places, &err);
	assert_non_null(text);
	assert_int_equal(places, 1u << GPUMON_GPUPROG_PATCH_GLOBAL |
					 1u << GPUMON_GPUPROG_PATCH_SHARED |
					 1u << GPUMON_GPUPROG_PATCH_LOCAL |
					 1u << GPUMON_GPUPROG_PATCH_ASYNC |
					 1u << GPUMON_GPUPROG_PATCH_REMOTE);
	assert_non_null(strstr(text, "gpumon_at_shared("));
	assert_null(strstr(text, "gpumon_at_enter("));
	assert_null(strstr(text, "rem.u32 %gpumon_block"));
	free(text);
	text = write_module("threadhist", 16, &places, &err);
	assert_non_null(text);
	assert_int_equal(places, 1u << GPUMON_GPUPROG_PATCH_BLOCK_EXIT);
	assert_non_null(strstr(text, "rem.u32 %gpumon_block, %gpumon_block, 16;"));
	free(text);
	text = write_module("cuda-counter", 0, &places, &err);
	assert_non_null(text);
	assert_int_equal(places, 1u << GPUMON_GPUPROG_PATCH_BLOCK_ENTER |
					 1u << GPUMON_GPUPROG_PATCH_BLOCK_EXIT);
	assert_non_null(strstr(text, "gpumon_taken:"));
	free(text);
}

static void test_refused(void **state)
{
	struct gpumon_error err = { 0 };
	uint32_t places;

	(void)state;
	assert_null(write_module("points", 0, &places, &err));
	assert_int_equal(err.code, GPUMON_ERROR_REFUSED);
	assert_non_null(strstr(err.message, "no places for device functions"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_inline),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_kept_without_memory),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
