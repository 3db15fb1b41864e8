// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "statement.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
	       c == '$';
}

bool gpumon_ptx_same(struct gpumon_ptx_slice slice, const char *text)
{
	return slice.size == strlen(text) && !memcmp(slice.at, text, slice.size);
}

bool gpumon_ptx_begins(struct gpumon_ptx_slice slice, const char *text)
{
	size_t size = strlen(text);

	return slice.size >= size && !memcmp(slice.at, text, size);
}

/* 16: it is none. */
static unsigned int digit_of(char c)
{
	if (is_digit(c))
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

bool gpumon_ptx_number(struct gpumon_ptx_slice slice, uint32_t *number)
{
	uint64_t value = 0;
	unsigned int base = 10;
	size_t i = 0;

	if (slice.size > 1 && slice.at[slice.size - 1] == 'U')
		slice.size--;
	if (slice.size > 1 && *slice.at == '0') {
		char form = slice.at[1] | 0x20;

		base = form == 'x' ? 16 : form == 'b' ? 2 : 8;
		i = base == 8 ? 1 : 2;
	}
	if (i >= slice.size)
		return false;
	for (; i < slice.size; i++) {
		unsigned int digit = digit_of(slice.at[i]);

		if (digit >= base)
			return false;
		value = value * base + digit;
		if (value > UINT32_MAX)
			return false;
	}
	*number = (uint32_t)value;
	return true;
}

bool gpumon_ptx_is_sign(const struct gpumon_ptx_lexer *lexer, char sign)
{
	return lexer->kind == GPUMON_PTX_SIGN && *lexer->token.at == sign;
}

bool gpumon_ptx_is_word(const struct gpumon_ptx_lexer *lexer, const char *word)
{
	return lexer->kind == GPUMON_PTX_WORD && gpumon_ptx_same(lexer->token, word);
}

/* Go to the end of a comment, whose first two characters are at @at. */
static int skip_comment(struct gpumon_ptx_lexer *lexer, struct gpumon_error *err)
{
	const char *end;
	uint32_t line = lexer->line;

	if (lexer->at[1] == '/') {
		end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
		lexer->at = end ? end : lexer->end;
		return 0;
	}
	for (end = lexer->at + 2; lexer->end - end >= 2; end++) {
		if (end[0] == '*' && end[1] == '/') {
			lexer->at = end + 2;
			return 0;
		}
		if (*end == '\n')
			lexer->line++;
	}
	return GPUMON_PTX_REFUSE(err, line, "this comment has no end");
}

static int skip_blanks(struct gpumon_ptx_lexer *lexer, struct gpumon_error *err)
{
	while (lexer->at < lexer->end) {
		switch (*lexer->at) {
		case '\n':
			lexer->line++;
			/* fall through */
		case ' ':
		case '\t':
		case '\r':
		case '\f':
		case '\v':
			lexer->at++;
			break;
		case '/':
			if (lexer->end - lexer->at < 2 ||
			    (lexer->at[1] != '/' && lexer->at[1] != '*'))
				return 0;
			if (skip_comment(lexer, err))
				return -1;
			break;
		default:
			return 0;
		}
	}
	return 0;
}

/* A string ends at the next quote: as in ptxas, "\" is an ordinary character in it. */
static int read_string(struct gpumon_ptx_lexer *lexer, struct gpumon_error *err)
{
	const char *end = memchr(lexer->at, '"', (size_t)(lexer->end - lexer->at));

	if (!end)
		return GPUMON_PTX_REFUSE(err, lexer->token_line, "this string has no end");
	for (; lexer->at <= end; lexer->at++)
		lexer->line += *lexer->at == '\n';
	return 0;
}

/* "::" joins words, ":" alone ends a label. */
static void read_word(struct gpumon_ptx_lexer *lexer)
{
	for (;;) {
		while (lexer->at < lexer->end &&
		       (is_name(*lexer->at) || *lexer->at == '.' || *lexer->at == '%'))
			lexer->at++;
		if (lexer->end - lexer->at < 3 || lexer->at[0] != ':' || lexer->at[1] != ':' ||
		    !is_name(lexer->at[2]))
			return;
		lexer->at += 2;
	}
}

int gpumon_ptx_next(struct gpumon_ptx_lexer *lexer, struct gpumon_error *err)
{
	char c;

	if (skip_blanks(lexer, err))
		return -1;
	lexer->token = (struct gpumon_ptx_slice){ lexer->at, 0 };
	lexer->token_line = lexer->line;
	lexer->kind = GPUMON_PTX_END;
	if (lexer->at == lexer->end)
		return 0;
	c = *lexer->at++;
	if (is_digit(c)) {
		lexer->kind = GPUMON_PTX_NUMBER;
		while (lexer->at < lexer->end && (is_name(*lexer->at) || *lexer->at == '.'))
			lexer->at++;
	} else if (is_name(c) ||
		   ((c == '.' || c == '%') && lexer->at < lexer->end && is_name(*lexer->at))) {
		lexer->kind = GPUMON_PTX_WORD;
		read_word(lexer);
	} else if (c == '"') {
		lexer->kind = GPUMON_PTX_STRING;
		if (read_string(lexer, err))
			return -1;
	} else if (c && strchr("{}[]()<>;:,@!=+-*/|&^~?%.", c)) {
		lexer->kind = GPUMON_PTX_SIGN;
	} else if (c > ' ' && c <= '~') {
		return GPUMON_PTX_REFUSE(err, lexer->line, "\"%c\" is not expected here", c);
	} else {
		return GPUMON_PTX_REFUSE(err, lexer->line, "a byte 0x%02x is not expected here",
					 (unsigned char)c);
	}
	lexer->token.size = (size_t)(lexer->at - lexer->token.at);
	return 0;
}

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
	/* A name with a colon behind it is a label: the second token of an instruction is never a colon. */
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
