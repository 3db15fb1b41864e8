// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>

#include "patch.h"
#include "abi/wire.h"

/*
 * Flags of an access as the sanitizer gives them: reads and writes are as in struct
 * gpumon_gpuprog_context.
 */
#define READS_AND_WRITES (GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE)
#define PREFETCH	 8u

/* Further parameters of a function for accesses of memory. */
#define MEMORY                                                                            \
	", .param .b64 gpumon_pointer, .param .b32 gpumon_bytes, .param .b32 gpumon_how," \
	" .param .b64 gpumon_value"
/* cp.async: from global to shared memory. */
#define ASYNC	", .param .b64 gpumon_pointer, .param .b32 gpumon_to, .param .b32 gpumon_bytes"
#define BARRIER ", .param .b32 gpumon_barrier, .param .b32 gpumon_threads, .param .b32 gpumon_how"

static const struct {
	const char *function;
	const char *parameters;
} places[GPUMON_GPUPROG_PATCH_PLACES_N] = {
#define PLACE(name, number, function, more) [GPUMON_GPUPROG_PATCH_##name] = { function, more },
	GPUMON_GPUPROG_PATCH_PLACES(PLACE)
#undef PLACE
};

static bool is_memory(enum gpumon_gpuprog_patch_place place)
{
	return place == GPUMON_GPUPROG_PATCH_GLOBAL || place == GPUMON_GPUPROG_PATCH_SHARED ||
	       place == GPUMON_GPUPROG_PATCH_LOCAL || place == GPUMON_GPUPROG_PATCH_ASYNC ||
	       place == GPUMON_GPUPROG_PATCH_REMOTE;
}

/* Whether programs of this point run at this place. */
static bool takes(enum gpumon_gpuprog_patch_place place, enum gpumon_gpuprog_point point)
{
	switch (point) {
	case GPUMON_GPUPROG_ENTRY:
		return place == GPUMON_GPUPROG_PATCH_BLOCK_ENTER;
	case GPUMON_GPUPROG_EXIT:
		return place == GPUMON_GPUPROG_PATCH_BLOCK_EXIT;
	case GPUMON_GPUPROG_MEMORY:
	case GPUMON_GPUPROG_ATOMIC:
		return is_memory(place);
	case GPUMON_GPUPROG_BARRIER:
		return place == GPUMON_GPUPROG_PATCH_BARRIER;
	default:
		return false;
	}
}

/* The address, and so on, that programs see. */
static void write_context(FILE *out, enum gpumon_gpuprog_patch_place place)
{
	bool memory = is_memory(place);
	bool shared = place == GPUMON_GPUPROG_PATCH_SHARED || place == GPUMON_GPUPROG_PATCH_REMOTE;
	uint32_t space = shared				     ? GPUMON_GPUPROG_SHARED :
			 place == GPUMON_GPUPROG_PATCH_LOCAL ? GPUMON_GPUPROG_LOCAL :
							       0;

	if (!memory && place != GPUMON_GPUPROG_PATCH_BARRIER)
		return;
	fputs("\t.reg .b64 %gpumon_address, %gpumon_line;\n"
	      "\t.reg .b32 %gpumon_size, %gpumon_flags, %gpumon_both;\n"
	      "\t.reg .pred %gpumon_plain;\n"
	      "\tmov.b64 %gpumon_line, 0;\n",
	      out);
	if (!memory) {
		fputs("\tld.param.b32 %gpumon_size, [gpumon_barrier];\n"
		      "\tcvt.u64.u32 %gpumon_address, %gpumon_size;\n"
		      "\tld.param.b32 %gpumon_size, [gpumon_threads];\n"
		      "\tmov.b32 %gpumon_flags, 0;\n",
		      out);
		return;
	}
	if (place == GPUMON_GPUPROG_PATCH_ASYNC) {
		fprintf(out,
			"\tld.param.b64 %%gpumon_address, [gpumon_pointer];\n"
			"\tld.param.b32 %%gpumon_size, [gpumon_bytes];\n"
			"\tmov.b32 %%gpumon_flags, %u;\n"
			"\tsetp.ne.u32 %%gpumon_plain, %%gpumon_flags, 0;\n",
			GPUMON_GPUPROG_READ | GPUMON_GPUPROG_ASYNC);
		return;
	}
	fprintf(out,
		"\tld.param.b32 %%gpumon_flags, [gpumon_how];\n"
		"\tand.b32 %%gpumon_both, %%gpumon_flags, %u;\n"
		"\tsetp.ne.u32 %%gpumon_skip, %%gpumon_both, 0;\n"
		"\t@%%gpumon_skip bra gpumon_end;\n"
		"\tld.param.b64 %%gpumon_address, [gpumon_pointer];\n"
		"\tld.param.b32 %%gpumon_size, [gpumon_bytes];\n"
		"\tand.b32 %%gpumon_both, %%gpumon_flags, %u;\n"
		"\tsetp.ne.u32 %%gpumon_plain, %%gpumon_both, %u;\n"
		"\tor.b32 %%gpumon_flags, %%gpumon_both, %u;\n",
		PREFETCH, READS_AND_WRITES, READS_AND_WRITES, space);
}

