// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * gpumon's own tools: each program is accepted, and --ptx prints text that can be read again. What memtrace
 * counts is right.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/map_memory.h"
#include "gpuprog/server/inspect.h"
#include "sample.h"

static const char *const tools[] = { "cuda-counter", "directly-run", "kernelretsnoop", "launchlate",
				     "memtrace",     "threadhist",   "warpimbalance" };

static void check_program(const struct gpumon_gpuprog_check *check, uint32_t i, uint32_t sm)
{
	const struct gpumon_gpuprog *program = &check->object.programs[i];
	char *text = NULL, first[256], error[256];
	struct gpumon_error err = { 0 };
	struct ptx_block *block;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (gpumon_gpuprog_print_ptx(check, i, sm, out, &err))
		fail_msg("sm_%u: %s", sm, err.message);
	fclose(out);
	snprintf(first, sizeof(first), "// %s, %s\n{\n", program->name, program->section);
	assert_memory_equal(text, first, strlen(first));
	block = ptx_parse(strchr(text, '{'), error);
	if (!block)
		fail_msg("%s: %s\n%s", program->name, error, text);
	/* A translation of nothing would have none. */
	assert_true(block->code_n > 4);
	ptx_free(block);
	free(text);
}

static void test_tools(void **state)
{
	static const char *const versions[] = { "v3", "v4" };
	static const struct gpumon_gpuprog_rules rules;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err = { 0 };
	char path[512];

	(void)state;
	for (size_t i = 0; i < COUNT(tools) * COUNT(versions); i++) {
		snprintf(path, sizeof(path), OBJECTS "/bpf/%s/%s.bpf.o", versions[i % 2],
			 tools[i / 2]);
		if (gpumon_gpuprog_check(path, &rules, &check, &err))
			fail_msg("%s", err.message);
		assert_true(check.object.programs_n > 0);
		for (uint32_t j = 0; j < check.object.programs_n; j++) {
			if (!check.verdicts[j].facts)
				fail_msg("%s", check.verdicts[j].refusal.message);
			check_program(&check, j, 90);
			check_program(&check, j, 60);
		}
		gpumon_gpuprog_check_clear(&check);
	}
}

/* Accesses of memtrace's warp: thread n at @begin + n * @step, but for those beyond @turn, which go back. */
static struct {
	uint64_t begin;
	uint64_t step;
	uint32_t turn;
	uint32_t size;
} access;

static uint64_t address_of(uint32_t thread)
{
	uint64_t place = thread < access.turn ? thread : 2 * access.turn - thread;

	return access.begin + place * access.step;
}

static void set_access(struct ptx_lane *lane, uint32_t thread)
{
	lane->special[PTX_ADDRESS] = address_of(thread);
	lane->special[PTX_SIZE] = access.size;
	lane->special[PTX_FLAGS] = GPUMON_GPUPROG_READ;
	lane->special[PTX_LINE] = 7;
}

static uint32_t count_sectors(uint32_t threads)
{
	uint32_t n = 0, i, j;

	for (i = 0; i < threads; i++) {
		for (j = 0; j < i && address_of(j) / 32 != address_of(i) / 32;)
			j++;
		n += j == i;
	}
	return n;
}

/* Of @threads, which are in one warp, and stay together. */
static void check_traffic(struct sample *sample, uint32_t threads)
{
	const struct gpumon_gpuprog_map *map = &sample->program.maps[0];
	struct {
		uint64_t accesses, bytes, sectors, whole[5];
	} counts;

	memset(sample->images[0], 0, gpumon_gpuprog_map_bytes(map, sample->target.shards));
	if (sample_run_with(sample, threads, 0, set_access))
		fail_msg("%s\n%s", sample->error, sample->text);
	assert_int_equal(map->value_size, sizeof(counts));
	gpumon_gpuprog_read_value(map, sample->target.shards, sample->images[0],
				  (512 + 7) * 8 + GPUMON_GPUPROG_READ, &counts);
	for (uint32_t i = 0; i < COUNT(counts.whole); i++) {
		counts.accesses += counts.whole[i];
		counts.bytes += counts.whole[i] * (32u << i);
		counts.sectors += counts.whole[i] << i;
	}
	assert_int_equal(counts.bytes, threads * access.size);
	assert_int_equal(counts.accesses, 1);
	assert_int_equal(counts.sectors, count_sectors(threads));
}

static void test_memtrace(void **state)
{
	static const struct gpumon_gpuprog_rules rules;
	struct gpumon_gpuprog_target target = sample_target;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err = { 0 };
	struct sample sample;

	(void)state;
	if (gpumon_gpuprog_check(OBJECTS "/bpf/v3/memtrace.bpf.o", &rules, &check, &err))
		fail_msg("%s", err.message);
	target.shards = 1;
	for (target.sm = 60; target.sm <= 90; target.sm += 30) {
		if (sample_take(&sample, &check.object.programs[0], &target))
			fail_msg("%s", sample.error);
		for (access.size = 1; access.size <= 32; access.size *= 2)
			for (uint64_t factor = 0; factor <= 3; factor++)
				for (uint32_t threads = 30; threads <= 32; threads++) {
					access.step = factor * access.size;
					access.begin = 0x1000 + (threads % 2 ? access.size : 0);
					access.turn = factor == 3 ? 9 : 32;
					check_traffic(&sample, threads);
					access.begin = 0xfffffff0 / access.size * access.size;
					check_traffic(&sample, threads);
				}
		sample_clear(&sample);
	}
	gpumon_gpuprog_check_clear(&check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tools),
		cmocka_unit_test(test_memtrace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
