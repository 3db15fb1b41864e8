// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "activity.h"
#include "cupti.h"
#include "names.h"
#include "process.h"
#include "session.h"
#include "socket.h"
#include "stack_walk.h"
#include "subscribe.h"
#include "worker.h"

/* How often the recorder's command, and whether it is there, are looked at. */
#define COMMAND_MS 100

/* How long the GPU may take for what it has, when a capture of a live process ends. */
#define SETTLE_MS 500

/* Flushes between two looks at how threads are called now. */
#define NAMES_EVERY 8

/* How long a fork may wait for a flush. */
#define FORK_MS 200

/* Futexes and no descriptor to wake it by: the program might close that, and use its number. */
static _Atomic uint32_t woken;
static _Atomic uint32_t finished;
static _Atomic bool look_at_mappings;
static _Atomic bool finish;
static _Atomic bool runs;
static _Atomic bool in_cupti;
static _Atomic int forks;
static struct inject_socket recorder = { .fd = -1 };
static struct inject_socket listener = { .fd = -1 };

static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
		  const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static void wait_for(_Atomic uint32_t *word, uint64_t wait_ns)
{
	const struct timespec timeout = { .tv_sec = (time_t)(wait_ns / 1000000000),
					  .tv_nsec = (long)(wait_ns % 1000000000) };

	futex(word, FUTEX_WAIT_PRIVATE, 0, &timeout);
}

void inject_worker_wake(void)
{
	int before = errno;

	if (!atomic_exchange(&woken, 1))
		futex(&woken, FUTEX_WAKE_PRIVATE, 1, NULL);
	errno = before;
}

void inject_worker_look_at_mappings(void)
{
	if (!atomic_exchange(&look_at_mappings, true))
		inject_worker_wake();
}

/* Somebody wants a capture of a program that runs already. */
static void answer(void)
{
	struct gpumon_message_settings settings;
	struct gpumon_channel_map map;

	if (!inject_socket_is_ours(&listener)) {
		listener.fd = -1;
		return;
	}
	inject_socket_take(&recorder, inject_socket_accept(listener.fd));
	if (recorder.fd < 0)
		return;
	if (inject_socket_handshake(recorder.fd, INJECT_CONNECT_MS, &settings, &map)) {
		if (inject_session_begin(&map, &settings, false))
			return;
		gpumon_channel_unmap(&map);
		inject_socket_refuse(recorder.fd, inject_no_memory);
	}
	inject_socket_close(&recorder);
}

/* A flush holds locks of CUPTI's, which nobody would ever release in a forked child. */
static void flush_cupti(void)
{
	atomic_store(&in_cupti, true);
	if (!atomic_load(&forks))
		inject_cupti.cuptiActivityFlushAll(0);
	atomic_store(&in_cupti, false);
}

void inject_worker_before_fork(void)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	uint64_t until = inject_now() + FORK_MS * 1000000ull;

	atomic_fetch_add(&forks, 1);
	while (atomic_load(&in_cupti) && inject_now() < until)
		nanosleep(&pause, NULL);
}

void inject_worker_after_fork(void)
{
	atomic_fetch_sub(&forks, 1);
}

/* What is regular work of a session. */
static void tick(bool flush)
{
	static unsigned int flushes;
	struct inject_thread *thread = inject_thread_enter(true);

	if (!thread)
		return;
	/* Within CUPTI it may wait for a launch that waits for nobody. */
	if (flush && inject_subscribed())
		flush_cupti();
	inject_activity_drain(thread);
	if (flush && ++flushes % NAMES_EVERY == 0)
		inject_names_refresh(thread);
	if (flush || atomic_load(&look_at_mappings)) {
		atomic_store(&look_at_mappings, false);
		if (inject_mappings_write(thread) || atomic_load(&inject_session.has_python))
			inject_session_look_for_python(thread);
		if (!gpumon_stack_notices_unload())
			gpumon_stack_poll();
	}
	inject_thread_leave(thread);
}

