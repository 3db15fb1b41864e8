/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Cuts PTX into tokens, looking at each byte once, and reads the body of a function a statement at a time. */
#ifndef GPUMON_GPUPROG_PTX_STATEMENT_H
#define GPUMON_GPUPROG_PTX_STATEMENT_H

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

#define GPUMON_PTX_MODIFIERS 24 /* of one instruction; the longest in use has 16 */
#define GPUMON_PTX_OPERANDS  8	/* that are kept: no instruction of interest has more */

enum gpumon_ptx_statement_kind {
	GPUMON_PTX_LABEL,
	GPUMON_PTX_OPEN,  /* { */
	GPUMON_PTX_CLOSE, /* } */
	GPUMON_PTX_DIRECTIVE,
	GPUMON_PTX_LOC, /* place in the source */
	GPUMON_PTX_INSTRUCTION,
};

/**
 * struct gpumon_ptx_statement - one statement
 * @kind: what it is
 * @whole: all of it, from its predicate to its semicolon
 * @line: line of the PTX
 * @predicate: register that lets the instruction run, or empty
 * @negated: if it is false
 * @name: name of the directive with its dot, the operation, or the label
 * @modifiers: without dots
 * @modifiers_n: how many
 * @operands: what commas separate
 * @operands_n: how many are kept
 * @file: of LOC
 * @source_line: of LOC
 */
struct gpumon_ptx_statement {
	enum gpumon_ptx_statement_kind kind;
	struct gpumon_ptx_slice whole;
	uint32_t line;
	struct gpumon_ptx_slice predicate;
	bool negated;
	struct gpumon_ptx_slice name;
	struct gpumon_ptx_slice modifiers[GPUMON_PTX_MODIFIERS];
	uint32_t modifiers_n;
	struct gpumon_ptx_slice operands[GPUMON_PTX_OPERANDS];
	uint32_t operands_n;
	uint32_t file;
	uint32_t source_line;
};

/**
 * gpumon_ptx_read_statement - read a statement
 * @lexer: its last token is the first one of the statement; afterwards the first one of the next
 * @statement: out
 * @err: what is wrong, with its line
 *
 * Return: 0, or -1 with @err, also at the end of the text.
 */
int gpumon_ptx_read_statement(struct gpumon_ptx_lexer *lexer,
			      struct gpumon_ptx_statement *statement, struct gpumon_error *err);

bool gpumon_ptx_has_modifier(const struct gpumon_ptx_statement *statement, const char *modifier);

#endif /* GPUMON_GPUPROG_PTX_STATEMENT_H */
