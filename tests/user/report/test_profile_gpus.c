// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A GPU is one, however many processes use it, and by whatever number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/gpu.h"
#include "report/output.h"
#include "profile_fixture.h"

#define PROCESSES 5
#define KERNELS	  3000
#define SPAN_NS	  200000u
#define START_NS  1000000u
#define BINS	  37

/* What each process has: the GPU as it sees it. */
static const struct {
	uint32_t id;
	uint32_t type;
	uint8_t uuid;
	uint32_t pci;
	uint8_t boot;
} devices[PROCESSES] = {
	/* Two that number one GPU differently, and another one that both would call GPU1. */
	{ 0, GPUMON_DEVICE_GPU, 7, 0, 1 },
	{ 1, GPUMON_DEVICE_GPU, 7, 0, 1 },
	{ 1, GPUMON_DEVICE_GPU, 8, 0, 1 },
	/* An API without UUIDs. */
	{ GPUMON_API_HIP << GPUMON_API_SHIFT, GPUMON_DEVICE_GPU, 0, 0x300, 1 },
	{ (GPUMON_API_HIP << GPUMON_API_SHIFT) + 1, GPUMON_DEVICE_GPU, 0, 0x300, 1 },
};

static const unsigned int gpu_of[PROCESSES] = { 0, 0, 1, 2, 2 };

struct made {
	uint8_t by_process[PROCESSES][SPAN_NS];
	uint8_t by_gpu[3][SPAN_NS];
	uint32_t end[PROCESSES];
	uint32_t last;
};

