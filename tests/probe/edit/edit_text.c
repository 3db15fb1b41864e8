// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * edit_text TEXT OUT POINTS [NAME...]: puts blocks into a PTX text, into all kernels and functions,
 * or those with these names. POINTS are letters: n entry, x exit, m memory, a atomic, b barrier,
 * N and X of functions, k: keep values, e: the blocks are empty, s: all kernels have the same ones, c: so,
 * and the text is compact, f: nothing is put into functions that kernels call. Otherwise each block counts in a
 * word of its own. Prints what the editor found as JSON.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "gpuprog/ptx/edit.h"
#include "gpuprog/ptx/translate.h"

/* A word for each kernel and kind of point. */
#define KERNELS 64

static const char kinds[GPUMON_GPUPROG_POINTS + 1] = "nxmabNX";

struct edit_text {
	const char *points;
	char **names;
	int names_n;
	struct gpumon_edit_plan **plans;
	size_t plans_n;
	char *same[GPUMON_GPUPROG_POINTS]; /* blocks that all have, with "s" and "c" */
	size_t functions_n;		   /* that get blocks */
	struct gpumon_edit_counts counts;
	struct gpumon_edit_line *lines;
	size_t lines_n;
};

static void fail(const char *what)
{
	fprintf(stderr, "edit_text: %s\n", what);
	exit(1);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;

	*size = 0;
	if (!file)
		fail(strerror(errno));
	do {
		text = realloc(text, *size + (1 << 20));
		if (!text)
			fail("no memory");
		*size += fread(text + *size, 1, 1 << 20, file);
	} while (!feof(file) && !ferror(file));
	fclose(file);
	/* The exact size, so that a sanitizer notices a look behind it. */
	return realloc(text, *size ? *size : 1);
}

/* Counts the point, and the values of its context, so that none can be left out. */
static char *make_block(const struct edit_text *text, enum gpumon_gpuprog_point point,
			uint32_t number)
{
	bool context = point == GPUMON_GPUPROG_MEMORY || point == GPUMON_GPUPROG_ATOMIC ||
		       point == GPUMON_GPUPROG_BARRIER;
	uint32_t word = 8 * (2 * (number % KERNELS) * GPUMON_GPUPROG_POINTS + 2 * (uint32_t)point);
	bool keep = strchr(text->points, 'k');
	char *block = NULL;
	size_t size;
	FILE *out = open_memstream(&block, &size);

	if (!out)
		fail("no memory");
	fprintf(out, "{\n");
	if (!strchr(text->points, 'e')) {
		fprintf(out,
			".reg .b64 %%at, %%sum, %%more;\n"
			".reg .pred %%p1;\n"
			"ld.const.u64 %%at, [" GPUMON_GPUPROG_TABLE "];\n"
			"setp.eq.u64 %%p1, %%at, 0;\n"
			"@%%p1 bra L1;\n"
			"cvt.u64.u32 %%sum, %s;\n",
			GPUMON_GPUPROG_KERNEL_REG);
		if (context)
			fprintf(out, "add.u64 %%sum, %%sum, %%gpumon_address;\n"
				     "add.u64 %%sum, %%sum, %%gpumon_line;\n"
				     "cvt.u64.u32 %%more, %%gpumon_size;\n"
				     "add.u64 %%sum, %%sum, %%more;\n"
				     "cvt.u64.u32 %%more, %%gpumon_flags;\n"
				     "add.u64 %%sum, %%sum, %%more;\n");
		if (keep)
			fprintf(out,
				"add.u64 %s1, %s1, %%sum;\n"
				"add.u64 %%sum, %%sum, %s1;\n",
				GPUMON_GPUPROG_KEPT_REG, GPUMON_GPUPROG_KEPT_REG,
				GPUMON_GPUPROG_KEPT_REG);
		fprintf(out,
			"red.global.add.u64 [%%at+%u], 1;\n"
			"red.global.add.u64 [%%at+%u], %%sum;\n"
			"L1:\n",
			word, word + 8);
	}
	fprintf(out, "}\n");
	if (fclose(out))
		fail("no memory");
	return block;
}

static const char *find_block(struct edit_text *text, enum gpumon_gpuprog_point point)
{
	if (!strpbrk(text->points, "sc"))
		return make_block(text, point, (uint32_t)text->plans_n);
	if (!text->same[point])
		text->same[point] = make_block(text, point, 0);
	return text->same[point];
}

static bool is_named(const struct edit_text *text, const struct gpumon_edit_function *function)
{
	for (int i = 0; i < text->names_n; i++)
		if (strlen(text->names[i]) == function->size &&
		    !memcmp(text->names[i], function->name, function->size))
			return true;
	return !text->names_n;
}

