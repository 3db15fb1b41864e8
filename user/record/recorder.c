// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "lib/map.h"
#include "lib/wait.h"
#include "dormant.h"
#include "driver.h"
#include "lib/listener.h"
#include "target_uprobes.h"
#include "recorder.h"

#define CHANNEL_BYTES (32ULL << 20)
/* A library sends its hello as soon as it has connected. */
#define HELLO_NS 5000000000ULL
/* Poll more often while targets are stopping. */
#define STOP_POLL_MS 2
/* Notes about single processes. The capture keeps each one, also of a recording for weeks. */
#define NOTES_MAX 100
/* Each target needs memory and descriptors. */
#define TARGETS_MAX 4096
/* Connections that are accepted before what was accepted is looked at again. */
#define ACCEPTS_MAX 16
/* How long a process that did not wait for an answer is tried to be attached to, as by --pid. */
#define LATE_NS 5000000000ULL

/**
 * struct late - a process that no longer waits for an answer, and lives
 * @pid: number
 * @pidfd: to see its end, -1 on kernels without
 * @until_ns: so long its library is asked
 * @err: what is said if it does not listen
 */
struct late {
	pid_t pid;
	int pidfd;
	uint64_t until_ns;
	struct gpumon_error err;
};

/**
 * struct gpumon_recorder - state of the recorder
 * @epoll: epoll set of the listener and the targets' sockets and pidfds
 * @targets: targets that have not ended
 * @probed: processes without a library, including ended ones
 * @late: processes that are to be attached to
 * @met: pids of processes whose library has connected
 * @closed: new connections are refused
 * @until_ns: time after which targets that have not stopped are abandoned
 * @why_closed: reason sent to refused targets
 * @notes: notes of all libraries
 * @noted: number of notes about single processes: others, and of what is missing
 * @counts: its @targets covers only ended targets
 */
struct gpumon_recorder {
	struct gpumon_recorder_options options;
	struct gpumon_target_options target_options;
	struct gpumon_capture_writer *writer;
	struct gpumon_listener listener;
	struct gpumon_driver *driver;
	int epoll;
	struct gpumon_target **targets;
	size_t count;
	struct gpumon_probed **probed;
	size_t probed_count;
	struct late *late;
	size_t late_count;
	struct gpumon_map met;
	bool closed;
	uint64_t until_ns;
	const char *why_closed;
	struct gpumon_library_notes notes;
	unsigned int noted[2];
	struct gpumon_recorder_counts counts;
};

static int watch_descriptor(struct gpumon_recorder *recorder, int fd, void *data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

	return fd < 0 ? 0 : epoll_ctl(recorder->epoll, EPOLL_CTL_ADD, fd, &event);
}

int gpumon_recorder_new(const struct gpumon_recorder_options *options,
			struct gpumon_capture_writer *writer, struct gpumon_recorder **recorder,
			struct gpumon_error *err)
{
	struct gpumon_recorder *new = gpumon_calloc(1, sizeof(*new));

	*recorder = NULL;
	new->options = *options;
	new->options.settings.type = GPUMON_SETTINGS;
	new->options.settings.version = GPUMON_CHANNEL_VERSION;
	if (!new->options.root)
		new->options.root = "";
	new->writer = writer;
	new->until_ns = UINT64_MAX;
	gpumon_capture_limit(writer, options->max_bytes);
	new->target_options = (struct gpumon_target_options){
		.settings = new->options.settings,
		.channel_bytes = options->channel_bytes ? options->channel_bytes : CHANNEL_BYTES,
		.writer = writer,
		.root = new->options.root,
		.notes = &new->notes,
		.tap = options->tap,
	};
	new->listener.fd = -1;
	new->listener.lock = -1;
	new->listener.reserve = -1;
	new->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (new->epoll < 0) {
		gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO, "epoll: %s",
				 strerror(errno));
		goto fail;
	}
	if (gpumon_driver_new(writer, &new->options, &new->driver, err) ||
	    gpumon_listener_open(&new->listener, err))
		goto fail;
	if (watch_descriptor(new, new->listener.fd, NULL)) {
		gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO, "epoll: %s",
				 strerror(errno));
		goto fail;
	}
	*recorder = new;
	return 0;
