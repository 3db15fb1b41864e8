// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What a walk takes from the previous one must be what it would have found: thousands of stacks,
 * each slightly or very different from the last one, walked with and without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "stack/internal.h"

volatile int sink;

static uint64_t state = 1;

static unsigned int draw(unsigned int below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(state >> 33) % below;
}

static struct walk kept;
static struct walk fresh;
static struct walk reference;
static uint64_t old_frames[INJECT_STACK_SLOTS];
static uint64_t old_stack[INJECT_STACK_SLOTS];
static unsigned int old_count;
static unsigned long walks;
static unsigned long different;
static unsigned long not_libunwind;
static unsigned long wrongly_same;
static unsigned long same_frames;
static unsigned long all_frames;

/* Frames that the view reports as unchanged must be unchanged. */
static void check_same(const struct inject_stack_view *view)
{
	unsigned int same = view->same;

	if (same > view->count || same > old_count) {
		wrongly_same++;
	} else if (same && (memcmp(view->frames + view->count - same, old_frames + old_count - same,
				   same * 8) ||
			    memcmp(view->stack + view->count - same, old_stack + old_count - same,
				   (same + 1) * 8))) {
		wrongly_same++;
	}
	same_frames += same;
	all_frames += view->count;
}

/* Also called from below, by its name. */
void look(void);
NOINLINE void look(void)
{
	unsigned int room = draw(4) ? INJECT_STACK_WALK_MAX : 1 + draw(200);
	struct inject_stack_view view;

	walks++;
	if (!inject_stack_walk_view(&view, room)) {
		different++;
		return;
	}
	check_same(&view);
	old_count = view.count;
	memcpy(old_frames, view.frames, view.count * 8);
	memcpy(old_stack, view.stack, (view.count + 1) * 8);
	kept.count = copy_walk(kept.frames, room, &kept.truncated);
	inject_stack_thread()->count = 0;
	fresh.count = copy_walk(fresh.frames, room, &fresh.truncated);
	if (kept.count != fresh.count || kept.truncated != fresh.truncated ||
	    kept.count != view.count || kept.truncated != view.truncated ||
	    memcmp(kept.frames + 1, fresh.frames + 1, (kept.count - 1) * 8) ||
	    memcmp(kept.frames + 1, view.frames + 1, (kept.count - 1) * 8))
		different++;
	if (!draw(20)) {
		reference_walk(&reference);
		if (reference.count < fresh.count ||
		    memcmp(fresh.frames + 1, reference.frames + 1, (fresh.count - 1) * 8) ||
		    fresh.truncated != (reference.count > fresh.count))
			not_libunwind++;
	}
	/* The result kept for the next walk: this one, or one from another place. */
	if (draw(2))
		inject_stack_walk_view(&view, room);
	old_count = inject_stack_thread()->count;
	memcpy(old_frames, inject_stack_thread()->kept.frames + INJECT_STACK_WALK_MAX - old_count,
	       old_count * 8);
	memcpy(old_stack, inject_stack_thread()->kept.stack + INJECT_STACK_WALK_MAX - old_count,
	       (old_count + 1) * 8);
}

static void go(unsigned int depth);

static NOINLINE void plain(unsigned int depth)
{
	go(depth);
	sink++;
}

static NOINLINE void wide(unsigned int depth)
{
	volatile char space[3000];

	space[0] = 1;
	go(depth);
	sink += space[0];
}

static NOINLINE void variable(unsigned int depth)
{
	volatile char space[8 + draw(500)];

	space[0] = 1;
	go(depth);
	sink += space[0];
}

static NOINLINE void realigned(unsigned int depth)
{
	volatile int space[16] __attribute__((aligned(64)));

	space[0] = 1;
	go(depth);
	sink += space[0];
}

static int compare(const void *left, const void *right)
{
	static int inside;

	if (!inside++)
		go(*(const unsigned int *)left < *(const unsigned int *)right ?
			   *(const unsigned int *)left :
			   *(const unsigned int *)right);
	inside--;
	return 0;
}

static NOINLINE void through_library(unsigned int depth)
{
	unsigned int depths[2] = { depth, depth };

	qsort(depths, 2, sizeof(depths[0]), compare);
	sink++;
}

/* Several launches at each depth, on the way down and back. */
static NOINLINE void go(unsigned int depth)
{
	if (!depth || !draw(6))
		look();
	if (!depth)
		return;
	for (unsigned int times = draw(10) ? 1 : 2; times; times--) {
		switch (draw(6)) {
		case 0:
			wide(depth - 1);
			break;
		case 1:
			variable(depth - 1);
			break;
		case 2:
			realigned(depth - 1);
			break;
		case 3:
			through_library(depth - 1);
			break;
		default:
			plain(depth - 1);
		}
	}
	if (!draw(9))
		look();
}

/* Its CFA is loaded from memory. */
static NOINLINE void look_realigned(void)
{
	volatile int space[16] __attribute__((aligned(64)));
	volatile char more[1 + draw(16)];

	space[0] = 1;
	more[0] = 1;
	look();
	sink += space[0] + more[0];
}

#ifdef __x86_64__
/* Its CFA is by rbx. */
void look_by_rbx(void);
__asm__(".text\n"
	".type look_by_rbx, @function\n"
	"look_by_rbx:\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbx, -16\n"
	"	movq %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	andq $-64, %rsp\n"
	"	call look\n"
	"	movq %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	popq %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size look_by_rbx, . - look_by_rbx\n");
#else
#define look_by_rbx look_realigned
#endif

/*
 * Two callers of a function that aligns its stack: it is at the same place for both, with the same
 * rbp, and the return address of the first is still where it was, in what the second does not write.
 */
static NOINLINE void from_two_places(void (*function)(void))
{
	for (size_t shift = 0; shift < 64; shift += 16) {
		{
			volatile char space[16 + shift];

			space[0] = 1;
			function();
			sink += space[0];
		}
		{
			volatile char space[32 + shift];

			space[0] = 1;
			function();
			sink -= space[0];
		}
	}
}

int main(void)
{
	inject_stack_init();
	for (int i = 0; i < 3000; i++)
		go(draw(40));
	for (int i = 0; i < 20; i++) {
		from_two_places(look_realigned);
		from_two_places(look_by_rbx);
	}
	/* Deeper than what can be kept. */
	for (int i = 0; i < 100; i++)
		go(150 + draw(150));
	SAY(walks > 3000 && !different, "walks with what was kept, and without",
	    "%lu of %lu differ", different, walks);
	SAY(!not_libunwind, "some of them against libunwind", "%lu differ", not_libunwind);
	SAY(!wrongly_same, "what is said to be the same", "%lu walks were not", wrongly_same);
	SAY(same_frames > all_frames / 20, "frames are kept", "%lu of %lu", same_frames,
	    all_frames);
	printf("# %lu walks, %lu of %lu frames the same as before\n", walks, same_frames,
	       all_frames);
	return test_end();
}