static bool recorder_is_gone(void)
{
	struct pollfd wait = { .fd = recorder.fd, .events = POLLIN | POLLRDHUP };
	char message[sizeof(struct gpumon_message_settings)];

	if (!inject_socket_is_ours(&recorder))
		return true;
	if (poll(&wait, 1, 0) <= 0)
		return false;
	if (wait.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL))
		return true;
	/* It has nothing to say; who sends all the same is not to wake us for ever. */
	return recv(recorder.fd, message, sizeof(message), MSG_DONTWAIT) == 0;
}

static void end_session(bool recorder_lives, const char *reason)
{
	inject_session_end(recorder_lives, reason, SETTLE_MS);
	inject_socket_close(&recorder);
}

/* Until somebody comes; the program's end does not wait for it. */
static void sleep_dormant(void)
{
	const struct timespec pause = { .tv_sec = 1 };
	struct pollfd wait = { .events = POLLIN };

	if (listener.fd < 0)
		inject_socket_take(&listener, inject_socket_listen());
	wait.fd = listener.fd;
	if (wait.fd < 0 || poll(&wait, 1, -1) < 0 || (wait.revents & POLLNVAL)) {
		listener.fd = wait.revents & POLLNVAL ? -1 : listener.fd;
		nanosleep(&pause, NULL);
		return;
	}
	if (!atomic_load(&finish))
		answer();
}

static void work_in_session(uint64_t *last_flush)
{
	uint64_t flush_ns = inject_session.settings.flush_ms * 1000000ull;
	uint64_t pause_ns = COMMAND_MS * 1000000ull, now;
	bool flush;

	wait_for(&woken, flush_ns < pause_ns ? flush_ns : pause_ns);
	atomic_store(&woken, 0);
	if (atomic_load(&finish))
		return;
	if (recorder_is_gone()) {
		end_session(false, "recorder is gone");
		return;
	}
	if (__atomic_load_n(&inject_session.map.channel->command, __ATOMIC_ACQUIRE) ==
	    GPUMON_CHANNEL_STOP) {
		end_session(true, "stop");
		return;
	}
	now = inject_now();
	flush = now - *last_flush >= flush_ns;
	if (flush)
		*last_flush = now;
	tick(flush);
}

static void *work(void *argument)
{
	struct inject_thread *self = inject_thread_get();
	uint64_t last_flush = inject_now();

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	if (self)
		self->ours = true;
	while (self && !atomic_load(&finish)) {
		if (atomic_load(&inject_session.is_open))
			work_in_session(&last_flush);
		else
			sleep_dormant();
	}
	if (atomic_load(&inject_session.is_open))
		inject_session_end(!recorder_is_gone(), "exit", 0);
	/* The recorder sees that the program ends when it does. */
	atomic_store(&finished, 1);
	futex(&finished, FUTEX_WAKE_PRIVATE, 1, NULL);
	return NULL;
}

bool inject_worker_start(int socket)
{
	pthread_t thread;

	inject_socket_take(&recorder, socket);
	atomic_store(&finish, false);
	atomic_store(&finished, 0);
	atomic_store(&woken, 0);
	if (!inject_thread_create(&thread, work, NULL))
		return false;
	pthread_detach(thread);
	atomic_store(&runs, true);
	return true;
}

void inject_worker_finish(unsigned int wait_ms)
{
	uint64_t until = inject_now() + wait_ms * 1000000ull, now;

	inject_socket_unlisten();
	/* A dormant one has nothing to write, and sleeps until somebody connects. */
	atomic_store(&finish, true);
	if (!atomic_load(&runs) || !atomic_load(&inject_session.is_open))
		return;
	atomic_store(&woken, 0);
	inject_worker_wake();
	while (!atomic_load(&finished)) {
		now = inject_now();
		if (now >= until)
			break;
		wait_for(&finished, until - now);
	}
}

void inject_worker_forked(void)
{
	inject_socket_close(&recorder);
	inject_socket_close(&listener);
	atomic_store(&runs, false);
	atomic_store(&in_cupti, false);
	atomic_store(&forks, 0);
}