fail:
	gpumon_recorder_free(new);
	return -1;
}

const char *gpumon_recorder_socket(const struct gpumon_recorder *recorder)
{
	return recorder->listener.path;
}

void gpumon_recorder_note(struct gpumon_recorder *recorder, uint16_t flags, const char *text)
{
	gpumon_driver_note(recorder->driver, flags, text);
}

static void refuse_connection(int socket, const char *why)
{
	struct gpumon_message_refused message = { .type = GPUMON_REFUSED };

	snprintf(message.why, sizeof(message.why), "%s", why);
	(void)!send(socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(socket);
}

static void note_process(struct gpumon_recorder *recorder, uint16_t flags, const char *text)
{
	unsigned int *noted = &recorder->noted[flags == GPUMON_NOTE_MISSING];

	if (*noted > NOTES_MAX)
		return;
	if ((*noted)++ == NOTES_MAX)
		text = "there was more to say about processes, but the notes about them are limited to 100";
	gpumon_driver_note(recorder->driver, flags, text);
}

static void tell_refused(struct gpumon_recorder *recorder, const struct gpumon_error *err)
{
	recorder->counts.refused++;
	snprintf(recorder->counts.refusal, sizeof(recorder->counts.refusal), "%.255s",
		 err->message);
	note_process(recorder, GPUMON_NOTE_MISSING, err->message);
}

/* A child that writes a capture has copies of the descriptors, so closing them is not enough. */
static void unwatch_target(struct gpumon_recorder *recorder, const struct gpumon_target *target)
{
	(void)epoll_ctl(recorder->epoll, EPOLL_CTL_DEL, gpumon_target_socket(target), NULL);
	(void)epoll_ctl(recorder->epoll, EPOLL_CTL_DEL, gpumon_target_pidfd(target), NULL);
}

int gpumon_recorder_add(struct gpumon_recorder *recorder, int socket, struct gpumon_error *err)
{
	struct gpumon_target *target, **place;

	if (recorder->closed) {
		refuse_connection(socket, recorder->why_closed);
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"a process was not recorded: %s", recorder->why_closed);
	}
	if (recorder->count >= TARGETS_MAX) {
		refuse_connection(socket, "too many processes are recorded at once");
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"a process was not recorded: %zu are recorded already",
					recorder->count);
	}
	target = gpumon_target_new(socket, &recorder->target_options, err);
	if (!target)
		return -1;
	place = GPUMON_GROW(recorder->targets, recorder->count);
	*place = target;
	gpumon_map_set(&recorder->met, (uint64_t)gpumon_target_info(target)->pid, 1);
	if (watch_descriptor(recorder, gpumon_target_socket(target), target) ||
	    watch_descriptor(recorder, gpumon_target_pidfd(target), target)) {
		gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO, "epoll: %s",
				 strerror(errno));
		unwatch_target(recorder, target);
		gpumon_target_free(target);
		recorder->count--;
		return -1;
	}
	return 0;
}

int gpumon_recorder_probe(struct gpumon_recorder *recorder, pid_t pid, struct gpumon_error *err)
{
	struct gpumon_probed *probed, **place;

	probed = gpumon_probed_new(recorder->writer, recorder->options.root, pid,
				   &recorder->options.settings, err);
	if (!probed)
		return -1;
	place = GPUMON_GROW(recorder->probed, recorder->probed_count);
	*place = probed;
	return 0;
}

bool gpumon_recorder_is_recording(const struct gpumon_recorder *recorder, pid_t pid)
{
	for (size_t i = 0; i < recorder->count; i++)
		if (gpumon_target_info(recorder->targets[i])->pid == pid)
			return true;
	return false;
}

bool gpumon_recorder_has_met(const struct gpumon_recorder *recorder, pid_t pid)
{
	return gpumon_map_get(&recorder->met, (uint64_t)pid);
}

