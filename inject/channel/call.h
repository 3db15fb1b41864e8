/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CHANNEL_CALL_H
#define GPUMON_INJECT_CHANNEL_CALL_H

#include "thread.h"

/**
 * inject_call_path - id of the calling thread's stack, without frames of this library and the API's
 * @thread: caller, within
 *
 * Return: the id; 0 where there is no stack, or no room for one more.
 */
uint32_t inject_call_path(struct inject_thread *thread);

/*
 * How many of the innermost frames of a stack are the API's: the function called says enough. Frames of one
 * library follow one another; the last of @code has all addresses.
 */
static inline unsigned int inject_call_count_api(const uint64_t *frames, unsigned int count)
{
	const struct inject_code *code = inject_session.code;
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (frames[i] - code->start < code->size)
			continue;
		for (code = inject_session.code; frames[i] - code->start >= code->size; code++)
			;
		if (code->size == UINTPTR_MAX)
			break;
	}
	return i;
}

struct inject_python_intern;

/* How functions of Python in stacks get their ids: by records of a thread, which is within. */
void inject_call_python_intern(struct inject_thread *thread, struct inject_python_intern *intern);

#ifdef GPUMON_COMPARE
/* For tests: paths that were compared with a full walk since the last call, and those that differed. */
void inject_call_path_compared(uint64_t *all, uint64_t *wrong);
#endif

/*
 * Calls of an API, in the program's threads. Each has two hooks, and functions of
 * an API call one another. The entry of the outermost one takes time and stack,
 * its exit writes the record. Inlined, because every launch runs it.
 */

/* Classes: the kind of work that a function of an API does, in the lower byte. The upper byte is the API's own. */
#define INJECT_CLASS_KERNEL   1u
#define INJECT_CLASS_GRAPH    2u
#define INJECT_CLASS_COPY     4u
#define INJECT_CLASS_SET      8u
#define INJECT_CLASS_BLOCKING 16u
/* Compiles code for the GPU. */
#define INJECT_CLASS_COMPILE 32u
/* A launch that waits for the GPU, as a copy to the host does. */
#define INJECT_CLASS_WAITS 64u
#define INJECT_CLASS_LAUNCH \
	(INJECT_CLASS_KERNEL | INJECT_CLASS_GRAPH | INJECT_CLASS_COPY | INJECT_CLASS_SET)

static inline bool inject_call_needs_stack(uint16_t class)
{
	return (inject_session.record & GPUMON_RECORD_STACKS) &&
	       (class & (INJECT_CLASS_LAUNCH | INJECT_CLASS_BLOCKING | INJECT_CLASS_COMPILE));
}

/**
 * inject_call_stack - the stack of a call that begins, where --sample takes it
 * @thread: caller, within
 * @class: what the call does
 *
 * Steps of a program have the same launches again and again, so the distance varies.
 *
 * Return: id of the stack, 0 with is_unsampled set where it is left out.
 */
uint32_t inject_call_stack(struct inject_thread *thread, uint16_t class);

/* Whether to record a call that begins. */
static inline bool inject_call_is_wanted(uint16_t class)
{
	return INJECT_LIKELY(class & INJECT_CLASS_LAUNCH) ||
	       (atomic_load(&inject_session.recording) &&
		((inject_session.record & GPUMON_RECORD_ALL_CALLS) ||
		 (class & INJECT_CLASS_COMPILE) ||
		 (class & INJECT_CLASS_BLOCKING &&
		  inject_session.record &
			  (GPUMON_RECORD_BLOCKING | GPUMON_RECORD_SYNCHRONISATION))));
}

/**
 * inject_call_interrupts - inject_thread_enter() has refused a call that begins
 * @class: what it does
 *
 * Counts a launch of a signal handler that interrupted this library as lost. The library's own calls,
 * which are refused, too, launch nothing.
 */
void inject_call_interrupts(uint16_t class);

/* Whether the operations that a call launches are recorded. */
static inline bool inject_call_is_asked_for(uint16_t class)
{
	uint32_t kind = class & (INJECT_CLASS_COPY | INJECT_CLASS_SET) ? GPUMON_RECORD_COPIES :
									 GPUMON_RECORD_KERNELS;

	return inject_session.record & kind;
}

/* Whether a copy waits for the GPU, by the name of the function, such as cuMemcpyHtoD_v2 or hipMemcpy. */
bool inject_call_is_waiting_copy(const char *name);

/* The next id of a call, where the API has none of its own. 0 is no id. */
static inline uint32_t inject_next_correlation(_Atomic uint32_t *last)
{
	uint32_t id;

	do {
		id = atomic_fetch_add_explicit(last, 1, memory_order_relaxed) + 1;
	} while (!id);
	return id;
}

