/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Cuts PTX into tokens. It looks at each byte once. */
#ifndef GPUMON_GPUPROG_PTX_LEX_H
#define GPUMON_GPUPROG_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"

/* A part of the text. */
struct gpumon_ptx_slice {
	const char *at;
	size_t size;
};

enum gpumon_ptx_kind {
	GPUMON_PTX_END,
	GPUMON_PTX_WORD,   /* name, register, directive, operation with its modifiers */
	GPUMON_PTX_NUMBER, /* also one in hexadecimal digits; never its sign */
	GPUMON_PTX_STRING, /* with its quotes */
	GPUMON_PTX_SIGN,   /* one character */
};

/**
 * struct gpumon_ptx_lexer - place in a text
 * @at: next byte
 * @end: end of the text
 * @line: line of @at, from 1
 * @kind: kind of the last token
 * @token: last token
 * @token_line: its line
 */
struct gpumon_ptx_lexer {
	const char *at;
	const char *end;
	uint32_t line;
	enum gpumon_ptx_kind kind;
	struct gpumon_ptx_slice token;
	uint32_t token_line;
};

/**
 * gpumon_ptx_next - read a token, over blanks and comments
 * @lexer: place
 * @err: what is no PTX, with its line
 *
 * Return: 0, or -1 with @err. At the end, and after it, the kind is GPUMON_PTX_END.
 */
int gpumon_ptx_next(struct gpumon_ptx_lexer *lexer, struct gpumon_error *err);

/* Report an error at a line. Returns -1. */
#define GPUMON_PTX_REFUSE(err, line, format, ...)                          \
	gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED, \
			 "PTX, line %u: " format, line, ##__VA_ARGS__)

/* Is the last token this sign, or this word? */
bool gpumon_ptx_is_sign(const struct gpumon_ptx_lexer *lexer, char sign);
bool gpumon_ptx_is_word(const struct gpumon_ptx_lexer *lexer, const char *word);

bool gpumon_ptx_same(struct gpumon_ptx_slice slice, const char *text);
bool gpumon_ptx_begins(struct gpumon_ptx_slice slice, const char *text);

/*
 * A whole number below 2^32 that is the whole slice: decimal, 0x10, 020 or 0b10000, as PTX has them, also
 * with a U behind it. Returns false if it is none.
 */
bool gpumon_ptx_number(struct gpumon_ptx_slice slice, uint32_t *number);

#endif /* GPUMON_GPUPROG_PTX_LEX_H */