static const struct gpumon_edit_plan *plan_for(void *data,
					       const struct gpumon_edit_function *function)
{
	struct edit_text *text = data;
	struct gpumon_edit_plan *plan, **to;
	bool wanted = false;

	if (!is_named(text, function))
		return NULL;
	plan = calloc(1, sizeof(*plan));
	to = GPUMON_GROW(text->plans, text->plans_n);
	if (!plan || !to)
		fail("no memory");
	*to = plan;
	plan->number = (uint32_t)text->plans_n;
	plan->counts = &text->counts;
	plan->keeps = strchr(text->points, 'k');
	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++) {
		bool of_function = i >= GPUMON_GPUPROG_FUNCTION_ENTRY;

		if (!kinds[i] || !strchr(text->points, kinds[i]) || of_function == function->kernel)
			continue;
		plan->blocks[i] = find_block(text, (enum gpumon_gpuprog_point)i);
		wanted = true;
	}
	text->functions_n += wanted;
	return wanted ? plan : NULL;
}

static uint64_t number_line(void *data, const struct gpumon_edit_line *line)
{
	struct edit_text *text = data;
	struct gpumon_edit_line *to;

	for (size_t i = 0; i < text->lines_n; i++)
		if (text->lines[i].kernel == line->kernel && text->lines[i].line == line->line &&
		    text->lines[i].file == line->file)
			return i + 1;
	to = GPUMON_GROW(text->lines, text->lines_n);
	if (to)
		*to = *line;
	return to ? text->lines_n : 0;
}

/* The functions of a changed text that are copies for a kernel. */
static size_t count_copies(const char *path)
{
	struct gpumon_edit_module module;
	struct gpumon_error err;
	size_t size, n = 0;
	char *data = read_file(path, &size);

	if (gpumon_edit_open(data, size, &module, &err))
		fail(err.message);
	for (size_t i = 0; i < module.functions_n; i++)
		n += memmem(module.functions[i].name, module.functions[i].size, "__gpumon_", 9) !=
		     NULL;
	gpumon_edit_close(&module);
	free(data);
	return n;
}

static void print_report(const struct gpumon_edit_module *module, const struct edit_text *text,
			 size_t copies)
{
	printf("{\"isa\": %u, \"sm\": %u, \"functions\": %zu, \"copies\": %zu, \"points\": {",
	       module->isa, module->sm, text->functions_n, copies);
	for (int i = 0; kinds[i]; i++)
		printf("%s\"%c\": %llu", i ? ", " : "", kinds[i],
		       (unsigned long long)text->counts.points[i]);
	printf("}, \"left\": {");
	for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++)
		printf("%s\"%s\": %llu", i ? ", " : "",
		       gpumon_edit_cause_text((enum gpumon_edit_cause)i),
		       (unsigned long long)text->counts.left[i]);
	printf("}, \"lines\": [");
	for (size_t i = 0; i < text->lines_n; i++)
		printf("%s[%u, \"%.*s\", %u]", i ? ", " : "", text->lines[i].kernel,
		       (int)text->lines[i].file_size, text->lines[i].file, text->lines[i].line);
	printf("], \"names\": [");
	for (size_t i = 0; i < module->functions_n; i++)
		printf("%s\"%.*s\"", i ? ", " : "", (int)module->functions[i].size,
		       module->functions[i].name);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct edit_text text = { .points = argc > 3 ? argv[3] : "" };
	struct gpumon_edit_request request = { .plan = plan_for,
					       .line = number_line,
					       .data = &text };
	struct gpumon_edit_module module;
	struct gpumon_error err;
	size_t size;
	char *data;
	FILE *out;

	if (argc < 4)
		fail("TEXT OUT POINTS [NAME...]");
	data = read_file(argv[1], &size);
	out = fopen(argv[2], "wb");
	if (!out)
		fail(strerror(errno));
	text.names = argv + 4;
	text.names_n = argc - 4;
	request.compact = strchr(text.points, 'c');
	request.no_functions = strchr(text.points, 'f');
	if (!strchr(text.points, 'e'))
		request.table = ".visible .const .align 8 .b64 " GPUMON_GPUPROG_TABLE "[1];";
	if (gpumon_edit_open(data, size, &module, &err))
		fail(err.message);
	if (gpumon_edit_write(&module, &request, out, &err))
		fail(err.message);
	print_report(&module, &text, count_copies(argv[2]));
	gpumon_edit_close(&module);
	for (size_t i = 0; i < text.plans_n; i++) {
		for (int j = 0; j < GPUMON_GPUPROG_POINTS && !strpbrk(text.points, "sc"); j++)
			free((char *)text.plans[i]->blocks[j]);
		free(text.plans[i]);
	}
	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++)
		free(text.same[i]);
	free(text.plans);
	free(text.lines);
	free(data);
	return fclose(out) ? 1 : 0;
}
