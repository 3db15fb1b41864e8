// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Frames as made by compilers and the C library, each compared with libunwind. */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "called.h"
#include "compare.h"

volatile int sink;
/* volatile: raise() and others are declared not to call back, but do. */
static const char *volatile what;

static NOINLINE void look(void)
{
	static __thread struct walk ours;
	static __thread struct walk theirs;

	/* The first walk finds (some) new rules. The third one uses what the second one kept. */
	for (int i = 0; i < 3; i++)
		WALK(&ours);
	reference_walk(&theirs);
	test_same(what, &ours, &theirs);
}

static NOINLINE void recurse(int depth)
{
	volatile char space[24];

	space[0] = (char)depth;
	if (depth)
		recurse(depth - 1);
	else
		look();
	sink = space[0];
}

static NOINLINE void with_alloca(size_t size)
{
	char *space = alloca(size);

	memset(space, 1, size);
	look();
	sink = space[size / 2];
}

static NOINLINE void with_array(int size)
{
	int array[size];

	for (int i = 0; i < size; i++)
		array[i] = i;
	look();
	sink = array[size - 1];
}

/* A realigned stack, whose CFA is loaded from memory. */
static NOINLINE void aligned(int depth)
{
	int array[16] __attribute__((aligned(64)));

	memset(array, depth, sizeof(array));
	if (depth)
		aligned(depth - 1);
	else
		with_array(7);
	sink = array[3];
}

static NOINLINE void large(int depth)
{
	volatile char space[300000];

	space[sizeof(space) / 2] = (char)depth;
	if (depth)
		large(depth - 1);
	else
		look();
	sink = space[0];
}

static NOINLINE void many_arguments(long a, long b, long c, long d, long e, long f, long g, long h)
{
	look();
	sink = (int)(a + b + c + d + e + f + g + h);
}

static void tail_target(int depth)
{
	recurse(depth);
}

static NOINLINE void tail_call(int depth)
{
	void (*volatile target)(int) = tail_target;

	target(depth + 1);
}

static inline __attribute__((always_inline)) void inlined(int depth)
{
	recurse(depth);
	sink++;
}

static int compare_ints(const void *left, const void *right)
{
	static int calls;

	if (++calls == 5)
		look();
	return *(const int *)left - *(const int *)right;
}

static int find_int(const void *left, const void *right)
{
	look();
	return *(const int *)left - *(const int *)right;
}

static void visit(const void *node, VISIT order, int depth)
{
	(void)node;
	(void)depth;
	if (order == leaf || order == endorder)
		look();
}

static void once(void)
{
	look();
	KEEP();
}

static void on_signal(int signal)
{
	(void)signal;
	look();
	KEEP();
}

static void on_signal_info(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	recurse(3);
}

/* Interrupted by a fault: the address is that of the instruction itself. */
static NOINLINE void fault(volatile int *nowhere)
{
	sink = *nowhere;
	sink++;
}

static sigjmp_buf back;

static void on_fault(int signal)
{
	(void)signal;
	look();
	siglongjmp(back, 1);
}

/* A function whose last instruction is a call: the next address belongs to another function. */
static NOINLINE __attribute__((noreturn)) void never(void)
{
	recurse(2);
	fflush(stdout);
	_exit(0);
}

static NOINLINE __attribute__((noreturn)) void calls_never(void)
{
	never();
}

static void in_child(void (*function)(void))
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		inject_stack_forked();
		function();
		fflush(stdout);
		_exit(test_end());
	}
	waitpid(child, &status, 0);
	SAY(WIFEXITED(status) && !WEXITSTATUS(status), what, "child ended with %#x", status);
}

static void calls_never_function(void)
{
	calls_never();
}

static void at_exit(void)
{
	what = "a function called by exit()";
	look();
}

static void exit_function(void)
{
	atexit(at_exit);
	exit(test_end());
}

static void *thread(void *data)
{
	for (int i = 0; i < 300; i++) {
		struct walk ours;
		struct walk theirs;

		WALK(&ours);
		reference_walk(&theirs);
		if (ours.count != theirs.count || ours.truncated ||
		    memcmp(ours.frames + 1, theirs.frames + 1, (ours.count - 1) * 8)) {
			*(int *)data = 1;
			return NULL;
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[8];
	int bad[8] = { 0 };
	int sum = 0;

	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, thread, &bad[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(all[i], NULL);
		sum += bad[i];
	}
	SAY(!sum, "several threads at once", "%d of 8 saw other frames than libunwind", sum);
}

static void *thread_looks(void *data)
{
	(void)data;
	recurse(2);
	return NULL;
}

static void library_calls(void)
{
	int numbers[] = { 9, 3, 7, 1, 8, 2, 6, 4, 5 };
	int key = 4;
	void *tree = NULL;
	pthread_once_t control = PTHREAD_ONCE_INIT;
	pthread_t other;

	what = "qsort";
	qsort(numbers, 9, sizeof(int), compare_ints);
	what = "bsearch";
	bsearch(&key, numbers, 1, sizeof(int), find_int);
	what = "twalk";
	tsearch(&numbers[0], &tree, compare_ints);
	twalk(tree, visit);
	tdelete(&numbers[0], &tree, compare_ints);
	what = "pthread_once";
	pthread_once(&control, once);
	what = "a thread's begin";
	pthread_create(&other, NULL, thread_looks, NULL);
	pthread_join(other, NULL);
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	what = "a signal handler";
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	what = "a signal handler with information";
	action.sa_sigaction = on_signal_info;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	what = "a handler of a fault";
	action.sa_handler = on_fault;
	action.sa_flags = 0;
	sigaction(SIGSEGV, &action, NULL);
	if (!sigsetjmp(back, 1))
		fault((volatile int *)16);
}

/* The library's constructor calls this. */
void from_constructor(void)
{
	look();
	KEEP();
}

static void loading(void)
{
	void *library;
	void (*function)(void (*)(void));

	what = "a constructor in dlopen";
	library = dlopen("./constructor.so", RTLD_NOW);
	SAY(library != NULL, "dlopen of constructor.so", "%s", dlerror());
	if (!library)
		return;
	what = "through a library that was loaded after the walker";
	*(void **)&function = dlsym(library, "constructor_call");
	function(from_constructor);
	what = "a destructor in dlclose";
	dlclose(library);
}

static void lazily(void)
{
	void *library = dlopen("./lazy_user.so", RTLD_LAZY);
	int (*function)(void);

	what = "a function that the loader calls at another one's first call";
	if (!library) {
		SAY(false, what, "%s", dlerror());
		return;
	}
	*(void **)&function = dlsym(library, "lazy_call");
	SAY(function() == 8, "it is called", "it is not");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	inject_stack_init();
	what = "a call";
	look();
	what = "recursion";
	recurse(1);
	what = "deeper recursion";
	recurse(100);
	what = "deep recursion";
	recurse(480);
	what = "less deep recursion";
	recurse(40);
	what = "alloca";
	with_alloca((size_t)atoi("1000"));
	what = "an array of variable size";
	with_array(atoi("100"));
	what = "a realigned stack";
	aligned(3);
	what = "large frames";
	large(4);
	what = "arguments on the stack";
	many_arguments(1, 2, 3, 4, 5, 6, 7, 8);
	what = "a tail call";
	tail_call(1);
	what = "an inlined function";
	inlined(2);
	library_calls();
	signals();
	threads();
	what = "functions that end with a call";
	in_child(calls_never_function);
	what = "a child's exit";
	in_child(exit_function);
	loading();
	lazily();
	return test_end();
}