/* Has any process ended? On kernels without pidfds: is it gone? */
static bool has_ended(pid_t pid, int pidfd)
{
	struct pollfd fds = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 ? poll(&fds, 1, 0) > 0 : kill(pid, 0) && errno == ESRCH;
}

/* The process lives, so its library listens, or will: it is recorded from then on. */
static bool try_later(struct gpumon_recorder *recorder, pid_t pid, int pidfd,
		      const struct gpumon_error *err)
{
	struct late *late;

	if (recorder->closed || pid <= 0 || has_ended(pid, pidfd))
		return false;
	late = GPUMON_GROW(recorder->late, recorder->late_count);
	*late = (struct late){ .pid = pid,
			       .pidfd = pidfd < 0 ? -1 : fcntl(pidfd, F_DUPFD_CLOEXEC, 3),
			       .until_ns = gpumon_monotonic_ns() + LATE_NS,
			       .err = *err };
	return true;
}

static void receive_messages(struct gpumon_recorder *recorder, struct gpumon_target *target)
{
	bool before = gpumon_target_accepted(target);
	struct gpumon_error err = { 0 };

	gpumon_target_receive(target, &err);
	/* A target may get a channel and still refuse it for lack of memory. */
	recorder->counts.processes += gpumon_target_accepted(target) - before;
	if (err.code &&
	    !(err.sys == -ECONNRESET && try_later(recorder, gpumon_target_info(target)->pid,
						  gpumon_target_pidfd(target), &err)))
		tell_refused(recorder, &err);
}

/*
 * Answers each process before the next one is accepted, because its program waits. Returns true if
 * there may be more.
 */
static bool accept_some(struct gpumon_recorder *recorder)
{
	struct gpumon_error err;
	int fd = -1;

	for (unsigned int i = 0; i < ACCEPTS_MAX; i++) {
		fd = gpumon_listener_accept(&recorder->listener);
		if (fd < 0)
			break;
		if (gpumon_recorder_add(recorder, fd, &err))
			tell_refused(recorder, &err);
		else
			receive_messages(recorder, recorder->targets[recorder->count - 1]);
	}
	if (fd == -EMFILE) {
		gpumon_error_set(
			&err, GPUMON_EXIT_FAILED, fd, GPUMON_ERROR_IO,
			"process %d was not recorded: this program had no more descriptors (ulimit -n)",
			(int)recorder->listener.turned_away);
		if (!try_later(recorder, recorder->listener.turned_away, -1, &err))
			tell_refused(recorder, &err);
	}
	return fd >= 0;
}

/* Returns whether there is nothing more to try. */
static bool attach_late(struct gpumon_recorder *recorder, struct late *late)
{
	struct gpumon_error err;
	int socket;

	if (!recorder->closed && !has_ended(late->pid, late->pidfd)) {
		if (!gpumon_dormant_connect(recorder->options.root, late->pid, &socket, &err)) {
			if (gpumon_recorder_add(recorder, socket, &err))
				tell_refused(recorder, &err);
			return true;
		}
		if (gpumon_monotonic_ns() < late->until_ns)
			return false;
	}
	tell_refused(recorder, &late->err);
	return true;
}

static void look_at_late(struct gpumon_recorder *recorder)
{
	size_t kept = 0;

	for (size_t i = 0; i < recorder->late_count; i++) {
		struct late *late = &recorder->late[i];

		if (!attach_late(recorder, late))
			recorder->late[kept++] = *late;
		else if (late->pidfd >= 0)
			close(late->pidfd);
	}
	recorder->late_count = kept;
}

/* The pidfd shows that the process is gone, even if a child keeps its socket open. */
static bool process_ended(const struct gpumon_target *target)
{
	int pidfd = gpumon_target_pidfd(target);

	return pidfd >= 0 && has_ended(0, pidfd);
}

