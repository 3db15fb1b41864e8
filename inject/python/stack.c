// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Functions of Python on a stack. A thread's frames of Python are changed by
 * that thread alone, and each keeps its code alive, so the thread itself may
 * read them at any time: also where a library has released the interpreter's
 * lock before it launched, as PyTorch does. Nothing else is read, no reference
 * is taken, no lock asked for.
 *
 * One call of the interpreter's loop in C runs many functions of Python. Where
 * these belong among the frames of C is known by address: with each call the
 * loop keeps something on its own stack that the frames of Python lead to.
 *
 * The stack is put together from the outermost frame on. Where the outermost functions and frames
 * of C are those of the walk before, so is what was put together from them.
 */
#include <string.h>

#include "../user/abi/format.h"
#include "chain.h"
#include "layout.h"
#include "stack.h"
#include "stack/internal.h"

#define LAST	   INJECT_PYTHON_FRAMES_MAX
#define STACK_LAST INJECT_PYTHON_STACK_MAX

/**
 * struct merge - the stack as it is put together
 * @view: frames of C
 * @thread: caller's
 * @next: outermost frame of C that is not yet there, 0 for none: the first one is ours
 * @first: entry that was put last
 * @at: where the frames that are there begin
 * @same: how many of them are what was there before
 * @is_same: all of them
 * @is_unproven: the layout may be another one
 * @bad: functions have no place
 * @found: some have one
 */
struct merge {
	struct inject_stack_view view;
	struct inject_python_thread *thread;
	unsigned int next;
	unsigned int first;
	unsigned int at;
	unsigned int same;
	bool is_same;
	bool is_unproven;
	bool bad;
	bool found;
};

/* Asks the interpreter itself, where this thread holds its lock. */
static bool confirm_chain(struct inject_python_chain chain)
{
	struct inject_python_place places[INJECT_PYTHON_CONFIRM_MAX];
	struct inject_python_entry entry;
	unsigned int count = 0;

	while (count < INJECT_PYTHON_CONFIRM_MAX && inject_python_chain_next(&chain, &entry)) {
		if (entry.is_function)
			places[count++] =
				(struct inject_python_place){ inject_python_entry_code(&entry),
							      entry.instruction };
	}
	return !chain.reader.bad && inject_python_confirm(&chain.reader, places, count);
}

static inline void put_frame(struct merge *merge, uint64_t frame)
{
	uint64_t *place = &merge->thread->frames[--merge->at];

	merge->is_same = merge->is_same && *place == frame;
	merge->same += merge->is_same;
	*place = frame;
}

/* Frames of C inward of what is there, down to @last. */
static inline void put_native(struct merge *merge, unsigned int last)
{
	uint64_t *frames = merge->thread->frames;
	const uint64_t *native = merge->view.frames;
	unsigned int next = merge->next;
	unsigned int at = merge->at;

	while (merge->is_same && next >= last) {
		if (frames[at - 1] == native[next]) {
			at--;
			next--;
			merge->same++;
		} else {
			merge->is_same = false;
		}
	}
	if (next >= last) {
		at -= next - last + 1;
		memcpy(frames + at, native + last, (next - last + 1) * sizeof(*frames));
		next = last - 1;
	}
	merge->at = at;
	merge->next = next;
}

static inline bool is_in(const struct inject_stack_view *view, unsigned int at, uint64_t address)
{
	return view->stack[at] <= address && address < view->stack[at + 1];
}

/* The entry of the call that @at is of. */
static unsigned int find_last(const struct inject_python_thread *thread, unsigned int at)
{
	while (at < LAST - 1 && !thread->entries[at].is_last)
		at++;
	return at;
}

/*
 * Takes over the outermost frames of the stack before, up to a function of Python: one of the @same
 * outermost, of a call whose frame of C is where it was, as are all frames outward of that.
 */
