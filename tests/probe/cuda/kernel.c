// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define TABLE "gpumon_probe_table["

struct reader {
	char *at;
	struct kernel *kernel;
	char *why;
};

const char *const kernel_specials[PTX_SPECIALS] = {
	[PTX_TID_X] = "%tid.x",
	[PTX_TID_Y] = "%tid.y",
	[PTX_TID_Z] = "%tid.z",
	[PTX_NTID_X] = "%ntid.x",
	[PTX_NTID_Y] = "%ntid.y",
	[PTX_NTID_Z] = "%ntid.z",
	[PTX_CTAID_X] = "%ctaid.x",
	[PTX_CTAID_Y] = "%ctaid.y",
	[PTX_CTAID_Z] = "%ctaid.z",
	[PTX_NCTAID_X] = "%nctaid.x",
	[PTX_NCTAID_Y] = "%nctaid.y",
	[PTX_NCTAID_Z] = "%nctaid.z",
	[PTX_GLOBALTIMER] = "%globaltimer",
};

static bool fail(struct reader *reader, const char *why)
{
	if (!*reader->why)
		snprintf(reader->why, 256, "%s: %.60s", why, reader->at);
	return false;
}

static void blank(struct reader *reader)
{
	while (isspace((unsigned char)*reader->at))
		reader->at++;
}

static bool take(struct reader *reader, const char *text)
{
	blank(reader);
	if (strncmp(reader->at, text, strlen(text)) != 0)
		return false;
	reader->at += strlen(text);
	return true;
}

