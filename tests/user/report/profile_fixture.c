// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile_fixture.h"

int profile_setup(void **state)
{
	struct profile_fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->directory = capture_maker_directory();
	snprintf(fixture->path, sizeof(fixture->path), "%s/a", fixture->directory);
	fixture->maker = capture_maker_new();
	make_process(fixture->maker, .pid = PROGRAM_PID, .host_pid = PROGRAM_PID, .rank = ~0u,
		     .executable = make_string(fixture->maker, "/usr/bin/train"),
		     .host = make_string(fixture->maker, "here"));
	*state = fixture;
	return 0;
}

int profile_teardown(void **state)
{
	struct profile_fixture *fixture = *state;

	gpumon_profile_free(fixture->profile);
	capture_maker_free(fixture->maker);
	capture_maker_remove(fixture->directory);
	free(fixture);
	return 0;
}

/* Names of addresses, as a runtime would write them. */
static void write_symbols(const char *path)
{
	static const char *const names[] = { "main", "train", "forward", "cudaLaunchKernel",
					     "capture_graph" };
	char name[600];
	FILE *file;

	snprintf(name, sizeof(name), "%s/perf-%d.map", path, PROGRAM_PID);
	file = fopen(name, "w");
	assert_non_null(file);
	for (unsigned int i = 0; i < 5; i++)
		fprintf(file, "%x 100 %s\n", PROGRAM_MAIN + 0x100 * i, names[i]);
	fclose(file);
}

const struct gpumon_node *profile_load(struct profile_fixture *fixture,
				       const struct gpumon_profile_options *options)
{
	const char *const paths[] = { fixture->path };

	if (access(fixture->path, F_OK)) {
		capture_maker_save(fixture->maker, fixture->path, "process-4711-1", 7);
		write_symbols(fixture->path);
	}
	gpumon_profile_free(fixture->profile);
	fixture->profile = NULL;
	assert_int_equal(gpumon_profile_load(paths, 1, options, &fixture->profile), 0);
	return gpumon_profile_root(fixture->profile);
}

const struct gpumon_node *profile_node(const struct gpumon_node *node, const char *path)
{
	while (node && *path) {
		size_t length = strcspn(path, ">");
		const struct gpumon_node *child = node->child;

		while (child &&
		       (strlen(child->name) != length || strncmp(child->name, path, length) != 0))
			child = child->next;
		if (child)
			assert_ptr_equal(child->parent, node);
		node = child;
		path += length + (path[length] == '>');
	}
	return node;
}

void profile_expect_node(const struct gpumon_node *root, const char *path,
			 enum gpumon_node_kind kind, uint64_t count, uint64_t gpu_ns,
			 uint64_t cpu_ns)
{
	const struct gpumon_node *node = profile_node(root, path);

	if (!node)
		fail_msg("no %s", path);
	assert_int_equal(node->kind, kind);
	assert_int_equal(node->count, count);
	assert_int_equal(node->gpu_ns, gpu_ns);
	assert_int_equal(node->cpu_ns, cpu_ns);
}

uint64_t profile_total(const struct gpumon_node *node, uint64_t *count)
{
	uint64_t ns = node->gpu_ns;

	*count += node->count;
	for (const struct gpumon_node *child = node->child; child; child = child->next) {
		ns += profile_total(child, count);
		/* The children are sorted and unique. */
		if (child->next)
			assert_true(strcmp(child->name, child->next->name) < 0 ||
				    child->kind < child->next->kind);
	}
	return ns;
}

const struct gpumon_kernel_row *profile_kernel(const struct profile_fixture *fixture,
					       const char *name)
{
	unsigned int count;
	const struct gpumon_kernel_row *rows = gpumon_profile_kernels(fixture->profile, &count);

	for (unsigned int i = 0; i < count; i++) {
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	}
	fail_msg("no row of %s", name);
	return NULL;
}

void profile_make_pair(struct capture_maker *maker, uint32_t number, uint32_t tid, uint32_t stack,
		       const char *name)
{
	uint64_t time = 1000000 + number * 10000;

	make_launch(maker, .tid = tid, .correlation = number, .stack = stack, .start_ns = time,
		    .end_ns = time + 300, .function = make_string(maker, "cudaLaunchKernel_v7000"));
	make_kernel(maker, .correlation = number, .start_ns = time + 500,
		    .end_ns = time + 1500 + number, .name = make_string(maker, name), .stream = 7,
		    .context = 1);
}
