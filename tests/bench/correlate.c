// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Measures the speed and memory of joining launches and kernels.
 *
 *	correlate engine LAUNCHES [LOSS [STRIDE]]
 *						through gpumon_correlate_record() alone
 *	correlate write DIR LAUNCHES		a capture of a made-up program
 *	correlate profile DIR			the capture, all of it, into a profile
 *
 * Kernels come half a second after their launches, as with CUPTI. LOSS is the number of missing
 * records per 1000 on each side. STRIDE is the distance between the ids of launches, since other
 * calls have ids too. Prints a line "name value" for each result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "capture/capture.h"
#include "report/profile.h"

/* Number of launches between a launch and its kernel. */
#define IN_FLIGHT 150000u
#define BLOCK	  4096u
#define THREADS	  4u
#define STREAMS	  4u
#define NAMES	  40u
#define STACKS	  2000u
#define DEPTH	  24u

enum {
	STRING_FUNCTION = 1,
	STRING_HOST,
	STRING_PROGRAM,
	STRING_MODULE,
	STRING_KERNELS,
};

static uint64_t random_state = 1;
static uint32_t stride = 7;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % limit);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double rss_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/* A launch every 3.3 us, on one of the threads. */
static void make_launch(struct gpumon_record_launch *launch, uint64_t number)
{
	*launch = (struct gpumon_record_launch){
		.head = { GPUMON_RECORD_LAUNCH, 0, sizeof(*launch) },
		.start_ns = 1000000000 + number * 3300,
		.end_ns = 1000000000 + number * 3300 + 2700,
		.tid = 1000 + (uint32_t)(number % THREADS),
		.correlation = (uint32_t)(number * stride + 1),
		.stack = (uint32_t)(number * 2654435761u % STACKS) + 1,
		.function = STRING_FUNCTION,
		.context = 1,
	};
}

static void make_kernel(struct gpumon_record_kernel *kernel, uint64_t number)
{
	uint64_t start_ns = 1000000000 + number * 3300 + 4000;

	*kernel = (struct gpumon_record_kernel){
		.head = { GPUMON_RECORD_KERNEL, 0, sizeof(*kernel) },
		.start_ns = start_ns,
		.end_ns = start_ns + 2000 + number % 1000,
		.correlation = (uint32_t)(number * stride + 1),
		.name = STRING_KERNELS + (uint32_t)(number % NAMES),
		.context = 1,
		.stream = 7 + (uint32_t)(number % STREAMS),
		.grid = { 128, 1, 1 },
		.block = { 256, 1, 1 },
	};
}

/* --- the engine */

struct sums {
	uint64_t works;
	uint64_t with_stack;
	uint64_t wrong;
	uint64_t launches;
};

static void on_work(void *data, const struct gpumon_work *work)
{
	struct sums *sums = data;

	sums->works++;
	if (work->match != GPUMON_MATCH_STACK)
		return;
	sums->with_stack++;
	/* The right stack follows from the id. */
	sums->wrong +=
		work->stack !=
		(uint64_t)(work->kernel->correlation - 1) / stride * 2654435761u % STACKS + 1;
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *launch)
{
	struct sums *sums = data;

	(void)launch;
	sums->launches++;
}

