// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * bpf_load OBJECT EVENT...: loads the BPF programs of a driver, attaches each where its section
 * says, prints "ready", waits for the end of its standard input, and prints the count of each
 * event. The events are in the order of the object's map "events".
 */
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct total {
	unsigned long long count;
	unsigned long long bytes;
};

static void print_counts(int map, char **names, int number)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	struct total *totals = calloc(cpus, sizeof(*totals));
	__u32 key;

	if (!totals)
		error(1, ENOMEM, "counts");
	for (key = 0; key < (__u32)number; key++) {
		unsigned long long sum = 0;

		if (bpf_map_lookup_elem(map, &key, totals))
			error(1, errno, "counts");
		for (cpu = 0; cpu < cpus; cpu++)
			sum += totals[cpu].count;
		printf("%s %llu\n", names[key], sum);
	}
	free(totals);
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	char c;

	if (argc < 3)
		error(2, 0, "usage: bpf_load OBJECT EVENT...");
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		error(1, errno, "%s", argv[1]);
	if (bpf_object__load(object))
		error(1, errno, "cannot load %s", argv[1]);
	program = bpf_object__next_program(object, NULL);
	for (; program; program = bpf_object__next_program(object, program))
		if (!bpf_program__attach(program))
			error(1, errno, "cannot attach %s", bpf_program__name(program));
	printf("ready libbpf %s\n", libbpf_version_string());
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	print_counts(bpf_object__find_map_fd_by_name(object, "events"), argv + 2, argc - 2);
	bpf_object__close(object);
	return 0;
}
