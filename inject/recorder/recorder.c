// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "recorder.h"
#include "socket.h"

/* How often the thread looks whether the recorder is there. */
#define WATCH_MS 100

/* How long the program waits, at most, until the thread listens. */
#define POLL_MS	     100u
#define POLL_STEP_NS 100000u

/* How long a recorder may be stopped. */
#define STOPPED_NS 600000000000ull

/* How long it waits for the recorder's look at the program's sandbox, and how often it asks. */
#define LOOK_MS	     1000u
#define LOOK_STEP_NS 5000000u

/* Time between two attempts to listen. */
#define AGAIN_NS 1000000000ull

/*
 * States of the recorder. In ASKED and GONE the worker changes the state, otherwise this thread
 * does; in RECORDED both may.
 */
enum {
	CONNECTING, /* to the recorder that started the program */
	LISTENING,
	ASKED,	  /* a recorder waits for a capture */
	REFUSED,  /* it does not get one */
	RECORDED, /* it has one */
	GONE,	  /* it has hung up */
	OVER,	  /* its capture has ended */
	SHUT,	  /* the program is in a sandbox: no other recorder can come */
};

static _Atomic uint32_t state;
static struct inject_request request;
static struct inject_socket connection = { .fd = -1 };
static struct inject_socket listener = { .fd = -1 };
static _Atomic bool polls;
static uint32_t last_beat;
static uint64_t last_beat_ns;
static bool has_own_descriptors;
static uint32_t own_tid;
static char first_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

static void change_state(uint32_t to)
{
	atomic_store(&state, to);
	inject_futex_wake(&state);
}

/* Takes the descriptor. */
static void meet_recorder(int fd)
{
	inject_socket_take(&connection, fd);
	if (connection.fd < 0)
		return;
	if (!inject_socket_handshake(connection.fd, &request.settings, &request.map)) {
		inject_socket_close(&connection);
		return;
	}
	last_beat_ns = 0;
	change_state(ASKED);
	inject_wake();
}

static void listen_for_one(void)
{
	static _Atomic uint32_t never;
	struct pollfd wait = { .events = POLLIN };

	if (!inject_socket_is_ours(&listener))
		inject_socket_take(&listener, inject_socket_listen());
	wait.fd = listener.fd;
	atomic_store(&polls, true);
	if (listener.fd < 0 || poll(&wait, 1, -1) < 0)
		inject_futex_wait(&never, 0, AGAIN_NS);
	else if (inject_socket_is_ours(&listener))
		meet_recorder(inject_socket_accept(listener.fd));
}

/*
 * Is the recorder gone? Read from shared memory, without a system call, which the program may have
 * forbidden.
 */
static bool is_recorder_gone(const struct gpumon_channel *channel)
{
	uint32_t recorder = __atomic_load_n(&channel->recorder, __ATOMIC_ACQUIRE);
	uint32_t beat = __atomic_load_n(&channel->beat, __ATOMIC_RELAXED);
	uint64_t now = inject_now();

	if (recorder & GPUMON_CHANNEL_RECORDER_GONE)
		return true;
	if (beat != last_beat || !last_beat_ns) {
		last_beat = beat;
		last_beat_ns = now;
	}
	/* The kernel's word goes before, but it gives only 2,048 of them for a thread. */
	if (recorder)
		return now - last_beat_ns > STOPPED_NS;
	return now - last_beat_ns > INJECT_PATIENCE(GPUMON_CHANNEL_BEAT_MS) * 1000000ull;
}

static bool look_at_sandbox(const struct gpumon_channel *channel)
{
	bool is_new = __atomic_load_n(&channel->sandbox, __ATOMIC_ACQUIRE) == GPUMON_SANDBOX_NEW;

	if (is_new)
		atomic_store(&inject_is_sandboxed, true);
	return is_new;
}

static void watch_recorder(void)
{
	uint32_t recorded = RECORDED;

	inject_futex_wait(&state, RECORDED, WATCH_MS * 1000000ull);
	look_at_sandbox(request.map.channel);
	if (is_recorder_gone(request.map.channel) &&
	    atomic_compare_exchange_strong(&state, &recorded, GONE))
		inject_wake();
}

/*
 * May the library listen again after a capture? Not if the program has a new sandbox, which a look
 * shows that began when the capture was over.
 */
