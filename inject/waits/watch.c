// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "../user/abi/look.h"
#include "base/inject.h"
#include "base/threads.h"
#include "channel/call.h"
#include "channel/intern.h"
#include "channel/mappings.h"
#include "python/layout.h"
#include "running.h"
#include "watch.h"

/* Threads of which files are open: two each. Beyond that, the one that was looked at first is forgotten. */
#define WATCHED_MAX 256

#define THREADS "/proc/self/task"

/* How much of a wait is written at once, and how many looks at least: a capture that is cut has all but the last. */
#define WRITE_NS    1000000000ull
#define WRITE_LOOKS 5

/* Different stacks of running threads at most: those of launches have to find room, too. */
#define RUNNING_STACKS_MAX 16384

/**
 * struct watched - a thread
 * @tid: 0: none
 * @files: open
 * @looked_ns: the last look
 * @look: what it was
 * @record: of looks that are not yet written, if it has some
 * @clock: for its stack while it runs
 * @asked: the last look found it running, and its stack was asked for: that look is not in @record yet
 */
struct watched {
	uint32_t tid;
	struct gpumon_look_files files;
	uint64_t looked_ns;
	struct gpumon_look look;
	struct gpumon_record_wait record;
	struct inject_running clock;
	struct {
		const struct inject_thread *caller;
		uint64_t call_ns;
		uint64_t period_ns;
	} asked;
};

static struct watched watched[WATCHED_MAX];
static unsigned int watched_count;

/* Where a thread was found last, by the lower bits of its number. */
#define HINTS 1024
static uint16_t hints[HINTS];

static void write_wait(struct inject_watcher *watcher, struct watched *one)
{
	if (one->record.looks)
		inject_append(watcher->thread, &one->record);
	one->record.looks = 0;
}

static void forget(struct inject_watcher *watcher, struct watched *one)
{
	write_wait(watcher, one);
	gpumon_look_close(&one->files);
	inject_running_close(&one->clock, true);
	one->asked.caller = NULL;
	one->tid = 0;
}

static struct watched *find_watched(uint32_t tid)
{
	uint16_t *hint = &hints[tid % HINTS];

	if (watched[*hint].tid == tid)
		return &watched[*hint];
	for (unsigned int i = 0; i < watched_count; i++) {
		if (watched[i].tid != tid)
			continue;
		*hint = (uint16_t)i;
		return &watched[i];
	}
	return NULL;
}

static struct watched *find_room(struct inject_watcher *watcher)
{
	struct watched *oldest = NULL;

	for (unsigned int i = 0; i < watched_count; i++) {
		if (!watched[i].tid)
			return &watched[i];
		if (!oldest || watched[i].looked_ns < oldest->looked_ns)
			oldest = &watched[i];
	}
	if (watched_count < WATCHED_MAX)
		return &watched[watched_count++];
	forget(watcher, oldest);
	return oldest;
}

/* False where it cannot be looked at. */
static bool begin_watching(struct watched *one, uint32_t tid)
{
	/* It may just have ended. */
	if (gpumon_look_open(&one->files, THREADS, tid))
		return false;
	one->tid = tid;
	one->record.looks = 0;
	one->look.is_blocked = false;
	return true;
}

static bool is_in_call(const struct inject_thread *caller)
{
	return caller && __atomic_load_n(&caller->call.open, __ATOMIC_RELAXED);
}

/* When the last call began. It is set before the call is open, so another one has another time. */
static uint64_t last_call(const struct inject_thread *caller)
{
	return __atomic_load_n(&caller->call.start_ns, __ATOMIC_RELAXED);
}

static uint32_t intern_view(struct inject_watcher *watcher, const struct inject_stack_view *view)
{
	struct inject_thread *thread = watcher->thread;
	unsigned int count = view->count;
	bool truncated = view->truncated;
	uint32_t id;

	if (count > inject_session.stack_depth) {
		count = inject_session.stack_depth;
		truncated = true;
	}
	thread->hashed = 0;
	id = inject_intern_stack(thread, view->frames, count, truncated, 0);
	thread->hashed = 0;
	if (thread->has_new_stack)
		inject_mappings_expect();
	watcher->is_new_stack = thread->has_new_stack;
	thread->has_new_stack = false;
	return id;
}

