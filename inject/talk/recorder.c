// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/own.h"
#include "base/futex.h"
#include "base/wake.h"
#include "recorder.h"
#include "socket.h"

/* How long it takes, at most, to hang up after a capture. */
#define WATCH_MS 100

/* Time between two attempts to listen. */
#define AGAIN_NS 1000000000ull

/*
 * In ASKED and GONE the worker changes the state, otherwise this thread does; in RECORDED both
 * may.
 */
enum {
	CONNECTING, /* to the recorder that started the program */
	LISTENING,
	ASKED,	  /* a recorder waits for a capture */
	REFUSED,  /* it does not get one */
	RECORDED, /* it has one */
	GONE,	  /* it has hung up */
	OVER,	  /* its capture has ended */
};

static _Atomic uint32_t state;
static struct inject_request request;
static struct inject_socket connection = { .fd = -1 };
static struct inject_socket listener = { .fd = -1 };
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
	if (listener.fd < 0 || poll(&wait, 1, -1) < 0)
		inject_futex_wait(&never, 0, AGAIN_NS);
	else if (inject_socket_is_ours(&listener))
		meet_recorder(inject_socket_accept(listener.fd));
}

static bool has_hung_up(void)
{
	struct pollfd wait = { .fd = connection.fd, .events = POLLIN | POLLRDHUP };
	char message[sizeof(struct gpumon_message_settings)];

	if (!inject_socket_is_ours(&connection))
		return true;
	if (poll(&wait, 1, WATCH_MS) <= 0)
		return false;
	if (wait.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL))
		return true;
	if (recv(connection.fd, message, sizeof(message), MSG_DONTWAIT) == 0)
		return true;
	/* A recorder has nothing to send. One that does must not make this loop spin. */
	inject_futex_wait(&state, RECORDED, WATCH_MS * 1000000ull);
	return false;
}

static void watch_recorder(void)
{
	uint32_t recorded = RECORDED;

	if (has_hung_up() && atomic_compare_exchange_strong(&state, &recorded, GONE))
		inject_wake();
}

static void *talk_to_recorders(void *argument)
{
	uint32_t now;

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	/* From 0 on: with a copy of standard output a reader of it would not see the program's end. */
	inject_own_descriptors(0);
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
			/* fall through */
		case OVER:
			inject_socket_close(&connection);
			change_state(LISTENING);
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

bool inject_recorder_start(const char *path)
{
	pthread_t thread;

	if (path)
		snprintf(first_path, sizeof(first_path), "%s", path);
	atomic_store(&state, path && strlen(path) < sizeof(first_path) ? CONNECTING : LISTENING);
	if (!inject_own_thread(&thread, talk_to_recorders, NULL))
		return false;
	pthread_detach(thread);
	wait_in_state(CONNECTING, INJECT_ANSWER_MS);
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
	/* If the thread had no descriptor table of its own, the child has copies of its descriptors. */
	inject_socket_close(&connection);
	inject_socket_close(&listener);
	inject_socket_forked();
	atomic_store(&state, LISTENING);
}
