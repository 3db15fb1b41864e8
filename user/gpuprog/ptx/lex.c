// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "lex.h"

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
