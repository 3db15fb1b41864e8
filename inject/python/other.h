/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions of CPython in the stack of another thread, which is blocked. */
#ifndef GPUMON_INJECT_PYTHON_OTHER_H
#define GPUMON_INJECT_PYTHON_OTHER_H

#include "stack.h"
#include "stack/other.h"

struct inject_python_other;

/* Memory for the thread that reads. NULL where there is none. */
struct inject_python_other *inject_python_other_new(void);

/**
 * inject_python_other_read - the functions of Python of a thread whose stack was just walked
 * @python: memory
 * @stack: that has walked
 * @tid: of the thread
 * @view: what the walk found
 * @generation: of ids
 *
 * Nothing of the interpreter is called on the thread's objects: names and lines are taken from copies of them.
 */
void inject_python_other_read(struct inject_python_other *python, struct inject_stack_other *stack,
			      uint32_t tid, const struct inject_stack_view *view,
			      uint32_t generation);

/**
 * inject_python_other_merge - put them into the stack
 * @python: what was read of a thread that has not run meanwhile
 * @view: of that thread; as of inject_python_stack() then, valid until the next read
 * @intern: gives ids
 */
void inject_python_other_merge(struct inject_python_other *python, struct inject_stack_view *view,
			       const struct inject_python_intern *intern);

#endif /* GPUMON_INJECT_PYTHON_OTHER_H */
