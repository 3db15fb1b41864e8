// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>

#include "hw_trace.h"
#include "session/session.h"

/*
 * cuptiGetVersion() of CUDA 13.5. Before 13.4 update 1 the hardware's trace leaks memory and crashes, and
 * CUPTI's own update number does not say which update of CUDA it came with.
 */
#define CUPTI_VERSION_13_5 130500u

/* Blackwell, the first with such hardware. */
#define COMPUTE_MAJOR 10

/* CUpti_StateData, which CUDA 11's header lacks. */
struct state_data {
	CUptiResult result;
	const char *message;
};

#if CUPTI_API_VERSION >= 130000
_Static_assert(sizeof(struct state_data) == sizeof(CUpti_StateData) &&
		       (int)CUPTI_CB_DOMAIN_STATE == (int)INJECT_DOMAIN_STATE,
	       "state_data");
#endif

/* CUPTI's answer. It is asked once in a process, by the thread that begins a session. */
static bool is_asked;
static CUptiResult answer;

static bool is_wanted(void)
{
	return inject_session.record & GPUMON_RECORD_HW_TRACE;
}

bool inject_hw_trace_is_due(void)
{
	return is_wanted() && !is_asked && inject_session.at_start &&
	       inject_cupti.version >= CUPTI_VERSION_13_5;
}

void inject_hw_trace_asked(CUptiResult result)
{
	is_asked = true;
	answer = result;
}

bool inject_hw_trace_is_on(void)
{
	return is_asked && answer == CUPTI_SUCCESS;
}

void inject_hw_trace_begin(struct inject_thread *thread)
{
	char which[360];

	if (!is_wanted() || inject_hw_trace_is_on())
		return;
	inject_cupti_describe(which, sizeof(which));
	if (inject_cupti.version < CUPTI_VERSION_13_5)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"no hardware trace: it needs CUPTI of CUDA 13.5 or newer, and this is %s, CUPTI %u",
			which, inject_cupti.version);
	else if (is_asked)
		inject_session_note(thread, GPUMON_NOTE_MISSING, "no hardware trace: %s says %s",
				    which, inject_cupti_result(answer));
	else
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"no hardware trace: it has to be asked for before CUDA is initialised, and before another profiler subscribes to CUPTI");
}

void inject_hw_trace_device(struct inject_thread *thread, const char *name, uint32_t major,
			    uint32_t minor)
{
	if (is_wanted() && inject_hw_trace_is_on() && major < COMPUTE_MAJOR)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"no hardware trace on the %s: it has compute capability %u.%u, and that needs %d.0 (Blackwell)",
			name ? name : "GPU", major, minor, COMPUTE_MAJOR);
}

void inject_hw_trace_state(const void *data)
{
	const struct state_data *state = data;
	struct inject_thread *thread = inject_thread_enter(true);
	int kept = errno;

	if (!thread)
		return;
	inject_session_note(thread, GPUMON_NOTE_MISSING,
			    "no hardware trace, or not of all kernels: CUPTI says %s%s%.300s",
			    inject_cupti_result(state->result), state->message ? ": " : "",
			    state->message ? state->message : "");
	inject_thread_leave(thread);
	errno = kept;
}
