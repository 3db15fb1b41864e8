// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stacks that are small, not the thread's own, at the end of memory, or overwritten. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "called.h"
#include "compare.h"
#include "stack/internal.h"

#define PAGE 4096u

volatile int sink;

static struct walk seen;
static struct walk reference;

static NOINLINE void look(const char *name)
{
	for (int i = 0; i < 3; i++)
		WALK(&seen);
	reference_walk(&reference);
	if (name)
		test_same(name, &seen, &reference);
}

static NOINLINE void recurse(int depth, const char *name)
{
	volatile char space[40];

	space[1] = (char)depth;
	if (depth)
		recurse(depth - 1, name);
	else
		look(name);
	sink = space[1];
}

/* Memory with unmapped pages on both sides. */
static char *guarded(size_t size)
{
	char *memory = mmap(NULL, size + 2 * PAGE, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + PAGE, size, PROT_READ | PROT_WRITE))
		abort();
	return memory + PAGE;
}

static void *small_thread(void *name)
{
	recurse(5, name);
	return NULL;
}

static void small_stacks(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	char *stack;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_create(&thread, &attributes, small_thread, "a thread with a small stack");
	pthread_join(thread, NULL);
	stack = guarded(64 << 10);
	pthread_attr_setstack(&attributes, stack, 64 << 10);
	pthread_create(&thread, &attributes, small_thread,
		       "a thread with a stack of the program's");
	pthread_join(thread, NULL);
	/* The same memory with another thread and another size: nothing kept may be used. */
	munmap(stack + (32 << 10), 32 << 10);
	pthread_attr_setstack(&attributes, stack, 32 << 10);
	pthread_create(&thread, &attributes, small_thread, "the same memory, half of it");
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* volatile: raise() is declared not to call back, but does. */
static const char *volatile signal_name;

static void on_signal(int signal)
{
	(void)signal;
	recurse(3, signal_name);
	KEEP();
}

static NOINLINE void raise_below(int depth)
{
	volatile char space[100];

	space[0] = 1;
	if (depth)
		raise_below(depth - 1);
	else
		raise(SIGUSR1);
	sink = space[0];
}

static void signal_stacks(void)
{
	size_t size = 64 << 10;
	stack_t other = { .ss_sp = guarded(size), .ss_size = size };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal_name = "a handler on a stack of its own";
	raise_below(6);
	signal_name = "another one, deeper";
	raise_below(30);
	other.ss_flags = SS_DISABLE;
	sigaltstack(&other, NULL);
	munmap(other.ss_sp, size);
	signal_name = "a handler on the thread's stack";
	raise_below(6);
}

static ucontext_t home;
static ucontext_t away;
static struct walk coroutine_walk;

void bottom(void)
{
	recurse(8, NULL);
	coroutine_walk = seen;
	swapcontext(&away, &home);
	abort();
}

static void run_coroutine(char *stack, size_t size, const char *name)
{
	int last;

	memset(&coroutine_walk, 0, sizeof(coroutine_walk));
	getcontext(&away);
	away.uc_stack.ss_sp = stack;
	away.uc_stack.ss_size = size;
	away.uc_link = NULL;
	makecontext(&away, bottom, 0);
	swapcontext(&home, &away);
	last = find_in(&coroutine_walk, "bottom");
	/* look, nine times recurse, bottom, and its return address. */
	SAY(!coroutine_walk.truncated && last == 10 && coroutine_walk.count == 12, name,
	    "%u frames, the function is frame %d%s", coroutine_walk.count, last,
	    coroutine_walk.truncated ? ", truncated" : "");
}

static void coroutines(void)
{
	char *stack = guarded(64 << 10);

	run_coroutine(stack, 64 << 10, "a coroutine");
	run_coroutine(stack, 64 << 10, "a coroutine on the same stack");
	munmap(stack + (16 << 10), 48 << 10);
	run_coroutine(stack, 16 << 10, "a coroutine on what is left of that stack");
	recurse(10, "the thread's own stack, after coroutines");
}

#ifdef __x86_64__

/* Like hand-written coroutines: there is no call frame information at the caller. */
__asm__(".text\n.globl enter\n.type enter, @function\nenter:\n"
	"\tpush %rbp\n\tpush %rbx\n\tmov %rsp, %rbx\n\tmov %rdi, %rsp\n\txor %ebp, %ebp\n"
	"\tinc %ebp\n\tcall *%rsi\n\tmov %rbx, %rsp\n\tpop %rbx\n\tpop %rbp\n\tret\n"
	".size enter, . - enter\n");

static void entered(void)
{
	recurse(4, NULL);
	KEEP();
}

static void without_information(void)
{
	size_t size = 32 << 10;
	char *stack = guarded(size);
	int entry;

	enter(stack + size, entered);
	entry = find_in(&seen, "enter");
	SAY(seen.truncated && entry == 7 && seen.count == 8,
	    "a stack that nothing is known about beyond its functions",
	    "%u frames, entered in frame %d%s", seen.count, entry,
	    seen.truncated ? ", truncated" : "");
}

#endif

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Values that a wrong walk may meet. */
static uint64_t bad_word(const struct inject_stack_view *view, uint64_t low, uint64_t high)
{
	uint64_t random = random_word();

	switch (random % 10) {
	case 0:
		return random_word();
	case 1:
		return random_word() & 0x7fffffffffffull;
	case 2:
		return low + random_word() % (high - low);
	case 3:
		return (low + random_word() % (high - low)) & ~7ull;
	case 4:
		return high + (random_word() % 100000 & ~7ull);
	case 5:
		return low - (random_word() % 10000000 & ~7ull);
	case 6:
		return view->frames[random_word() % view->count] + random_word() % 64;
	case 7:
		return view->frames[random_word() % view->count];
	case 8:
		return random % 3 ? 0 : random_word() % 100000;
	default:
		return (uint64_t)(uintptr_t)&bad_word + random_word() % 100000;
	}
}

static bool is_prefix(const struct walk *walk, const uint64_t *frames, unsigned int count)
{
	for (unsigned int i = 1; i < count && i < walk->count; i++) {
		if (walk->frames[i] != frames[i])
			return false;
	}
	return walk->count >= count;
}

static bool may_be_call(uint64_t after)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)after;

	/* The bytes of a signal handler's return, as the tables of them in this program. */
	if (code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0 && code[3] == 0x0f)
		return true;
	for (int i = 2; i <= 7; i++) {
		if (code[-i] == 0xff)
			return true;
	}
	return code[-5] == 0xe8;
}