/* The stack of a blocked thread, 0 if it has run since it was looked at. */
static uint32_t read_stack(struct inject_watcher *watcher, const struct watched *one,
			   const struct gpumon_look *look)
{
	bool has_python = atomic_load(&inject_session.has_python) && watcher->python;
	struct inject_python_intern intern;
	struct inject_stack_view view;
	struct gpumon_look again;

	inject_call_python_intern(watcher->thread, &intern);
	if (!watcher->stacks || !(inject_session.record & GPUMON_RECORD_STACKS) ||
	    !inject_stack_other_walk(watcher->stacks, look->code, look->stack,
				     look->call != GPUMON_LOOK_NO_CALL, inject_session.stack_room,
				     &view))
		return 0;
	if (has_python)
		inject_python_other_read(watcher->python, watcher->stacks, one->tid, &view,
					 intern.generation);
	if (gpumon_look(&one->files, &again) || !again.is_blocked ||
	    !gpumon_look_is_same(look, &again))
		return 0;
	if (has_python)
		inject_python_other_merge(watcher->python, &view, &intern);
	return intern_view(watcher, &view);
}

/*
 * Functions of Python of a thread that runs change all the time. Only what the interpreter has called is certain,
 * and how many frames that is.
 */
static unsigned int count_inward_of_python(const struct inject_stack_view *view)
{
	uint64_t code = (uint64_t)(uintptr_t)inject_python.initialized;
	struct inject_stack_object object;
	unsigned int i;

	if (!code || !inject_stack_object_at(code, &object))
		return view->count;
	for (i = 0; i < view->count; i++)
		if (view->frames[i] >= object.start && view->frames[i] < object.end)
			break;
	return i;
}

/* An innermost frame is that of the function, wherever in it the thread was: else each stack would be another one. */
static uint32_t intern_running(struct inject_watcher *watcher, const struct inject_stack_view *view)
{
	uint64_t frames[INJECT_STACK_WALK_MAX];
	struct inject_stack_view kept = *view;
	uint32_t id;

	kept.count = count_inward_of_python(view);
	kept.truncated = kept.truncated || kept.count < view->count;
	kept.frames = frames;
	memcpy(frames, view->frames, kept.count * sizeof(frames[0]));
	if (kept.count)
		frames[0] = inject_stack_other_function(watcher->stacks, frames[0] - 1);
	if (!kept.count || watcher->running_stacks == RUNNING_STACKS_MAX)
		return 0;
	id = intern_view(watcher, &kept);
	watcher->running_stacks += watcher->is_new_stack;
	return id;
}

/* The stack of a running thread, 0 if it did not run, or has begun a call since. */
static uint32_t take_stack(struct inject_watcher *watcher, struct watched *one)
{
	struct inject_running_stack stack;
	struct inject_stack_view view;

	if (!inject_running_take(&one->clock, &stack) || is_in_call(one->asked.caller) ||
	    last_call(one->asked.caller) != one->asked.call_ns ||
	    !inject_stack_other_walk_copy(watcher->stacks, &stack.registers, stack.bytes,
					  stack.size, inject_session.stack_room, &view))
		return 0;
	/* It was on the way into a call, or out of it. */
	if (inject_call_count_api(view.frames, view.count))
		return 0;
	return intern_running(watcher, &view);
}

static void begin_record(struct inject_watcher *watcher, struct watched *one,
			 const struct gpumon_look *look, uint64_t now, uint64_t period_ns,
			 uint32_t running)
{
	one->record = (struct gpumon_record_wait){
		.head = { .type = GPUMON_RECORD_WAIT, .size = sizeof(one->record) },
		/* It may have begun to wait since @now. read_stack() finds out whether it still does. */
		.start_ns = look->is_blocked ? inject_now() : now,
		.period_ns = period_ns,
		.tid = one->tid,
		.stack = running,
		.kind = gpumon_look_kind(look),
		.call = look->call,
	};
	if (!look->is_blocked)
		return;
	one->record.file = gpumon_look_file(THREADS, one->tid, look);
	one->record.stack = read_stack(watcher, one, look);
}

/* Does the thread still do what it did at the last look? */
static bool goes_on(const struct watched *one, const struct gpumon_look *look, uint32_t running)
{
	if (look->is_blocked != one->look.is_blocked)
		return false;
	return look->is_blocked ? gpumon_look_is_same(look, &one->look) :
				  one->record.stack == running;
}

