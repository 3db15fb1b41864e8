// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A library that Python calls through ctypes, like a library that launches: it takes the stack. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/abi/format.h"
#include "python/layout.h"
#include "python/stack.h"
#include "stack/walk.h"

#define FRAMES_MAX 4096

static struct {
	char function[512];
	char file[1024];
	uint32_t line;
	uint32_t first_line;
} known[FRAMES_MAX];

static uint32_t known_count;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned int probe_interned;

/* As where there is no room for what a function is called. */
int probe_no_room;

/* A walk changed the program's errno. */
int probe_errno_changed;

static uint32_t intern(void *context, const struct inject_python_frame *frame, bool *is_written)
{
	uint32_t id;

	(void)context;
	pthread_mutex_lock(&known_lock);
	probe_interned++;
	*is_written = !probe_no_room;
	for (id = 0; id < known_count; id++) {
		if (known[id].line == frame->line && known[id].first_line == frame->first_line &&
		    !strcmp(known[id].function, frame->function) &&
		    !strcmp(known[id].file, frame->file))
			goto out;
	}
	if (id == FRAMES_MAX) {
		pthread_mutex_unlock(&known_lock);
		return 0;
	}
	known_count++;
	snprintf(known[id].function, sizeof(known[id].function), "%s", frame->function);
	snprintf(known[id].file, sizeof(known[id].file), "%s", frame->file);
	known[id].line = frame->line;
	known[id].first_line = frame->first_line;
out:
	pthread_mutex_unlock(&known_lock);
	return id + 1;
}

static struct inject_python_intern interning = { .frame = intern };

/* Returns "" on success. */
const char *probe_init(void)
{
	if (!inject_stack_init())
		return "no stacks";
	if (!inject_python_init())
		return inject_python_problem() ? inject_python_problem() : "no Python";
	return "";
}

const char *probe_problem(void)
{
	return inject_python_problem() ? inject_python_problem() : "";
}

/* Do not check loads any more. */
int probe_unchecked(void)
{
	return inject_python_end_waits() &&
	       atomic_load(&inject_python.state) == INJECT_PYTHON_PROVEN;
}

void probe_new_generation(void)
{
	interning.generation++;
}

/* What was found with what a thread keeps, and what is found without it. */
struct found {
	uint64_t frames[INJECT_STACK_WALK_MAX];
	unsigned int count;
	unsigned int same;
	bool truncated;
};

/* The thread's last stack, to see what is said to be the same. Threads are few. */
static __thread struct found *last;

/* Stacks of which what a thread keeps gave something else than a full walk; and frames that were not the same. */
atomic_uint probe_different;
atomic_uint probe_not_same;
/* Stacks that were compared, their frames, and how many of these were the same as before. */
atomic_uint probe_compared;
atomic_uint probe_frames;
atomic_uint probe_same;

static __attribute__((noinline)) void find(struct found *found, unsigned int room)
{
	struct inject_stack_view view = { .truncated = true };
	bool has_stack = inject_python_stack(&view, room, &interning);

	found->count = has_stack ? view.count : 0;
	found->same = has_stack ? view.same : 0;
	found->truncated = view.truncated;
	memcpy(found->frames, view.frames, found->count * sizeof(found->frames[0]));
	if (!last)
		last = calloc(1, sizeof(*last));
	if (found->same > found->count || found->same > last->count ||
	    memcmp(found->frames + found->count - found->same,
		   last->frames + last->count - found->same,
		   found->same * sizeof(found->frames[0])))
		probe_not_same++;
	*last = *found;
}

/* All but the frame of probe_stack(), the second one, which is at another line. */
static bool is_alike(const struct found *one, const struct found *other)
{
	return one->count == other->count && one->truncated == other->truncated && one->count &&
	       one->frames[0] == other->frames[0] &&
	       (one->count < 2 || !memcmp(one->frames + 2, other->frames + 2,
					  (one->count - 2) * sizeof(one->frames[0])));
}

/* One line for each frame: P function, file, line, first line; or C and the symbol. */
int probe_stack(char *text, size_t size, unsigned int room)
{
	struct found found;
	struct found again;
	struct found whole;
	size_t used = 0;

	errno = 4711;
	find(&found, room);
	probe_frames += found.count;
	probe_same += found.same;
	find(&again, room);
	inject_python_forget();
	find(&whole, room);
	if (errno != 4711)
		probe_errno_changed = 1;
	probe_compared++;
	if (!is_alike(&found, &whole) || !is_alike(&again, &whole))
		probe_different++;

	for (unsigned int i = 0; i < found.count && used < size; i++) {
		uint32_t id = (uint32_t)(found.frames[i] & ~GPUMON_STACK_FRAME_ID);
		Dl_info info;

		if (found.frames[i] & GPUMON_STACK_FRAME_ID)
			used += (size_t)snprintf(text + used, size - used, "P\t%s\t%s\t%u\t%u\n",
						 known[id - 1].function, known[id - 1].file,
						 known[id - 1].line, known[id - 1].first_line);
		else
			used += (size_t)snprintf(text + used, size - used, "C\t%s\n",
						 dladdr((void *)(found.frames[i] - 1), &info) &&
								 info.dli_sname ?
							 info.dli_sname :
							 "?");
	}
	return found.truncated ? -(int)found.count : (int)found.count;
}

/* Without the text, to measure the speed. */
unsigned int probe_repeat(unsigned int times, int python)
{
	struct inject_stack_view view = { 0 };

	for (unsigned int i = 0; i < times; i++) {
		if (!python)
			inject_stack_walk_view(&view, INJECT_STACK_WALK_MAX);
		else
			inject_python_stack(&view, INJECT_STACK_WALK_MAX, &interning);
	}
	return view.count;
}

/* Call back in a thread that Python did not create. */
static void *call(void *function)
{
	((void (*)(void))function)();
	return NULL;
}

void probe_call_in_thread(void (*function)(void))
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, call, (void *)function))
		pthread_join(thread, NULL);
}

/* As if the interpreter did not match its version: change one offset. */
int probe_break(unsigned int field, int by)
{
	uint16_t *fields[] = {
		&inject_python.layout.thread_id,     &inject_python.layout.thread_frame,
		&inject_python.layout.thread_cframe, &inject_python.layout.cframe_frame,
		&inject_python.layout.previous,	     &inject_python.layout.code,
		&inject_python.layout.instruction,   &inject_python.layout.owner,
		&inject_python.layout.instructions,  &inject_python.layout.first_line,
		&inject_python.layout.file,	     &inject_python.layout.name,
		&inject_python.layout.lines,
	};

	if (field >= sizeof(fields) / sizeof(fields[0]))
		return 0;
	*fields[field] = (uint16_t)(*fields[field] + by);
	return 1;
}

/* As before the first walk, without reading the interpreter again. */
void probe_forget(void)
{
	inject_python.state = INJECT_PYTHON_UNPROVEN;
	inject_python.unconfirmed = 0;
	inject_python.failures = 0;
	inject_python.fits = 0;
}

/* Call back, like a C library. */
void probe_call(void (*function)(void))
{
	function();
	__asm__ volatile("" ::: "memory");
}