/* Number of the block, rows of the grid first: as gpumon_block(). */
static void write_sample(FILE *out, uint32_t sample)
{
	if (sample < 2)
		return;
	fprintf(out,
		"\t.reg .b32 %%gpumon_block, %%gpumon_axis, %%gpumon_blocks;\n"
		"\tmov.u32 %%gpumon_block, %%ctaid.z;\n"
		"\tmov.u32 %%gpumon_blocks, %%nctaid.y;\n"
		"\tmov.u32 %%gpumon_axis, %%ctaid.y;\n"
		"\tmad.lo.u32 %%gpumon_block, %%gpumon_block, %%gpumon_blocks, %%gpumon_axis;\n"
		"\tmov.u32 %%gpumon_blocks, %%nctaid.x;\n"
		"\tmov.u32 %%gpumon_axis, %%ctaid.x;\n"
		"\tmad.lo.u32 %%gpumon_block, %%gpumon_block, %%gpumon_blocks, %%gpumon_axis;\n"
		"\trem.u32 %%gpumon_block, %%gpumon_block, %" PRIu32 ";\n"
		"\tsetp.ne.u32 %%gpumon_skip, %%gpumon_block, 0;\n"
		"\t@%%gpumon_skip bra gpumon_end;\n",
		sample);
}

/* Go on only in a kernel with one of these programs, a bit each. */
static void write_skip(FILE *out, uint32_t programs, const char *label)
{
	fprintf(out,
		"\tand.b32 %%gpumon_runs, %%gpumon_programs, %u;\n"
		"\tsetp.eq.u32 %%gpumon_skip, %%gpumon_runs, 0;\n"
		"\t@%%gpumon_skip bra %s;\n",
		programs, label);
}

static int write_program(const struct gpumon_gpuprog_patch *patch, uint32_t program, FILE *out,
			 struct gpumon_error *err)
{
	const struct gpumon_gpuprog *is = &patch->object->programs[program];
	struct gpumon_gpuprog_target target = patch->target;
	char over[32];

	target.patch = true;
	snprintf(over, sizeof(over), "gpumon_over_%" PRIu32, program);
	write_skip(out, 1u << program, over);
	if (is->point == GPUMON_GPUPROG_ATOMIC)
		fprintf(out, "\t@%%gpumon_plain bra %s;\n", over);
	if (gpumon_gpuprog_translate(is, patch->facts[program], &target, out, err))
		return -1;
	fprintf(out, "%s:\n", over);
	return 0;
}

/* Programs that keep something, a bit each: threads of their kernels take a place at their begin. */
static uint32_t takers_at(const struct gpumon_gpuprog_patch *patch,
			  enum gpumon_gpuprog_patch_place place)
{
	uint32_t programs = 0;

	if (place != GPUMON_GPUPROG_PATCH_BLOCK_ENTER)
		return 0;
	for (uint32_t i = 0; i < patch->object->programs_n; i++)
		if (patch->facts[i] && gpumon_gpuprog_keeps(&patch->object->programs[i]))
			programs |= 1u << i;
	return programs;
}

