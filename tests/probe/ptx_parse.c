// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* A label, and where it is. */
struct label {
	char name[16];
	uint32_t place;
};

struct parser {
	const char *at;
	uint32_t line;
	struct ptx_block *block;
	struct label *labels;
	uint32_t labels_n;
	char *error;
};

static const char *const specials[PTX_SPECIALS] = {
	"%tid.x",	   "%tid.y",	    "%tid.z",	     "%ntid.x",	      "%ntid.y",
	"%ntid.z",	   "%ctaid.x",	    "%ctaid.y",	     "%ctaid.z",      "%nctaid.x",
	"%nctaid.y",	   "%nctaid.z",	    "%smid",	     "%warpid",	      "%laneid",
	"%lanemask_lt",	   "%globaltimer",  "%clock64",	     "%gridid",	      "%gpumon_kernel",
	"%gpumon_address", "%gpumon_line",  "%gpumon_size",  "%gpumon_flags", "%gpumon_table",
	"%gpumon_kept0",   "%gpumon_kept1", "%gpumon_kept2", "%gpumon_kept3",
};

static int fail(struct parser *parser, const char *why)
{
	snprintf(parser->error, 256, "line %u: %s: %.80s", parser->line, why, parser->at);
	return -1;
}

static void blank(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at)) {
		if (*parser->at == '\n')
			parser->line++;
		parser->at++;
	}
}

static bool take(struct parser *parser, const char *text)
{
	size_t size = strlen(text);

	blank(parser);
	if (strncmp(parser->at, text, size) != 0)
		return false;
	parser->at += size;
	return true;
}

