// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * kernel_check [ROUNDS [SEED]]: programs that gpumon's verifier accepts are given to the kernel's: the
 * hand-written ones and random ones. It has to accept them, too. Nothing is attached or run. Exit
 * status 77: no permission.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "accepted_programs.h"
#include "kernel_insns.h"
#include "kernel_release.h"
#include "gpuprog/verify/verify.h"
#include "random_program.h"
#include "run_steps.h"

#define ROUNDS	 3000
#define RUNS	 3000
#define FUEL	 400
#define LOG_SIZE (4u << 20)

struct tally {
	unsigned int made;
	unsigned int accepted;
	unsigned int compared;
	unsigned int loops;
	unsigned int checks;
	unsigned int rules;  /* refused by a rule that is only the kernel's */
	unsigned int forgot; /* the kernel is less exact */
	unsigned int wrong;
};

static char kernel_log[LOG_SIZE];

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static int make_map(const struct gpumon_gpuprog_map *map)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = map->key_size ? map->key_size : 4,
				.value_size = map->value_size,
				.max_entries = map->max_entries };
	uint32_t key = 0;
	long fd;

	if (map->kind == GPUMON_GPUPROG_MAP_HASH)
		attr.map_type = BPF_MAP_TYPE_HASH;
	if (map->kind == GPUMON_GPUPROG_MAP_RING)
		attr = (union bpf_attr){ .map_type = BPF_MAP_TYPE_RINGBUF,
					 .max_entries = (uint32_t)sysconf(_SC_PAGESIZE) };
	if (map->read_only)
		attr.map_flags = BPF_F_RDONLY_PROG;
	fd = bpf(BPF_MAP_CREATE, &attr);
	if (fd < 0 || !map->read_only)
		return (int)fd;
	attr = (union bpf_attr){ .map_fd = (uint32_t)fd,
				 .key = (uintptr_t)&key,
				 .value = (uintptr_t)map->data };
	if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
		return -1;
	/* Only then its content is known. */
	attr = (union bpf_attr){ .map_fd = (uint32_t)fd };
	return bpf(BPF_MAP_FREEZE, &attr) ? -1 : (int)fd;
}

static int load(const struct bpf_insn *insns, uint32_t n)
{
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
				.insns = (uintptr_t)insns,
				.insn_cnt = n,
				.license = (uintptr_t) "GPL" };
	long fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0) {
		attr.log_buf = (uintptr_t)kernel_log;
		attr.log_size = LOG_SIZE;
		attr.log_level = 1;
		kernel_log[0] = '\0';
		fd = bpf(BPF_PROG_LOAD, &attr);
	}
	if (fd < 0)
		return -1;
	close((int)fd);
	return 0;
}

/* An index that may be negative, though its sum with the offset may not, is too much for the kernel. */
static bool is_negative_index(void)
{
	const char *message = strstr(kernel_log, "unbounded memory access"), *last = NULL, *next;
	char name[16];

	if (!message || message - kernel_log < 3)
		return false;
	snprintf(name, sizeof(name), "%.2s=map_value(", message - 3);
	for (next = strstr(kernel_log, name); next; next = strstr(next + 1, name))
		last = next;
	if (!last)
		return false;
	next = strchr(last, ')');
	message = strstr(last, "smin=");
	last = strstr(last, "smax=");
	return next && message && last && message < next && last < next;
}

/*
 * Limits that a GPU does not have: what may be added to an address if nothing is done with it then; all
 * frames together; and an address of the stack as a result, even if it is not used.
 */
static bool is_rule_of_kernel(void)
{
	static const char *const messages[] = { "math between", "pointer be out of bounds",
						"pointer offset", "combined stack size",
						"cannot return stack pointer" };

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (strstr(kernel_log, messages[i]))
			return true;
	return is_negative_index();
}

static void print_wrong(const struct gpumon_gpuprog *program,
			const struct gpumon_gpuprog_fact *facts)
{
	size_t length = strlen(kernel_log);

	for (uint32_t i = 0; i < program->steps_n; i++)
		printf("    %c %3u %*s%s\n", facts[i].reached ? ' ' : '-', i,
		       program->steps[i].depth, "", disassemble(&program->steps[i]));
	printf("the kernel refuses it: %s%s\n", strerror(errno),
	       kernel_log + (length > 3000 ? length - 3000 : 0));
}

