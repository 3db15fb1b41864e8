// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Measures the cost of the channel and of captures, without a GPU; capture-run builds and runs it.
 * Each launch has a launch record (48 bytes) and a kernel record (112). The results are medians of
 * seven runs, in CPU time of the thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/channel_reader.h"
#include "abi/channel_writer.h"

#define RUNS 7

struct figures {
	double write_ns;  /* write a record into the channel, with room for it */
	double full_ns;	  /* try to write a record without room for it */
	double drain_ns;  /* drain a record from the channel into a file */
	double append_ns; /* the part of it spent on the file */
	double read_ns;	  /* read a record from the file */
	double read_mib;  /* per second */
	double lost;	  /* share of records lost with threads */
	double thread_ns; /* per record, each thread with its own recorder */
};

/* CPU time of this thread, so that other programs do not count. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, gpumon_capture_error()->message);
	exit(1);
}

static bool write_launch(struct gpumon_channel_writer *writer, uint32_t i)
{
	struct gpumon_record_launch *launch = gpumon_channel_reserve(writer, sizeof(*launch));
	struct gpumon_record_kernel *kernel;

	if (!launch) {
		gpumon_channel_lose(writer->map, gpumon_channel_why(writer, sizeof(*launch)), 1);
		return false;
	}
	*launch = (struct gpumon_record_launch){
		.head = { .type = GPUMON_RECORD_LAUNCH, .size = sizeof(*launch) },
		.start_ns = i * 100ull,
		.end_ns = i * 100ull + 50,
		.tid = writer->tid,
		.correlation = i,
		.stack = i % 100,
	};
	gpumon_channel_commit(writer, sizeof(*launch));
	kernel = gpumon_channel_reserve(writer, sizeof(*kernel));
	if (!kernel) {
		gpumon_channel_lose(writer->map, gpumon_channel_why(writer, sizeof(*kernel)), 1);
		return false;
	}
	*kernel = (struct gpumon_record_kernel){
		.head = { .type = GPUMON_RECORD_KERNEL, .size = sizeof(*kernel) },
		.start_ns = i * 100ull + 60,
		.end_ns = i * 100ull + 90,
		.correlation = i,
		.name = 3,
	};
	gpumon_channel_commit(writer, sizeof(*kernel));
	return true;
}

struct thread {
	struct gpumon_channel_map *map;
	uint32_t launches;
	uint32_t tid;
	pthread_t thread;
	double took;
};

static void *write_launches(void *data)
{
	struct thread *thread = data;
	struct gpumon_channel_writer writer;
	double begin = now();

	gpumon_channel_writer_begin(&writer, thread->map, thread->tid);
	for (uint32_t i = 0; i < thread->launches; i++)
		write_launch(&writer, i);
	gpumon_channel_writer_end(&writer);
	thread->took = now() - begin;
	return NULL;
}

/* Threads with a recorder that drains continuously. */
static void run_threads(struct figures *figures, const char *path, uint32_t launches,
			unsigned int n)
{
	struct gpumon_channel_reader *reader;
	struct gpumon_capture_writer *capture;
	struct gpumon_capture_file *file;
	struct gpumon_channel_map map;
	struct thread *threads = calloc(n, sizeof(*threads));
	unsigned int running = n;
	double took = 0;

	if (!threads || gpumon_channel_create(GPUMON_CHANNEL_BLOCKS_DEFAULT, &reader) ||
	    gpumon_channel_map(&map, gpumon_channel_descriptor(reader)) ||
	    gpumon_capture_create(path, "", &capture) ||
	    gpumon_capture_add_file(capture, "process-1-1", &file))
		fail("threads");
	for (unsigned int i = 0; i < n; i++) {
		threads[i] = (struct thread){ .map = &map, .launches = launches / n, .tid = i + 1 };
		pthread_create(&threads[i].thread, NULL, write_launches, &threads[i]);
	}
	while (running) {
		if (!gpumon_channel_drain(reader, file))
			usleep(500);
		for (unsigned int i = 0; i < n; i++) {
			if (threads[i].thread && !pthread_tryjoin_np(threads[i].thread, NULL)) {
				threads[i].thread = 0;
				running--;
				took += threads[i].took / n;
			}
		}
	}
	gpumon_channel_finish(reader, file);
	figures->lost = (double)map.channel->lost[GPUMON_LOSS_CHANNEL_FULL] / launches / 2;
	figures->thread_ns = took / (launches / n) / 2;
	if (gpumon_capture_close(capture))
		fail("close");
	gpumon_channel_unmap(&map);
	gpumon_channel_free(reader);
	free(threads);
}

