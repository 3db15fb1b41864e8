// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/prepared.h"
#include "base/seccomp.h"
#include "base/threads.h"
#include "socket.h"
#include "../user/abi/gpu_metrics.h"

/* Programs rely on small numbers, shells for example. */
#define FD_AT_LEAST 200

/* The file of the socket that listens, as it was made: whatever has its name later is not this process's. */
struct listen_file {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat made;
};

static struct listen_file listen_file;
/* &listen_file while there is one: the program may end while it is being made. */
static struct listen_file *_Atomic listening;

/* fstat() is not used: its symbol is newer than the C library of many containers. */
static bool identify_socket(int fd, uint64_t *inode, uint64_t *device)
{
	struct stat status;

	if (fd < 0 || syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH))
		return false;
	*inode = status.st_ino;
	*device = status.st_dev;
	return S_ISSOCK(status.st_mode);
}

void inject_socket_take(struct inject_socket *socket, int fd)
{
	int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FD_AT_LEAST) : -1;

	if (moved >= 0) {
		close(fd);
		fd = moved;
	}
	socket->fd = fd;
	if (fd >= 0 && !identify_socket(fd, &socket->inode, &socket->device)) {
		close(fd);
		socket->fd = -1;
	}
}

bool inject_socket_is_ours(const struct inject_socket *socket)
{
	uint64_t inode, device;

	return identify_socket(socket->fd, &inode, &device) && inode == socket->inode &&
	       device == socket->device;
}

void inject_socket_close(struct inject_socket *socket)
{
	if (inject_socket_is_ours(socket))
		close(socket->fd);
	socket->fd = -1;
}

static bool make_address(const char *path, struct sockaddr_un *address, socklen_t *length)
{
	size_t size = strlen(path);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (!size || size >= sizeof(address->sun_path))
		return false;
	memcpy(address->sun_path, path, size);
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (path[0] != '@'));
	return true;
}

/* Root or the program's user, as seen from the program's user namespace. */
static bool is_our_user(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t length = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

int inject_socket_connect(const char *path, unsigned int wait_ms)
{
	uint64_t until = inject_now() + wait_ms * 1000000ull;
	struct sockaddr_un address;
	socklen_t length;
	int fd;

	if (!make_address(path, &address, &length))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* A unix socket that may not wait says EAGAIN while the backlog is full, and cannot be polled. */
	while (connect(fd, (struct sockaddr *)&address, length)) {
		if ((errno != EAGAIN && errno != EINTR) || inject_now() > until) {
			close(fd);
			return -1;
		}
		inject_sleep(5000000);
	}
	/* In a folder that all users can write to, another user may have replaced the socket. */
	if (!is_our_user(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* stat() is not used, see identify_socket(). */
static bool find_socket_file(const char *path, struct stat *file)
{
	return syscall(SYS_newfstatat, AT_FDCWD, path, file, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISSOCK(file->st_mode);
}

/*
 * Removes what a process before with this number has left. A socket of another type is refused for that
 * type as long as somebody has the file's: such as a process with this number in another pid namespace.
 */
static void remove_left_socket(const struct sockaddr_un *address, socklen_t length)
{
	struct stat file;
	int fd;

	if (!find_socket_file(address->sun_path, &file) || file.st_uid != geteuid())
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)address, length) && errno == ECONNREFUSED)
		unlink(address->sun_path);
	close(fd);
}

int inject_socket_listen(void)
{
	const char *folder = inject_environment.listen;
	unsigned int uid = geteuid(), pid = (unsigned int)getpid(),
		     filters = inject_seccomp_filters();
	struct sockaddr_un address;
	char path[sizeof(address.sun_path)], with[16] = "";
	socklen_t length;
	int fd, size;

	if (filters)
		snprintf(with, sizeof(with), "-%u", filters);
	if (*folder)
		size = snprintf(path, sizeof(path), "%s/" GPUMON_LISTEN_NAME "%s.sock", folder, uid,
				pid, with);
	else
		size = snprintf(path, sizeof(path), "@" GPUMON_LISTEN_NAME "%s", uid, pid, with);
	if (size < 0 || (size_t)size >= sizeof(path) || !make_address(path, &address, &length))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (path[0] != '@')
		remove_left_socket(&address, length);
	/*
	 * The file gets the socket's mode when it is created, less the program's umask. chmod() by name
	 * could change another file, in a folder that all users can write to.
	 */
	(void)fchmod(fd, 0600);
	if (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 4)) {
		close(fd);
		return -1;
	}
	if (path[0] != '@' && find_socket_file(path, &listen_file.made)) {
		snprintf(listen_file.path, sizeof(listen_file.path), "%s", path);
		atomic_store(&listening, &listen_file);
	}
	return fd;
}

void inject_socket_unlisten(void)
{
	const struct listen_file *file = atomic_exchange(&listening, NULL);
	struct stat now;

	/* A number of an inode is used again, so the time counts, too. */
	if (file && !atomic_load(&inject_is_sandboxed) && find_socket_file(file->path, &now) &&
	    now.st_dev == file->made.st_dev && now.st_ino == file->made.st_ino &&
	    now.st_mtim.tv_sec == file->made.st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == file->made.st_mtim.tv_nsec)
		unlink(file->path);
}

void inject_socket_forked(void)
{
	atomic_store(&listening, NULL);
}

int inject_socket_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 || is_our_user(fd))
		return fd;
	close(fd);
	return -1;
}