static void write_taking(const struct gpumon_gpuprog_patch *patch, uint32_t programs, FILE *out)
{
	struct gpumon_gpuprog_target target = patch->target;

	target.patch = true;
	write_skip(out, programs, "gpumon_taken");
	gpumon_gpuprog_take_place(&target, out);
	fputs("gpumon_taken:\n", out);
}

static int write_function(const struct gpumon_gpuprog_patch *patch,
			  enum gpumon_gpuprog_patch_place place, FILE *out,
			  struct gpumon_error *err)
{
	uint32_t takers = takers_at(patch, place);

	fprintf(out,
		".visible .func (.param .b32 gpumon_result) %s(.param .b64 gpumon_data, .param .b64 gpumon_pc%s)\n"
		"{\n"
		"\t.reg .b64 %s;\n"
		"\t.reg .b32 %s, %%gpumon_programs, %%gpumon_runs;\n"
		"\t.reg .pred %%gpumon_skip;\n"
		"\tld.param.b64 %s, [gpumon_data];\n"
		"\tsetp.eq.u64 %%gpumon_skip, %s, 0;\n"
		"\t@%%gpumon_skip bra gpumon_end;\n",
		places[place].function, places[place].parameters, GPUMON_GPUPROG_TABLE_REG,
		GPUMON_GPUPROG_KERNEL_REG, GPUMON_GPUPROG_TABLE_REG, GPUMON_GPUPROG_TABLE_REG);
	write_sample(out, patch->sample);
	fprintf(out,
		"\tld.global.u32 %s, [%s+%zu];\n"
		"\tld.global.u32 %%gpumon_programs, [%s+%zu];\n"
		"\tadd.s64 %s, %s, %zu;\n",
		GPUMON_GPUPROG_KERNEL_REG, GPUMON_GPUPROG_TABLE_REG,
		offsetof(struct gpumon_wire_patch_data, kernel), GPUMON_GPUPROG_TABLE_REG,
		offsetof(struct gpumon_wire_patch_data, programs), GPUMON_GPUPROG_TABLE_REG,
		GPUMON_GPUPROG_TABLE_REG, sizeof(struct gpumon_wire_patch_data));
	write_context(out, place);
	if (takers)
		write_taking(patch, takers, out);
	for (uint32_t i = 0; i < patch->object->programs_n; i++)
		if (patch->facts[i] && takes(place, patch->object->programs[i].point) &&
		    write_program(patch, i, out, err))
			return -1;
	fputs("gpumon_end:\n"
	      "\tst.param.b32 [gpumon_result], 0;\n"
	      "\tret;\n"
	      "}\n",
	      out);
	return 0;
}

/* Refuses programs at points that machine code does not have. */
static int check_points(const struct gpumon_gpuprog_patch *patch, struct gpumon_error *err)
{
	for (uint32_t i = 0; i < patch->object->programs_n; i++) {
		const struct gpumon_gpuprog *is = &patch->object->programs[i];

		if (patch->facts[i] && (is->point == GPUMON_GPUPROG_FUNCTION_ENTRY ||
					is->point == GPUMON_GPUPROG_FUNCTION_EXIT))
			return gpumon_error_set(
				err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"%.60s: %.80s: machine code has no places for device functions, which are "
				"often inlined in it: use gpu/entry or gpu/exit, or a kernel with PTX",
				is->name, is->section);
	}
	return 0;
}

int gpumon_gpuprog_patch_write(const struct gpumon_gpuprog_patch *patch, FILE *out,
			       uint32_t *written, struct gpumon_error *err)
{
	*written = 0;
	if (check_points(patch, err))
		return -1;
	fprintf(out, ".version %u.%u\n.target sm_%u\n.address_size 64\n", patch->target.isa / 10,
		patch->target.isa % 10, patch->target.sm);
	for (int place = 0; place < GPUMON_GPUPROG_PATCH_PLACES_N; place++) {
		bool any = takers_at(patch, (enum gpumon_gpuprog_patch_place)place);

		for (uint32_t i = 0; i < patch->object->programs_n; i++)
			any |= patch->facts[i] && takes((enum gpumon_gpuprog_patch_place)place,
							patch->object->programs[i].point);
		if (!any)
			continue;
		if (write_function(patch, (enum gpumon_gpuprog_patch_place)place, out, err))
			return -1;
		*written |= 1u << place;
	}
	return 0;
}
