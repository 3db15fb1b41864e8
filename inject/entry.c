// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Begin and end of the library in a process. An API calls the library, and a program without one never
 * loads it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/affinity.h"
#include "base/prepared.h"
#include "base/seccomp.h"
#include "base/threads.h"
#include "channel/call.h"
#include "entry.h"
#include "recorder/recorder.h"
#include "session/session.h"
#include "session/worker.h"
#include "stack/walk.h"

/*
 * Process in which the library is active, 0 for none: in memory that the kernel empties in
 * children, however they are made. The number alone may be a child's as well, in another pid
 * namespace.
 */
static _Atomic int *owner;
static bool sees_forks, is_prepared, is_late;

/*
 * Two APIs may be initialised at the same time. Held for some instructions only: each of both threads may
 * have a lock of the loader that the other one needs.
 */
static pthread_mutex_t entering = PTHREAD_MUTEX_INITIALIZER;

/* Has the first one begun? Another one waits for that, but not for ever. */
static _Atomic uint32_t has_begun;
#define BEGIN_NS 1000000000ull

/*
 * A child has one thread and half of an API: nothing is recorded in it until an API calls the library
 * again. Buffers that CUPTI holds stay mapped, because CUPTI may read them when the child ends.
 */
static void forget_in_child(void)
{
	atomic_store(owner, 0);
	atomic_store(&has_begun, 0);
	pthread_mutex_init(&entering, NULL);
	inject_fork_child();
	inject_threads_forked();
	inject_affinity_forked();
	inject_session_forked();
	inject_worker_forked();
	inject_recorder_forked();
	inject_stack_forked();
}

/* Runs without a system call. */
static bool is_owner(void)
{
	return owner && atomic_load(owner);
}

/* Another thread may make this process the owner before the fork ends: both ends are counted. */
static void prepare_fork(void)
{
	inject_fork_begin(is_owner());
}

static void resume_after_fork(void)
{
	inject_fork_end();
}

/* Registered again after each API was loaded, so that it runs before what they have registered. */
static void finish_at_exit(void)
{
	if (is_owner())
		inject_worker_finish(INJECT_EXIT_MS);
}

/* Before Linux 4.14 the page is emptied where the C library makes the child. */
static bool make_owner(void)
{
	static bool is_refused;
	void *memory;

	if (owner)
		return true;
	is_refused = is_refused || !inject_seccomp_may_begin();
	if (is_refused)
		return false;
	memory = mmap(NULL, sizeof(*owner), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return false;
	(void)madvise(memory, sizeof(*owner), MADV_WIPEONFORK);
	owner = memory;
	return true;
}

static bool prepare_process(void)
{
	if (is_prepared)
		return true;
	inject_prepare();
	if (!inject_call_setup())
		return false;
	/* Done before anything that takes time: a child must not find the lock taken. */
	sees_forks = sees_forks ||
		     !pthread_atfork(prepare_fork, resume_after_fork, forget_in_child);
	is_prepared = sees_forks && inject_stack_init();
	return is_prepared;
}

static void begin_in_process(const struct inject_backend *backend)
{
	const char *path = is_late ? NULL : getenv("GPUMON_SOCKET");
	bool is_recorded;

	if (!prepare_process())
		return;
	inject_environment_read();
	/* There is no session yet: the one that begins will do it. */
	inject_session_join(backend);
	if (!inject_recorder_start(path && *path ? path : NULL))
		return;
	is_recorded = inject_worker_answer(!is_late);
	if (!inject_worker_start() && is_recorded) {
		inject_session_end(false, "no thread", 0);
		inject_recorder_hang_up();
	}
}

/* Whether this process has an owner; @is_first: this call has made it so. */
static bool own_process(bool *is_first)
{
	int no_owner = 0;
	bool is_owned;

	pthread_mutex_lock(&entering);
	is_owned = make_owner();
	*is_first = is_owned && !is_owner() &&
		    atomic_compare_exchange_strong(owner, &no_owner, (int)getpid());
	pthread_mutex_unlock(&entering);
	return is_owned && is_owner();
}

void inject_enter(const struct inject_backend *backend)
{
	bool is_first;
	int state;

	/*
	 * The program has more rights than the user that set the environment, so the environment is not
	 * even read.
	 */
	if (getauxval(AT_SECURE))
		return;
	/* The child of a recorded program that has forbidden itself system calls. */
	if (!is_owner() && atomic_load(&inject_is_sandboxed))
		return;
	/* A thread that is cancelled in the middle would leave half a session. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (own_process(&is_first)) {
		if (is_first) {
			begin_in_process(backend);
			atomic_store(&has_begun, 1);
			inject_futex_wake(&has_begun);
		} else {
			/* The first launches of this API are then recorded, too. */
			inject_futex_wait_while(&has_begun, 0, inject_now() + BEGIN_NS);
			inject_session_join(backend);
		}
		(void)atexit(finish_at_exit);
		(void)at_quick_exit(finish_at_exit);
	}
	pthread_setcancelstate(state, NULL);
}

bool inject_enter_late(const struct inject_backend *backend)
{
	if (getauxval(AT_SECURE))
		return false;
	if (!is_owner()) {
		is_late = true;
		inject_environment_late();
	}
	inject_enter(backend);
	return is_owner() && is_prepared;
}
