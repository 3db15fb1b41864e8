/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads the body of a kernel or function, a statement at a time. */
#ifndef GPUMON_GPUPROG_PTX_STATEMENT_H
#define GPUMON_GPUPROG_PTX_STATEMENT_H

#include "lex.h"

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
