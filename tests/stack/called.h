/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions shared by the tests and their libraries. */
#ifndef GPUMON_TEST_STACK_CALLED_H
#define GPUMON_TEST_STACK_CALLED_H

/* Defined by the test: called when a library is loaded, unloaded, or chooses a function. */
void from_constructor(void);

/* constructor.c */
void constructor_call(void (*function)(void));

/* frames.c */
void frame_call(void (*function)(void));

/* lazy_target.c, lazy_user.c */
int lazily_chosen(void);
int lazy_call(void);

/* Defined by the tests. They are found by name, so they are not static. */
void look_here(void);
void calls_library(void (*function)(void (*)(void)));
void bottom(void);
void keeps_frame_pointer(void (*function)(void));
void keeps_none(void (*function)(void));
void enter(void *stack, void (*function)(void));

#endif /* GPUMON_TEST_STACK_CALLED_H */
