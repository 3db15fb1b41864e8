// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stacks of other threads that are blocked in functions with a frame pointer: right or truncated, but never wrong. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/blocked.h"
#include "../user/abi/look.h"
#include "compare.h"
#include "stack/other.h"

static int input[2];
static _Atomic uint32_t thread_id;

static void *be_blocked(void *shape)
{
	char byte;

	thread_id = (uint32_t)syscall(SYS_gettid);
	((const struct blocked_shape *)shape)->call(input[0], &byte);
	KEEP();
	return NULL;
}

static void look_at(const struct blocked_shape *shape, struct inject_stack_other *other)
{
	struct gpumon_look look = { .is_blocked = false };
	struct inject_stack_view view = { .count = 0 };
	struct gpumon_look_files files;
	pthread_t thread;
	bool found;

	thread_id = 0;
	pthread_create(&thread, NULL, be_blocked, (void *)(uintptr_t)shape);
	while (!thread_id)
		sched_yield();
	gpumon_look_open(&files, "/proc/self/task", thread_id);
	while (!gpumon_look(&files, &look) &&
	       (!look.is_blocked || look.call != SYS_read || look.first != (uint64_t)input[0]))
		sched_yield();
	found = inject_stack_other_walk(other, look.code, look.stack, true, INJECT_STACK_WALK_MAX,
					&view);
	SAY(found && blocked_is_right(shape, view.frames, view.count, !view.truncated,
				      &blocked_note, blocked_back),
	    shape->name, "%u frames%s, the second one %#llx and not %#llx", view.count,
	    view.truncated ? ", truncated" : "",
	    view.count > 1 ? (unsigned long long)view.frames[1] : 0,
	    (unsigned long long)blocked_back);
	gpumon_look_close(&files);
	if (write(input[1], "", 1) != 1)
		abort();
	pthread_join(thread, NULL);
}

int main(void)
{
	struct inject_stack_other *other;

	inject_stack_init();
	other = inject_stack_other_new();
	if (!other || pipe(input))
		return 1;
	if (access("/proc/self/syscall", R_OK) || !BLOCKED_SHAPES) {
		test_skips("stacks of blocked threads",
			   "this kernel has no /proc/PID/syscall, or this is no x86-64");
		return test_end();
	}
	for (size_t i = 0; i < BLOCKED_SHAPES; i++)
		look_at(&blocked_shapes[i], other);
	return test_end();
}
