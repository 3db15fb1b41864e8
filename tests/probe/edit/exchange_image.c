// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * exchange_image [--sm=N] [--repeat] [--patched] [--at=OFFSET,SIZE] OBJECT IMAGE OUT [PATTERN...]:
 * exchanges an image, or a part of a file, as the code within a program under test does, and prints what
 * became of its kernels as JSON. OUT is only written if it is another image. --repeat: twice in one run,
 * which has to give the same. --patched: the image is a cubin, which the sanitizer patches.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpuprog/image/exchange.h"
#include "gpuprog/verify/verify.h"

static void fail(const char *what)
{
	fprintf(stderr, "exchange_image: %s\n", what);
	exit(1);
}

/* A copy in a block of its exact size, so that a sanitizer notices a look behind it. */
static void *read_file(const char *path, size_t *size, bool copy)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data, *exact;

	if (fd < 0 || fstat(fd, &status))
		fail(strerror(errno));
	*size = (size_t)status.st_size;
	data = mmap(NULL, *size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		fail(strerror(errno));
	if (!copy)
		return data;
	exact = malloc(*size ? *size : 1);
	if (!exact)
		fail("no memory");
	memcpy(exact, data, *size);
	munmap(data, *size + 1);
	return exact;
}

static const struct gpumon_gpuprog_fact **verify(const struct gpumon_gpuprog_object *object)
{
	const struct gpumon_gpuprog_fact **facts = calloc(object->programs_n + 1, sizeof(*facts));
	const struct gpumon_gpuprog_rules rules = { 0 };
	struct gpumon_error err;

	for (uint32_t i = 0; facts && i < object->programs_n; i++) {
		struct gpumon_gpuprog_fact *fact =
			calloc(object->programs[i].steps_n, sizeof(*fact));

		if (!fact)
			fail("no memory");
		if (gpumon_gpuprog_verify(&object->programs[i], &rules, fact, &err))
			fail(err.message);
		facts[i] = fact;
	}
	return facts;
}

static void print_counts(const char *name, const uint64_t *counts, int n)
{
	printf(", \"%s\": [", name);
	for (int i = 0; i < n; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)counts[i]);
	printf("]");
}

static void print_run(const struct gpumon_gpuprog_run *run, enum gpumon_gpuprog_outcome outcome,
		      double seconds)
{
	printf("{\"exchanged\": %s, \"seconds\": %.3f, \"unread\": %u, \"kernels\": [",
	       outcome == GPUMON_GPUPROG_EXCHANGED ? "true" : "false", seconds, run->unread);
	for (uint32_t i = 0; i < run->kernels_n; i++) {
		const struct gpumon_gpuprog_kernel *kernel = &run->kernels[i];

		printf("%s{\"name\": \"%s\", \"way\": \"%s\", \"why\": \"", i ? ", " : "",
		       kernel->name, gpumon_gpuprog_way_word(kernel->way));
		for (const char *at = kernel->why; *at; at++)
			printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
		printf("\"");
		print_counts("points", kernel->points, GPUMON_GPUPROG_POINTS);
		print_counts("left", kernel->left, GPUMON_EDIT_CAUSES_N);
		printf("}");
	}
	printf("], \"lines\": [");
	for (uint32_t i = 0; i < run->lines_n; i++)
		printf("%s[%u, \"%s\", %u]", i ? ", " : "", run->lines[i].kernel,
		       run->lines[i].file, run->lines[i].line);
	printf("]}\n");
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static char *exchange(const struct gpumon_gpuprog_order *order, const void *image, size_t size,
		      struct gpumon_gpuprog_run *run, enum gpumon_gpuprog_outcome *outcome,
		      size_t *out_size)
{
	struct gpumon_error err;
	char *data = NULL;
	FILE *out = open_memstream(&data, out_size);

	if (!out)
		fail("no memory");
	if (gpumon_gpuprog_exchange(order, image, size, run, out, outcome, &err))
		fail(err.message);
	if (fclose(out))
		fail("no memory");
	if (*out_size && *outcome == GPUMON_GPUPROG_UNTOUCHED)
		fail("something was written for an untouched image");
	return data;
}

static void take_kernel(void *argument, uint32_t number, uint32_t programs, const char *name)
{
	(void)argument, (void)number, (void)programs, (void)name;
}

static char *patch(const struct gpumon_gpuprog_order *order, const void *image, size_t size,
		   struct gpumon_gpuprog_run *run)
{
	gpumon_gpuprog_patched(order, image, size, run, take_kernel, NULL);
	return NULL;
}

static void write_file(const char *path, const char *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		fail(strerror(errno));
}

int main(int argc, char **argv)
{
	struct gpumon_gpuprog_order order = { .shards = 1, .fuel = 4096 };
	struct gpumon_gpuprog_object object;
	struct gpumon_gpuprog_run run = { .kernels_n = 0 };
	const struct gpumon_gpuprog_fact **facts;
	enum gpumon_gpuprog_outcome outcome = GPUMON_GPUPROG_UNTOUCHED;
	unsigned long part = 0, part_size = 0;
	size_t object_size, size, out_size = 0, again_size;
	void *object_file, *image;
	struct gpumon_error err;
	bool repeat = false, patched = false;
	double begin;
	char *data;

	for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
		repeat |= !strcmp(argv[1], "--repeat");
		patched |= !strcmp(argv[1], "--patched");
		if (!strncmp(argv[1], "--sm=", 5))
			order.sm = (uint32_t)strtoul(argv[1] + 5, NULL, 10);
		if (!strncmp(argv[1], "--at=", 5) &&
		    sscanf(argv[1] + 5, "%lu,%lu", &part, &part_size) != 2)
			fail("--at=OFFSET,SIZE");
	}
	if (argc < 4)
		fail("[--sm=N] [--repeat] [--patched] OBJECT IMAGE OUT [PATTERN...]");
	object_file = read_file(argv[1], &object_size, true);
	if (gpumon_gpuprog_object_read(object_file, object_size, argv[1], &object, &err))
		fail(err.message);
	facts = verify(&object);
	image = read_file(argv[2], &size, repeat || patched);
	if (part > size || part_size > size - part)
		fail("this part is not in the file");
	if (part_size)
		size = part_size;
	order.object = &object;
	order.facts = facts;
	order.kernels = (const char *const *)argv + 4;
	order.kernels_n = (uint32_t)(argc - 4);
	begin = now();
	data = patched ? patch(&order, image, size, &run) :
			 exchange(&order, (char *)image + part, size, &run, &outcome, &out_size);
	begin = now() - begin;
	if (repeat) {
		uint32_t kernels = run.kernels_n, lines = run.lines_n;
		char *again =
			exchange(&order, (char *)image + part, size, &run, &outcome, &again_size);

		if (again_size != out_size || memcmp(data, again, out_size) ||
		    run.kernels_n != kernels || run.lines_n != lines)
			fail("the second time gives another result");
		free(again);
	}
	if (repeat || patched)
		free(image);
	if (outcome == GPUMON_GPUPROG_EXCHANGED)
		write_file(argv[3], data, out_size);
	print_run(&run, outcome, begin);
	for (uint32_t i = 0; i < object.programs_n; i++)
		free((void *)(uintptr_t)facts[i]);
	free(facts);
	free(data);
	free(object_file);
	gpumon_gpuprog_run_clear(&run);
	gpumon_gpuprog_object_clear(&object);
	return 0;
}