static void take_prefix(struct merge *merge, unsigned int same)
{
	const struct inject_python_thread *thread = merge->thread;
	const struct inject_stack_view *view = &merge->view;
	unsigned int at;

	for (at = LAST - same; at < LAST; at++) {
		const struct inject_python_entry *entry = &thread->entries[at];

		if (!entry->is_function || entry->host > view->same ||
		    entry->host + 2u > view->count)
			continue;
		if (entry->host < view->same || is_in(view, view->count - 1 - entry->host,
						      thread->entries[find_last(thread, at)].frame))
			break;
	}
	if (at == LAST)
		return;
	merge->first = at;
	merge->at = STACK_LAST - thread->entries[at].place;
	merge->same = thread->entries[at].place;
	merge->next = view->count - 1 - thread->entries[at].host - 1;
	merge->found = true;
}

/* Has the call that ends with an entry functions to be put? */
static bool has_functions(const struct inject_python_thread *thread, unsigned int last)
{
	unsigned int at = last;

	do {
		if (thread->entries[at].is_function && thread->entries[at].id)
			return true;
	} while (at-- > LAST - thread->count && !thread->entries[at].is_last);
	return false;
}

/*
 * Is the frame of a call beyond the end of a walk that was cut? Where the last frame ends is then not
 * known, so it is that of the innermost call that may have it.
 */
static bool is_beyond(const struct merge *merge, unsigned int last)
{
	const struct inject_python_thread *thread = merge->thread;
	const struct inject_stack_view *view = &merge->view;
	unsigned int at = last;

	if (!view->truncated)
		return false;
	if (thread->entries[last].frame >= view->stack[view->count])
		return true;
	if (!is_in(view, view->count - 1, thread->entries[last].frame))
		return false;
	while (at-- > LAST - thread->count) {
		if (thread->entries[at].is_last)
			return is_in(view, view->count - 1, thread->entries[at].frame);
	}
	return false;
}

/* The place of a call's functions, whose outermost entry is @last. */
static uint16_t put_host(struct merge *merge, unsigned int last)
{
	const struct inject_stack_view *view = &merge->view;
	uint64_t address = merge->thread->entries[last].frame;
	unsigned int at;

	if (!has_functions(merge->thread, last))
		return INJECT_PYTHON_HOST_NONE;
	if (is_beyond(merge, last))
		return INJECT_PYTHON_HOST_BEYOND;
	for (at = merge->next; at >= 1; at--) {
		if (!is_in(view, at, address))
			continue;
		put_native(merge, at + 1);
		merge->next = at - 1;
		merge->found = true;
		return (uint16_t)(view->count - 1 - at);
	}
	/* Not a chain of this stack, unless the layout is proven. */
	merge->bad = merge->bad || merge->is_unproven;
	return INJECT_PYTHON_HOST_NONE;
}

static void put_entries(struct merge *merge)
{
	struct inject_python_thread *thread = merge->thread;
	uint16_t host = merge->first < LAST ? thread->entries[merge->first].host :
					      INJECT_PYTHON_HOST_NONE;

	for (unsigned int at = merge->first; at-- > LAST - thread->count;) {
		struct inject_python_entry *entry = &thread->entries[at];

		if (entry->is_last)
			host = put_host(merge, at);
		if (entry->is_function && entry->id && host != INJECT_PYTHON_HOST_NONE)
			put_frame(merge, GPUMON_STACK_FRAME_ID | entry->id);
		entry->host = host;
		entry->place = (uint16_t)(STACK_LAST - merge->at);
	}
}

/* Whether the thread has functions of Python; nothing was wrong with any of them. */
static bool merge_python(struct merge *merge, struct inject_python_chain *chain,
			 const struct inject_python_intern *intern)
{
	struct inject_python_thread *thread = merge->thread;
	unsigned int same;

	if (!inject_python_chain_begin(chain))
		return false;
	if (INJECT_STACK_UNLIKELY(!inject_python_confirmed()) && inject_python_can_confirm() &&
	    !confirm_chain(*chain)) {
		chain->reader.bad = true;
		return false;
	}
	same = inject_python_chain_walk(chain, thread, intern);
	if (chain->reader.bad)
		return false;
	if (thread->frame_count && !merge->view.truncated)
		take_prefix(merge, same);
	put_entries(merge);
	if (merge->bad)
		chain->reader.bad = true;
	return merge->found && !chain->reader.bad;
}

