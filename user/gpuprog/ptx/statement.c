// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "statement.h"

bool gpumon_ptx_has_modifier(const struct gpumon_ptx_statement *statement, const char *modifier)
{
	for (uint32_t i = 0; i < statement->modifiers_n; i++)
		if (gpumon_ptx_same(statement->modifiers[i], modifier))
			return true;
	return false;
}

/* The whole statement ends with the last token. */
static void extend(struct gpumon_ptx_statement *statement, const struct gpumon_ptx_lexer *lexer)
{
	statement->whole.size = (size_t)(lexer->token.at + lexer->token.size - statement->whole.at);
}

static int unexpected(const struct gpumon_ptx_lexer *lexer, const char *wanted,
		      struct gpumon_error *err)
{
	if (lexer->kind == GPUMON_PTX_END)
		return GPUMON_PTX_REFUSE(err, lexer->token_line, "the text ends before %s", wanted);
	return GPUMON_PTX_REFUSE(err, lexer->token_line, "\"%.*s\" instead of %s",
				 (int)(lexer->token.size < 80 ? lexer->token.size : 80),
				 lexer->token.at, wanted);
}

/* Cut ".global.u32" at its dots, from after the operation's name. */
static int add_modifiers(struct gpumon_ptx_statement *statement, struct gpumon_ptx_slice text,
			 struct gpumon_error *err)
{
	while (text.size) {
		const char *dot = memchr(text.at + 1, '.', text.size - 1);
		size_t size = dot ? (size_t)(dot - text.at) : text.size;

		if (statement->modifiers_n == GPUMON_PTX_MODIFIERS)
			return GPUMON_PTX_REFUSE(err, statement->line,
						 "more than %d modifiers of one instruction",
						 GPUMON_PTX_MODIFIERS);
		statement->modifiers[statement->modifiers_n++] =
			(struct gpumon_ptx_slice){ text.at + 1, size - 1 };
		text.at += size;
		text.size -= size;
	}
	return 0;
}

/* Read up to the semicolon. A comma outside of brackets separates operands. */
static int read_operands(struct gpumon_ptx_lexer *lexer, struct gpumon_ptx_statement *statement,
			 struct gpumon_error *err)
{
	struct gpumon_ptx_slice operand = { NULL, 0 };
	unsigned int depth = 0;

	for (;;) {
		bool sign = lexer->kind == GPUMON_PTX_SIGN;
		char c = sign ? *lexer->token.at : 0;

		if (lexer->kind == GPUMON_PTX_END)
			return unexpected(lexer, "a semicolon", err);
		if (!depth && (c == ',' || c == ';')) {
			if (operand.at && statement->operands_n < GPUMON_PTX_OPERANDS)
				statement->operands[statement->operands_n++] = operand;
			operand.at = NULL;
			if (c == ';')
				break;
		} else {
			if (c == ';')
				return unexpected(lexer, "a closing bracket", err);
			if (c && strchr("([{", c))
				depth++;
			if (c && strchr(")]}", c)) {
				if (!depth)
					return unexpected(lexer, "a semicolon", err);
				depth--;
			}
			if (!operand.at)
				operand.at = lexer->token.at;
			operand.size = (size_t)(lexer->token.at + lexer->token.size - operand.at);
		}
		if (gpumon_ptx_next(lexer, err))
			return -1;
	}
	extend(statement, lexer);
	return gpumon_ptx_next(lexer, err);
}

static int read_number(struct gpumon_ptx_lexer *lexer, struct gpumon_ptx_statement *statement,
		       uint32_t *number, struct gpumon_error *err)
{
	if (lexer->kind != GPUMON_PTX_NUMBER || !gpumon_ptx_number(lexer->token, number))
		return unexpected(lexer, "a number", err);
	extend(statement, lexer);
	return gpumon_ptx_next(lexer, err);
}

/* .loc FILE LINE COLUMN[, function_name LABEL[+NUMBER], inlined_at FILE LINE COLUMN] */
static int read_loc(struct gpumon_ptx_lexer *lexer, struct gpumon_ptx_statement *statement,
		    struct gpumon_error *err)
{
	uint32_t other;

