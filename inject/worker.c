// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "activity.h"
#include "cupti.h"
#include "process.h"
#include "session.h"
#include "socket.h"
#include "stack_walk.h"
#include "subscribe.h"
#include "worker.h"

/* How often the recorder's command is looked at. */
#define COMMAND_MS 100

static _Atomic int event_fd = -1;
static _Atomic bool woken;
static _Atomic bool look_at_mappings;
static _Atomic bool finish;
static _Atomic uint32_t finished;
static int recorder = -1;
static int listener = -1;

static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
		  const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void inject_worker_wake(void)
{
	const uint64_t one = 1;
	int fd = atomic_load(&event_fd);
	int before = errno;

	if (fd < 0 || atomic_exchange(&woken, true))
		return;
	if (write(fd, &one, sizeof(one)) < 0)
		atomic_store(&woken, false);
	errno = before;
}

void inject_worker_look_at_mappings(void)
{
	if (!atomic_exchange(&look_at_mappings, true))
		inject_worker_wake();
}

static void close_recorder(void)
{
	if (recorder >= 0)
		close(recorder);
	recorder = -1;
}

/* Somebody wants a capture of a program that runs already. */
static void answer(void)
{
	struct gpumon_message_settings settings;
	struct gpumon_channel_map map;

	recorder = inject_socket_accept(listener);
	if (recorder < 0)
		return;
	if (!inject_socket_handshake(recorder, INJECT_CONNECT_MS, &settings, &map)) {
		close_recorder();
	} else if (!inject_session_begin(&map, &settings, false)) {
		gpumon_channel_unmap(&map);
		close_recorder();
	}
}

/* What is regular work of a session. */
static void tick(bool flush)
{
	struct inject_thread *thread = inject_thread_enter(true);

	if (!thread)
		return;
	/* Within CUPTI it may wait for a launch that waits for nobody. */
	if (flush && inject_subscribed())
		inject_cupti.cuptiActivityFlushAll(0);
	inject_activity_drain(thread);
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
	struct pollfd wait = { .fd = recorder, .events = POLLIN | POLLRDHUP };
	char message[sizeof(struct gpumon_message_settings)];

	if (poll(&wait, 1, 0) <= 0)
		return false;
	if (wait.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL))
		return true;
	/* A message wakes, it does not say anything. */
	return recv(recorder, message, sizeof(message), MSG_DONTWAIT) == 0;
}

static void end_session(bool recorder_lives, const char *reason)
{
	inject_session_end(recorder_lives, reason);
	close_recorder();
}

static void *work(void *argument)
{
	struct inject_thread *self = inject_thread_get();
	uint64_t last_flush = inject_now(), now, count;
	struct pollfd wait[2];
	bool in_session, flush;
	int timeout;

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	if (self)
		self->ours = true;
	while (self && !atomic_load(&finish)) {
		in_session = atomic_load(&inject_session.is_open);
		if (!in_session && listener < 0)
			listener = inject_socket_listen();
		timeout = -1;
		if (in_session) {
			timeout = (int)inject_session.settings.flush_ms;
			timeout = timeout < COMMAND_MS ? timeout : COMMAND_MS;
		}
		wait[0] = (struct pollfd){ .fd = event_fd, .events = POLLIN };
		wait[1] = (struct pollfd){ .fd = in_session ? recorder : listener,
					   .events = POLLIN | POLLRDHUP };
		if (poll(wait, 2, timeout) < 0 && errno != EINTR)
			break;
		if (wait[0].revents) {
			atomic_store(&woken, false);
			if (read(event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
				break;
		}
		if (atomic_load(&finish))
			break;
		if (!in_session) {
			if (wait[1].revents & POLLIN)
				answer();
			continue;
		}
		if (recorder_is_gone()) {
			end_session(false, "recorder is gone");
			continue;
		}
		if (__atomic_load_n(&inject_session.map.channel->command, __ATOMIC_ACQUIRE) ==
		    GPUMON_CHANNEL_STOP) {
			end_session(true, "stop");
			continue;
		}
		now = inject_now();
		flush = now - last_flush >= inject_session.settings.flush_ms * 1000000ull;
		if (flush)
			last_flush = now;
		tick(flush);
	}
	if (atomic_load(&inject_session.is_open))
		inject_session_end(recorder >= 0 && !recorder_is_gone(), "exit");
	/* The recorder sees that the program ends when it does. */
	atomic_store(&finished, 1);
	futex(&finished, FUTEX_WAKE_PRIVATE, 1, NULL);
	return NULL;
}

bool inject_worker_start(int socket)
{
	sigset_t all, before;
	pthread_t thread;
	int failed;

	recorder = socket;
	atomic_store(&finish, false);
	atomic_store(&finished, 0);
	atomic_store(&woken, false);
	atomic_store(&event_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (atomic_load(&event_fd) < 0)
		return false;
	/* The program's signal handlers run in its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		close(atomic_exchange(&event_fd, -1));
		return false;
	}
	pthread_detach(thread);
	return true;
}

void inject_worker_finish(unsigned int wait_ms)
{
	uint64_t until = inject_now() + wait_ms * 1000000ull, now;
	struct timespec timeout;

	if (atomic_load(&event_fd) < 0)
		return;
	atomic_store(&finish, true);
	atomic_store(&woken, false);
	inject_worker_wake();
	while (!atomic_load(&finished)) {
		now = inject_now();
		if (now >= until)
			break;
		timeout.tv_sec = (time_t)((until - now) / 1000000000);
		timeout.tv_nsec = (long)((until - now) % 1000000000);
		futex(&finished, FUTEX_WAIT_PRIVATE, 0, &timeout);
	}
	inject_socket_unlisten();
}

void inject_worker_forked(void)
{
	close_recorder();
	if (listener >= 0)
		close(listener);
	listener = -1;
	if (atomic_load(&event_fd) >= 0)
		close(atomic_exchange(&event_fd, -1));
}