void inject_socket_refuse(int socket, enum inject_refusal why)
{
	static const char *const texts[] = {
		[INJECT_NO_MEMORY] =
			"it has no memory for what is recorded (ulimit -v, or its cgroup)",
		[INJECT_BAD_CHANNEL] = "the channel is no sealed memfd, or of another version",
		[INJECT_OTHER_VERSION] = "the library is of another version than the recorder",
		[INJECT_UNKNOWN_MESSAGE] = "this is no message that the library knows",
	};
	struct gpumon_message_refused message = { .type = GPUMON_REFUSED };

	snprintf(message.why, sizeof(message.why), "%s", texts[why]);
	send(socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t inject_socket_receive(int socket, void *message, size_t size, int *descriptor)
{
	union {
		char room[CMSG_SPACE(sizeof(int) * 4)];
		struct cmsghdr align;
	} control;
	struct iovec vector = { .iov_base = message, .iov_len = size };
	struct msghdr header = { .msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = control.room,
				 .msg_controllen = sizeof(control.room) };
	struct cmsghdr *part;
	int fds[4], count, i;
	ssize_t length;

	*descriptor = -1;
	length = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (length < 0)
		return -1;
	for (part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		count = (int)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		if (count > 4)
			count = 4;
		memcpy(fds, CMSG_DATA(part), (size_t)count * sizeof(int));
		for (i = 0; i < count; i++) {
			if (*descriptor < 0)
				*descriptor = fds[i];
			else
				close(fds[i]);
		}
	}
	return length;
}

bool inject_socket_send(int socket, const void *message, size_t size, int descriptor,
			unsigned int wait_ms)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec vector = { .iov_base = (void *)message, .iov_len = size };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };
	uint64_t until = inject_now() + wait_ms * 1000000ull;
	struct pollfd wait = { .fd = socket, .events = POLLOUT };
	ssize_t sent;

	if (descriptor >= 0) {
		header.msg_control = control.room;
		header.msg_controllen = sizeof(control.room);
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.align), &descriptor, sizeof(descriptor));
	}
	for (;;) {
		sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0)
			return sent == (ssize_t)size;
		if ((errno != EAGAIN && errno != EINTR) || inject_now() >= until)
			return false;
		poll(&wait, 1, (int)wait_ms);
	}
}

static enum inject_refusal map_channel(struct gpumon_channel_map *map, int fd)
{
	int error = gpumon_channel_map(map, fd);

	if (!error)
		return INJECT_ACCEPTED;
	return error == -ENOMEM ? INJECT_NO_MEMORY : INJECT_BAD_CHANNEL;
}

#define FLUSH_MS_DEFAULT 500
#define FLUSH_MS_MIN	 20
#define FLUSH_MS_MAX	 10000

#define STACK_DEPTH_DEFAULT 128

#define BUFFER_MIB_DEFAULT 64

/* CUPTI 13 uses a buffer for each thread of the program, so they are rather small. */
#define BUFFER_KIB_DEFAULT 512

#define SAMPLE_MAX 1000000

#define WINDOW_MS_DEFAULT 1000
#define WINDOW_MS_MIN	  10
#define PERIOD_MS_DEFAULT 30000
#define PERIOD_MS_MAX	  86400000