static void handle_events(struct gpumon_recorder *recorder)
{
	struct epoll_event events[64];
	int n = epoll_wait(recorder->epoll, events, 64, 0);

	for (int i = 0; i < n; i++) {
		struct gpumon_target *target = events[i].data.ptr;

		if (!target) {
			(void)accept_some(recorder);
			continue;
		}
		/*
		 * Both descriptors of a target may be in the list, so it is freed only afterwards.
		 */
		if (gpumon_target_state(target) == GPUMON_TARGET_ENDED)
			continue;
		receive_messages(recorder, target);
		if (gpumon_target_is_deaf(target))
			(void)epoll_ctl(recorder->epoll, EPOLL_CTL_DEL,
					gpumon_target_socket(target), NULL);
		if (gpumon_target_state(target) != GPUMON_TARGET_ENDED && process_ended(target))
			gpumon_target_end(target);
	}
}

static void add_counts(struct gpumon_target_counts *sum, const struct gpumon_target *target)
{
	struct gpumon_target_counts counts;

	gpumon_target_get_counts(target, &counts);
	sum->bytes += counts.bytes;
	for (unsigned int i = 0; i < GPUMON_LOSS_CAUSES; i++)
		sum->lost[i] += counts.lost[i];
	sum->launches += counts.launches;
	sum->captured += counts.captured;
	sum->kernels += counts.kernels;
	sum->copies += counts.copies;
	sum->sets += counts.sets;
	sum->presents += counts.presents;
}

static void note_news(struct gpumon_recorder *recorder, struct gpumon_target *target)
{
	char text[384];
	uint16_t flags;

	if (!gpumon_target_news(target, &flags, text, sizeof(text)))
		return;
	note_process(recorder, flags, text);
	/* The end of the recording reports the missing process, too. */
	if (flags & GPUMON_NOTE_MISSING)
		gpumon_library_notes_add(&recorder->notes, text);
}

static void note_unseen(struct gpumon_recorder *recorder, const struct gpumon_target *target)
{
	char text[PATH_MAX];

	if (gpumon_target_unseen(target, text, sizeof(text)))
		note_process(recorder, GPUMON_NOTE_MISSING, text);
}

static void keep_map(struct gpumon_recorder *recorder, struct gpumon_target *target)
{
	struct gpumon_error err;

	if (gpumon_target_keep_map(target, &err))
		note_process(recorder, 0, err.message);
}

static void free_ended_targets(struct gpumon_recorder *recorder)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < recorder->count; i++) {
		struct gpumon_target *target = recorder->targets[i];

		if (gpumon_target_state(target) != GPUMON_TARGET_ENDED) {
			recorder->targets[kept++] = target;
			continue;
		}
		/* The work of the other processes is in no file. */
		if (gpumon_target_accepted(target))
			add_counts(&recorder->counts.targets, target);
		recorder->counts.without_gpu += gpumon_target_without_gpu(target);
		note_news(recorder, target);
		note_unseen(recorder, target);
		keep_map(recorder, target);
		unwatch_target(recorder, target);
		gpumon_target_free(target);
	}
	recorder->count = kept;
}

/* Add the counts of processes without a library. */
static void add_probed(const struct gpumon_recorder *recorder,
		       struct gpumon_recorder_counts *counts)
{
	for (unsigned int i = 0; i < recorder->probed_count; i++) {
		struct gpumon_probed_counts one;

		gpumon_probed_get_counts(recorder->probed[i], &one);
		counts->probed++;
		counts->live += !gpumon_probed_ended(recorder->probed[i]);
		counts->hits += one.hits;
		counts->targets.bytes += one.bytes;
		for (unsigned int cause = 0; cause < GPUMON_LOSS_CAUSES; cause++)
			counts->targets.lost[cause] += one.lost[cause];
	}
}

static void tell_problem(struct gpumon_recorder *recorder, struct gpumon_probed *probed)
{
	char text[256];

	if (gpumon_probed_problem(probed, text, sizeof(text)))
		note_process(recorder, 0, text);
}

static void end_probed(struct gpumon_recorder *recorder, struct gpumon_probed *probed)
{
	gpumon_probed_end(probed);
	tell_problem(recorder, probed);
}

static uint64_t bytes_written(const struct gpumon_recorder *recorder)
{
	struct gpumon_recorder_counts counts;

	gpumon_recorder_get_counts(recorder, &counts);
	return counts.targets.bytes + gpumon_driver_bytes(recorder->driver);
}

