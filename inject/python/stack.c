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
 */
#include <pthread.h>
#include <string.h>

#include "../user/capture/format.h"
#include "layout.h"
#include "stack.h"
#include "stack/internal.h"

/* Frames of Python in one walk, including those without room, so that a loop among them ends. */
#define FRAMES_MAX 4096

/**
 * struct chain - the thread's frames of Python, the innermost first
 * @reader: loads
 * @unproven: the layout may be another one
 * @frame: next one, 0 at the end
 * @cframe: of the call of the loop that runs it, where there are such
 * @looked: frames so far
 */
struct chain {
	struct gpumon_python_reader reader;
	bool unproven;
	uint64_t frame;
	uint64_t cframe;
	unsigned int looked;
};

/**
 * struct merge - the stack as it is put together
 * @view: frames of C
 * @next: of these, first one that is not in @frames
 * @frames: where to
 * @room: of @frames
 * @count: in @frames
 * @cut: something found no room
 */
struct merge {
	struct gpumon_stack_view view;
	unsigned int next;
	uint64_t *frames;
	unsigned int room;
	unsigned int count;
	bool cut;
};

static bool begin_chain(struct chain *chain)
{
	const struct gpumon_python_layout *layout = &gpumon_python.layout;
	uint64_t state;

	/* From here on, end.c keeps the frames from being freed. */
	if (!gpumon_python.initialized())
		return false;
	state = (uint64_t)(uintptr_t)gpumon_python.thread_state();
	if (!state)
		return false;
	if (gpumon_python_word(&chain->reader, state + layout->thread_id) !=
	    (uint64_t)pthread_self()) {
		chain->reader.bad = true;
		return false;
	}
	if (layout->thread_cframe)
		chain->cframe = gpumon_python_word(&chain->reader, state + layout->thread_cframe);
	if (layout->thread_frame)
		chain->frame = gpumon_python_word(&chain->reader, state + layout->thread_frame);
	else if (chain->cframe)
		chain->frame =
			gpumon_python_word(&chain->reader, chain->cframe + layout->cframe_frame);
	return chain->frame && !chain->reader.bad;
}

/**
 * struct step - a frame of Python
 * @function: it is a function's
 * @last: the outermost of a call of the loop
 * @code: address of the code object
 * @instruction: as the frame has it
 * @host: an address within the C frame of the call, where @last
 */
struct step {
	bool function;
	bool last;
	uint64_t code;
	uint64_t instruction;
	uint64_t host;
};

static inline __attribute__((always_inline)) bool
next_frame_by(struct chain *chain, struct step *step, struct gpumon_python_reader *reader)
{
	const struct gpumon_python_layout *layout = &gpumon_python.layout;
	uint64_t frame = chain->frame;
	uint8_t owner = 0;

	if (!frame || reader->bad || ++chain->looked > FRAMES_MAX)
		return false;
	if (layout->owner)
		owner = gpumon_python_byte(reader, frame + layout->owner);
	step->function = layout->linkage != GPUMON_PYTHON_SHIMS || owner < GPUMON_PYTHON_OWNER_SHIM;
	step->last = layout->linkage == GPUMON_PYTHON_CFRAMES || !step->function ||
		     (layout->linkage == GPUMON_PYTHON_ENTRIES && owner);
	step->host = layout->linkage == GPUMON_PYTHON_SHIMS ? frame : chain->cframe;
	if (step->function) {
		step->code = gpumon_python_word(reader, frame + layout->code);
		if (layout->tagged)
			step->code &= ~3ull;
		step->instruction = layout->instruction_unit ?
					    gpumon_python_int(reader, frame + layout->instruction) :
					    gpumon_python_word(reader, frame + layout->instruction);
	}
	chain->frame = gpumon_python_word(reader, frame + layout->previous);
	if (step->last && layout->cframe_previous)
		chain->cframe = gpumon_python_word(reader, chain->cframe + layout->cframe_previous);
	return !reader->bad;
}

/* The next frame. False: there is none, or the chain makes no sense. */
static inline bool next_frame(struct chain *chain, struct step *step)
{
	struct gpumon_python_reader unchecked = { NULL, false, false };

	if (GPUMON_STACK_UNLIKELY(chain->reader.checked))
		return next_frame_by(chain, step, &chain->reader);
	return next_frame_by(chain, step, &unchecked);
}

/**
 * struct group - functions that one call of the loop runs
 * @ids: theirs, with GPUMON_STACK_FRAME_ID
 * @count: of these
 * @host: an address within the frame of that call
 */
struct group {
	uint64_t ids[GPUMON_STACK_WALK_MAX];
	unsigned int count;
	uint64_t host;
};

