// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * kernel_run [PROGRAMS [SEED]]: random programs are run by the kernel (BPF_PROG_TEST_RUN), and as PTX by
 * the interpreter. Both have to leave the same in all registers, on the stack and in the maps. Nothing
 * is attached. Exit status 77: no permission.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dice.h"
#include "kernel_release.h"
#include "gpuprog/object/instruction.h"
#include "gpuprog/object/map_memory.h"
#include "random_code.h"
#include "sample.h"

#define PROGRAMS 10000
#define MAPS_N	 2

static const struct gpumon_gpuprog_target targets[] = {
	{ .isa = 90, .sm = 90, .shards = 4, .fuel = 4096 },
	{ .isa = 50, .sm = 52, .shards = 1, .fuel = 4096 },
};

static int maps[MAPS_N];

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static int make_map(const struct gpumon_gpuprog_map *map)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = 4,
				.value_size = map->value_size,
				.max_entries = 1 };

	return (int)bpf(BPF_MAP_CREATE, &attr);
}

static int access_value(int command, int map, void *value)
{
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map,
				.key = (uintptr_t)&key,
				.value = (uintptr_t)value };

	return (int)bpf(command, &attr);
}

/* Name the maps by their descriptors. */
static void relocate(struct bpf_insn *code, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (code[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (code[i].src_reg == BPF_PSEUDO_MAP_IDX_VALUE) {
			code[i].src_reg = BPF_PSEUDO_MAP_VALUE;
			code[i].imm = maps[code[i].imm];
		}
		i++;
	}
}

/* Return: 0; 1: the kernel refuses the program; -1 with errno. */
static int run_in_kernel(const struct random_code *program, uint8_t values[][RANDOM_DATA_BYTES])
{
	static struct bpf_insn code[RANDOM_MAX_CODE];
	uint8_t packet[64] = { 0 };
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
				.insns = (uintptr_t)code,
				.insn_cnt = program->code_n,
				.license = (uintptr_t) "GPL" };
	int fd, result = 0;

	memcpy(code, program->code, program->code_n * sizeof(code[0]));
	relocate(code, program->code_n);
	fd = (int)bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		return 1;
	for (int i = 0; i < MAPS_N; i++) {
		memset(values[i], 0, RANDOM_DATA_BYTES);
		result |= access_value(BPF_MAP_UPDATE_ELEM, maps[i], values[i]);
	}
	attr = (union bpf_attr){ .test = { .prog_fd = (uint32_t)fd,
					   .data_in = (uintptr_t)packet,
					   .data_size_in = sizeof(packet),
					   .repeat = 1 } };
	result |= (int)bpf(BPF_PROG_TEST_RUN, &attr);
	for (int i = 0; i < MAPS_N; i++)
		result |= access_value(BPF_MAP_LOOKUP_ELEM, maps[i], values[i]);
	close(fd);
	return result ? -1 : 0;
}

/* Return: 0, or -1 with @sample->error. */
static int run_as_ptx(const struct random_code *program, uint64_t seed, struct sample *sample)
{
	if (sample_make(sample, program->code, program->code_n, random_maps, MAPS_N,
			GPUMON_GPUPROG_ENTRY,
			&targets[seed % (sizeof(targets) / sizeof(targets[0]))]))
		return -1;
	return sample_run(sample, 1, 0);
}

/* Return: whether both do the same. */
static bool compare(const struct random_code *program, uint64_t seed,
		    uint8_t values[][RANDOM_DATA_BYTES])
{
	uint8_t value[RANDOM_DATA_BYTES];
	struct sample sample;
	bool same = true;

	if (run_as_ptx(program, seed, &sample)) {
		printf("seed %llu: %s\n", (unsigned long long)seed, sample.error);
		same = false;
	}
	for (int i = 0; same && i < MAPS_N; i++) {
		gpumon_gpuprog_read_value(&random_maps[i], sample.target.shards, sample.images[i],
					  0, value);
		same = !memcmp(value, values[i], random_maps[i].value_size);
		if (!same)
			printf("seed %llu: map %s differs\n%s", (unsigned long long)seed,
			       random_maps[i].name, sample.text);
	}
	sample_clear(&sample);
	return same;
}

int main(int argc, char **argv)
{
	unsigned int programs = argc > 1 ? (unsigned int)atoi(argv[1]) : PROGRAMS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : dice_seed();
	static uint8_t values[MAPS_N][RANDOM_DATA_BYTES];
	static struct random_code program;
	unsigned int compared = 0, refused = 0;

	for (int i = 0; i < MAPS_N; i++) {
		maps[i] = make_map(&random_maps[i]);
		if (maps[i] < 0) {
			printf("map %s: %s\n", random_maps[i].name, strerror(errno));
			return errno == EPERM ? 77 : 1;
		}
	}
	printf("seed %llu\n", (unsigned long long)seed);
	for (unsigned int i = 0; i < programs; i++) {
		random_code_make(&program, seed + i);
		switch (run_in_kernel(&program, values)) {
		case 0:
			break;
		case 1:
			refused++;
			continue;
		default:
			printf("seed %llu: %s\n", (unsigned long long)seed + i, strerror(errno));
			return 1;
		}
		if (!compare(&program, seed + i, values))
			return 1;
		compared++;
	}
	printf("%u programs compared, %u refused by the kernel\n", compared, refused);
	/* Worth it only if nearly all can be run. */
	if (!kernel_is_before(6, 6))
		return compared < programs - programs / 10;
	printf("this kernel does not know v4 of eBPF, which most of them use\n");
	return compared < programs / 50;
}
