// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * emit_ptx ISA SM corpus|random SEED N|objects FILE...: a module with a kernel for each program: the
 * corpus, N random programs from a seed on, or all of object files. emit_ptx ISA SM patch FILE: the
 * functions for patches of machine code that an object becomes. For ptxas.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "gpuprog/image/patch.h"
#include "gpuprog/server/load.h"
#include "random_code.h"
#include "sample.h"

static void write_kernel(const char *name, const char *block)
{
	printf(".visible .entry %s(.param .u64 to)\n{\n"
	       "\t.reg .b64 %%rd<3>;\n\t.reg .b64 %%gpumon_kept<4>;\n"
	       "\t.reg .b64 %%gpumon_address, %%gpumon_line;\n"
	       "\t.reg .b32 %%gpumon_size, %%gpumon_flags, %%gpumon_kernel;\n"
	       "\tld.param.u64 %%rd1, [to];\n\tld.global.u64 %%rd2, [%%rd1];\n"
	       "\tmov.b64 %%gpumon_kept0, %%rd2;\n\tmov.b64 %%gpumon_kept1, 0;\n"
	       "\tmov.b64 %%gpumon_kept2, 0;\n\tmov.b64 %%gpumon_kept3, 0;\n"
	       "\tmov.b64 %%gpumon_address, %%rd2;\n\tmov.b64 %%gpumon_line, 5;\n"
	       "\tmov.b32 %%gpumon_size, 8;\n\tmov.b32 %%gpumon_flags, 1;\n"
	       "\tmov.b32 %%gpumon_kernel, 3;\n",
	       name);
	if (block)
		fputs(block, stdout);
	/* A kernel that needs what was kept, and its own registers. */
	printf("\tadd.s64 %%rd2, %%rd2, %%gpumon_kept0;\n\tst.global.u64 [%%rd1+8], %%rd2;\n"
	       "\tret;\n}\n\n");
}

static int write_program(const char *name, const struct bpf_insn *code, uint32_t code_n,
			 const struct gpumon_gpuprog_map *maps, uint32_t maps_n,
			 enum gpumon_gpuprog_point point,
			 const struct gpumon_gpuprog_target *target)
{
	struct sample sample;
	int result = sample_make(&sample, code, code_n, maps, maps_n, point, target);

	if (result && sample.err.code == GPUMON_ERROR_REFUSED)
		printf("// %s is refused: %s\n", name, sample.error);
	else if (result)
		fprintf(stderr, "%s: %s\n", name, sample.error);
	else
		write_kernel(name, sample.text);
	if (result && sample.err.code == GPUMON_ERROR_REFUSED)
		result = 0;
	sample_clear(&sample);
	return result;
}

static int write_random(uint64_t seed, uint32_t n, const struct gpumon_gpuprog_target *target)
{
	struct random_code *program = calloc(1, sizeof(*program));
	char name[32];
	uint32_t i;
	int result = 0;

	for (i = 0; i < n && !result; i++) {
		random_code_make(program, seed + i);
		snprintf(name, sizeof(name), "random%u", i);
		result = write_program(name, program->code, program->code_n, random_maps, 2,
				       GPUMON_GPUPROG_ENTRY, target);
	}
	free(program);
	return result;
}

static int write_object_program(const struct gpumon_gpuprog_check *check, uint32_t i,
				const struct gpumon_gpuprog_target *target)
{
	const struct gpumon_gpuprog *program = &check->object.programs[i];
	const struct gpumon_gpuprog_verdict *verdict = &check->verdicts[i];
	struct gpumon_error err = verdict->refusal;
	char *block = NULL;
	size_t size;
	FILE *out = open_memstream(&block, &size);
	int result = !out || !verdict->facts ||
		     gpumon_gpuprog_translate(program, verdict->facts, target, out, &err);

	if (out)
		fclose(out);
	if (result && verdict->facts && target->isa < 60) {
		/* What old PTX has no instruction for. */
		printf("// %s\n", err.message);
		result = 0;
	} else if (result) {
		fprintf(stderr, "%s\n", err.message);
	} else {
		write_kernel(program->name, block);
	}
	free(block);
	return result;
}

static int write_object(const char *path, const struct gpumon_gpuprog_target *target)
{
	static const struct gpumon_gpuprog_rules rules = { .allow_exit = true };
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;
	int result = gpumon_gpuprog_check(path, &rules, &check, &err);
	uint32_t i;

	if (result)
		fprintf(stderr, "%s\n", err.message);
	for (i = 0; !result && i < check.object.programs_n; i++)
		result = write_object_program(&check, i, target);
	gpumon_gpuprog_check_clear(&check);
	return result;
}

/* A program that patches cannot have is refused by name: a comment instead of a module. */
static int write_patch(const char *path, const struct gpumon_gpuprog_target *target)
{
	static const struct gpumon_gpuprog_rules rules = { .allow_exit = true };
	const struct gpumon_gpuprog_fact *facts[GPUMON_GPUPROG_MAX_PROGRAMS];
	struct gpumon_gpuprog_patch patch = { .facts = facts, .target = *target };
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;
	char *text = NULL;
	uint32_t places;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = gpumon_gpuprog_check(path, &rules, &check, &err);

	for (uint32_t i = 0; !result && i < check.object.programs_n; i++)
		facts[i] = check.verdicts[i].facts;
	patch.object = &check.object;
	if (!result && out)
		result = gpumon_gpuprog_patch_write(&patch, out, &places, &err);
	if (out)
		fclose(out);
	if (result)
		printf("// refused: %s\n", err.message);
	else
		fputs(text, stdout);
	free(text);
	gpumon_gpuprog_check_clear(&check);
	return result && err.code != GPUMON_ERROR_REFUSED;
}

int main(int argc, char **argv)
{
	struct gpumon_gpuprog_target target = { .shards = 256, .fuel = 1 << 16 };
	uint32_t i;
	int result = 0;

	if (argc < 4)
		return 2;
	target.isa = strtoul(argv[1], NULL, 10);
	target.sm = strtoul(argv[2], NULL, 10);
	if (strcmp(argv[3], "patch") == 0)
		return argc < 5 || write_patch(argv[4], &target);
	printf("// sizes:");
	for (i = 0; i < corpus_programs_n; i++)
		if (corpus_programs[i].most || i == 0)
			printf(" %s=%u", corpus_programs[i].name, corpus_programs[i].most);
	printf("\n.version %u.%u\n.target sm_%s\n.address_size 64\n\n"
	       ".const .align 8 .b64 gpumon_probe_table[%u];\n\n",
	       target.isa / 10, target.isa % 10, argv[2], 1 + GPUMON_GPUPROG_MAX_MAPS);
	if (strcmp(argv[3], "random") == 0)
		return argc < 6 || write_random(strtoull(argv[4], NULL, 10),
						strtoul(argv[5], NULL, 10), &target);
	write_kernel("bare", NULL);
	if (strcmp(argv[3], "objects") == 0) {
		for (i = 4; i < (uint32_t)argc && !result; i++)
			result = write_object(argv[i], &target);
		return result;
	}
	for (i = 0; i < corpus_programs_n && !result; i++)
		result = write_program(corpus_programs[i].name, corpus_programs[i].code,
				       corpus_programs[i].code_n, corpus_maps, CORPUS_MAPS,
				       corpus_programs[i].point, &target);
	return result;
}