static size_t word_length(const char *at)
{
	return strspn(at, "%$_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

static bool take_register(struct parser *parser, struct ptx_operand *operand)
{
	static const char kinds[] = "dwp";
	const char *kind;

	blank(parser);
	if (strncmp(parser->at, "%g", 2) != 0)
		return false;
	kind = strchr(kinds, parser->at[2]);
	if (!kind || !isdigit((unsigned char)parser->at[3]))
		return false;
	operand->kind = PTX_WIDE + (kind - kinds);
	parser->at += 3;
	operand->reg = strtoul(parser->at, (char **)&parser->at, 10);
	return true;
}

static bool take_number(struct parser *parser, int64_t *value)
{
	char *end;

	blank(parser);
	if (!isdigit((unsigned char)*parser->at) && *parser->at != '-')
		return false;
	*value = *parser->at == '-' ? strtoll(parser->at, &end, 0) :
				      (int64_t)strtoull(parser->at, &end, 0);
	if (end == parser->at || isalnum((unsigned char)*end))
		return false;
	parser->at = end;
	return true;
}

static bool take_symbol(struct parser *parser, struct ptx_operand *operand)
{
	size_t size = word_length(parser->at);
	uint32_t i;

	for (i = 0; i < parser->block->locals_n; i++) {
		if (strlen(parser->block->locals[i].name) != size ||
		    strncmp(parser->at, parser->block->locals[i].name, size) != 0)
			continue;
		operand->kind = PTX_SYMBOL;
		operand->reg = i;
		parser->at += size;
		return true;
	}
	return false;
}

static bool take_special(struct parser *parser, struct ptx_operand *operand)
{
	size_t size = word_length(parser->at);
	uint32_t i;

	for (i = 0; i < PTX_SPECIALS; i++) {
		if (strlen(specials[i]) != size || strncmp(parser->at, specials[i], size) != 0)
			continue;
		operand->kind = PTX_SPECIAL;
		operand->reg = i;
		parser->at += size;
		return true;
	}
	return false;
}

static int parse_memory(struct parser *parser, struct ptx_operand *operand)
{
	struct ptx_operand base = { 0 };

	if (take(parser, "gpumon_probe_table"))
		base = (struct ptx_operand){ .kind = PTX_SPECIAL, .reg = PTX_SPECIALS };
	else if (take(parser, "%gpumon_table"))
		base = (struct ptx_operand){ .kind = PTX_SPECIAL, .reg = PTX_TABLE_AT };
	else if (!take_register(parser, &base) && !take_symbol(parser, &base))
		return fail(parser, "no address");
	if (base.kind != PTX_SPECIAL && base.kind != PTX_WIDE && base.kind != PTX_SYMBOL)
		return fail(parser, "an address has 64 bits");
	operand->kind = PTX_MEMORY;
	operand->base = base.kind;
	operand->reg = base.reg;
	if (take(parser, "+") && !take_number(parser, &operand->value))
		return fail(parser, "no displacement");
	return take(parser, "]") ? 0 : fail(parser, "no ]");
}

static int parse_operand(struct parser *parser, struct ptx_operand *operand)
{
	struct ptx_operand high;

	/* Of two results the second one: a predicate. */
	if (take(parser, "_|"))
		return take_register(parser, operand) && operand->kind == PTX_PREDICATE ?
			       0 :
			       fail(parser, "no predicate");
	if (take(parser, "["))
		return parse_memory(parser, operand);
	if (take(parser, "{")) {
		if (!take_register(parser, operand) || operand->kind != PTX_WORD ||
		    !take(parser, ",") || !take_register(parser, &high) || high.kind != PTX_WORD ||
		    !take(parser, "}"))
			return fail(parser, "not two registers of 32 bits");
		operand->kind = PTX_PAIR;
		operand->other = high.reg;
		return 0;
	}
	if (take_register(parser, operand) || take_special(parser, operand) ||
	    take_symbol(parser, operand))
		return 0;
	if (take_number(parser, &operand->value)) {
		operand->kind = PTX_NUMBER;
		return 0;
	}
	if (*parser->at == 'G') {
		operand->kind = PTX_LABEL;
		operand->reg = strtoul(parser->at + 1, (char **)&parser->at, 10);
		return 0;
	}
	return fail(parser, "what operand is this");
}

static int parse_guard(struct parser *parser, struct ptx_instruction *instruction)
{
	struct ptx_operand guard;

	instruction->guard = -1;
	if (!take(parser, "@"))
		return 0;
	instruction->guard_not = take(parser, "!");
	if (!take_register(parser, &guard) || guard.kind != PTX_PREDICATE)
		return fail(parser, "no predicate");
	instruction->guard = (int)guard.reg;
	return 0;
}

static int parse_instruction(struct parser *parser)
{
	struct ptx_block *block = parser->block;
	struct ptx_instruction *instruction;
	size_t size;

	if (block->code_n % 256 == 0)
		block->code = realloc(block->code, (block->code_n + 256) * sizeof(*block->code));
	instruction = &block->code[block->code_n];
	memset(instruction, 0, sizeof(*instruction));
	if (parse_guard(parser, instruction))
		return -1;
	blank(parser);
	instruction->line = parser->line;
	size = word_length(parser->at);
	if (size >= sizeof(instruction->name))
		return fail(parser, "a long word");
	memcpy(instruction->name, parser->at, size);
	instruction->op = ptx_op_find(instruction->name);
	if (!instruction->op)
		return fail(parser, "an unknown instruction");
	parser->at += size;
	while (!take(parser, ";")) {
		if (instruction->operands_n && !take(parser, ","))
			return fail(parser, "no comma");
		if (instruction->operands_n == PTX_MAX_OPERANDS)
			return fail(parser, "too many operands");
		if (parse_operand(parser, &instruction->operands[instruction->operands_n++]))
			return -1;
	}
	if (instruction->operands_n != instruction->op->operands)
		return fail(parser, "a wrong number of operands, before");
	block->code_n++;
	return 0;
}

static int parse_label(struct parser *parser)
{
	struct label *label;
	size_t size = strspn(parser->at + 1, "0123456789") + 1;
	uint32_t i;

	parser->labels = realloc(parser->labels, (parser->labels_n + 1) * sizeof(*label));
	label = &parser->labels[parser->labels_n];
	snprintf(label->name, sizeof(label->name), "%.*s", (int)size, parser->at);
	label->place = parser->block->code_n;
	for (i = 0; i < parser->labels_n; i++)
		if (strcmp(parser->labels[i].name, label->name) == 0)
			return fail(parser, "a label twice");
	parser->labels_n++;
	parser->at += size + 1;
	return 0;
}

static int parse_declaration(struct parser *parser)
{
	struct ptx_block *block = parser->block;
	struct ptx_local *local = &block->locals[block->locals_n];
	unsigned int count;
	int size = 0;

	if (sscanf(parser->at, ".reg .b64 %%gd<%u>;%n", &count, &size) == 1 && size)
		block->wides = count;
	else if (sscanf(parser->at, ".reg .b32 %%gw<%u>;%n", &count, &size) == 1 && size)
		block->words = count;
	else if (sscanf(parser->at, ".reg .pred %%gp<%u>;%n", &count, &size) == 1 && size)
		block->predicates = count;
	else if (block->locals_n < 8 &&
		 sscanf(parser->at, ".local .align 8 .b8 %23[a-z0-9][%u];%n", local->name, &count,
			&size) == 2 &&
		 size) {
		/* Memory that no other frame uses is between them. */
		local->offset = block->local_bytes + 64;
		local->size = count;
		block->local_bytes = (local->offset + count + 7) & ~7u;
		block->locals_n++;
	}
	if (!size)
		return fail(parser, "an unknown declaration");
	parser->at += size;
	return 0;
}

static int check_register(struct parser *parser, const struct ptx_operand *operand)
{
	const struct ptx_block *block = parser->block;
	bool memory = operand->kind == PTX_MEMORY && operand->base == PTX_WIDE;

	if (((operand->kind == PTX_WIDE || memory) && operand->reg >= block->wides) ||
	    ((operand->kind == PTX_WORD || operand->kind == PTX_PAIR) &&
	     (operand->reg >= block->words || operand->other >= block->words)) ||
	    (operand->kind == PTX_PREDICATE && operand->reg >= block->predicates))
		return fail(parser, "a register that is not declared");
	return 0;
}

static int resolve(struct parser *parser, struct ptx_operand *operand)
{
	char name[16];
	uint32_t i;

	if (operand->kind != PTX_LABEL)
		return check_register(parser, operand);
	snprintf(name, sizeof(name), "G%u", operand->reg);
	for (i = 0; i < parser->labels_n; i++) {
		if (strcmp(parser->labels[i].name, name) == 0) {
			operand->reg = parser->labels[i].place;
			return 0;
		}
	}
	return fail(parser, "no such label");
}

static int parse_body(struct parser *parser)
{
	uint32_t i, j;

	if (!take(parser, "{"))
		return fail(parser, "no {");
	while (!take(parser, "}")) {
		int result;

		if (*parser->at == 'G' &&
		    parser->at[strspn(parser->at + 1, "0123456789") + 1] == ':')
			result = parse_label(parser);
		else if (*parser->at == '.')
			result = parse_declaration(parser);
		else
			result = parse_instruction(parser);
		if (result)
			return -1;
	}
	blank(parser);
	if (*parser->at)
		return fail(parser, "text behind the block");
	for (i = 0; i < parser->block->code_n; i++) {
		struct ptx_instruction *instruction = &parser->block->code[i];

		parser->line = instruction->line;
		if (instruction->guard >= (int)parser->block->predicates)
			return fail(parser, "a predicate that is not declared");
		for (j = 0; j < instruction->operands_n; j++)
			if (resolve(parser, &instruction->operands[j]))
				return -1;
	}
	return 0;
}

struct ptx_block *ptx_parse(const char *text, char error[256])
{
	struct parser parser = { .at = text, .line = 1, .error = error };
	int result;

	parser.block = calloc(1, sizeof(*parser.block));
	result = parse_body(&parser);
	free(parser.labels);
	if (!result)
		return parser.block;
	ptx_free(parser.block);
	return NULL;
}

void ptx_free(struct ptx_block *block)
{
	if (block)
		free(block->code);
	free(block);
}