/* Without functions of Python: the walker's own frames, but for ours. */
static bool give_native(struct inject_stack_view *view, struct inject_python_thread *thread,
			bool goes_on)
{
	if (!goes_on || !thread->is_native)
		view->same = 0;
	if (thread) {
		thread->is_native = true;
		thread->frame_count = 0;
	}
	view->frames++;
	view->count--;
	if (view->same > view->count)
		view->same = view->count;
	return view->count;
}

/* All that was put together, as far as there is room. */
static bool give_merged(struct inject_stack_view *view, struct merge *merge, unsigned int room,
			bool goes_on)
{
	struct inject_python_thread *thread = merge->thread;
	unsigned int before = goes_on ? thread->frame_count : 0;

	put_native(merge, 1);
	view->frames = thread->frames + merge->at;
	view->count = STACK_LAST - merge->at;
	view->same = merge->same < before ? merge->same : before;
	view->truncated = merge->view.truncated;
	thread->frame_count = view->truncated ? 0 : view->count;
	thread->is_native = false;
	if (view->count > room) {
		view->count = room;
		view->same = 0;
		view->truncated = true;
		thread->frame_count = 0;
	}
	return view->count;
}

__attribute__((noinline)) bool inject_python_stack(struct inject_stack_view *view,
						   unsigned int room,
						   const struct inject_python_intern *intern)
{
	int state = atomic_load_explicit(&inject_python.state, memory_order_acquire);
	struct merge merge = { .at = STACK_LAST,
			       .first = LAST,
			       .is_same = true,
			       .is_unproven = state == INJECT_PYTHON_UNPROVEN };
	struct inject_python_thread *thread;
	struct inject_python_chain chain;
	bool goes_on;
	bool fits;

	/* The first frame is this function. */
	if (!room || !inject_stack_walk_view(view, room + 1))
		return false;
	thread = inject_python_thread();
	/* Has nobody walked in between? What is the same is so since the last walk. */
	goes_on = thread && thread->walk + 1 == view->walk;
	if (thread)
		thread->walk = view->walk;
	if (!thread || state == INJECT_PYTHON_ABSENT || state == INJECT_PYTHON_REFUSED)
		return give_native(view, thread, goes_on);
	chain.reader = (struct inject_python_reader){
		.thread = inject_stack_thread(),
		.checked = !inject_python_end_waits() || merge.is_unproven,
	};
	chain.cframe = 0;
	chain.frame = 0;
	chain.looked = 0;
	if (!inject_python_enter())
		return give_native(view, thread, goes_on);
	merge.thread = thread;
	merge.view = *view;
	merge.next = view->count - 1;
	if (!goes_on)
		thread->frame_count = 0;
	fits = merge_python(&merge, &chain, intern);
	inject_python_leave();
	if (fits && merge.is_unproven)
		inject_python_fitted();
	if (chain.reader.bad) {
		inject_python_failed();
		thread->epoch = 0;
	}
	if (chain.reader.bad || merge.at == STACK_LAST)
		return give_native(view, thread, goes_on);
	return give_merged(view, &merge, room, goes_on);
}

bool inject_python_init(void)
{
	if (atomic_load_explicit(&inject_python.state, memory_order_acquire))
		return atomic_load(&inject_python.state) != INJECT_PYTHON_REFUSED;
	if (!inject_python_layout_find())
		return false;
	if (!inject_python_end_init()) {
		inject_python_refuse(
			"the interpreter does not export a function that reports its end");
		return false;
	}
	if (!inject_python_code_init())
		return false;
	inject_python_confirm_init();
	atomic_store_explicit(&inject_python.state, INJECT_PYTHON_UNPROVEN, memory_order_release);
	return true;
}
