/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Stacks with the functions of CPython in them, each in the place of the C
 * function that runs it. stack.c says how that works without the interpreter's
 * lock.
 */
#ifndef GPUMON_INJECT_PYTHON_STACK_H
#define GPUMON_INJECT_PYTHON_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/walk.h"

/**
 * struct inject_python_frame - a function of Python that has called
 * @function: its qualified name ("Class.method"; the bare one before Python 3.11), UTF-8, with
 *            an end, cut at about 500 bytes
 * @function_length: bytes of it
 * @file: as Python has it, UTF-8, with an end, cut at about 1000 bytes
 * @file_length: bytes of it
 * @line: where it is, 0 where that is not known
 * @first_line: where it begins
 */
struct inject_python_frame {
	const char *function;
	size_t function_length;
	const char *file;
	size_t file_length;
	uint32_t line;
	uint32_t first_line;
};

/**
 * struct inject_python_intern - gives frames their ids
 * @frame: called for a line of a function that was not seen before, or was forgotten: gives the
 *         same id for the same frame, 0 where there is no room; in the thread that walks, with or
 *         without the interpreter's lock: must not call Python, nor wait. @is_written is set to
 *         false if it is to be called again for this line, because a record of it found no room
 * @context: for it
 * @generation: ids of another generation are forgotten
 */
struct inject_python_intern {
	uint32_t (*frame)(void *context, const struct inject_python_frame *frame, bool *is_written);
	void *context;
	uint32_t generation;
};

/**
 * inject_python_init - look for an interpreter in this process
 *
 * May be called again when one may have been loaded; takes the loader's lock as dlsym does. After
 * inject_stack_init().
 *
 * Return: there is one of a supported version; inject_python_problem() names one that is not.
 */
bool inject_python_init(void);

/**
 * inject_python_problem - why there are no functions of Python in stacks
 *
 * May appear later: the layout of a version is compared with the running interpreter when its first
 * functions are seen.
 *
 * Return: a sentence; NULL where there is no interpreter, or nothing is wrong with it.
 */
const char *inject_python_problem(void);

/**
 * inject_python_stack - as inject_stack_walk_view(), with functions of Python
 * @view: filled in, without @stack; functions of Python are GPUMON_STACK_FRAME_ID with an id of
 *        @intern, in the place of the frame of the interpreter's loop that runs them; those beyond
 *        the last frame that could be found are there nevertheless; @same is since the thread's
 *        call before
 * @room: frames at most
 * @intern: gives ids
 *
 * Return: false where nothing was found.
 */
bool inject_python_stack(struct inject_stack_view *view, unsigned int room,
			 const struct inject_python_intern *intern);

/* For tests: the calling thread's next walk uses nothing of the last one, nor of its frames of C. */
void inject_python_forget(void);

#endif /* GPUMON_INJECT_PYTHON_STACK_H */
