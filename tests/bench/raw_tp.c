// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Loads and attaches raw_tp.bpf.o, prints "ready", waits for the end of its standard input and
 * prints the counts: "queued run done".
 */
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "raw_tp.h"

/* The scheduler's tracepoints were renamed, so one of the two names exists. */
static void attach(struct bpf_object *object, const char *program, const char *old_name,
		   const char *new_name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(object, program);
	struct bpf_link *link;

	link = bpf_program__attach_raw_tracepoint(p, old_name);
	if (!link)
		link = bpf_program__attach_raw_tracepoint(p, new_name);
	if (!link)
		error(1, errno, "cannot attach %s", program);
}

/* Only the message about a missing old or new name is expected. */
static int print_errors(__attribute__((unused)) enum libbpf_print_level level, const char *format,
			va_list args)
{
	return getenv("RAW_TP_VERBOSE") ? vfprintf(stderr, format, args) : 0;
}

static void print_counts(int map)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	unsigned long long queued = 0, run = 0, done = 0;
	struct ring *values = calloc(cpus, sizeof(*values));
	__u32 key;

	if (!values)
		error(1, ENOMEM, "counts");
	for (key = 0; key < RINGS; key++) {
		if (bpf_map_lookup_elem(map, &key, values))
			error(1, errno, "counts");
		for (cpu = 0; cpu < cpus; cpu++) {
			queued += values[cpu].queued;
			run += values[cpu].run;
			done += values[cpu].done;
		}
	}
	printf("%llu %llu %llu\n", queued, run, done);
	free(values);
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	char c;

	if (argc != 2)
		error(2, 0, "usage: raw_tp raw_tp.bpf.o");
	libbpf_set_print(print_errors);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		error(1, errno, "%s", argv[1]);
	if (bpf_object__load(object))
		error(1, errno, "cannot load %s", argv[1]);
	attach(object, "queue", "drm_sched_job", "drm_sched_job_queue");
	attach(object, "run", "drm_run_job", "drm_sched_job_run");
	attach(object, "done", "drm_sched_process_job", "drm_sched_job_done");
	printf("ready libbpf %s\n", libbpf_version_string());
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	print_counts(bpf_object__find_map_fd_by_name(object, "rings"));
	bpf_object__close(object);
	return 0;
}
