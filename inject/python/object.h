/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What objects of the interpreter say, by loads alone: for those that another thread may free meanwhile. */
#ifndef GPUMON_INJECT_PYTHON_OBJECT_H
#define GPUMON_INJECT_PYTHON_OBJECT_H

#include "layout.h"

/**
 * inject_python_text - the characters of a text, as UTF-8 with an end, whole ones only
 * @reader: loads
 * @text: address
 * @to: filled in
 * @room: bytes
 *
 * Return: bytes without the end. @reader is bad where this is no text, or one in an old form.
 */
size_t inject_python_text(struct inject_python_reader *reader, uint64_t text, char *to,
			  size_t room);

/**
 * inject_python_line - the line of an instruction, as PyCode_Addr2Line() says it
 * @reader: loads
 * @lines: address of the code object's table
 * @first_line: of the code object
 * @offset: of the instruction, in bytes
 *
 * Return: the line, 0 where there is none.
 */
uint32_t inject_python_line(struct inject_python_reader *reader, uint64_t lines,
			    uint32_t first_line, int64_t offset);

#endif /* GPUMON_INJECT_PYTHON_OBJECT_H */