/**
 * inject_call_is_nested - count a call within one that is recorded already: half of all hooks
 * @correlation: the API's id of both
 * @class: what it does
 * @is_exit: it returns
 *
 * Touches only the thread's own data, so that the channel need not be kept mapped.
 *
 * Return: true if there is nothing more to do.
 */
static inline bool inject_call_is_nested(uint32_t correlation, uint16_t class, bool is_exit)
{
	struct inject_thread *thread = inject_self;
	struct inject_call *call;

	if (INJECT_UNLIKELY(!thread || atomic_load_explicit(&thread->inside, memory_order_relaxed)))
		return false;
	call = &thread->call;
	if (!call->open || call->correlation != correlation)
		return false;
	/* A call for something else that launches is a launch from there on. */
	if (INJECT_UNLIKELY((class & INJECT_CLASS_LAUNCH) && !(call->class & INJECT_CLASS_LAUNCH)))
		return false;
	if (!is_exit)
		call->open++;
	else if (call->open > 1)
		call->open--;
	else
		return false;
	return true;
}

/**
 * inject_call_joins - a call begins within one that is recorded already
 * @thread: caller, within
 * @correlation: the API's id
 * @class: what it does: the outer call does that, too
 *
 * Return: false if it is the outermost one, to be begun by inject_call_begin().
 */
static inline bool inject_call_joins(struct inject_thread *thread, uint32_t correlation,
				     uint16_t class)
{
	struct inject_call *call = &thread->call;

	if (!call->open || call->correlation != correlation)
		return false;
	call->open++;
	call->class |= class;
	if (!call->stack && !call->is_unsampled && inject_call_needs_stack(class))
		call->stack = inject_call_path(thread);
	return true;
}

/**
 * inject_call_finish - writes the record of the outermost call: its result is known now
 * @thread: caller, within
 * @end_ns: 0 where that is not known
 * @context: the API's id, 0 where that is not known
 * @result: the API's, 0 where all is well
 */
void inject_call_finish(struct inject_thread *thread, uint64_t end_ns, uint32_t context,
			int32_t result);

/* inject_call_finish() of a call whose exit will not be seen. */
void inject_call_abandon(struct inject_thread *thread);

/**
 * inject_call_finish_open - record the calls that have not returned, without an end
 *
 * At the end of a capture: the kernels of such launches may be recorded already, and their returns
 * call nobody back any more. Context: no other thread is between inject_thread_enter() and _leave().
 */
void inject_call_finish_open(void);

/**
 * inject_call_begin - the outermost call begins
 * @thread: caller, within
 * @correlation: the API's id
 * @class: what it does
 * @function: string id of its name
 */
static inline void inject_call_begin(struct inject_thread *thread, uint32_t correlation,
				     uint16_t class, uint32_t function)
{
	struct inject_call *call = &thread->call;

	/* The exit of the call before was not seen: left by longjmp, or hooks were off. */
	if (INJECT_UNLIKELY(call->open))
		inject_call_abandon(thread);
	call->start_ns = inject_now();
	call->correlation = correlation;
	call->open = 1;
	call->class = class;
	call->is_captured = false;
	call->is_unsampled = false;
	call->graph = 0;
	call->name = 0;
	call->function = function;
	call->stack = inject_call_needs_stack(class) ? inject_call_stack(thread, class) : 0;
}

/**
 * struct inject_function - a function of an API that is recorded
 * @name: of it
 * @class: INJECT_CLASS_*
 * @name_id: for inject_string_again()
 */
struct inject_function {
	const char *name;
	uint16_t class;
	_Atomic uint64_t name_id;
};

/**
 * inject_call_enter - inject_thread_enter() and inject_call_begin(), for APIs that have no ids of calls
 * @function: that is called
 * @context: id, until the call ends
 *
 * Return: the caller, within; NULL: the call is not recorded.
 */
struct inject_thread *inject_call_enter(struct inject_function *function, uint32_t context);

/* A call returns. True if it is the outermost one: inject_call_finish() is due. */
static inline bool inject_call_ends(struct inject_thread *thread, uint32_t correlation)
{
	struct inject_call *call = &thread->call;

	if (INJECT_UNLIKELY(!call->open || call->correlation != correlation))
		return false;
	return !--call->open;
}

/* inject_call_finish() in the context that the call has. */
static inline void inject_call_finish_here(struct inject_thread *thread, uint64_t end_ns,
					   int32_t result)
{
	inject_call_finish(thread, end_ns, thread->call.context, result);
	thread->call.context = 0;
}

/* inject_thread_setup() with what threads do in this folder. Once; more than once does no harm. */
bool inject_call_setup(void);

#endif /* GPUMON_INJECT_CHANNEL_CALL_H */
