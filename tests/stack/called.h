/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions that the tests' libraries and the tests call of each other. */
#ifndef GPUMON_TEST_STACK_CALLED_H
#define GPUMON_TEST_STACK_CALLED_H

/* Of the test: called when a library is loaded, and unloaded, or chooses a function. */
void from_constructor(void);

/* constructor.c */
void constructor_call(void (*function)(void));

/* frames.c */
void frame_call(void (*function)(void));

/* lazy_target.c, lazy_user.c */
int lazily_chosen(void);
int lazy_call(void);

/* Of the tests: found by their names, so not static. */
void look_here(void);
void calls_library(void (*function)(void (*)(void)));
void bottom(void);
void keeps_frame_pointer(void (*function)(void));
void keeps_none(void (*function)(void));
void enter(void *stack, void (*function)(void));

#endif /* GPUMON_TEST_STACK_CALLED_H */
