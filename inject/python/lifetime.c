// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The interpreter's end. It frees the states and frames of threads that are still in functions of
 * C, so a thread that reads them at that moment reads freed memory, or faults. Therefore the
 * interpreter is asked to call this file first (atexit), which waits for the threads that are
 * reading; later ones find no functions of Python. Until that is registered, the kernel checks each
 * load.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "base/threads.h"
#include "layout.h"

/*
 * Whether an address is still that of the same code object. From 3.12 on the interpreter
 * reports each one that it is about to free. As long as it has reported none, no other object can be
 * where one was.
 */

/* enum PyCodeEvent */
#define DESTROY 1

/* The interpreter that reports; 0 while none does. */
static _Atomic uint64_t watched;
/* Code objects that it freed since, plus 1. */
static _Atomic uint64_t epoch = 1;

/* With the interpreter's lock held, before the object's memory is given back. */
static int notice_code(int event, void *code)
{
	(void)code;
	if (event == DESTROY)
		atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
	return 0;
}

/* Asks the interpreter to report code objects that it frees. The caller's thread may call it. */
static void watch_code(void)
{
	int (*add)(int (*callback)(int event, void *code));
	void *(*interpreter)(void);

	*(void **)&add = dlsym(RTLD_DEFAULT, "PyCode_AddWatcher");
	*(void **)&interpreter = dlsym(RTLD_DEFAULT, "PyInterpreterState_Get");
	if (!add || !interpreter)
		return;
	if (add(notice_code) < 0)
		inject_python.clear_error();
	else
		atomic_store_explicit(&watched, (uint64_t)(uintptr_t)interpreter(),
				      memory_order_release);
}

uint64_t inject_python_code_epoch(uint64_t interpreter)
{
	if (atomic_load_explicit(&watched, memory_order_acquire) != interpreter)
		return 0;
	return atomic_load_explicit(&epoch, memory_order_relaxed);
}

/* Threads count themselves in one of these each, so that they seldom share a line. */
#define COUNTERS 16
/* A reader takes microseconds, unless it does not get a processor. */
#define WAIT_MAX_NS  1000000000LL
#define WAIT_STEP_NS 50000LL

/* PyMethodDef, which has not changed since 2.x, and METH_NOARGS. */
struct method {
	const char *name;
	void *(*call)(void *self, void *arguments);
	int flags;
	const char *doc;
};
#define NO_ARGUMENTS 4

static struct {
	int (*add_pending_call)(int (*call)(void *), void *argument);
	void *(*import)(const char *name);
	void *(*new_function)(struct method *method, void *self, void *module);
	void *(*call_method)(void *object, const char *name, const char *format, ...);
	void (*keep)(void *object);
	void *none;
} api;

static struct {
	_Alignas(64) _Atomic unsigned int count;
} readers[COUNTERS];

static _Atomic bool asked;
static _Atomic bool will_call;
static _Atomic bool ended;

static _Atomic unsigned int *own_counter(void)
{
	return &readers[(uintptr_t)pthread_self() / 4096 % COUNTERS].count;
}

static bool somebody_reads(void)
{
	for (unsigned int i = 0; i < COUNTERS; i++) {
		if (atomic_load(&readers[i].count))
			return true;
	}
	return false;
}

/* The first step of the end. This thread holds the interpreter's lock; no reader waits for that. */
static void *wait_for_readers(void *self, void *arguments)
{
	(void)self;
	(void)arguments;
	/* A reader that does not see this is counted already. */
	atomic_store(&ended, true);
	for (int64_t waited = 0; somebody_reads() && waited < WAIT_MAX_NS; waited += WAIT_STEP_NS)
		inject_sleep(WAIT_STEP_NS);
	api.keep(api.none);
	return api.none;
}

/* Runs in the main thread, between two instructions of Python, where any function may be called. */
static int register_at_exit(void *argument)
{
	static struct method method = { "gpumon_end", wait_for_readers, NO_ARGUMENTS, NULL };
	void *module = api.import("atexit");
	void *function = module ? api.new_function(&method, NULL, NULL) : NULL;
	void *registered = function ? api.call_method(module, "register", "O", function) : NULL;

	(void)argument;
	if (registered)
		atomic_store(&will_call, true);
	else
		inject_python.clear_error();
	inject_python.forget(registered);
	inject_python.forget(function);
	inject_python.forget(module);
	watch_code();
	return 0;
}

/* In a child after fork: the other readers do not exist. */
static void forget_readers(void)
{
	for (unsigned int i = 0; i < COUNTERS; i++)
		atomic_store(&readers[i].count, 0);
}

bool inject_python_end_init(void)
{
	static _Atomic bool done;

	*(void **)&api.add_pending_call = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
	*(void **)&api.import = dlsym(RTLD_DEFAULT, "PyImport_ImportModule");
	*(void **)&api.new_function = dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
	*(void **)&api.call_method = dlsym(RTLD_DEFAULT, "PyObject_CallMethod");
	*(void **)&api.keep = dlsym(RTLD_DEFAULT, "Py_IncRef");
	api.none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
	if (!api.add_pending_call || !api.import || !api.new_function || !api.call_method ||
	    !api.keep || !api.none)
		return false;
	return atomic_exchange(&done, true) || !pthread_atfork(NULL, NULL, forget_readers);
}

bool inject_python_end_waits(void)
{
	if (atomic_load_explicit(&will_call, memory_order_acquire))
		return true;
	if (inject_python.initialized() && !atomic_exchange(&asked, true) &&
	    api.add_pending_call(register_at_exit, NULL))
		/* The interpreter's queue is full: again later. */
		atomic_store(&asked, false);
	return false;
}

bool inject_python_enter(void)
{
	_Atomic unsigned int *counter = own_counter();

	atomic_fetch_add(counter, 1);
	if (!atomic_load(&ended))
		return true;
	atomic_fetch_sub(counter, 1);
	return false;
}

void inject_python_leave(void)
{
	atomic_fetch_sub_explicit(own_counter(), 1, memory_order_release);
}
