// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Attaches launch_uprobe.bpf.o to a function of a library in all processes and discards the data,
 * to measure the overhead of the probe.
 *
 *     launch_uprobe OBJECT LIBRARY FUNCTION
 *
 * Prints "ready" when it is attached, and the number of hits when its standard input ends.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t hits;

static int on_hit(void *context, void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	hits++;
	return 0;
}

static uint64_t read_lost(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".bss");
	uint64_t lost = 0;
	uint32_t zero = 0;

	if (map && bpf_map__value_size(map) == sizeof(lost))
		(void)bpf_map_lookup_elem(bpf_map__fd(map), &zero, &lost);
	return lost;
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options);
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct bpf_program *program;
	struct bpf_object *object;
	struct ring_buffer *ring;

	if (argc != 4) {
		fputs("usage: launch_uprobe OBJECT LIBRARY FUNCTION\n", stderr);
		return 2;
	}
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "launch_uprobe: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	program = bpf_object__find_program_by_name(object, "launch");
	options.func_name = argv[3];
	if (!program || !bpf_program__attach_uprobe_opts(program, -1, argv[2], 0, &options)) {
		fprintf(stderr, "launch_uprobe: %s of %s: %s\n", argv[3], argv[2], strerror(errno));
		return 1;
	}
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "hits"), on_hit, NULL,
				NULL);
	if (!ring) {
		fprintf(stderr, "launch_uprobe: ring: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (!poll(&input, 1, 0))
		(void)ring_buffer__poll(ring, 50);
	(void)ring_buffer__consume(ring);
	printf("%llu %llu\n", (unsigned long long)hits, (unsigned long long)read_lost(object));
	return 0;
}
