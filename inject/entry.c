// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Begin and end of the library in a process. There is no constructor: CUDA calls
 * the library, and a program without CUDA never loads it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/fork.h"
#include "cupti/backend.h"
#include "entry.h"
#include "run/worker.h"
#include "session/session.h"
#include "stack/walk.h"
#include "talk/recorder.h"

/*
 * Process in which the library is active, 0 for none: in memory that the kernel empties in
 * children, however they are made. The number alone may be a child's as well, in another pid
 * namespace.
 */
static _Atomic int *owner;
static bool is_prepared;

/*
 * A child has one thread and half of CUDA: nothing is recorded in it until CUDA calls the library
 * again. Buffers that CUPTI holds stay mapped, because CUPTI may read them when the child ends.
 */
static void forget_in_child(void)
{
	atomic_store(owner, 0);
	inject_fork_child();
	inject_session_forked();
	inject_thread_forked();
	inject_worker_forked();
	inject_recorder_forked();
	gpumon_stack_forked();
}

static bool is_owner(void)
{
	return atomic_load(owner) == (int)getpid();
}

static void prepare_fork(void)
{
	if (is_owner())
		inject_fork_begin();
}

static void resume_after_fork(void)
{
	if (is_owner())
		inject_fork_end();
}

/* Registered after CUPTI was loaded, so that it runs before what CUPTI has registered. */
static void finish_at_exit(void)
{
	if (is_owner())
		inject_worker_finish(INJECT_EXIT_MS);
}

/* Before Linux 4.14, it is emptied where the C library makes the child. */
static bool make_owner(void)
{
	void *memory;

	if (owner)
		return true;
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
	if (!inject_thread_setup() || !gpumon_stack_init() ||
	    pthread_atfork(prepare_fork, resume_after_fork, forget_in_child))
		return false;
	is_prepared = true;
	return true;
}

INJECT_EXPORT int InitializeInjection(void)
{
	int pid = (int)getpid(), no_owner = 0;
	static bool has_exit;
	bool is_recorded;
	const char *path;

	/*
	 * The program has more rights than the user who set the environment, so the environment is not
	 * even read.
	 */
	if (getauxval(AT_SECURE))
		return 1;
	path = getenv("GPUMON_SOCKET");
	if (!make_owner() || !atomic_compare_exchange_strong(owner, &no_owner, pid))
		return 1;
	if (!prepare_process())
		return 1;
	inject_environment_read();
	inject_backend_register(&inject_cupti_backend);
	if (!inject_recorder_start(path && *path ? path : NULL, 2 * INJECT_CONNECT_MS))
		return 1;
	is_recorded = inject_worker_answer(true);
	if (!inject_worker_start() && is_recorded) {
		inject_session_end(false, "no thread", 0);
		inject_recorder_hang_up();
	}
	if (!has_exit)
		has_exit = atexit(finish_at_exit) == 0;
	return 1;
}