static bool may_listen_again(void)
{
	const struct gpumon_channel *channel = request.map.channel;
	uint32_t looks = __atomic_load_n(&channel->looks, __ATOMIC_ACQUIRE);
	uint64_t until = inject_now() + LOOK_MS * 1000000ull;

	while (!is_recorder_gone(channel) && inject_now() < until &&
	       __atomic_load_n(&channel->looks, __ATOMIC_ACQUIRE) - looks < 2)
		inject_sleep(LOOK_STEP_NS);
	return !look_at_sandbox(channel);
}

static void *talk_to_recorders(void *argument)
{
	uint32_t now;

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	/*
	 * Descriptors from 0 on are closed: with a copy of standard output here, a reader of it
	 * would not see the program's end.
	 */
	has_own_descriptors = inject_threads_unshare_descriptors(0);
	inject_prepare_from_thread();
	inject_threads_mark_ours();
	own_tid = (uint32_t)syscall(SYS_gettid);
	for (;;) {
		now = atomic_load(&state);
		switch (now) {
		case CONNECTING:
			meet_recorder(inject_socket_connect(first_path, INJECT_ANSWER_MS));
			if (atomic_load(&state) == CONNECTING)
				change_state(LISTENING);
			break;
		case LISTENING:
			listen_for_one();
			break;
		case RECORDED:
			watch_recorder();
			break;
		case REFUSED:
			inject_socket_refuse(connection.fd, INJECT_NO_MEMORY);
			inject_socket_close(&connection);
			change_state(LISTENING);
			break;
		case OVER:
			if (may_listen_again()) {
				inject_socket_close(&connection);
				change_state(LISTENING);
			} else {
				change_state(SHUT);
			}
			break;
		default:
			inject_futex_wait(&state, now, INJECT_FOR_EVER);
		}
	}
	return NULL;
}

static void wait_in_state(uint32_t in, unsigned int wait_ms)
{
	inject_futex_wait_while(&state, in, inject_now() + wait_ms * 1000000ull);
}

static bool is_asleep(uint32_t tid)
{
	char path[64], text[512];
	const char *end;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	end = strrchr(text, ')');
	return !end || end[1] != ' ' || end[2] == 'S';
}

/*
 * Waits until the thread that listens is within poll(): the program may forbid the calls before it.
 */
static void wait_for_poll(void)
{
	uint64_t until = inject_now() + POLL_MS * 1000000ull;

	while (atomic_load(&state) == LISTENING && inject_now() < until &&
	       !(atomic_load(&polls) && is_asleep(own_tid)))
		inject_sleep(POLL_STEP_NS);
}

bool inject_recorder_start(const char *path)
{
	pthread_t thread;

	if (path)
		snprintf(first_path, sizeof(first_path), "%s", path);
	atomic_store(&state, path && strlen(path) < sizeof(first_path) ? CONNECTING : LISTENING);
	if (!inject_threads_start(&thread, talk_to_recorders, NULL))
		return false;
	pthread_detach(thread);
	wait_in_state(CONNECTING, INJECT_ANSWER_MS);
	wait_for_poll();
	return true;
}

struct inject_request *inject_recorder_request(void)
{
	return atomic_load(&state) == ASKED ? &request : NULL;
}

void inject_recorder_answer(bool recorded)
{
	change_state(recorded ? RECORDED : REFUSED);
	/* If the program ended at once, the refusal would not be sent. */
	if (!recorded)
		wait_in_state(REFUSED, INJECT_CONNECT_MS);
}

bool inject_recorder_is_gone(void)
{
	return atomic_load(&state) == GONE;
}

void inject_recorder_hang_up(void)
{
	change_state(OVER);
}

void inject_recorder_forked(void)
{
	/*
	 * If the thread had no descriptor table of its own, the child has copies of its descriptors: a
	 * sandbox may forbid to close them, and they go with exec.
	 */
	if (!has_own_descriptors && !atomic_load(&inject_is_sandboxed)) {
		inject_socket_close(&connection);
		inject_socket_close(&listener);
	}
	connection.fd = -1;
	listener.fd = -1;
	inject_socket_forked();
	atomic_store(&polls, false);
	atomic_store(&state, LISTENING);
}