static size_t word_length(const char *at)
{
	return strspn(at, "%$_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

static bool take_word(struct reader *reader, char *word, size_t room)
{
	size_t length;

	blank(reader);
	length = word_length(reader->at);
	if (!length || length >= room)
		return fail(reader, "no word");
	memcpy(word, reader->at, length);
	word[length] = '\0';
	reader->at += length;
	return true;
}

static bool take_number(struct reader *reader, int64_t *value)
{
	char *end;

	blank(reader);
	if (*reader->at != '-' && !isdigit((unsigned char)*reader->at))
		return fail(reader, "no number");
	*value = (int64_t)(*reader->at == '-' ? (uint64_t)strtoll(reader->at, &end, 0) :
						strtoull(reader->at, &end, 0));
	reader->at = end;
	return true;
}

/* Up to the next semicolon. */
static bool skip_statement(struct reader *reader)
{
	char *end = strchr(reader->at, ';');

	if (!end)
		return fail(reader, "no semicolon");
	reader->at = end + 1;
	return true;
}

static bool find_register(struct reader *reader, const char *name, uint32_t *index)
{
	struct kernel *kernel = reader->kernel;

	for (*index = 0; *index < kernel->registers_n; ++*index)
		if (strcmp(kernel->registers[*index], name) == 0)
			return true;
	if (kernel->registers_n == REGISTERS_MAX || strlen(name) >= sizeof(kernel->registers[0]))
		return fail(reader, "too many registers");
	strcpy(kernel->registers[kernel->registers_n++], name);
	return true;
}

static bool name_operand(struct reader *reader, const char *name, struct operand *operand)
{
	const struct kernel *kernel = reader->kernel;

	for (uint32_t i = 0; i < PTX_SPECIALS; i++) {
		if (!kernel_specials[i] || strcmp(kernel_specials[i], name) != 0)
			continue;
		*operand = (struct operand){ .kind = SPECIAL, .index = i };
		return true;
	}
	for (uint32_t i = 0; i < kernel->parameters_n; i++) {
		if (strcmp(kernel->parameters[i], name) != 0)
			continue;
		*operand = (struct operand){ .kind = PARAMETER, .index = i };
		return true;
	}
	if (*name != '%')
		return fail(reader, "an unknown name");
	operand->kind = REGISTER;
	return find_register(reader, name, &operand->index);
}

static bool take_operand(struct reader *reader, struct operand *operand)
{
	bool memory = take(reader, "[");
	char name[KERNEL_NAME];

	*operand = (struct operand){ .kind = NUMBER };
	blank(reader);
	if (*reader->at == '-' || isdigit((unsigned char)*reader->at)) {
		if (!take_number(reader, &operand->value))
			return false;
	} else if (!take_word(reader, name, sizeof(name)) || !name_operand(reader, name, operand)) {
		return false;
	}
	if (memory && take(reader, "+") && !take_number(reader, &operand->offset))
		return false;
	return !memory || take(reader, "]") || fail(reader, "no ]");
}

static bool take_guard(struct reader *reader, struct step *step)
{
	char name[16];
	uint32_t index;

	step->guard = -1;
	if (!take(reader, "@"))
		return true;
	step->guard_not = take(reader, "!");
	if (!take_word(reader, name, sizeof(name)) || !find_register(reader, name, &index))
		return false;
	step->guard = (int)index;
	return true;
}

static struct step *add_step(struct reader *reader)
{
	struct kernel *kernel = reader->kernel;

	if (!kernel->steps)
		kernel->steps = calloc(STEPS_MAX, sizeof(*kernel->steps));
	if (!kernel->steps || kernel->steps_n == STEPS_MAX) {
		fail(reader, "too many instructions");
		return NULL;
	}
	return &kernel->steps[kernel->steps_n++];
}

static bool read_instruction(struct reader *reader)
{
	struct step *step = add_step(reader);

	if (!step || !take_guard(reader, step) || !take_word(reader, step->op, sizeof(step->op)))
		return false;
	while (!take(reader, ";")) {
		if (step->operands_n == OPERANDS_MAX || (step->operands_n && !take(reader, ",")) ||
		    !take_operand(reader, &step->operands[step->operands_n++]))
			return fail(reader, "a bad operand");
	}
	return true;
}

/* The block from its brace on, to behind the one that closes it. */
static bool read_block(struct reader *reader, struct step *step)
{
	char *begin = reader->at, *end = begin, kept;
	char error[256] = "";
	int depth = 0;

	do {
		depth += (*end == '{') - (*end == '}');
		if (!*end++)
			return fail(reader, "no }");
	} while (depth);
	if (step->blocks_n == BLOCKS_MAX)
		return fail(reader, "too many programs");
	kept = *end;
	*end = '\0';
	step->blocks[step->blocks_n] = ptx_parse(begin, error);
	*end = kept;
	if (!step->blocks[step->blocks_n]) {
		/* What gpumon writes is always right. */
		fprintf(stderr, "mock: a block of a program: %s\n", error);
		abort();
	}
	step->blocks_n++;
	reader->at = end;
	return true;
}

static bool is_context(struct reader *reader)
{
	return take(reader, "mov.b64 %gpumon_address,") ||
	       take(reader, "cvt.u64.u32 %gpumon_address,");
}

static bool read_context(struct reader *reader, struct step *step)
{
	int64_t size = 0, flags = 0, line = 0, offset = 0;

	step->has_context = true;
	if (!take_operand(reader, &step->address) || !take(reader, ";"))
		return fail(reader, "no address");
	if (take(reader, "add.s64 %gpumon_address, %gpumon_address,") &&
	    (!take_number(reader, &offset) || !take(reader, ";")))
		return fail(reader, "no offset");
	step->address.offset = offset;
	if (!take(reader, "mov.b32 %gpumon_size,") || !take_number(reader, &size) ||
	    !take(reader, ";") || !take(reader, "mov.b32 %gpumon_flags,") ||
	    !take_number(reader, &flags) || !take(reader, ";") ||
	    !take(reader, "mov.b64 %gpumon_line,") || !take_number(reader, &line) ||
	    !take(reader, ";"))
		return fail(reader, "no context");
	step->size = (uint32_t)size;
	step->flags = (uint32_t)flags;
	step->line = (uint64_t)line;
	return true;
}

/* "{ .reg .b32 %gpumon_kernel; ... }", as gpumon_ptx_write_point() writes it. */
static bool read_point(struct reader *reader)
{
	struct step *step = add_step(reader);
	int64_t number;

	if (!step || !take(reader, "{") || !take(reader, ".reg .b32 %gpumon_kernel;"))
		return fail(reader, "no point");
	while (take(reader, ".reg"))
		if (!skip_statement(reader))
			return false;
	if (!take_guard(reader, step))
		return false;
	if (step->guard >= 0 && !take(reader, "bra $gpumon_over;"))
		return fail(reader, "no way around");
	/* Where the predicate leads around it, the programs do not run. */
	step->guard_not = !step->guard_not;
	if (!take(reader, "mov.b32 %gpumon_kernel,") || !take_number(reader, &number) ||
	    !take(reader, ";"))
		return fail(reader, "no kernel");
	step->number = (uint32_t)number;
	if (is_context(reader) && !read_context(reader, step))
		return false;
	blank(reader);
	while (*reader->at == '{') {
		if (!read_block(reader, step))
			return false;
		blank(reader);
	}
	reader->kernel->has_programs = true;
	if (step->guard >= 0 && !take(reader, "$gpumon_over:"))
		return fail(reader, "no end of the way around");
	return take(reader, "}") || fail(reader, "no end of the point");
}

static bool read_body(struct reader *reader)
{
	while (!take(reader, "}")) {
		bool done;

		if (*reader->at == '{')
			done = read_point(reader);
		else if (*reader->at == '.' || take(reader, "call"))
			/* Functions do nothing here. */
			done = skip_statement(reader);
		else
			done = read_instruction(reader);
		if (!done)
			return false;
	}
	return true;
}

/* ".param .u64 out, .param .u32 n)" */
static bool read_parameters(struct reader *reader)
{
	struct kernel *kernel = reader->kernel;
	char type[8];

	while (!take(reader, ")")) {
		if (kernel->parameters_n == PARAMETERS_MAX ||
		    (kernel->parameters_n && !take(reader, ",")) || !take(reader, ".param") ||
		    !take_word(reader, type, sizeof(type)) ||
		    !take_word(reader, kernel->parameters[kernel->parameters_n],
			       sizeof(kernel->parameters[0])))
			return fail(reader, "a bad parameter");
		kernel->sizes[kernel->parameters_n++] = strcmp(type, ".u64") == 0 ? 8 : 4;
	}
	return true;
}

static bool read_kernel(struct reader *reader, struct kernels *kernels)
{
	if (kernels->kernels_n == KERNELS_MAX)
		return fail(reader, "too many kernels");
	reader->kernel = &kernels->kernels[kernels->kernels_n++];
	return take_word(reader, reader->kernel->name, sizeof(reader->kernel->name)) &&
	       (!take(reader, "(") || read_parameters(reader)) &&
	       (take(reader, "{") || fail(reader, "no body")) && read_body(reader);
}

/* Blanks instead. */
static void remove_comments(char *text)
{
	while ((text = strstr(text, "//")))
		while (*text && *text != '\n')
			*text++ = ' ';
}

bool kernels_read(char *text, struct kernels *kernels, char why[256])
{
	struct reader reader = { .at = text, .why = why };
	const char *table;

	memset(kernels, 0, sizeof(*kernels));
	*why = '\0';
	remove_comments(text);
	if (!take(&reader, ".version") || !strstr(text, ".target"))
		return fail(&reader, "no PTX");
	table = strstr(text, TABLE);
	if (table)
		kernels->table_n = (uint32_t)atoi(table + strlen(TABLE));
	while ((reader.at = strstr(reader.at, ".entry"))) {
		reader.at += strlen(".entry");
		if (!read_kernel(&reader, kernels))
			return false;
	}
	return true;
}

void kernels_clear(struct kernels *kernels)
{
	for (uint32_t i = 0; i < kernels->kernels_n; i++) {
		struct kernel *kernel = &kernels->kernels[i];

		for (uint32_t j = 0; j < kernel->steps_n; j++)
			for (uint32_t k = 0; k < kernel->steps[j].blocks_n; k++)
				ptx_free(kernel->steps[j].blocks[k]);
		free(kernel->steps);
	}
	memset(kernels, 0, sizeof(*kernels));
}

int kernels_find(const struct kernels *kernels, const char *name)
{
	for (uint32_t i = 0; i < kernels->kernels_n; i++)
		if (strcmp(kernels->kernels[i].name, name) == 0)
			return (int)i;
	return -1;
}
