/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Being CUPTI's subscriber. It has one at a time. */
#ifndef GPUMON_INJECT_SUBSCRIBE_H
#define GPUMON_INJECT_SUBSCRIBE_H

#include "hooks/call.h"
#include "library.h"
#include "write/thread.h"

/* What functions of CUDA do besides what hooks/call.h has. */
#define INJECT_CLASS_PROFILER_ON   256u
#define INJECT_CLASS_PROFILER_OFF  512u
#define INJECT_CLASS_CAPTURE_BEGIN 1024u
#define INJECT_CLASS_CAPTURE_END   2048u
/* Work that was launched before has ended when it returns. */
#define INJECT_CLASS_WAITS	   4096u

/* By domain (driver 0, runtime 1) and callback id. */
extern uint16_t inject_class[2][INJECT_FUNCTIONS] INJECT_HIDDEN;

/**
 * inject_subscribe - become the subscriber: the first call of CUPTI
 * @why: set to a text where that is not possible; valid until the next call
 *
 * Return: true if inject_cupti is ready.
 */
bool inject_subscribe(const char **why);

/**
 * inject_subscribe_configure - what has to be set once for this process
 * @thread: caller
 * @at_start: CUDA is being initialised
 *
 * Return: false where CUPTI takes no buffers, without which it records nothing.
 */
bool inject_subscribe_configure(struct inject_thread *thread, bool at_start);

/* Callbacks and kinds of records that are on for a whole session, also outside of its window. */
void inject_subscribe_always(struct inject_thread *thread, bool at_start);

/* The window's kinds of records. */
void inject_subscribe_kinds(struct inject_thread *thread, bool on);

/* The callbacks of the window's functions: they are on before the kinds, and off after them. */
void inject_subscribe_calls(struct inject_thread *thread, bool on);

/* Switches unified memory on, which needs a context: called when one was made. */
void inject_subscribe_unified_memory(struct inject_thread *thread);

/* Another subscriber had CUPTI, and may have set a clock of its own. */
void inject_subscribe_clock_lost(void);

/* The program has set another clock while gpumon has CUPTI. */
void inject_subscribe_clock_again(void);

/*
 * @program_goes_on: from then on CUPTI costs it nothing, where that is possible (detach.h). With a guest,
 * only the recording lets go of CUPTI.
 */
void inject_unsubscribe(bool program_goes_on);

/* For a recording. */
bool inject_subscribed(void);

/* In a child after fork. */
void inject_subscribe_forked(void);

#endif /* GPUMON_INJECT_SUBSCRIBE_H */
