// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "pm_device.h"
#include "pm_sampling.h"
#include "session/session.h"

/* How often samples are decoded: not rarer than that, and often enough that an image has room for them. */
#define PERIOD_NS      100000000ull
#define PERIOD_SAMPLES 128

/* How long the end of a session waits, and how much of that goes into decoding. */
#define END_NS	  (INJECT_PATIENCE(300) * 1000000ull)
#define DECODE_NS (END_NS * 2 / 3)

/* Ids of devices that are known. */
#define DEVICES 32

/* What the thread does. */
enum {
	RESTS,
	SAMPLES,
	HOLDS, /* the window is closed: no samples are taken, but the GPUs are kept */
	ENDS,  /* it is to give the GPUs back */
};

static _Atomic uint32_t command = RESTS;
/* Counted up by each change of what the thread has to do. */
static _Atomic uint32_t changes;
static _Atomic bool has_thread;

/* Those with a context: one bit each. */
static _Atomic uint32_t seen;

/* Of the session: set before the thread samples. */
static _Atomic uint32_t generation;
static _Atomic uint64_t interval_ns;

/* When the end of the session ends its wait. */
static _Atomic uint64_t end_by_ns;

/* The thread's own. */
static struct inject_pm_device *devices[DEVICES];

/* Samples up to that time are written; 0: the GPU is not sampled. */
static _Atomic uint64_t written_ns[DEVICES];

static void wake_thread(void)
{
	atomic_fetch_add(&changes, 1);
	inject_futex_wake(&changes);
}

static void change_command(uint32_t to)
{
	atomic_store(&command, to);
	wake_thread();
	inject_futex_wake(&command);
}

static void write_note(uint16_t flags, const char *text)
{
	struct inject_thread *thread = inject_thread_enter(true);

	if (!thread)
		return;
	if (atomic_load(&inject_session.generation) == atomic_load(&generation))
		inject_session_note(thread, flags, "%s", text);
	inject_thread_leave(thread);
}

/* --- the thread */

/* The library that CUPTI needs for it is large, so it is there before the first context is. */
static bool load_library(void)
{
	static uint32_t told_in;
	static bool is_loaded;
	uint32_t session = atomic_load(&generation);
	const char *why = NULL;
	char text[700];

	if (is_loaded || told_in == session)
		return is_loaded;
	inject_locks_begin();
	is_loaded = inject_pm_load(&why);
	inject_locks_end();
	if (is_loaded)
		return true;
	told_in = session;
	snprintf(text, sizeof(text), "no metrics of the GPU: %s", why);
	write_note(GPUMON_NOTE_MISSING, text);
	return false;
}

static struct inject_pm_device *get_device(unsigned int id)
{
	if (devices[id])
		return devices[id];
	devices[id] = inject_memory_take(sizeof(*devices[id]));
	if (devices[id]) {
		devices[id]->device = id;
		inject_pm_device_begin(devices[id], atomic_load(&interval_ns));
	}
	return devices[id];
}

static void say_how_far(const struct inject_pm_device *device)
{
	atomic_store(&written_ns[device->device], device->is_running ? device->last_end_ns : 0);
}

static void decode_device(struct inject_pm_device *device, uint64_t until_ns)
{
	inject_locks_begin();
	inject_pm_device_decode(device, atomic_load(&generation), until_ns);
	inject_locks_end();
	say_how_far(device);
}

static void sample_devices(void)
{
	uint32_t ids = atomic_load(&seen);
	struct inject_pm_device *device;

	for (unsigned int id = 0; id < DEVICES; id++) {
		device = ids >> id & 1 ? get_device(id) : NULL;
		if (!device)
			continue;
		inject_locks_begin();
		inject_pm_device_start(device, atomic_load(&generation));
		inject_locks_end();
		if (device->is_running)
			decode_device(device, inject_now() + PERIOD_NS);
	}
}

/* The window is closed: what was sampled until now is written. */
static void stop_device(struct inject_pm_device *device, uint64_t until_ns)
{
	bool is_complete;

	/* After an overflow it may wait for another attempt to begin again. */
	if (!device->is_running && !device->has_gap)
		return;
	inject_locks_begin();
	if (device->is_running)
		inject_pm_device_stop(device);
	else
		device->stopped_ns = inject_now();
	is_complete = inject_pm_device_decode(device, atomic_load(&generation), until_ns);
	inject_pm_device_finish(device, atomic_load(&generation), is_complete);
	inject_locks_end();
	say_how_far(device);
}

static void stop_devices(uint64_t until_ns)
{
	for (unsigned int id = 0; id < DEVICES; id++)
		if (devices[id])
			stop_device(devices[id], until_ns);
}

static void say_impossible(const struct inject_pm_device *device)
{
	char text[200];

	if (!device->impossible)
		return;
	snprintf(
		text, sizeof(text),
		"%llu values of metrics of GPU %u were left out: shares of far more than 100 %%, which CUPTI gives now and then",
		(unsigned long long)device->impossible, device->device);
	write_note(0, text);
}

static void say_cost(const struct inject_pm_device *device)
{
	char text[400];

	if (!device->lost || !device->samples)
		return;
	snprintf(
		text, sizeof(text),
		"%llu samples of metrics of GPU %u were lost: one came every %.0f us, and took %.0f us to be decoded, beside what else the machine did. A longer time between samples helps (--gpu-metrics=TIME)",
		(unsigned long long)device->lost, device->device, (double)device->length_ns / 1e3,
		(double)device->cost_ns / (double)device->samples / 1e3);
	write_note(0, text);
}

