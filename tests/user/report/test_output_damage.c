// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Captures with changed bytes: every output uses the valid parts, and none hangs. */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture_maker.h"
#include "report/load.h"
#include "report/output.h"
#include "report/view.h"

static const struct gpumon_profile_options no_options;

#define ROUNDS 60

/* The example's records with some changed bytes, in an otherwise valid capture. */
static void save_changed(const char *path, uint64_t *seed)
{
	struct capture_maker *maker = capture_maker_new(), *changed = capture_maker_new();
	const struct gpumon_record *record = NULL;

	make_example(maker, 1000000000, 1);
	while ((record = capture_maker_next(maker, record))) {
		unsigned char *copy = malloc(record->size);
		uint32_t bytes = record->size - (uint32_t)sizeof(*record);

		assert_non_null(copy);
		memcpy(copy, record, record->size);
		/* Keep the head, so that what follows is read. */
		if (bytes && test_random(seed) % 4 == 0) {
			for (unsigned int i = 0; i < 3; i++)
				copy[sizeof(*record) + test_random(seed) % bytes] =
					(unsigned char)test_random(seed);
		}
		if (test_random(seed) % 50 == 0)
			copy[0] = (unsigned char)(test_random(seed) % 90);
		capture_maker_raw(changed, copy, record->size);
		free(copy);
	}
	capture_maker_save(changed, path, "process-1-1", 1);
	capture_maker_free(maker);
	capture_maker_free(changed);
}

/* It is written in several places, and read back. */
static void check_sqlite(const char *const *paths)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	if (gpumon_output_has_sqlite())
		assert_int_equal(gpumon_output_sqlite(file, paths, 1, &no_options), 0);
	assert_int_equal(fclose(file), 0);
}

static void changed_bytes(void **state)
{
	static const struct gpumon_term term = { .columns = 80 };
	const struct gpumon_profile_options options = { .threads = true,
							.streams = true,
							.bins = 100 };
	FILE *out = fopen("/dev/null", "w");
	uint64_t seed = 20;

	(void)state;
	assert_non_null(out);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		char *directory = capture_maker_directory(), *path = NULL;
		struct gpumon_profile *profile = NULL;
		struct gpumon_view view;
		const char *paths[1];

		assert_true(asprintf(&path, "%s/a", directory) > 0);
		paths[0] = path;
		save_changed(path, &seed);
		assert_int_equal(gpumon_output_chrome(out, paths, 1, &no_options), 0);
		assert_int_equal(gpumon_output_perfetto(out, paths, 1, &no_options), 0);
		check_sqlite(paths);
		assert_int_equal(gpumon_profile_load(paths, 1, &options, &profile), 0);
		gpumon_view_of(profile, &view);
		assert_int_equal(gpumon_output_report(out, &view), 0);
		assert_int_equal(gpumon_output_summary(out, &term, &view, NULL), 0);
		assert_int_equal(gpumon_output_json(out, &view), 0);
		assert_int_equal(gpumon_output_pprof(out, &view), 0);
		gpumon_profile_free(profile);
		free(path);
		capture_maker_remove(directory);
	}
	fclose(out);
}

/* What programs in kernels gathered is a part of the capture: without it something is missing. */
static void unreadable_findings(void **state)
{
	struct capture_maker *maker = capture_maker_new();
	char *directory = capture_maker_directory(), *path = NULL, *file = NULL;
	struct gpumon_load load;
	struct gpumon_missing missing;
	struct gpumon_error err;
	const char *paths[1];
	FILE *out;

	(void)state;
	assert_true(asprintf(&path, "%s/a", directory) > 0);
	assert_true(asprintf(&file, "%s/probe.json", path) > 0);
	paths[0] = path;
	make_example(maker, 1000000000, 1);
	capture_maker_save(maker, path, "process-1-1", 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(gpumon_load_captures(&load, paths, 1, &no_options, 0, &err), 0);
		gpumon_missing_of(&load.view, &missing);
		assert_int_equal(missing.damaged, i);
		assert_int_equal(load.view.damage->unreadable_files, i);
		assert_int_equal(load.view.findings_count, i);
		gpumon_load_free(&load);
		out = fopen(file, "w");
		assert_non_null(out);
		fputs("{", out);
		fclose(out);
	}
	unlink(file);
	free(file);
	free(path);
	capture_maker_free(maker);
	capture_maker_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_bytes),
		cmocka_unit_test(unreadable_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