static uint32_t bound_setting(uint32_t value, uint32_t instead_of_0, uint32_t least, uint32_t most)
{
	if (!value)
		return instead_of_0;
	if (value < least)
		return least;
	return value > most ? most : value;
}

/**
 * bound_settings - settings within what the library can do
 * @settings: as they came; zeros become defaults
 */
static void bound_settings(struct gpumon_message_settings *settings)
{
	settings->flush_ms =
		bound_setting(settings->flush_ms, FLUSH_MS_DEFAULT, FLUSH_MS_MIN, FLUSH_MS_MAX);
	settings->stack_depth = bound_setting(settings->stack_depth, STACK_DEPTH_DEFAULT, 1,
					      GPUMON_STACK_DEPTH_MAX);
	settings->buffer_mib = bound_setting(settings->buffer_mib, BUFFER_MIB_DEFAULT,
					     GPUMON_BUFFER_MIB_MIN, GPUMON_BUFFER_MIB_MAX);
	settings->buffer_kib = bound_setting(settings->buffer_kib, BUFFER_KIB_DEFAULT,
					     GPUMON_BUFFER_KIB_MIN,
					     settings->buffer_mib * 1024 / GPUMON_BUFFERS_MIN);
	settings->sample = bound_setting(settings->sample, 1, 1, SAMPLE_MAX);
	settings->window_ms =
		bound_setting(settings->window_ms, WINDOW_MS_DEFAULT, WINDOW_MS_MIN, PERIOD_MS_MAX);
	settings->period_ms = bound_setting(settings->period_ms, PERIOD_MS_DEFAULT,
					    settings->window_ms, PERIOD_MS_MAX);
	if (settings->wait_hz > GPUMON_WAIT_HZ_MAX)
		settings->wait_hz = GPUMON_WAIT_HZ_MAX;
	settings->metrics_interval_ns = bound_setting(settings->metrics_interval_ns, 0,
						      GPUMON_METRICS_INTERVAL_MIN_NS,
						      GPUMON_METRICS_INTERVAL_MAX_NS);
	settings->stalls_period = bound_setting(settings->stalls_period, 0,
						GPUMON_STALLS_PERIOD_MIN, GPUMON_STALLS_PERIOD_MAX);
	if (settings->graphs > GPUMON_GRAPHS_WHOLE)
		settings->graphs = GPUMON_GRAPHS_NODES;
	settings->range[sizeof(settings->range) - 1] = '\0';
	if (settings->window > GPUMON_WINDOW_RANGE ||
	    (settings->window == GPUMON_WINDOW_RANGE && !settings->range[0]))
		settings->window = GPUMON_WINDOW_ALWAYS;
}

bool inject_socket_handshake(int socket, struct gpumon_message_settings *settings,
			     struct gpumon_channel_map *map)
{
	const struct gpumon_message_hello hello = {
		.type = GPUMON_HELLO,
		.version = GPUMON_CHANNEL_VERSION,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)syscall(SYS_gettid),
		.monotonic_ns = inject_now() - (uint64_t)atomic_load(&inject_clock_ns),
	};
	uint64_t until = inject_now() + INJECT_ANSWER_MS * 1000000ull, now;
	struct pollfd wait = { .fd = socket, .events = POLLIN };
	enum inject_refusal why = INJECT_UNKNOWN_MESSAGE;
	union {
		uint32_t type;
		struct gpumon_message_settings settings;
		struct gpumon_message_refused refused;
	} message;
	ssize_t length;
	int fd = -1;

	if (send(socket, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(hello))
		return false;
	do {
		now = inject_now();
		if (now >= until || poll(&wait, 1, (int)((until - now) / 1000000) + 1) == 0)
			return false;
		memset(&message, 0, sizeof(message));
		length = inject_socket_receive(socket, &message, sizeof(message), &fd);
	} while (length < 0 && (errno == EAGAIN || errno == EINTR));
	if (length >= (ssize_t)offsetof(struct gpumon_message_settings, range) &&
	    message.type == GPUMON_SETTINGS && fd >= 0) {
		if (message.settings.version != GPUMON_CHANNEL_VERSION)
			why = INJECT_OTHER_VERSION;
		else
			why = map_channel(map, fd);
	}
	if (fd >= 0)
		close(fd);
	if (why != INJECT_ACCEPTED) {
		if (length > 0 && message.type != GPUMON_REFUSED)
			inject_socket_refuse(socket, why);
		return false;
	}
	*settings = message.settings;
	bound_settings(settings);
	return true;
}