/*
 * Change one return address at a time: frames before it must stay correct, and its value must not
 * be trusted.
 */
static NOINLINE void overwrite_returns(void)
{
	uint64_t frames[64];
	uint64_t stack[65];
	struct inject_stack_view view;
	unsigned int wrong = 0;
	unsigned int believed = 0;
	unsigned int count;

	inject_stack_walk_view(&view, 64);
	count = view.count;
	memcpy(frames, view.frames, count * sizeof(*frames));
	memcpy(stack, view.stack, (count + 1) * sizeof(*stack));
	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int at = 1 + i % (count - 4);
		volatile uint64_t *place = (volatile uint64_t *)(uintptr_t)(stack[at + 1] - 8);
		uint64_t right = *place;
		bool code = false;

		if (right != frames[at + 1]) {
			wrong++;
			break;
		}
		*place = bad_word(&view, stack[1], stack[count]);
		WALK(&seen);
		wrong += !is_prefix(&seen, frames, at + 1);
		for (unsigned int j = 0; j < count; j++)
			code = code || *place == frames[j];
		/* Only an address after a call may be accepted. */
		believed += !code && seen.count > at + 1 && !may_be_call(seen.frames[at + 1]);
		*place = right;
	}
	SAY(!wrong, "overwritten return addresses: frames before", "%u walks", wrong);
	SAY(!believed, "overwritten return addresses: not followed", "%u walks", believed);
}

/* Change some words anywhere. */
static NOINLINE void overwrite_stack(void)
{
	static uint64_t copy[4096];
	struct inject_stack_view view;
	uint64_t *low;
	size_t words;
	unsigned int wrong = 0;

	inject_stack_walk_view(&view, 64);
	low = (uint64_t *)(uintptr_t)view.stack[2];
	words = (view.stack[view.count - 4] - view.stack[2]) / 8;
	if (words > 4096)
		words = 4096;
	memcpy(copy, low, words * 8);
	for (unsigned int i = 0; i < 30000; i++) {
		unsigned int changes = 1 + i % 20;
		volatile uint64_t *target = low;

		for (unsigned int j = 0; j < changes; j++)
			target[random_word() % words] =
				bad_word(&view, view.stack[1], view.stack[view.count]);
		WALK(&seen);
		wrong += seen.count < 2;
		for (size_t j = 0; j < words; j++)
			target[j] = copy[j];
	}
	SAY(!wrong, "overwritten stacks", "%u walks found nothing", wrong);
}

static NOINLINE void overwrite(int depth)
{
	volatile char space[50];

	space[0] = 1;
	if (depth) {
		overwrite(depth - 1);
	} else {
		overwrite_returns();
		overwrite_stack();
		look("the stack after all that");
	}
	sink = space[0];
}

static void *overwrite_thread(void *data)
{
	(void)data;
	overwrite(10);
	return NULL;
}

/* Fewer frames than there are: so many, marked, and nothing behind them is written. */
static NOINLINE void limited_room(unsigned int depth)
{
	if (depth) {
		limited_room(depth - 1);
		KEEP();
		return;
	}
	for (unsigned int room = 1; room <= 12; room++) {
		uint64_t frames[16];
		bool truncated = false;
		unsigned int count;
		char name[40];

		memset(frames, 0x5a, sizeof(frames));
		count = copy_walk(frames, room, &truncated);
		snprintf(name, sizeof(name), "room for %u", room);
		SAY(count == room && truncated && frames[room] == 0x5a5a5a5a5a5a5a5aull, name,
		    "%u frames, %s, %#lx behind them", count, truncated ? "truncated" : "whole",
		    (unsigned long)frames[room]);
	}
}

/* Memory that cannot be read is not, whichever was read before. */
static void unreadable_memory(void)
{
	struct inject_stack_thread *thread = inject_stack_thread();
	char *memory = guarded(PAGE);
	uint64_t address = (uintptr_t)memory, value = 0;

	*(uint64_t *)memory = 4711;
	SAY(inject_stack_load(thread, address, &value) && value == 4711, "a page that can be read",
	    "%lu", (unsigned long)value);
	SAY(!inject_stack_load(thread, address + PAGE, &value), "the page after it", "it is read");
	SAY(!inject_stack_load(thread, address - 8, &value), "the page before it", "it is read");
	SAY(inject_stack_load(thread, address + PAGE - 8, &value), "its last word",
	    "it is not read");
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	inject_stack_init();
	unreadable_memory();
	limited_room(20);
	small_stacks();
	signal_stacks();
	coroutines();
#ifdef __x86_64__
	without_information();
#endif
	overwrite(10);
	/* At the very end of memory. */
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, guarded(256 << 10), 256 << 10);
	pthread_create(&thread, &attributes, overwrite_thread, NULL);
	pthread_join(thread, NULL);
	return test_end();
}
