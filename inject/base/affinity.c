// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "affinity.h"
#include "prepared.h"
#include "seccomp.h"
#include "threads.h"

/* How long a call may take until threads are gathered, and for how long they are, each time. */
#define PATIENCE_MS INJECT_PATIENCE(400)
static const unsigned int gather_ms[] = { 20, 40, 80 };

/* Processors and threads; those beyond them are left alone. */
#define CPUS	1024
#define THREADS 1024

struct cpus {
	uint64_t bits[CPUS / 64];
};

static struct {
	uint32_t tid;
	struct cpus before;
} gathered[THREADS];
static unsigned int count;
static struct cpus one;

static bool get_affinity(uint32_t tid, struct cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	return syscall(SYS_sched_getaffinity, tid, sizeof(*cpus), cpus) > 0;
}

static void set_affinity(uint32_t tid, const struct cpus *cpus)
{
	syscall(SYS_sched_setaffinity, tid, sizeof(*cpus), cpus);
}

static bool is_same(const struct cpus *a, const struct cpus *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void note_affinity(uint32_t tid, void *data)
{
	(void)data;
	if (!inject_threads_is_ours(tid) && tid != inject_tid() && count < THREADS &&
	    get_affinity(tid, &gathered[count].before))
		gathered[count++].tid = tid;
}

/* The last processor that the first thread may use: the first processors often serve interrupts. */
static bool choose_processor(void)
{
	const uint64_t *bits = gathered[0].before.bits;

	memset(&one, 0, sizeof(one));
	for (unsigned int i = CPUS / 64; i-- > 0;) {
		if (!bits[i])
			continue;
		one.bits[i] = 1ull << (63 - __builtin_clzll(bits[i]));
		return !is_same(&one, &gathered[0].before);
	}
	return false;
}

static bool may_use_it(const struct cpus *cpus)
{
	for (unsigned int i = 0; i < CPUS / 64; i++)
		if (cpus->bits[i] & one.bits[i])
			return true;
	return false;
}

static bool gather_threads(void)
{
	count = 0;
	if (atomic_load(&inject_is_sandboxed) || !inject_seccomp_may_move())
		return false;
	inject_threads_for_each(note_affinity, NULL);
	if (count < 2 || !choose_processor()) {
		count = 0;
		return false;
	}
	for (unsigned int i = 0; i < count; i++)
		if (may_use_it(&gathered[i].before))
			set_affinity(gathered[i].tid, &one);
	return true;
}

/* What the program has set meanwhile stays. */
static void restore_affinity(uint32_t tid, void *data)
{
	const struct cpus *before = &gathered[0].before;
	struct cpus now;

	(void)data;
	for (unsigned int i = 0; i < count; i++)
		if (gathered[i].tid == tid)
			before = &gathered[i].before;
	if (get_affinity(tid, &now) && is_same(&now, &one) && !is_same(before, &one))
		set_affinity(tid, before);
}

static void restore_threads(void)
{
	for (unsigned int i = 0; i < count; i++)
		restore_affinity(gathered[i].tid, NULL);
	/* Threads that were made meanwhile; and once more, those that were just being made. */
	inject_threads_for_each(restore_affinity, NULL);
	inject_threads_for_each(restore_affinity, NULL);
	count = 0;
}

void inject_affinity_forked(void)
{
	if (count)
		restore_affinity(inject_tid(), NULL);
	count = 0;
}

static _Atomic uint32_t calls;
static unsigned int kept_ms;

static void wait_for_call(unsigned int ms)
{
	inject_futex_wait_while(&calls, 1, inject_now() + ms * 1000000ull);
}

static void *help_call(void *unused)
{
	uint64_t begin;

	(void)unused;
	inject_threads_unshare_descriptors(0);
	for (size_t i = 0; i < sizeof(gather_ms) / sizeof(gather_ms[0]); i++) {
		wait_for_call(PATIENCE_MS);
		if (!atomic_load(&calls) || !gather_threads())
			break;
		begin = inject_now();
		wait_for_call(gather_ms[i]);
		restore_threads();
		kept_ms += (unsigned int)((inject_now() - begin + 999999) / 1000000);
	}
	return NULL;
}

void inject_affinity_run(void (*call)(void *data), void *data)
{
	pthread_t helper;
	bool is_helped;

	atomic_store(&calls, 1);
	is_helped = inject_threads_start(&helper, help_call, NULL);
	call(data);
	atomic_store(&calls, 0);
	inject_futex_wake(&calls);
	if (is_helped)
		pthread_join(helper, NULL);
}

unsigned int inject_affinity_kept_ms(void)
{
	unsigned int ms = kept_ms;

	kept_ms = 0;
	return ms;
}
