// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Without memory the program ends: with a sentence, with exit status 1, after what has to be written. */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/memory.h"

/* Set in a child only. ASan's allocator would end the program by itself. */
static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return no_memory ? NULL : __real_realloc(memory, size);
}

struct ending {
	int status;
	char err[256];
};

/* How a child ends that runs @body, and what it writes to standard error. */
static struct ending end_of(void (*body)(void))
{
	struct ending ending = { 0 };
	size_t used = 0;
	int pipes[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		no_memory = true;
		body();
		_exit(99);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], ending.err + used, sizeof(ending.err) - 1 - used)) > 0)
		used += (size_t)n;
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &ending.status, 0), pid);
	return ending;
}

static void assert_failed(const struct ending *ending, const char *err)
{
	assert_true(WIFEXITED(ending->status));
	assert_int_equal(WEXITSTATUS(ending->status), GPUMON_EXIT_FAILED);
	assert_string_equal(ending->err, err);
}

static void from_malloc(void)
{
	free(gpumon_malloc(5));
}

static void from_calloc(void)
{
	free(gpumon_calloc(3, 5));
}

static void from_calloc_beyond(void)
{
	free(gpumon_calloc(SIZE_MAX / 4, 8));
}

static void from_realloc(void)
{
	free(gpumon_realloc(NULL, 9));
}

static void from_reallocarray(void)
{
	free(gpumon_reallocarray(NULL, 3, 7));
}

static void from_reallocarray_beyond(void)
{
	no_memory = false;
	free(gpumon_reallocarray(NULL, SIZE_MAX / 4, 8));
}

/* No 32 bits count the elements of a larger one. */
static void from_array(void)
{
	uint32_t used = 1u << 31, room = 1u << 31;
	void *array = NULL;

	no_memory = false;
	gpumon_array_add(&array, &used, &room, 1);
}

static void each_allocation_ends_the_program(void **state)
{
	static const struct {
		void (*body)(void);
		size_t size;
	} cases[] = {
		{ from_malloc, 5 },
		{ from_calloc, 15 },
		{ from_calloc_beyond, SIZE_MAX },
		{ from_realloc, 9 },
		{ from_reallocarray, 21 },
		{ from_reallocarray_beyond, SIZE_MAX },
		{ from_array, SIZE_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ending ending = end_of(cases[i].body);
		char err[128];

		snprintf(err, sizeof(err),
			 "gpumon-user: out of memory, for an allocation of %zu bytes\n",
			 cases[i].size);
		assert_failed(&ending, err);
	}
}

static void say_written(void *data)
{
	assert_true(write(STDERR_FILENO, data, strlen(data)) > 0);
}

static void with_finish(void)
{
	gpumon_memory_on_failure(say_written, "written\n");
	gpumon_memory_failed(7);
}

/* It has no memory either. */
static void write_and_fail(void *data)
{
	say_written(data);
	gpumon_memory_failed(8);
}

static void with_failing_finish(void)
{
	gpumon_memory_on_failure(write_and_fail, "half\n");
	gpumon_memory_failed(7);
}

static void with_unknown_size(void)
{
	gpumon_memory_failed(0);
}

static void with_finish_taken_back(void)
{
	gpumon_memory_on_failure(say_written, "written\n");
	gpumon_memory_on_failure(NULL, NULL);
	gpumon_memory_failed(7);
}

static void data_are_written_once(void **state)
{
	struct ending ending = end_of(with_finish);

	(void)state;
	assert_failed(&ending,
		      "gpumon-user: out of memory, for an allocation of 7 bytes\nwritten\n");
	ending = end_of(with_failing_finish);
	assert_failed(&ending, "gpumon-user: out of memory, for an allocation of 7 bytes\nhalf\n"
			       "gpumon-user: out of memory, for an allocation of 8 bytes\n");
	ending = end_of(with_unknown_size);
	assert_failed(&ending, "gpumon-user: out of memory\n");
	ending = end_of(with_finish_taken_back);
	assert_failed(&ending, "gpumon-user: out of memory, for an allocation of 7 bytes\n");
}

/* Of no bytes there is an address, too. */
static void no_bytes(void **state)
{
	void *memory;
	char *text;

	(void)state;
	memory = gpumon_malloc(0);
	memory = gpumon_realloc(memory, 0);
	assert_non_null(memory);
	free(memory);
	memory = gpumon_calloc(0, 8);
	assert_non_null(memory);
	free(memory);
	text = gpumon_strndup("ring", 2);
	assert_string_equal(text, "ri");
	free(text);
	text = gpumon_asprintf("%s-%d", "ring", 3);
	assert_string_equal(text, "ring-3");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_ends_the_program),
		cmocka_unit_test(data_are_written_once),
		cmocka_unit_test(no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