static void end_devices(void)
{
	stop_devices(atomic_load(&end_by_ns) - (END_NS - DECODE_NS));
	for (unsigned int id = 0; id < DEVICES; id++) {
		if (!devices[id])
			continue;
		say_cost(devices[id]);
		say_impossible(devices[id]);
		inject_locks_begin();
		inject_pm_device_end(devices[id]);
		inject_locks_end();
		inject_memory_give(devices[id], sizeof(*devices[id]));
		devices[id] = NULL;
	}
}

/* No more calls: what CUPTI has stays as it is. */
static void leave_alone(void)
{
	static uint32_t told_in;

	if (told_in == atomic_load(&generation))
		return;
	told_in = atomic_load(&generation);
	write_note(
		GPUMON_NOTE_MISSING,
		"no metrics of the GPU from here on: the program forbids itself system calls (seccomp), which CUPTI makes to sample them");
}

/* Until the next look, or a change of what is to be done. */
static void wait_for_change(uint32_t seen_changes, uint32_t now)
{
	uint64_t wait_ns = PERIOD_SAMPLES * atomic_load(&interval_ns);

	if (wait_ns > PERIOD_NS)
		wait_ns = PERIOD_NS;
	inject_futex_wait(&changes, seen_changes, now == SAMPLES ? wait_ns : INJECT_FOR_EVER);
}

static void work(uint32_t now)
{
	uint32_t ends = ENDS;

	if (now == RESTS)
		return;
	if (atomic_load(&inject_is_sandboxed)) {
		leave_alone();
	} else if (now == SAMPLES) {
		if (load_library())
			sample_devices();
	} else if (now == HOLDS) {
		load_library();
		stop_devices(inject_now() + DECODE_NS);
	} else {
		end_devices();
	}
	if (now == ENDS && atomic_compare_exchange_strong(&command, &ends, RESTS))
		inject_futex_wake(&command);
}

static void *run_sampler(void *argument)
{
	struct inject_thread *self;
	uint32_t seen_changes, now;

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	inject_prepare_from_thread();
	inject_threads_mark_ours();
	self = inject_thread_get();
	if (!self)
		return NULL;
	self->ours = true;
	for (;;) {
		seen_changes = atomic_load(&changes);
		now = atomic_load(&command);
		work(now);
		wait_for_change(seen_changes, now);
	}
	return NULL;
}

/* --- what the backend tells it */

static bool start_thread(void)
{
	pthread_t thread;

	if (atomic_load(&has_thread))
		return true;
	if (!inject_threads_start(&thread, run_sampler, NULL))
		return false;
	pthread_detach(thread);
	atomic_store(&has_thread, true);
	return true;
}

void inject_pm_begin(struct inject_thread *thread)
{
	uint64_t asked_ns = inject_session.settings.metrics_interval_ns;
	const char *why = NULL;

	atomic_store(&seen, 0);
	if (!asked_ns)
		return;
	if (atomic_load(&inject_is_sandboxed))
		why = "the program forbids itself system calls (seccomp)";
	/* CUPTI 13.0 refuses them on an H200, and crashes when it is asked again in a later session. */
	else if (inject_session.settings.stalls_period)
		why = "CUPTI does not sample them beside stalls (--stalls): record once with each";
	else if (atomic_load(&command) != RESTS)
		why = "CUPTI still holds up their end in the recording before";
	else if (!start_thread())
		why = "no thread can be made";
	if (why) {
		inject_session_note(thread, GPUMON_NOTE_MISSING, "no metrics of the GPU: %s", why);
		return;
	}
	atomic_store(&interval_ns, asked_ns);
	atomic_store(&generation, atomic_load(&inject_session.generation));
	inject_pm_device_session(atomic_load(&generation));
	change_command(HOLDS);
}

void inject_pm_device_seen(uint32_t device)
{
	if (device < DEVICES && !(atomic_fetch_or(&seen, 1u << device) >> device & 1) &&
	    atomic_load(&has_thread))
		wake_thread();
}

void inject_pm_context_made(CUcontext context)
{
	uint32_t device;

	if (inject_session.settings.metrics_interval_ns && inject_cupti.cuptiGetDeviceId &&
	    inject_cupti.cuptiGetDeviceId(context, &device) == CUPTI_SUCCESS)
		inject_pm_device_seen(device);
}

void inject_pm_window(bool is_open)
{
	uint32_t from = is_open ? HOLDS : SAMPLES;

	if (!atomic_compare_exchange_strong(&command, &from, is_open ? SAMPLES : HOLDS))
		return;
	wake_thread();
}

/* The thread did not come back in time: it writes no more, and what it has not written is lost. */
static void give_up(void)
{
	uint64_t now = inject_now(), from;

	inject_pm_device_session(0);
	for (unsigned int id = 0; id < DEVICES; id++) {
		from = atomic_load(&written_ns[id]);
		if (from && from < now)
			gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_METRIC_SAMPLES,
					    (now - from) / atomic_load(&interval_ns));
	}
}

bool inject_pm_end(void)
{
	uint32_t now = atomic_load(&command);

	if (now != SAMPLES && now != HOLDS)
		return now == RESTS;
	atomic_store(&end_by_ns, inject_now() + END_NS);
	change_command(ENDS);
	inject_futex_wait_while(&command, ENDS, atomic_load(&end_by_ns));
	if (atomic_load(&command) != ENDS)
		return true;
	give_up();
	return false;
}

void inject_pm_forked(void)
{
	atomic_store(&has_thread, false);
	atomic_store(&command, RESTS);
	atomic_store(&seen, 0);
	for (unsigned int id = 0; id < DEVICES; id++) {
		devices[id] = NULL;
		atomic_store(&written_ns[id], 0);
	}
}