static void make_all(struct profile_fixture *fixture, struct made *made)
{
	struct gpumon_capture_writer *writer;
	unsigned int seed = 4242;

	assert_int_equal(gpumon_capture_create(fixture->path, "ranks", &writer), 0);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		struct capture_maker *maker = capture_maker_new();
		struct gpumon_capture_file *file;
		char name[32];
		/* One begins where the others have ended, and one takes few and long turns. */
		uint32_t at = i == 1 ? SPAN_NS / 2 : 0, mean = i == 4 ? 600 : 20;

		make_process(maker, .pid = 100 + i, .rank = ~0u, .boot_id = { devices[i].boot });
		make_device(maker, .id = devices[i].id, .type = devices[i].type,
			    .uuid = { devices[i].uuid }, .pci = devices[i].pci,
			    .name = make_string(maker, "H100"));
		snprintf(name, sizeof(name), "process-%u-1", 100 + i);
		assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
		for (unsigned int k = 0; k < KERNELS; k++) {
			uint32_t start = at + (uint32_t)rand_r(&seed) % mean;
			uint32_t end = start + 1 + (uint32_t)rand_r(&seed) % mean;

			if (end >= SPAN_NS)
				break;
			make_kernel(maker, .start_ns = START_NS + start, .end_ns = START_NS + end,
				    .correlation = k + 1, .device = devices[i].id, .context = 1,
				    .stream = k % 3, .name = make_string(maker, "k"));
			memset(made->by_process[i] + start, 1, end - start);
			memset(made->by_gpu[gpu_of[i]] + start, 1, end - start);
			made->last = end > made->last ? end : made->last;
			/* Now and then an earlier one comes late. */
			at = rand_r(&seed) % 16 && start > 2 * mean ? start - mean : end;
		}
		capture_maker_flush(maker, file, 7, 4096);
		capture_maker_free(maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
}

static uint32_t sum(const uint8_t *busy, uint32_t from, uint32_t until)
{
	uint32_t ns = 0;

	for (uint32_t i = from; i < until && i < SPAN_NS; i++)
		ns += busy[i];
	return ns;
}

static uint32_t longest_idle(const uint8_t *busy, uint32_t first, uint32_t last)
{
	uint32_t longest = 0, at = first;

	for (uint32_t i = first; i <= last; i++) {
		if (i < last && !busy[i])
			continue;
		longest = i - at > longest ? i - at : longest;
		at = i + 1;
	}
	return longest;
}

static const struct gpumon_device_row *row_of(const struct profile_fixture *fixture,
					      uint32_t process, uint32_t gpu)
{
	const struct gpumon_device_row *rows, *found = NULL;
	unsigned int count;

	rows = gpumon_profile_devices(fixture->profile, &count);
	for (unsigned int i = 0; i < count; i++) {
		if (rows[i].stream != ~0u || rows[i].process != process || rows[i].gpu != gpu)
			continue;
		assert_null(found);
		found = &rows[i];
	}
	return found;
}

/* The rows of GPUs on a timeline, and the one of a name. */
static unsigned int timeline_gpus(const struct profile_fixture *fixture, const char *name)
{
	const char *const paths[] = { fixture->path };
	unsigned int count = 0;
	char key[128], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(gpumon_output_chrome(out, paths, 1, &(struct gpumon_profile_options){ 0 }),
			 0);
	assert_int_equal(fclose(out), 0);
	snprintf(key, sizeof(key), "\"process_name\",\"args\":{\"name\":\"%s", name);
	for (const char *at = text; (at = strstr(at, key)); at++)
		count++;
	free(text);
	return count;
}

static uint64_t bin_of(const struct gpumon_device_row *row, unsigned int bin)
{
	return bin >= row->bins.first && bin - row->bins.first < row->bins.room ?
		       row->bins.busy_ns[bin - row->bins.first] :
		       0;
}

/* Busy and idle times of each GPU as such, and of each of its users, as a count of each ns has them. */
static void test_times(void **state)
{
	struct profile_fixture *fixture = *state;
	struct made *made = calloc(1, sizeof(*made));
	uint32_t first = 0, bin_ns;

	assert_non_null(made);
	make_all(fixture, made);
	profile_load(fixture, &(struct gpumon_profile_options){ .bins = BINS });
	while (!made->by_gpu[0][first] && !made->by_gpu[1][first] && !made->by_gpu[2][first])
		first++;
	bin_ns = (made->last - first) / BINS + 1;
	for (unsigned int i = 0; i < PROCESSES; i++) {
		const struct gpumon_device_row *row = row_of(fixture, i, gpu_of[i]);

		assert_non_null(row);
		assert_int_equal(row->part, i != 2);
		assert_int_equal(row->device, devices[i].id);
		assert_int_equal(row->busy_ns, sum(made->by_process[i], 0, SPAN_NS));
		assert_int_equal(row->idle_longest_ns,
				 longest_idle(made->by_process[i], first, made->last));
		assert_int_equal(row->missed_ns, 0);
	}
	for (unsigned int gpu = 0; gpu < 3; gpu += 2) {
		const struct gpumon_device_row *row = row_of(fixture, GPUMON_PROCESS_SEVERAL, gpu);
		const struct gpumon_device_row *a = row_of(fixture, gpu ? 3 : 0, gpu);
		const struct gpumon_device_row *b = row_of(fixture, gpu ? 4 : 1, gpu);

		assert_non_null(row);
		assert_int_equal(row->users, 2);
		assert_int_equal(row->count, a->count + b->count);
		assert_int_equal(row->gpu_ns, a->gpu_ns + b->gpu_ns);
		assert_int_equal(row->elapsed_ns, made->last - first);
		assert_int_equal(row->busy_ns, sum(made->by_gpu[gpu], 0, SPAN_NS));
		assert_int_equal(row->idle_longest_ns,
				 longest_idle(made->by_gpu[gpu], first, made->last));
		for (unsigned int bin = 0; bin < BINS; bin++)
			assert_int_equal(bin_of(row, bin),
					 sum(made->by_gpu[gpu], first + bin * bin_ns,
					     first + (bin + 1) * bin_ns));
	}
	assert_null(row_of(fixture, GPUMON_PROCESS_SEVERAL, 1));
	/* Two have the number 1 in their process, but not in a table. */
	assert_string_equal(row_of(fixture, 0, 0)->text, "GPU0");
	assert_string_equal(row_of(fixture, 1, 0)->text, "GPU0");
	assert_string_equal(row_of(fixture, 2, 1)->text, "GPU1");
	assert_int_equal(timeline_gpus(fixture, "GPU"), 2);
	assert_int_equal(timeline_gpus(fixture, "HIP GPU"), 1);
	free(made);
}

/* Two GPUs of one name, each number 0 in its own container. */
static void test_numbers(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_capture_writer *writer;
	const struct gpumon_node *root;

	assert_int_equal(gpumon_capture_create(fixture->path, "ranks", &writer), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct capture_maker *maker = capture_maker_new();
		struct gpumon_capture_file *file;
		char name[32];

		make_process(maker, .pid = 100 + i, .rank = ~0u);
		make_device(maker, .id = 0, .uuid = { 0xa0 + i, 0xb1, 0xc2, 0xd3, 1 },
			    .name = make_string(maker, "H100"));
		profile_make_pair(maker, 1, 4, 0, "k");
		snprintf(name, sizeof(name), "process-%u-1", 100 + i);
		assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
		capture_maker_flush(maker, file, 7, 0);
		capture_maker_free(maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
	root = profile_load(fixture, &(struct gpumon_profile_options){ .devices = true,
								       .join_processes = true });
	assert_string_equal(row_of(fixture, 0, 0)->text, "GPU0 a0b1c2d3");
	assert_string_equal(row_of(fixture, 1, 1)->text, "GPU0 a1b1c2d3");
	assert_non_null(
		profile_node(root, "[kernel without stack]>cudaLaunchKernel>[GPU0 a0b1c2d3]>k"));
	assert_non_null(
		profile_node(root, "[kernel without stack]>cudaLaunchKernel>[GPU0 a1b1c2d3]>k"));
	assert_int_equal(timeline_gpus(fixture, "GPU0 a0b1c2d3 H100"), 1);
	assert_int_equal(timeline_gpus(fixture, "GPU0 a1b1c2d3 H100"), 1);
}

/*
 * Two processes are recorded in windows of their own: a GPU idles where both were and neither ran
 * something; it was recorded while one of them was.
 */
static void test_windows(void **state)
{
	static const uint32_t windows[2][4] = { { 100, 200, 400, 500 }, { 150, 250, 400, 600 } };
	static const uint32_t kernels[2][2] = { { 110, 430 }, { 160, 560 } };
	struct profile_fixture *fixture = *state;
	struct gpumon_capture_writer *writer;
	const struct gpumon_device_row *row;
	const struct gpumon_gap *gaps;
	unsigned int count;

	assert_int_equal(gpumon_capture_create(fixture->path, "ranks", &writer), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct capture_maker *maker = capture_maker_new();
		struct gpumon_capture_file *file;
		char name[32];

		make_process(maker, .pid = 100 + i, .rank = ~0u);
		make_device(maker, .id = i, .uuid = { 7 }, .name = make_string(maker, "H100"));
		make_launch(maker, .tid = 4, .correlation = 9, .start_ns = 50, .end_ns = 60);
		for (unsigned int k = 0; k < 4; k++)
			make_window(maker, .time_ns = windows[i][k],
				    .head.flags = GPUMON_WINDOW_OPERATIONS |
						  (k % 2 ? GPUMON_WINDOW_END : 0));
		for (unsigned int k = 0; k < 2; k++)
			make_kernel(maker, .start_ns = kernels[i][k], .end_ns = kernels[i][k] + 10,
				    .correlation = k + 1, .device = i, .context = 1, .stream = 7,
				    .name = make_string(maker, "k"));
		make_launch(maker, .tid = 4, .correlation = 10, .start_ns = 640, .end_ns = 650);
		snprintf(name, sizeof(name), "process-%u-1", 100 + i);
		assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
		capture_maker_flush(maker, file, 7, 0);
		capture_maker_free(maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	row = row_of(fixture, GPUMON_PROCESS_SEVERAL, 0);
	assert_non_null(row);
	assert_int_equal(row->elapsed_ns, 150 + 200);
	assert_int_equal(row->busy_ns, 40);
	gaps = gpumon_profile_gaps(fixture->profile, &count);
	/* 170 to 200, 440 to 500 and on in the second one's, as the first one's are over then. */
	assert_int_equal(row->idle_longest_ns, 560 - 440);
	assert_int_equal(gaps[0].start_ns, 440);
	assert_int_equal(gaps[0].end_ns, 560);
	for (unsigned int i = 0; i < count; i++)
		assert_false(gaps[i].start_ns < 400 && gaps[i].end_ns > 200);
}

/* Which devices are one. */
static void test_identity(void **state)
{
	static const uint8_t none[16], boot[16] = { 1 }, other[16] = { 2 };
	const uint32_t opencl = GPUMON_API_OPENCL << GPUMON_API_SHIFT;
	const uint32_t hip = GPUMON_API_HIP << GPUMON_API_SHIFT;
	const struct {
		uint32_t ids[2];
		struct gpumon_record_device devices[2];
		const uint8_t *boots[2];
		const char *hosts[2];
		bool same;
	} cases[] = {
#define UUID(n)                           \
	{                                 \
		.uuid = { n }, .pci = ~0u \
	}
#define PCI(n)             \
	{                  \
		.pci = (n) \
	}
#define CPU(...)                                                   \
	{                                                          \
		.type = GPUMON_DEVICE_CPU, .pci = ~0u, __VA_ARGS__ \
	}
		/* The number does not matter, nor a container's host name. */
		{ { 0, 3 }, { UUID(7), UUID(7) }, { boot, boot }, { "a", "b" }, true },
		{ { 0, 0 }, { UUID(7), UUID(8) }, { boot, boot }, { "a", "a" }, false },
		/* NVIDIA's UUIDs are not given out twice; others are made from the model, or constant. */
		{ { 0, 0 }, { UUID(7), UUID(7) }, { boot, other }, { "a", "b" }, true },
		{ { opencl, opencl }, { UUID(7), UUID(7) }, { boot, other }, { "a", "a" }, false },
		/* One GPU by two APIs. */
		{ { 0, opencl }, { UUID(7), UUID(7) }, { boot, boot }, { "a", "a" }, true },
		{ { 0, hip },
		  { { .uuid = { 7 }, .pci = 0x300 }, PCI(0x300) },
		  { boot, boot },
		  { "a", "a" },
		  true },
		/* Without UUIDs, by the address, if the machine is known to be one. */
		{ { hip, hip + 1 }, { PCI(0x300), PCI(0x300) }, { boot, boot }, { "a", "b" }, true },
		{ { hip, hip }, { PCI(0x300), PCI(0x300) }, { none, none }, { "a", "a" }, true },
		{ { hip, hip }, { PCI(0x300), PCI(0x300) }, { none, none }, { "a", "b" }, false },
		{ { hip, hip }, { PCI(0x300), PCI(0x300) }, { none, none }, { "", "" }, false },
		{ { hip, hip }, { PCI(0), PCI(0) }, { boot, boot }, { "a", "a" }, false },
		{ { hip, hip }, { PCI(~0u), PCI(~0u) }, { boot, boot }, { "a", "a" }, false },
		/* Instances of one GPU. */
		{ { 0, 0 },
		  { { .uuid = { 7 }, .mig_uuid = { 1 }, .pci = 0x300 },
		    { .uuid = { 7 }, .mig_uuid = { 2 }, .pci = 0x300 } },
		  { boot, boot },
		  { "a", "a" },
		  false },
		{ { 0, hip },
		  { { .uuid = { 7 }, .mig_uuid = { 1 }, .pci = 0x300 }, PCI(0x300) },
		  { boot, boot },
		  { "a", "a" },
		  false },
		/* A CPU's driver may offer a part of it: only a UUID says that two are one. */
		{ { opencl, opencl }, { CPU(), CPU() }, { boot, boot }, { "a", "a" }, false },
		{ { opencl, opencl },
		  { CPU(.uuid = { 7 }), CPU(.uuid = { 7 }) },
		  { boot, boot },
		  { "a", "a" },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gpumon_gpu gpus[2];

		for (unsigned int k = 0; k < 2; k++)
			gpus[k] = gpumon_gpu_of(cases[i].ids[k], &cases[i].devices[k],
						cases[i].boots[k], cases[i].hosts[k]);
		if (gpumon_gpu_same(&gpus[0], &gpus[1]) != cases[i].same ||
		    gpumon_gpu_same(&gpus[1], &gpus[0]) != cases[i].same)
			fail_msg("case %zu", i);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, profile_setup, profile_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_times),
		TEST(test_numbers),
		TEST(test_windows),
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