/* The next call's functions. False: there is none, or the chain makes no sense. */
static bool next_group(struct chain *chain, struct group *group,
		       const struct gpumon_python_intern *intern)
{
	struct step step;

	group->count = 0;
	while (next_frame(chain, &step)) {
		if (step.function) {
			uint32_t id = gpumon_python_code_id(&chain->reader, step.code,
							    step.instruction, intern);

			if (id && group->count < GPUMON_STACK_WALK_MAX)
				group->ids[group->count++] = GPUMON_STACK_FRAME_ID | id;
		}
		if (step.last) {
			group->host = step.host;
			return !chain->reader.bad;
		}
	}
	return false;
}

/* Asks the interpreter itself, where this thread holds its lock. */
static bool confirm_chain(struct chain chain)
{
	struct gpumon_python_place places[GPUMON_PYTHON_CONFIRM_MAX];
	unsigned int count = 0;
	struct step step;

	while (count < GPUMON_PYTHON_CONFIRM_MAX && next_frame(&chain, &step)) {
		if (step.function)
			places[count++] =
				(struct gpumon_python_place){ step.code, step.instruction };
	}
	return !chain.reader.bad && gpumon_python_confirm(&chain.reader, places, count);
}

static void put_frames(struct merge *merge, const uint64_t *frames, unsigned int count)
{
	unsigned int left = merge->room - merge->count;

	if (count > left) {
		count = left;
		merge->cut = true;
	}
	memcpy(merge->frames + merge->count, frames, count * sizeof(*frames));
	merge->count += count;
}

/* The frame of C that runs the functions; view.count where it is not among the remaining ones. */
static unsigned int find_host(const struct merge *merge, uint64_t host)
{
	const struct gpumon_stack_view *view = &merge->view;
	unsigned int at = merge->next;

	while (at < view->count && host >= view->stack[at + 1])
		at++;
	return at < view->count && host >= view->stack[at] ? at : view->count;
}

/* The frames of C behind the last function of Python. */
static unsigned int put_rest(struct merge *merge, bool *truncated)
{
	const struct gpumon_stack_view *view = &merge->view;

	put_frames(merge, view->frames + merge->next, view->count - merge->next);
	*truncated = view->truncated || merge->cut;
	return merge->count;
}

/* Whether the thread has functions of Python and all of them found their frame of C. */
static bool merge_python(struct merge *merge, struct chain *chain, struct group *group,
			 const struct gpumon_python_intern *intern)
{
	bool found = false;

	if (!begin_chain(chain))
		return false;
	if (GPUMON_STACK_UNLIKELY(!gpumon_python_confirmed()) && gpumon_python_can_confirm() &&
	    !confirm_chain(*chain)) {
		chain->reader.bad = true;
		return false;
	}
	while (merge->count < merge->room && next_group(chain, group, intern)) {
		unsigned int host = find_host(merge, group->host);

		if (!group->count)
			continue;
		if (host < merge->view.count) {
			put_frames(merge, merge->view.frames + merge->next, host - merge->next);
			put_frames(merge, group->ids, group->count);
			merge->next = host + 1;
			found = true;
		} else if (merge->view.truncated &&
			   group->host >= merge->view.stack[merge->view.count]) {
			/* Beyond the end of the walk. */
			put_frames(merge, merge->view.frames + merge->next,
				   merge->view.count - merge->next);
			merge->next = merge->view.count;
			put_frames(merge, group->ids, group->count);
		} else if (chain->unproven) {
			/* Not a chain of this stack, unless the layout is proven. */
			chain->reader.bad = true;
		}
	}
	return found && !chain->reader.bad;
}

__attribute__((noinline)) unsigned int
gpumon_python_stack(uint64_t *frames, unsigned int room, bool *truncated,
		    const struct gpumon_python_intern *intern)
{
	int state = atomic_load_explicit(&gpumon_python.state, memory_order_acquire);
	struct merge merge = { .frames = frames, .room = room, .next = 1 };
	struct chain chain = { .unproven = state == GPUMON_PYTHON_UNPROVEN };
	struct group group;
	bool fits;

	*truncated = true;
	/* The first frame is this function. */
	if (!room || !gpumon_stack_walk_view(&merge.view, room + 1))
		return 0;
	if (state == GPUMON_PYTHON_ABSENT || state == GPUMON_PYTHON_REFUSED)
		return put_rest(&merge, truncated);
	chain.reader.checked = !gpumon_python_end_waits() || chain.unproven;
	if (!gpumon_python_enter())
		return put_rest(&merge, truncated);
	chain.reader.thread = gpumon_stack_thread();
	fits = merge_python(&merge, &chain, &group, intern);
	gpumon_python_leave();
	if (fits) {
		if (chain.unproven)
			gpumon_python_fitted();
	} else if (chain.reader.bad) {
		gpumon_python_failed();
		merge.count = 0;
		merge.next = 1;
		merge.cut = false;
	}
	return put_rest(&merge, truncated);
}