/* One thread fills the channel, which is then drained, and so on, to measure each alone. */
static void run_apart(struct figures *figures, const char *path, uint32_t launches)
{
	struct gpumon_channel_reader *reader;
	struct gpumon_capture_writer *capture;
	struct gpumon_capture_file *file;
	struct gpumon_channel_writer writer;
	struct gpumon_channel_map map;
	const uint32_t piece = 100000;
	double write = 0, drain = 0, append, begin;
	static char chunk[65408];
	uint32_t at = 0;

	if (gpumon_channel_create(512, &reader) ||
	    gpumon_channel_map(&map, gpumon_channel_descriptor(reader)) ||
	    gpumon_capture_create(path, "", &capture) ||
	    gpumon_capture_add_file(capture, "process-1-1", &file))
		fail("create");
	gpumon_channel_writer_begin(&writer, &map, 1);
	while (at < launches) {
		begin = now();
		for (uint32_t i = 0; i < piece; i++)
			write_launch(&writer, at++);
		/* In the first round, the kernel allocates the pages. */
		write += at == piece ? 0 : now() - begin;
		begin = now();
		gpumon_channel_drain(reader, file);
		drain += now() - begin;
	}
	figures->write_ns = write / (launches - piece) / 2;
	figures->drain_ns = drain / launches / 2;
	if (map.channel->lost[GPUMON_LOSS_CHANNEL_FULL])
		fprintf(stderr, "records were lost: the figures are of something else\n");
	for (uint32_t i = 0; i < 1000000; i++)
		write_launch(&writer, at++);
	begin = now();
	for (uint32_t i = 0; i < 1000000; i++)
		write_launch(&writer, at++);
	figures->full_ns = (now() - begin) / 1000000;
	gpumon_channel_finish(reader, file);
	if (gpumon_capture_add_file(capture, "process-2-1", &file))
		fail("add");
	for (size_t i = 0; i + 8 <= sizeof(chunk); i += 32)
		*(struct gpumon_record *)(chunk + i) =
			(struct gpumon_record){ .type = GPUMON_RECORD_SYNC, .size = 32 };
	begin = now();
	for (unsigned int i = 0; i < 1000; i++)
		gpumon_capture_append(file, 1, chunk, sizeof(chunk));
	append = now() - begin;
	figures->append_ns = append / 1000 / sizeof(chunk) * 80;
	if (gpumon_capture_close(capture))
		fail("close");
	gpumon_channel_unmap(&map);
	gpumon_channel_free(reader);
}

static void run_read(struct figures *figures, const char *path)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture;
	uint64_t records = 0, bytes = 0;
	double begin = now();

	if (gpumon_capture_open(path, &capture))
		fail("open");
	while ((record = gpumon_capture_next(capture, &cursor))) {
		records++;
		bytes += record->size;
	}
	figures->read_ns = (now() - begin) / (double)records;
	figures->read_mib = (double)bytes / 1048576 / ((now() - begin) / 1e9);
	gpumon_capture_free(capture);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct figures *runs, size_t offset)
{
	double values[RUNS];

	for (unsigned int i = 0; i < RUNS; i++)
		memcpy(&values[i], (const char *)&runs[i] + offset, sizeof(double));
	qsort(values, RUNS, sizeof(double), compare);
	return values[RUNS / 2];
}

int main(int argc, char **argv)
{
	uint32_t launches = (uint32_t)(argc > 1 ? atoi(argv[1]) : 2) * 1000000;
	unsigned int threads = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	struct figures runs[RUNS] = { 0 };
	struct rusage usage;

#define MEDIAN(field) median(runs, offsetof(struct figures, field))
	for (unsigned int i = 0; i < RUNS; i++) {
		char path[] = "/tmp/gpumon-bench-XXXXXX";
		char inner[64], command[128];

		if (!mkdtemp(path))
			return 1;
		snprintf(inner, sizeof(inner), "%s/a", path);
		run_apart(&runs[i], inner, launches);
		run_read(&runs[i], inner);
		snprintf(inner, sizeof(inner), "%s/b", path);
		run_threads(&runs[i], inner, launches, threads);
		snprintf(command, sizeof(command), "rm -r %s", path);
		if (system(command))
			return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("into the channel          %6.1f ns a record\n", MEDIAN(write_ns));
	printf("  no room                 %6.1f ns a record\n", MEDIAN(full_ns));
	printf("  %2u threads, a recorder  %6.1f ns a record, %.1f%% lost\n", threads,
	       MEDIAN(thread_ns), MEDIAN(lost) * 100);
	printf("channel to file           %6.1f ns a record\n", MEDIAN(drain_ns));
	printf("  the file alone          %6.1f ns for 80 bytes\n", MEDIAN(append_ns));
	printf("from the file             %6.1f ns a record: %.1f million a second, %.0f MiB/s\n",
	       MEDIAN(read_ns), 1e3 / MEDIAN(read_ns), MEDIAN(read_mib));
	printf("memory                    %6ld MiB at most, both sides and the channel\n",
	       usage.ru_maxrss / 1024);
	return 0;
}
