// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Profiles of several processes and captures: levels of the tree, or one together. */
#include <stdio.h>
#include <string.h>

#include "profile_fixture.h"

/* Two captures of one job: processes form a level. */
static void test_two_captures(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *other = capture_maker_new();
	char second[600];
	const char *const paths[2] = { fixture->path, second };
	const struct gpumon_device_row *rows;
	const struct gpumon_node *root;
	unsigned int count;

	snprintf(second, sizeof(second), "%s/b", fixture->directory);
	profile_make_pair(fixture->maker, 1, 4, 0, "k");
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	make_process(other, .pid = 12, .rank = 3, .executable = make_string(other, "train"),
		     .host = make_string(other, "there"));
	profile_make_pair(other, 1, 4, 0, "k");
	capture_maker_save(other, second, "process-12-1", 7);
	capture_maker_free(other);
	gpumon_profile_free(fixture->profile);
	fixture->profile = NULL;
	assert_int_equal(gpumon_profile_load(paths, 2, &(struct gpumon_profile_options){ 0 },
					     &fixture->profile),
			 0);
	root = gpumon_profile_root(fixture->profile);
	profile_expect_node(root, "train 4711>[kernel without stack]>cudaLaunchKernel>k",
			    GPUMON_NODE_KERNEL, 1, 1001, 300);
	profile_expect_node(root,
			    "train 12 rank 3 on there>[kernel without stack]>cudaLaunchKernel>k",
			    GPUMON_NODE_KERNEL, 1, 1001, 300);
	assert_int_equal(profile_kernel(fixture, "k")->count, 2);
	rows = gpumon_profile_devices(fixture->profile, &count);
	assert_int_equal(count, 4);
	assert_int_equal(rows[2].process, 1);
	assert_string_equal(rows[2].host, "there");
}

/* Two processes of a program. The second one launches @pairs[1] kernels. */
static const struct gpumon_node *load_processes(struct profile_fixture *fixture,
						const uint32_t host_pids[2],
						const unsigned int pairs[2],
						const struct gpumon_profile_options *options)
{
	static const char *const files[] = { "process-4711-1", "process-4711-2" };
	struct gpumon_capture_writer *writer;

	assert_int_equal(gpumon_capture_create(fixture->path, "example", &writer), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct capture_maker *maker = capture_maker_new();
		struct gpumon_capture_file *file;

		make_process(maker, .pid = 4711, .host_pid = host_pids[i], .rank = ~0u,
			     .executable = make_string(maker, "train"));
		for (unsigned int pair = 0; pair < pairs[i]; pair++)
			profile_make_pair(maker, pair + 1, 4, 0, "k");
		assert_int_equal(gpumon_capture_add_file(writer, files[i], &file), 0);
		capture_maker_flush(maker, file, 7, 0);
		capture_maker_free(maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
	return profile_load(fixture, options);
}

/* A process that executed its own program again, or a number that the kernel gave out again. */
static void test_one_pid_twice(void **state)
{
	const struct gpumon_node *root =
		load_processes(*state, (const uint32_t[]){ 0, 0 }, (const unsigned int[]){ 1, 2 },
			       &(struct gpumon_profile_options){ .processes = true });

	profile_expect_node(root, "train 4711>[kernel without stack]>cudaLaunchKernel>k",
			    GPUMON_NODE_KERNEL, 1, 1001, 300);
	profile_expect_node(root, "train 4711 #1>[kernel without stack]>cudaLaunchKernel>k",
			    GPUMON_NODE_KERNEL, 2, 2003, 600);
}

/* Each has that number in its container: a call path has the pid that the tables and timelines have. */
static void test_pids_of_containers(void **state)
{
	const struct gpumon_node *root = load_processes(*state, (const uint32_t[]){ 33017, 33018 },
							(const unsigned int[]){ 1, 1 },
							&(struct gpumon_profile_options){ 0 });

	profile_expect_node(root, "train 33017>[kernel without stack]>cudaLaunchKernel>k",
			    GPUMON_NODE_KERNEL, 1, 1001, 300);
	profile_expect_node(root, "train 33018>[kernel without stack]>cudaLaunchKernel>k",
			    GPUMON_NODE_KERNEL, 1, 1001, 300);
}

/* For a comparison with another run, whose pids are others. */
static void test_joined_processes(void **state)
{
	const struct gpumon_node *root = load_processes(
		*state, (const uint32_t[]){ 33017, 33018 }, (const unsigned int[]){ 1, 2 },
		&(struct gpumon_profile_options){ .join_processes = true });

	profile_expect_node(root, "[kernel without stack]>cudaLaunchKernel>k", GPUMON_NODE_KERNEL,
			    3, 3004, 900);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, profile_setup, profile_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_two_captures),
		TEST(test_one_pid_twice),
		TEST(test_pids_of_containers),
		TEST(test_joined_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