static const char *run_often(const struct gpumon_gpuprog *program,
			     const struct gpumon_gpuprog_fact *facts, unsigned int seed)
{
	struct dice dice = dice_make(seed);
	struct run_counts counts = { 0 };
	const char *wrong = NULL;

	for (int run = 0; run < RUNS && !wrong; run++)
		wrong = run_steps(program, facts, &dice, FUEL, &counts);
	return wrong;
}

static void compare(const struct gpumon_gpuprog *program, const struct kernel_maps *maps,
		    struct tally *tally)
{
	static struct gpumon_gpuprog_fact facts[ASSEMBLE_MAX_STEPS];
	static struct bpf_insn insns[KERNEL_MAX_INSNS];
	struct gpumon_gpuprog_rules rules = { 0 };
	struct gpumon_error err;
	const char *wrong;
	uint32_t n;

	tally->made++;
	if (gpumon_gpuprog_verify(program, &rules, facts, &err))
		return;
	tally->accepted++;
	switch (kernel_insns(program, facts, maps, insns, &n)) {
	case KERNEL_SKIP_LOOP:
		tally->loops++;
		return;
	case KERNEL_SKIP_CHECK:
		tally->checks++;
		return;
	default:
		break;
	}
	if (!load(insns, n)) {
		tally->compared++;
		return;
	}
	if (is_rule_of_kernel()) {
		tally->rules++;
		return;
	}
	/* Here and there the kernel forgets a bound: then nothing goes wrong when it runs. */
	wrong = run_often(program, facts, tally->made);
	if (!wrong) {
		tally->forgot++;
		return;
	}
	tally->wrong++;
	print_wrong(program, facts);
	printf("when it runs: %s\n", wrong ? wrong : "nothing happens");
}

/**
 * struct exactness - how exact a kernel's verifier is
 * @one_of: random programs: it may refuse one of so many that it could accept
 * @written: written ones
 */
struct exactness {
	unsigned int one_of;
	unsigned int written;
};

/* 7.3 forgets a bound in none of 944 programs, 6.12 in 16 of 917, 6.1 in 231 of 939. */
static struct exactness exactness_here(void)
{
	if (kernel_is_before(6, 12))
		return (struct exactness){ .one_of = 3, .written = 2 };
	return (struct exactness){ .one_of = kernel_is_before(7, 0) ? 40 : 500 };
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : ROUNDS;
	struct dice dice = dice_make(argc > 2 ? strtoull(argv[2], NULL, 0) : dice_seed());
	struct random_kind kind = { .functions = true, .kernel = true, .changes = true };
	struct gpumon_gpuprog_map context = { .value_size = sizeof(struct gpumon_gpuprog_context),
					      .max_entries = 1 };
	const struct exactness exactness = exactness_here();
	static struct assembled assembled;
	struct tally written = { 0 }, random = { 0 };
	struct kernel_maps maps;

	for (unsigned int i = 0; i < MAPS; i++) {
		maps.maps[i] = make_map(&probe_maps[i]);
		if (maps.maps[i] < 0) {
			printf("map %s: %s\n", probe_maps[i].name, strerror(errno));
			return errno == EPERM ? 77 : 1;
		}
	}
	maps.context = make_map(&context);
	for (size_t i = 0; i < accepted_programs_n; i++) {
		assemble(accepted_programs[i].text, accepted_programs[i].point, &assembled);
		compare(&assembled.program, &maps, &written);
	}
	while (random.accepted < rounds && random.wrong < 3) {
		random_program(&dice, &kind, &assembled);
		compare(&assembled.program, &maps, &random);
	}
	printf("written: %u, %u compared, %u with loops, %u with checks\n", written.made,
	       written.compared, written.loops, written.checks);
	printf("random: %u, %u accepted, %u compared, %u with loops, %u with checks, %u against a "
	       "rule that is only the kernel's, %u where it is less exact\n",
	       random.made, random.accepted, random.compared, random.loops, random.checks,
	       random.rules, random.forgot);
	if (written.wrong || random.wrong)
		return 1;
	if (written.forgot > exactness.written ||
	    random.forgot * exactness.one_of > random.compared + 3 * exactness.one_of) {
		printf("that is too often, with %u written ones\n", written.forgot);
		return 1;
	}
	/* Worth it only if most can be compared. */
	if ((random.compared + random.forgot) * 2 >= random.accepted &&
	    written.compared * 3 >= written.made)
		return 0;
	printf("too few can be compared\n");
	return 1;
}