static int run_engine(uint64_t launches, uint32_t loss)
{
	struct sums sums = { 0 };
	const struct gpumon_correlate_output output = {
		.work = on_work,
		.launch = on_launch,
		.data = &sums,
	};
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);
	struct gpumon_record_launch *made_launches = calloc(BLOCK, sizeof(*made_launches));
	struct gpumon_record_kernel *made_kernels = calloc(BLOCK, sizeof(*made_kernels));
	uint64_t records = 0;
	size_t memory = 0;
	double before, spent = 0;

	if (!made_launches || !made_kernels)
		return 1;
	gpumon_correlate_expect_nodes(correlate, 0, false);
	for (uint64_t at = 0; at < launches + IN_FLIGHT; at += BLOCK) {
		uint32_t n_launches = 0, n_kernels = 0;

		for (uint64_t i = at; i < at + BLOCK; i++) {
			if (i < launches && below(1000) >= loss)
				make_launch(&made_launches[n_launches++], i);
			if (i >= IN_FLIGHT && i - IN_FLIGHT < launches && below(1000) >= loss)
				make_kernel(&made_kernels[n_kernels++], i - IN_FLIGHT);
		}
		/* Do not measure their construction. */
		before = seconds();
		for (uint32_t i = 0; i < n_launches; i++)
			gpumon_correlate_record(correlate, 0, &made_launches[i].head);
		for (uint32_t i = 0; i < n_kernels; i++)
			gpumon_correlate_record(correlate, 0, &made_kernels[i].head);
		spent += seconds() - before;
		records += n_launches + n_kernels;
		if (gpumon_correlate_memory(correlate) > memory)
			memory = gpumon_correlate_memory(correlate);
	}
	before = seconds();
	gpumon_correlate_finish(correlate, ~0u);
	spent += seconds() - before;
	printf("launches_per_s %.0f\n", (double)launches / spent);
	printf("records %" PRIu64 "\n", records);
	printf("with_stack %" PRIu64 "\n", sums.with_stack);
	printf("wrong %" PRIu64 "\n", sums.wrong);
	printf("unmatched_launches %" PRIu64 "\n", sums.launches);
	printf("in_flight_max %" PRIu64 "\n", gpumon_correlate_counts(correlate)->in_flight_max);
	printf("engine_mb %.1f\n", (double)memory / 1048576);
	printf("rss_mb %.1f\n", rss_mb());
	gpumon_correlate_free(correlate);
	free(made_launches);
	free(made_kernels);
	return sums.wrong != 0;
}

/* --- captures */

struct chunk {
	struct gpumon_capture_file *file;
	uint32_t used;
	uint8_t bytes[1u << 17] __attribute__((aligned(8)));
};

static int flush(struct chunk *chunk)
{
	int status =
		chunk->used ? gpumon_capture_append(chunk->file, 1, chunk->bytes, chunk->used) : 0;

	chunk->used = 0;
	return status;
}

static int put(struct chunk *chunk, const void *record, uint32_t size)
{
	if (chunk->used + size > sizeof(chunk->bytes) && flush(chunk))
		return -1;
	memcpy(chunk->bytes + chunk->used, record, size);
	chunk->used += size;
	return 0;
}

static int put_string(struct chunk *chunk, uint32_t id, const char *text)
{
	struct {
		struct gpumon_record_string string;
		char text[128];
	} record;
	size_t length = strlen(text);

	memset(&record, 0, sizeof(record));
	record.string.head.type = GPUMON_RECORD_STRING;
	record.string.head.size = (uint32_t)(sizeof(record.string) + ((length + 7) & ~7u));
	record.string.id = id;
	record.string.length = (uint32_t)length;
	memcpy(record.text, text, length);
	return put(chunk, &record, record.string.head.size);
}

