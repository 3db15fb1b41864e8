// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The thread that looks at others: when, at which, and what it tells of that. It makes system calls all the
 * time that a session lasts. So it is one of its own, with descriptors of its own, it looks whether it
 * takes too long, and it stops before the program forbids itself system calls; where that was
 * not noticed, the recorder tells of it afterwards.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/imports.h"
#include "base/prepared.h"
#include "base/seccomp.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "../user/abi/look.h"
#include "running.h"
#include "waits.h"
#include "watch.h"

#define SECOND_NS 1000000000ull

/* Threads with calls of an API that are looked at in one round; where there are more, they take turns. */
#define CALLERS_MAX 64
/* Other threads that are looked at in a second, likewise. */
#define OTHERS_MAX 16

/* The rate by default, and what it may take of a processor: more is asked for by a higher rate. */
#define HZ_DEFAULT    50
#define COST_SHARE    100
#define PERIOD_MAX_NS SECOND_NS

/* Without stacks of running threads, a note says so from such a share of looks and number of them on. */
#define RUNNING_SHARE 10
#define RUNNING_LEAST 10

/* How rare stacks of running threads become where they take too long. */
#define ASKS_ONE_OF_MAX 16

/* How long the end of a session, and a program that goes into a sandbox, wait for the thread. */
#define END_NS	   (INJECT_PATIENCE(300) * 1000000ull)
#define SANDBOX_NS (INJECT_PATIENCE(1000) * 1000000ull)

/* What the thread does; others wait for it to change. */
enum {
	RESTS,
	LOOKS,
	ENDS, /* it is to write what is left */
};

static _Atomic uint32_t state;
static bool has_thread;

/* The program forbids itself system calls, or is about to; the thread makes some. */
static _Atomic bool is_forbidden;
static _Atomic int owner;

/* Threads of the library that make system calls just now. */
static _Atomic uint32_t callers;

/**
 * struct sampler - of the thread alone
 * @watcher: what is looked at
 * @may_look: nothing forbids it
 * @may_sample: nor stacks of threads that run
 * @why: no more looks in this session; NULL: there are
 * @is_told: and it is in the capture
 * @generation: of the session
 * @base_ns: distance of looks that is asked for
 * @period_ns: that of now
 * @longest_ns: the longest in this session
 * @round: number
 * @others_at: which of the other threads are looked at next
 * @second_ns: when the last second began
 * @cost_ns: the thread's time then
 * @over: seconds in a row in which it took too long
 * @asks: of @watcher then
 */
struct sampler {
	struct inject_watcher watcher;
	bool may_look;
	bool may_sample;
	const char *why;
	bool is_told;
	uint32_t generation;
	uint64_t base_ns;
	uint64_t period_ns;
	uint64_t longest_ns;
	uint64_t round;
	unsigned int others_at;
	uint64_t second_ns;
	uint64_t cost_ns;
	unsigned int over;
	uint64_t asks;
};

static void change_state(uint32_t to)
{
	atomic_store(&state, to);
	inject_futex_wake(&state);
}

static void __attribute__((format(printf, 3, 4)))
write_note(struct inject_thread *thread, uint16_t flags, const char *format, ...)
{
	struct gpumon_record_note record = {
		.head = { .type = GPUMON_RECORD_NOTE, .flags = flags, .size = sizeof(record) },
		.time_ns = inject_now(),
	};
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	record.text = inject_intern_string(thread, text);
	inject_append(thread, &record);
}