/* A target that has not said what it is has nothing to send. */
static void stop_target(struct gpumon_recorder *recorder, struct gpumon_target *target)
{
	struct gpumon_error err;
	char text[128];

	if (gpumon_target_state(target) != GPUMON_TARGET_HELLO) {
		gpumon_target_stop(target);
		return;
	}
	gpumon_error_set(&err, GPUMON_EXIT_FAILED, -ETIMEDOUT, GPUMON_ERROR_IO,
			 "process %d was not recorded: %s", (int)gpumon_target_info(target)->pid,
			 gpumon_target_silence(target, "recording ended before it said what it is",
					       text, sizeof(text)));
	tell_refused(recorder, &err);
	gpumon_target_end(target);
}

static void look_at_size(struct gpumon_recorder *recorder)
{
	if (!recorder->options.max_bytes || recorder->counts.full ||
	    (!gpumon_capture_is_full(recorder->writer) &&
	     bytes_written(recorder) < recorder->options.max_bytes))
		return;
	recorder->counts.full = true;
	recorder->closed = true;
	recorder->why_closed = "the capture has its largest size (--max-size)";
	gpumon_driver_note(recorder->driver, GPUMON_NOTE_MISSING,
			   "the capture reached its largest size (--max-size), recording ended");
	for (unsigned int i = 0; i < recorder->count; i++)
		stop_target(recorder, recorder->targets[i]);
	for (unsigned int i = 0; i < recorder->probed_count; i++)
		end_probed(recorder, recorder->probed[i]);
}

/* The target connected but sends nothing, perhaps because a debugger holds it. */
static void give_up(struct gpumon_recorder *recorder, struct gpumon_target *target)
{
	struct gpumon_error err;
	char silence[64], text[128];

	snprintf(silence, sizeof(silence), "it connected and said nothing for %d s",
		 (int)(HELLO_NS / 1000000000));
	gpumon_error_set(&err, GPUMON_EXIT_FAILED, -ETIMEDOUT, GPUMON_ERROR_IO,
			 "process %d was not recorded: %s", (int)gpumon_target_info(target)->pid,
			 gpumon_target_silence(target, silence, text, sizeof(text)));
	tell_refused(recorder, &err);
	gpumon_target_end(target);
}

void gpumon_recorder_step(struct gpumon_recorder *recorder)
{
	uint64_t now;

	handle_events(recorder);
	look_at_late(recorder);
	now = gpumon_monotonic_ns();
	for (unsigned int i = 0; i < recorder->count; i++) {
		struct gpumon_target *target = recorder->targets[i];

		gpumon_target_drain(target);
		note_news(recorder, target);
		if (gpumon_target_state(target) == GPUMON_TARGET_HELLO &&
		    (now > gpumon_target_since(target) + HELLO_NS ||
		     gpumon_target_is_taken(target, now)))
			give_up(recorder, target);
		else if (recorder->closed &&
			 (gpumon_target_stopped(target) || now >= recorder->until_ns))
			gpumon_target_end(target);
	}
	for (unsigned int i = 0; i < recorder->probed_count; i++) {
		gpumon_probed_drain(recorder->probed[i]);
		tell_problem(recorder, recorder->probed[i]);
	}
	if (!recorder->counts.full)
		gpumon_driver_drain(recorder->driver);
	look_at_size(recorder);
	free_ended_targets(recorder);
}

int gpumon_recorder_fd(const struct gpumon_recorder *recorder)
{
	return recorder->epoll;
}

int gpumon_recorder_timeout_ms(const struct gpumon_recorder *recorder)
{
	uint64_t now = gpumon_monotonic_ns(), due = now + GPUMON_RECORDER_PERIOD_MS * 1000000ull;

	for (size_t i = 0; i < recorder->probed_count; i++)
		if (gpumon_probed_due_ns(recorder->probed[i]) < due)
			due = gpumon_probed_due_ns(recorder->probed[i]);
	if (recorder->count || recorder->probed_count || recorder->late_count ||
	    gpumon_driver_recording(recorder->driver))
		return due > now ? (int)((due - now + 999999) / 1000000) : 0;
	return -1;
}