static int put_definitions(struct chunk *chunk)
{
	const struct gpumon_record_process process = {
		.head = { GPUMON_RECORD_PROCESS, 0, sizeof(process) },
		.pid = 1000,
		.rank = ~0u,
		.host = STRING_HOST,
		.executable = STRING_PROGRAM,
	};
	const struct gpumon_record_mapping mapping = {
		.head = { GPUMON_RECORD_MAPPING, 0, sizeof(mapping) },
		.start = 0x400000,
		.end = 0x800000,
		.path = STRING_MODULE,
	};
	struct {
		struct gpumon_record_stack stack;
		uint64_t frames[DEPTH];
	} stack = {
		.stack = { .head = { GPUMON_RECORD_STACK, 0, sizeof(stack) }, .count = DEPTH },
	};
	char name[100];
	int status = put(chunk, &process, sizeof(process)) ||
		     put_string(chunk, STRING_FUNCTION, "cudaLaunchKernel_v7000") ||
		     put_string(chunk, STRING_HOST, "host") ||
		     put_string(chunk, STRING_PROGRAM, "/nowhere/program") ||
		     put_string(chunk, STRING_MODULE, "/nowhere/module.so") ||
		     put(chunk, &mapping, sizeof(mapping));

	for (uint32_t i = 0; i < NAMES && !status; i++) {
		snprintf(name, sizeof(name), "_ZN7kernels4gemmILi%uELi128EEEvPKfS2_Pfi", i);
		status = put_string(chunk, STRING_KERNELS + i, name);
	}
	/* A tree with few outer frames. */
	for (uint32_t i = 0; i < STACKS && !status; i++) {
		stack.stack.id = i + 1;
		for (uint32_t j = 0; j < DEPTH; j++)
			stack.frames[j] = 0x400000 + ((DEPTH - j) * 0x10000) +
					  16 * (i >> (j < 11 ? j : 11)) + 5;
		status = put(chunk, &stack, sizeof(stack));
	}
	return status;
}

static int write_capture(const char *path, uint64_t launches)
{
	struct chunk *of_launches = calloc(1, sizeof(*of_launches));
	struct chunk *of_kernels = calloc(1, sizeof(*of_kernels));
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	int status;

	if (!of_launches || !of_kernels || gpumon_capture_create(path, "made up", &writer) ||
	    gpumon_capture_add_file(writer, "process-1000-1", &file))
		return 1;
	of_launches->file = file;
	of_kernels->file = file;
	status = put_definitions(of_launches);
	for (uint64_t i = 0; i < launches + IN_FLIGHT && !status; i++) {
		struct gpumon_record_launch launch;
		struct gpumon_record_kernel kernel;

		if (i < launches) {
			make_launch(&launch, i);
			status = put(of_launches, &launch, sizeof(launch));
		}
		if (i >= IN_FLIGHT && i - IN_FLIGHT < launches && !status) {
			make_kernel(&kernel, i - IN_FLIGHT);
			status = put(of_kernels, &kernel, sizeof(kernel));
		}
	}
	status = status || flush(of_launches) || flush(of_kernels);
	free(of_launches);
	free(of_kernels);
	return gpumon_capture_close(writer) || status;
}

static int run_profile(const char *path)
{
	const struct gpumon_profile_options options = { 0 };
	const struct gpumon_correlate_counts *counts;
	struct gpumon_profile *profile;
	double before = seconds();
	double spent;
	uint64_t works;

	if (gpumon_profile_load(&path, 1, &options, &profile)) {
		fprintf(stderr, "%s\n", gpumon_capture_error()->message);
		return 1;
	}
	spent = seconds() - before;
	counts = gpumon_profile_counts(profile);
	works = counts->works[GPUMON_WORK_KERNEL][GPUMON_MATCH_STACK];
	printf("launches %" PRIu64 "\n", counts->launches);
	printf("with_stack %" PRIu64 "\n", works);
	printf("seconds %.2f\n", spent);
	printf("launches_per_s %.0f\n", (double)counts->launches / spent);
	printf("rss_mb %.1f\n", rss_mb());
	gpumon_profile_free(profile);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 4)
		stride = (uint32_t)strtoul(argv[4], NULL, 10);
	if (argc >= 3 && !strcmp(argv[1], "engine") && stride)
		return run_engine(strtoull(argv[2], NULL, 10),
				  argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0);
	if (argc == 4 && !strcmp(argv[1], "write"))
		return write_capture(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "profile"))
		return run_profile(argv[2]);
	fprintf(stderr,
		"usage: correlate engine LAUNCHES [LOSS [STRIDE]] | write DIR LAUNCHES | profile DIR\n");
	return 2;
}