static uint64_t own_cost(void)
{
	struct timespec time = { 0 };

	inject_clock(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static bool is_caller(const struct inject_thread *thread, uint32_t generation)
{
	return atomic_load(&thread->taken) && !thread->ours &&
	       atomic_load_explicit(&thread->generation, memory_order_relaxed) == generation;
}

static void look_at_callers(struct sampler *sampler)
{
	struct inject_thread *thread;
	unsigned int count = 0, turns, i = 0;

	for (thread = inject_thread_first(); thread; thread = thread->next)
		count += is_caller(thread, sampler->generation);
	/* The first one may come between the two loops. */
	turns = count ? (count + CALLERS_MAX - 1) / CALLERS_MAX : 1;
	for (thread = inject_thread_first(); thread; thread = thread->next) {
		if (!is_caller(thread, sampler->generation) ||
		    i++ % turns != sampler->round % turns)
			continue;
		inject_watch_look(&sampler->watcher, thread->tid, thread,
				  sampler->period_ns * turns);
	}
}

static bool is_other(uint32_t tid, uint32_t generation)
{
	struct inject_thread *thread;

	if (inject_threads_is_ours(tid))
		return false;
	for (thread = inject_thread_first(); thread; thread = thread->next)
		if (thread->tid == tid && atomic_load(&thread->taken) &&
		    (thread->ours || is_caller(thread, generation)))
			return false;
	return true;
}

/**
 * struct others - threads that it is the turn of
 * @generation: of the session
 * @from: those before were looked at in the last rounds
 * @seen: all of them
 */
struct others {
	uint32_t generation;
	unsigned int from;
	unsigned int seen;
	unsigned int count;
	uint32_t tids[OTHERS_MAX];
};

static void see_thread(uint32_t tid, void *data)
{
	struct others *others = data;

	if (is_other(tid, others->generation) && others->seen++ >= others->from &&
	    others->count < OTHERS_MAX)
		others->tids[others->count++] = tid;
}

static void look_at_others(struct sampler *sampler)
{
	struct others others = { .generation = sampler->generation, .from = sampler->others_at };
	unsigned int turns;

	inject_threads_for_each(see_thread, &others);
	sampler->others_at += others.count;
	if (sampler->others_at >= others.seen)
		sampler->others_at = 0;
	turns = (others.seen + OTHERS_MAX - 1) / OTHERS_MAX;
	for (unsigned int i = 0; i < others.count; i++)
		inject_watch_look(&sampler->watcher, others.tids[i], NULL, turns * SECOND_NS);
}

/* Stacks of running threads become rarer before looks do. False where they are no part of the cost. */
static bool ask_less(struct sampler *sampler)
{
	struct inject_watcher *watcher = &sampler->watcher;

	if (watcher->asks == sampler->asks || watcher->asks_one_of >= ASKS_ONE_OF_MAX)
		return false;
	watcher->asks_one_of *= 2;
	return true;
}

/* Takes looks from one another where they take too long, and moves them together again. */
static void bound_cost(struct sampler *sampler, uint64_t now)
{
	uint64_t cost = own_cost(), taken = cost - sampler->cost_ns;
	uint64_t most = (now - sampler->second_ns) / COST_SHARE;

	if (sampler->base_ns < SECOND_NS / HZ_DEFAULT)
		most = most * (SECOND_NS / HZ_DEFAULT) / sampler->base_ns;
	/* The first looks at all places in the code cost more than the later ones. */
	sampler->over = taken > most ? sampler->over + 1 : 0;
	if (sampler->over > 1) {
		if (!ask_less(sampler) && sampler->period_ns < PERIOD_MAX_NS)
			sampler->period_ns *= 2;
		sampler->over = 0;
	} else if (taken < most / 3 && sampler->period_ns > sampler->base_ns) {
		sampler->period_ns /= 2;
	} else if (taken < most / 3 && sampler->watcher.asks_one_of > 1) {
		sampler->watcher.asks_one_of /= 2;
	}
	if (sampler->period_ns < sampler->base_ns)
		sampler->period_ns = sampler->base_ns;
	if (sampler->period_ns > sampler->longest_ns)
		sampler->longest_ns = sampler->period_ns;
	sampler->second_ns = now;
	sampler->cost_ns = cost;
	sampler->asks = sampler->watcher.asks;
}

/* Why nothing can be looked at; NULL: it can. */
static const char *find_obstacle(uint32_t tid)
{
	static char text[200];
	struct gpumon_look_files files;
	struct gpumon_look look;
	int error = gpumon_look_open(&files, "/proc/self/task", tid);

	if (!error) {
		error = gpumon_look(&files, &look);
		gpumon_look_close(&files);
	}
	if (!error)
		return NULL;
	snprintf(
		text, sizeof(text),
		"/proc/self/task/%u/syscall cannot be read (%s): a sandbox, the way /proc is mounted, or the kernel does not allow it",
		tid, strerror(-error));
	return text;
}

static void look_around(struct sampler *sampler)
{
	uint64_t now = inject_now();

	look_at_callers(sampler);
	inject_watch_take(&sampler->watcher);
	sampler->round++;
	if (now - sampler->second_ns >= SECOND_NS) {
		look_at_others(sampler);
		inject_watch_forget(&sampler->watcher, now - 4 * SECOND_NS);
		bound_cost(sampler, now);
	}
}

/* The program can go into a sandbox only after end_calls(). False: it may be in one. */
static bool begin_calls(void)
{
	atomic_fetch_add(&callers, 1);
	return !atomic_load(&is_forbidden) && !atomic_load(&inject_is_sandboxed);
}

static void end_calls(void)
{
	atomic_fetch_sub(&callers, 1);
	if (atomic_load(&is_forbidden))
		inject_futex_wake(&callers);
}

static void begin_session(struct sampler *sampler)
{
	uint64_t hz = inject_session.settings.wait_hz;
	bool is_open = begin_calls();

	inject_watch_end(is_open);
	sampler->generation = atomic_load(&inject_session.generation);
	sampler->why = sampler->may_look ? NULL : sampler->why;
	sampler->is_told = false;
	sampler->base_ns = SECOND_NS / (hz ? hz : HZ_DEFAULT);
	sampler->period_ns = sampler->base_ns;
	sampler->longest_ns = sampler->base_ns;
	sampler->round = 0;
	sampler->over = 0;
	sampler->watcher.looks = 0;
	sampler->watcher.turns = 0;
	sampler->watcher.running = 0;
	sampler->watcher.asked = 0;
	sampler->watcher.asks_one_of = 1;
	inject_running_begin(sampler->may_sample);
	sampler->second_ns = inject_now();
	sampler->cost_ns = is_open ? own_cost() : 0;
	end_calls();
}

static void say_why(struct sampler *sampler, const char *why)
{
	if (!sampler->is_told)
		write_note(sampler->watcher.thread, 0, "waiting threads were not looked at: %s",
			   why);
	sampler->is_told = true;
}

/* One round, and when the next one is due. */
static void work(struct sampler *sampler)
{
	struct inject_thread *thread = inject_thread_enter(false);

	if (sampler->generation != atomic_load(&inject_session.generation))
		begin_session(sampler);
	sampler->watcher.thread = thread;
	if (!thread) {
		/* The window was closed. */
		thread = inject_thread_enter(true);
		sampler->watcher.thread = thread;
		if (!thread)
			return;
		inject_watch_write(&sampler->watcher);
	} else if (begin_calls() && !sampler->why) {
		look_around(sampler);
		end_calls();
	} else {
		end_calls();
		inject_watch_write(&sampler->watcher);
		say_why(sampler, sampler->why ?
					 sampler->why :
					 "the program forbids itself system calls (seccomp)");
	}
	inject_thread_leave(thread);
}

/* Where they would say much: threads run for a tenth of their time. */
static void say_running(struct sampler *sampler)
{
	const struct inject_watcher *watcher = &sampler->watcher;

	if (!inject_running_problem() || !(inject_session.record & GPUMON_RECORD_STACKS) ||
	    watcher->running < RUNNING_LEAST || watcher->running < watcher->turns / RUNNING_SHARE)
		return;
	write_note(watcher->thread, 0,
		   "running threads have no stacks, for %.0f %% of their time: %s",
		   100. * (double)watcher->running / (double)watcher->turns,
		   inject_running_problem());
}

static void end_session(struct sampler *sampler)
{
	struct inject_thread *thread = inject_thread_enter(true);
	bool is_open;

	sampler->watcher.thread = thread;
	if (thread && sampler->generation == atomic_load(&inject_session.generation)) {
		inject_watch_write(&sampler->watcher);
		if (sampler->longest_ns > sampler->base_ns)
			write_note(
				thread, 0,
				"waiting threads were looked at only %.3g times a second at the least, and not %.3g times, because that would have taken more than 1 %% of a processor",
				(double)SECOND_NS / (double)sampler->longest_ns,
				(double)SECOND_NS / (double)sampler->base_ns);
		if (sampler->watcher.looks && sampler->watcher.stacks &&
		    inject_stack_other_is_refused(sampler->watcher.stacks))
			write_note(
				thread, 0,
				"waiting threads have no stacks: process_vm_readv() is refused (seccomp)");
		say_running(sampler);
	}
	is_open = begin_calls();
	inject_watch_end(is_open);
	end_calls();
	if (thread)
		inject_thread_leave(thread);
}

static uint64_t pause_ns(const struct sampler *sampler, uint64_t *next_ns)
{
	uint64_t now = inject_now();

	*next_ns += sampler->period_ns;
	/* Late, or the session is a new one: no looks are made up for. */
	if (*next_ns < now || *next_ns > now + sampler->period_ns)
		*next_ns = now + sampler->period_ns;
	return *next_ns - now;
}

static void *run_sampler(void *argument)
{
	static struct sampler sampler;
	struct inject_thread *self;
	uint64_t next_ns = 0;

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	/* No malloc() here: a heap more would have the C library look for processors, in the program's sandbox. */
	inject_threads_mark_ours();
	self = inject_thread_get();
	if (!self)
		return NULL;
	self->ours = true;
	sampler = (struct sampler){ .period_ns = SECOND_NS / HZ_DEFAULT };
	if (!inject_seccomp_may_look())
		sampler.why = "a filter of system calls (seccomp) would end the process for that";
	else if (!inject_threads_unshare_descriptors(0))
		sampler.why = "close_range() is not there (Linux 5.9 has it) or is refused";
	else
		sampler.why = find_obstacle(self->tid);
	sampler.may_look = !sampler.why;
	sampler.may_sample = sampler.may_look && inject_seccomp_may_sample();
	if (sampler.may_look)
		sampler.watcher.stacks = inject_stack_other_new();
	/* Address space; it becomes memory only where there is an interpreter. */
	if (sampler.may_look)
		sampler.watcher.python = inject_python_other_new();
	for (;;) {
		switch (atomic_load(&state)) {
		case LOOKS:
			work(&sampler);
			inject_futex_wait(&state, LOOKS, pause_ns(&sampler, &next_ns));
			break;
		case ENDS:
			end_session(&sampler);
			change_state(RESTS);
			break;
		default:
			inject_futex_wait(&state, RESTS, INJECT_FOR_EVER);
		}
	}
	return NULL;
}

/* --- sandboxes (seccomp) */

/* A thread of the program is about to forbid some. It waits for the end of a round, but not for ever. */
static void before_sandbox(void)
{
	uint64_t until = inject_now() + SANDBOX_NS;
	int kept = errno;
	uint32_t busy;

	/* A child that has not begun its program yet may share this memory. */
	if (!atomic_load(&is_forbidden) && atomic_load(&owner) == (int)syscall(SYS_getpid)) {
		atomic_store(&is_forbidden, true);
		while ((busy = atomic_load(&callers)) && inject_now() < until)
			inject_futex_wait_while(&callers, busy, until);
	}
	errno = kept;
}

typedef int prctl_function(int option, unsigned long a, unsigned long b, unsigned long c,
			   unsigned long d);

static prctl_function *real_prctl;

/* Its arguments are in registers, those that the caller left out, too. */
static int noticed_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
			 unsigned long d)
{
	if ((option == PR_SET_NO_NEW_PRIVS && a) || option == PR_SET_SECCOMP)
		before_sandbox();
	return real_prctl(option, a, b, c, d);
}

/*
 * One call of the library may end the process once a filter holds for all threads, and nothing tells the
 * library's thread of that. A program without privileges first asks, by prctl(), for no new ones; one that
 * makes the system call by itself is not noticed. Takes the loader's lock; again when libraries were loaded.
 */
static void notice_sandbox(void)
{
	static const struct inject_import imports[] = {
		{ "prctl", (void *)noticed_prctl },
		{ NULL, NULL },
	};

	if (!real_prctl)
		*(void **)&real_prctl = dlsym(RTLD_DEFAULT, "prctl");
	if (real_prctl)
		inject_imports_replace(imports);
}

/* --- sessions */

void inject_waits_begin(void)
{
	pthread_t thread;

	if (!inject_session.settings.wait_hz || atomic_load(&inject_is_sandboxed))
		return;
	if (!has_thread) {
		atomic_store(&owner, (int)getpid());
		notice_sandbox();
		has_thread = inject_threads_start(&thread, run_sampler, NULL);
		if (!has_thread)
			return;
		pthread_detach(thread);
	}
	change_state(LOOKS);
}

void inject_waits_libraries(void)
{
	if (!has_thread)
		return;
	if (begin_calls())
		notice_sandbox();
	end_calls();
}

void inject_waits_end(void)
{
	uint32_t looks = LOOKS;

	if (!atomic_compare_exchange_strong(&state, &looks, ENDS))
		return;
	inject_futex_wake(&state);
	inject_futex_wait_while(&state, ENDS, inject_now() + END_NS);
}

void inject_waits_forked(void)
{
	has_thread = false;
	atomic_store(&state, RESTS);
	atomic_store(&callers, 0);
	inject_watch_end(false);
}
