// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/inject.h"
#include "base/prepared.h"
#include "base/threads.h"
#include "context.h"
#include "cupti/subscribe.h"
#include "driver.h"
#include "gpuprog.h"
#include "launches.h"
#include "loader.h"
#include "requests.h"
#include "sass.h"

static uint8_t calls[INJECT_FUNCTIONS];
static _Atomic uint32_t stop;

static void on_call(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
	int kept = errno;

	if (id >= INJECT_FUNCTIONS || !inject_gpuprog_is_active())
		return;
	if (data->callbackSite == CUPTI_API_ENTER)
		inject_gpuprog_call_begins(calls[id], (void *)data->functionParams);
	else
		inject_gpuprog_call_ends(calls[id], (void *)data->functionParams,
					 data->functionReturnValue &&
						 *(const int *)data->functionReturnValue ==
							 CUDA_SUCCESS);
	errno = kept;
}

static const struct inject_cupti_client client = {
	.is_inside = inject_gpuprog_is_inside,
	.call = on_call,
};

static void enable_function(CUpti_CallbackDomain domain, uint32_t id, const char *name)
{
	(void)domain;
	calls[id] = (uint8_t)inject_gpuprog_classify(name);
	if (calls[id] != INJECT_GPUPROG_NONE)
		inject_cupti_client_enable(id);
}

static bool subscribe(const char **why)
{
	if (!inject_gpuprog_driver_load(why) || !inject_cupti_client_join(&client, why))
		return false;
	inject_cupti_functions(CUPTI_CB_DOMAIN_DRIVER_API, enable_function);
	return true;
}

static void *copy_now_and_then(void *argument)
{
	uint64_t period = inject_gpuprog_settings.copy_ms * 1000000ull;

	(void)argument;
	while (!atomic_load(&stop)) {
		inject_futex_wait_while(&stop, 0, inject_now() + period);
		if (!atomic_load(&stop))
			inject_gpuprog_copy_sometimes();
	}
	return NULL;
}

static void finish_at_exit(void)
{
	if (!inject_gpuprog_is_active() || atomic_exchange(&stop, 1))
		return;
	inject_futex_wake(&stop);
	inject_gpuprog_copy(NULL, true);
}

static void forget_in_child(void)
{
	inject_gpuprog_set_active(false);
}

/* Starts by the sanitizer, or by CUPTI if the settings say so or there is no sanitizer. */
static bool begin_way(void)
{
	const char *why = "";

	if (inject_gpuprog_settings.way != GPUMON_WIRE_WAY_PTX) {
		if (inject_gpuprog_sass_begin(&why))
			return true;
		inject_gpuprog_tell_unable("kernels of process %d are not patched: %s",
					   (int)getpid(), why);
	}
	if (inject_gpuprog_settings.way == GPUMON_WIRE_WAY_SASS)
		return false;
	inject_gpuprog_settings.way = GPUMON_WIRE_WAY_PTX;
	if (subscribe(&why))
		return true;
	inject_gpuprog_tell("nothing could be put into kernels of process %d: %s", (int)getpid(),
			    why);
	return false;
}

static void begin(const char *path)
{
	pthread_t thread;

	if (!inject_gpuprog_hello(path) || !begin_way())
		return;
	inject_gpuprog_launches_begin();
	inject_gpuprog_set_active(true);
	pthread_atfork(NULL, NULL, forget_in_child);
	if (inject_threads_start(&thread, copy_now_and_then, NULL))
		pthread_detach(thread);
	(void)atexit(finish_at_exit);
	(void)at_quick_exit(finish_at_exit);
}

bool inject_gpuprog_enter(void)
{
	const char *path, *recorder;

	/* The environment is another user's then, and is not even read. */
	if (getauxval(AT_SECURE))
		return false;
	path = getenv(GPUMON_WIRE_VARIABLE);
	if (!path || !*path)
		return false;
	inject_cupti_read_environment();
	begin(path);
	recorder = getenv("GPUMON_SOCKET");
	/* The sanitizer and CUPTI's records exclude each other. */
	return !recorder || !*recorder || inject_gpuprog_settings.way == GPUMON_WIRE_WAY_SASS;
}
