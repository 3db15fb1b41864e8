// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Which periods have a profile in a recording that goes on, by a clock of the test. */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/wait.h"
#include "capture/capture.h"
#include "record/continuous.h"
#include "record/period.h"

#define SECOND 1000000000ULL
#define START  (1000 * SECOND)

struct written {
	uint64_t from_ns;
	uint64_t until_ns;
	bool first;
	bool last;
};

/* In memory that children write into. */
struct shared {
	unsigned int count;
	struct written profiles[200];
};

static struct shared *shared;
static uint64_t now_ns = START, kept_ns;
static char folder[64];

uint64_t __wrap_gpumon_monotonic_ns(void);
uint64_t __wrap_gpumon_capture_ring_since(const struct gpumon_capture_writer *writer);
int __real_gpumon_period_write(const struct gpumon_period_profile *profile,
			       struct gpumon_error *err);
int __wrap_gpumon_period_write(const struct gpumon_period_profile *profile,
			       struct gpumon_error *err);

uint64_t __wrap_gpumon_capture_ring_since(const struct gpumon_capture_writer *writer)
{
	(void)writer;
	return kept_ns;
}

uint64_t __wrap_gpumon_monotonic_ns(void)
{
	return now_ns;
}

int __wrap_gpumon_period_write(const struct gpumon_period_profile *profile,
			       struct gpumon_error *err)
{
	(void)err;
	if (shared->count < 200)
		shared->profiles[shared->count++] = (struct written){
			.from_ns = profile->from_ns,
			.until_ns = profile->until_ns,
			.first = profile->first,
			.last = profile->last,
		};
	return 0;
}

struct fixture {
	struct gpumon_capture_writer *writer;
	struct gpumon_continuous *continuous;
};

static void begin(struct fixture *fixture)
{
	const struct gpumon_continuous_options options = {
		.on = true,
		.captures = 1,
		.every_ns = SECOND,
		.no_names = true,
	};
	const struct gpumon_ring_limits limits = { .bytes = GPUMON_RING_BYTES_MIN };

	now_ns = START;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	snprintf(folder, sizeof(folder), "/tmp/gpumon-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(gpumon_capture_create_ring(folder, &limits, &fixture->writer), 0);
	fixture->continuous = gpumon_continuous_new(&options, fixture->writer, folder, "server");
	assert_non_null(fixture->continuous);
}

/* Until no child is left. */
static void step(struct gpumon_continuous *continuous)
{
	do {
		gpumon_continuous_step(continuous);
		usleep(1000);
	} while (gpumon_continuous_next_ns(continuous) == now_ns + 50000000);
}

static void end(struct fixture *fixture)
{
	struct gpumon_continuous_result result;
	char command[96];

	gpumon_continuous_end(fixture->continuous, &result);
	assert_null(result.failed.code);
	assert_int_equal(result.profiles, shared->count);
	gpumon_continuous_free(fixture->continuous);
	assert_int_equal(gpumon_capture_close(fixture->writer), 0);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

/* They follow each other, from the beginning until now. */
static void expect_no_gap(void)
{
	assert_int_equal(shared->profiles[0].from_ns, START);
	assert_int_equal(shared->profiles[shared->count - 1].until_ns, now_ns);
	for (unsigned int i = 0; i < shared->count; i++) {
		assert_int_equal(shared->profiles[i].first, i == 0);
		assert_int_equal(shared->profiles[i].last, i == shared->count - 1);
		if (i)
			assert_int_equal(shared->profiles[i].from_ns,
					 shared->profiles[i - 1].until_ns);
	}
	munmap(shared, sizeof(*shared));
}

static void each_has_one(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	for (unsigned int i = 0; i < 5; i++) {
		now_ns = START + (i + 1) * SECOND + GPUMON_PERIOD_AFTER_NS - 1;
		step(fixture.continuous);
		assert_int_equal(shared->count, i);
		now_ns++;
		step(fixture.continuous);
		assert_int_equal(shared->count, i + 1);
	}
	now_ns += SECOND / 2;
	end(&fixture);
	/* Those that were not due are whole periods, too. */
	assert_int_equal(shared->count, 8);
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(shared->profiles[i].until_ns - shared->profiles[i].from_ns,
				 SECOND);
	expect_no_gap();
}

static void one_for_all_that_are_due(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	now_ns += 100 * SECOND + SECOND / 2;
	step(fixture.continuous);
	assert_int_equal(shared->count, 1);
	assert_int_equal(shared->profiles[0].until_ns, START + 98 * SECOND);
	now_ns += 100 * SECOND;
	end(&fixture);
	/* All that are due, each that is not, and the rest. */
	assert_int_equal(shared->count, 5);
	assert_int_equal(shared->profiles[1].until_ns, START + 198 * SECOND);
	expect_no_gap();
}

/* Not more than the period has, if the ring has nothing of it. */
static void length_of_what_was_dropped(void **state)
{
	static const char expected[] = "the first 1000 ms of it were dropped";
	char temporary[96], path[96], text[8192];
	struct gpumon_period_profile profile = {
		.command = "server",
		.temporary = temporary,
		.path = path,
		.from_ns = START,
		.until_ns = START + SECOND,
	};
	struct gpumon_error err = { 0 };
	struct fixture fixture;
	gzFile file;
	int size;

	(void)state;
	begin(&fixture);
	snprintf(temporary, sizeof(temporary), "%s/temporary", folder);
	snprintf(path, sizeof(path), "%s/profile", folder);
	profile.writer = fixture.writer;
	now_ns += 10 * SECOND;
	kept_ns = START + 5 * SECOND;
	assert_int_equal(__real_gpumon_period_write(&profile, &err), 0);
	kept_ns = 0;
	file = gzopen(path, "r");
	assert_non_null(file);
	size = gzread(file, text, sizeof(text));
	gzclose(file);
	assert_true(size > 0);
	assert_non_null(memmem(text, (size_t)size, expected, sizeof(expected) - 1));
	end(&fixture);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_one),
		cmocka_unit_test(one_for_all_that_are_due),
		cmocka_unit_test(length_of_what_was_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