/* @running: stack of a thread that runs, 0 for none */
static void note_look(struct inject_watcher *watcher, struct watched *one,
		      const struct gpumon_look *look, uint64_t now, uint64_t period_ns,
		      uint32_t running)
{
	bool is_same = one->record.period_ns == period_ns && goes_on(one, look, running);
	bool is_due = one->record.looks >= WRITE_LOOKS && now - one->record.start_ns >= WRITE_NS;

	/* The same wait may go on in another record. */
	if (!is_same || is_due)
		write_wait(watcher, one);
	if (!is_same)
		begin_record(watcher, one, look, now, period_ns, running);
	else if (!one->record.looks)
		one->record.start_ns = now;
	one->record.end_ns = is_same ? now : one->record.start_ns;
	one->record.looks++;
	one->look = *look;
}

/* Asks for the stack of a caller that a look found running. False: there will be none. */
static bool ask_for_stack(struct inject_watcher *watcher, struct watched *one,
			  const struct inject_thread *caller, uint64_t call_ns, uint64_t period_ns)
{
	if (!caller || !watcher->stacks || !(inject_session.record & GPUMON_RECORD_STACKS) ||
	    (uint64_t)inject_random(&watcher->chance) * watcher->asks_one_of >> 32 ||
	    !inject_running_ask(&one->clock, one->tid))
		return false;
	watcher->asks++;
	one->asked.caller = caller;
	one->asked.call_ns = call_ns;
	one->asked.period_ns = period_ns;
	return true;
}

void inject_watch_look(struct inject_watcher *watcher, uint32_t tid,
		       const struct inject_thread *caller, uint64_t period_ns)
{
	struct watched *one = find_watched(tid);
	uint64_t now = inject_now(), call_ns = caller ? last_call(caller) : 0;
	struct gpumon_look look;

	watcher->turns += !!caller;
	if (is_in_call(caller)) {
		if (one) {
			write_wait(watcher, one);
			one->looked_ns = now;
			one->record.period_ns = 0;
		}
		return;
	}
	if (!one) {
		one = find_room(watcher);
		if (!begin_watching(one, tid))
			return;
		one->record.period_ns = 0;
	}
	one->looked_ns = now;
	if (gpumon_look(&one->files, &look)) {
		forget(watcher, one);
		return;
	}
	/* Only now is it certain that what it does is not within a call. */
	if (is_in_call(caller)) {
		write_wait(watcher, one);
		one->record.period_ns = 0;
		return;
	}
	watcher->looks++;
	if (!look.is_blocked) {
		watcher->running += !!caller;
		if (ask_for_stack(watcher, one, caller, call_ns, period_ns)) {
			watcher->asked++;
			return;
		}
	}
	note_look(watcher, one, &look, now, period_ns, 0);
}

void inject_watch_take(struct inject_watcher *watcher)
{
	const struct gpumon_look runs = { .call = GPUMON_LOOK_NO_CALL };

	if (!watcher->asked)
		return;
	inject_sleep(INJECT_RUNNING_WAIT_NS);
	for (unsigned int i = 0; i < watched_count; i++) {
		struct watched *one = &watched[i];

		if (!one->asked.caller)
			continue;
		note_look(watcher, one, &runs, one->looked_ns, one->asked.period_ns,
			  take_stack(watcher, one));
		one->asked.caller = NULL;
	}
	watcher->asked = 0;
}

void inject_watch_forget(struct inject_watcher *watcher, uint64_t before_ns)
{
	for (unsigned int i = 0; i < watched_count; i++)
		if (watched[i].tid && watched[i].looked_ns < before_ns)
			forget(watcher, &watched[i]);
	while (watched_count && !watched[watched_count - 1].tid)
		watched_count--;
}

void inject_watch_write(struct inject_watcher *watcher)
{
	for (unsigned int i = 0; i < watched_count; i++) {
		if (!watched[i].tid)
			continue;
		write_wait(watcher, &watched[i]);
		watched[i].record.period_ns = 0;
	}
}

void inject_watch_end(bool is_open)
{
	for (unsigned int i = 0; i < watched_count; i++) {
		if (is_open && watched[i].tid)
			gpumon_look_close(&watched[i].files);
		inject_running_close(&watched[i].clock, is_open);
		watched[i].asked.caller = NULL;
		watched[i].tid = 0;
	}
	watched_count = 0;
}