	statement->kind = GPUMON_PTX_LOC;
	if (read_number(lexer, statement, &statement->file, err) ||
	    read_number(lexer, statement, &statement->source_line, err) ||
	    read_number(lexer, statement, &other, err))
		return -1;
	while (gpumon_ptx_is_sign(lexer, ',')) {
		if (gpumon_ptx_next(lexer, err))
			return -1;
		if (gpumon_ptx_is_word(lexer, "inlined_at")) {
			if (gpumon_ptx_next(lexer, err) ||
			    read_number(lexer, statement, &other, err) ||
			    read_number(lexer, statement, &other, err) ||
			    read_number(lexer, statement, &other, err))
				return -1;
			continue;
		}
		if (!gpumon_ptx_is_word(lexer, "function_name"))
			return unexpected(lexer, "function_name or inlined_at", err);
		if (gpumon_ptx_next(lexer, err))
			return -1;
		if (lexer->kind != GPUMON_PTX_WORD)
			return unexpected(lexer, "a name", err);
		extend(statement, lexer);
		if (gpumon_ptx_next(lexer, err))
			return -1;
		if (!gpumon_ptx_is_sign(lexer, '+'))
			continue;
		if (gpumon_ptx_next(lexer, err) || read_number(lexer, statement, &other, err))
			return -1;
	}
	return 0;
}

/* @p or @!p */
static int read_predicate(struct gpumon_ptx_lexer *lexer, struct gpumon_ptx_statement *statement,
			  struct gpumon_error *err)
{
	if (gpumon_ptx_next(lexer, err))
		return -1;
	if (gpumon_ptx_is_sign(lexer, '!')) {
		statement->negated = true;
		if (gpumon_ptx_next(lexer, err))
			return -1;
	}
	if (lexer->kind != GPUMON_PTX_WORD)
		return unexpected(lexer, "a predicate", err);
	statement->predicate = lexer->token;
	if (gpumon_ptx_next(lexer, err))
		return -1;
	if (lexer->kind != GPUMON_PTX_WORD || *lexer->token.at == '.')
		return unexpected(lexer, "an instruction", err);
	return 0;
}

static int read_instruction(struct gpumon_ptx_lexer *lexer, struct gpumon_ptx_statement *statement,
			    struct gpumon_error *err)
{
	struct gpumon_ptx_slice word = lexer->token;
	const char *dot = memchr(word.at, '.', word.size);
	size_t size = dot ? (size_t)(dot - word.at) : word.size;

	statement->kind = GPUMON_PTX_INSTRUCTION;
	statement->name = (struct gpumon_ptx_slice){ word.at, size };
	word.at += size;
	word.size -= size;
	/* "ld .global.u32" is legal, too. */
	do {
		if (add_modifiers(statement, word, err) || gpumon_ptx_next(lexer, err))
			return -1;
		word = lexer->token;
	} while (lexer->kind == GPUMON_PTX_WORD && *word.at == '.');
	return read_operands(lexer, statement, err);
}

int gpumon_ptx_read_statement(struct gpumon_ptx_lexer *lexer,
			      struct gpumon_ptx_statement *statement, struct gpumon_error *err)
{
	memset(statement, 0, sizeof(*statement));
	statement->whole.at = lexer->token.at;
	statement->line = lexer->token_line;
	statement->name = lexer->token;
	extend(statement, lexer);
	if (gpumon_ptx_is_sign(lexer, '{') || gpumon_ptx_is_sign(lexer, '}')) {
		statement->kind = *lexer->token.at == '{' ? GPUMON_PTX_OPEN : GPUMON_PTX_CLOSE;
		return gpumon_ptx_next(lexer, err);
	}
	if (gpumon_ptx_is_sign(lexer, '@')) {
		if (read_predicate(lexer, statement, err))
			return -1;
		return read_instruction(lexer, statement, err);
	}
	if (lexer->kind != GPUMON_PTX_WORD)
		return unexpected(lexer, "a statement", err);
	if (*lexer->token.at == '.') {
		statement->kind = GPUMON_PTX_DIRECTIVE;
		if (gpumon_ptx_next(lexer, err))
			return -1;
		if (gpumon_ptx_same(statement->name, ".loc"))
			return read_loc(lexer, statement, err);
		return read_operands(lexer, statement, err);
	}
	/* It is a label if a colon follows, which is an instruction's second token never. */
	{
		struct gpumon_ptx_lexer ahead = *lexer;

		if (gpumon_ptx_next(&ahead, err))
			return -1;
		if (!gpumon_ptx_is_sign(&ahead, ':'))
			return read_instruction(lexer, statement, err);
		*lexer = ahead;
	}
	statement->kind = GPUMON_PTX_LABEL;
	extend(statement, lexer);
	return gpumon_ptx_next(lexer, err);
}