void gpumon_recorder_end(struct gpumon_recorder *recorder, unsigned int wait_ms)
{
	uint64_t until = gpumon_monotonic_ns() + wait_ms * 1000000ULL;

	/*
	 * A process that connected before the end is still accepted, and stopped like the others.
	 */
	while (recorder->listener.fd >= 0 && accept_some(recorder))
		;
	gpumon_recorder_step(recorder);
	if (!recorder->closed) {
		recorder->closed = true;
		recorder->why_closed = "recording has ended";
	}
	look_at_late(recorder);
	if (until < recorder->until_ns)
		recorder->until_ns = until;
	for (unsigned int i = 0; i < recorder->count; i++)
		stop_target(recorder, recorder->targets[i]);
	for (unsigned int i = 0; i < recorder->probed_count; i++)
		end_probed(recorder, recorder->probed[i]);
	free_ended_targets(recorder);
}

void gpumon_recorder_stop(struct gpumon_recorder *recorder, unsigned int wait_ms)
{
	gpumon_recorder_end(recorder, wait_ms);
	while (recorder->count) {
		struct pollfd fds = { .fd = recorder->epoll, .events = POLLIN };

		(void)poll(&fds, 1, STOP_POLL_MS);
		gpumon_recorder_step(recorder);
	}
	gpumon_listener_close(&recorder->listener);
}

void gpumon_recorder_get_counts(const struct gpumon_recorder *recorder,
				struct gpumon_recorder_counts *counts)
{
	*counts = recorder->counts;
	for (unsigned int i = 0; i < recorder->count; i++) {
		add_counts(&counts->targets, recorder->targets[i]);
		counts->live += gpumon_target_state(recorder->targets[i]) == GPUMON_TARGET_RUNNING;
		counts->beginning += gpumon_target_is_beginning(recorder->targets[i]);
		counts->without_gpu += gpumon_target_without_gpu(recorder->targets[i]);
	}
	add_probed(recorder, counts);
	snprintf(counts->driver, sizeof(counts->driver), "%s",
		 gpumon_driver_reason(recorder->driver));
}

void gpumon_recorder_copy_maps(const struct gpumon_recorder *recorder, int directory)
{
	for (unsigned int i = 0; i < recorder->count; i++)
		gpumon_target_copy_map(recorder->targets[i], directory);
}

uint64_t gpumon_recorder_alarms(const struct gpumon_recorder *recorder)
{
	return gpumon_driver_alarms(recorder->driver);
}

const struct gpumon_library_notes *gpumon_recorder_notes(const struct gpumon_recorder *recorder)
{
	return &recorder->notes;
}

void gpumon_recorder_decline(const char *path, const char *why)
{
	struct gpumon_message_refused message = { .type = GPUMON_REFUSED };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	snprintf(message.why, sizeof(message.why), "%s", why);
	if (strlen(path) < sizeof(address.sun_path)) {
		strcpy(address.sun_path, path);
		if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
			(void)!send(fd, &message, sizeof(message), MSG_NOSIGNAL);
	}
	close(fd);
}

void gpumon_recorder_free(struct gpumon_recorder *recorder)
{
	if (!recorder)
		return;
	for (unsigned int i = 0; i < recorder->count; i++) {
		gpumon_target_end(recorder->targets[i]);
		keep_map(recorder, recorder->targets[i]);
		gpumon_target_free(recorder->targets[i]);
	}
	free(recorder->targets);
	for (unsigned int i = 0; i < recorder->probed_count; i++)
		gpumon_probed_free(recorder->probed[i]);
	free(recorder->probed);
	for (size_t i = 0; i < recorder->late_count; i++)
		if (recorder->late[i].pidfd >= 0)
			close(recorder->late[i].pidfd);
	free(recorder->late);
	gpumon_map_clear(&recorder->met);
	gpumon_listener_close(&recorder->listener);
	gpumon_driver_free(recorder->driver);
	if (recorder->epoll >= 0)
		close(recorder->epoll);
	free(recorder);
}
