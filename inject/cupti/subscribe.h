/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Being CUPTI's subscriber: the only one, or one of those that share it (generation.h). */
#ifndef GPUMON_INJECT_CUPTI_SUBSCRIBE_H
#define GPUMON_INJECT_CUPTI_SUBSCRIBE_H

#include "channel/call.h"
#include "channel/thread.h"
#include "library.h"

/* Classes of CUDA's functions, besides those of channel/call.h. */
#define INJECT_CLASS_PROFILER_ON   256u
#define INJECT_CLASS_PROFILER_OFF  512u
#define INJECT_CLASS_CAPTURE_BEGIN 1024u
#define INJECT_CLASS_CAPTURE_END   2048u
/* Work that was launched before has ended when it returns. */
#define INJECT_CLASS_ENDED 4096u

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
 * What is on for a whole session goes off. Returns whether CUPTI has records for nobody else, see
 * inject_generation_is_idle(). Before inject_unsubscribe().
 */
bool inject_subscribe_ends_alone(void);

/*
 * @program_goes_on: from then on CUPTI costs it nothing, where that is possible, see inject_detach(). With a client,
 * only the recording lets go of CUPTI.
 */
void inject_unsubscribe(bool program_goes_on);

/* For a recording. */
bool inject_subscribed(void);

/* In a child after fork. */
void inject_subscribe_forked(void);

/*
 * Leaving CUPTI. Once it has recorded kernels, launches stay slower by 17 to 34 %
 * on an H100, also without a subscriber, until cuptiFinalize() takes it out of the
 * process (tests/results/device-bench-2026-11-24.md).
 */

/**
 * inject_detach - take CUPTI out of the process
 * @subscriber: of this library, with no other callback enabled any more
 *
 * NVIDIA wants that in the exit of a call of the API, so the calling thread makes one,
 * cuDriverGetVersion(), which touches no GPU. Before CUDA 12.6 programs with graphs crash
 * afterwards. With 13.0 and driver 580 cuGraphLaunch() still does, of a graph that was launched
 * with records of its nodes, then without, and then without CUPTI. So CUPTI stays in a program in
 * which a graph was seen.
 *
 * It also stays where several threads use CUDA: nothing tells whether one of them is in a call just then.
 * On an H200 the heap of a program with eight threads was damaged in 2 of 226 recordings; in none of 417 with
 * CUPTI left in, and in none of 303 with one thread (tests/results/device-2026-12-01.md).
 *
 * Context: the library's thread, within inject_thread_enter(), all buffers given back.
 * Return: true if CUPTI is as it was before the first call of it, and @subscriber is gone.
 */
bool inject_detach(CUpti_SubscriberHandle subscriber);

/* A call returns in a thread that is within: the one of inject_detach(), or another. */
void inject_detach_in_call(void);

/*
 * Another user of the subscription, which CUPTI has once: programs in kernels (gpuprog/). The client keeps it
 * when a recording ends. What the client itself does with CUDA is none of the program's, and is left out
 * of recordings.
 */

/**
 * struct inject_cupti_client - the client's functions, called in the program's threads
 * @is_inside: whether the calling thread is in a call of CUDA that the client makes
 * @call: a function of the driver begins or returns: one of those of inject_cupti_client_enable(), or any
 */
struct inject_cupti_client {
	bool (*is_inside)(void);
	void (*call)(CUpti_CallbackId id, const CUpti_CallbackData *data);
};

/* NULL: there is none. */
extern const struct inject_cupti_client *inject_cupti_client INJECT_HIDDEN;

/**
 * inject_cupti_client_join - subscribe to CUPTI for the client
 * @client: stays
 * @why: out: a sentence where that is not possible
 *
 * Context: before a recording of CUDA begins, which then uses the same subscription.
 */
bool inject_cupti_client_join(const struct inject_cupti_client *client, const char **why);

/* The client wants to hear of a function of the driver, from now on. */
void inject_cupti_client_enable(CUpti_CallbackId id);

/**
 * inject_cupti_client_own - what is done in this stream is the client's
 * @context: of the stream
 * @stream: of the client alone
 * @memory: that it has allocated; 0: none yet. A later call adds it
 */
void inject_cupti_client_own(CUcontext context, CUstream stream, CUdeviceptr memory);

/* Whether a record of CUPTI's is of the client, by the ids in it. */
bool inject_cupti_client_owns_stream(uint32_t context, uint32_t stream);
bool inject_cupti_client_owns_memory(uint32_t context, uint64_t address);

#endif /* GPUMON_INJECT_CUPTI_SUBSCRIBE_H */
