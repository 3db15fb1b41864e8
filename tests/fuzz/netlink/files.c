// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Carries out actions of a case on files of debugfs and the module's parameters. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"

#define ROOM	    (4 << 20)
#define EVENT_BYTES 88
#define EVENTS	    2

/* The debugfs files, and one parameter: the others use the same kernel code. */
static const char *const paths[FILES] = {
	"/sys/kernel/debug/gpumon/stats",
	"/sys/kernel/debug/gpumon/histograms",
	"/sys/kernel/debug/gpumon/events",
	"/sys/module/gpumon/parameters/max_rings",
};

static struct {
	int fd;
	unsigned int which;
} files[SOCKETS] = { { -1, 0 }, { -1, 0 }, { -1, 0 }, { -1, 0 } };

static char *room(unsigned int which)
{
	static char *memory[3];

	if (!memory[which])
		memory[which] = malloc(ROOM);
	if (!memory[which])
		abort();
	return memory[which];
}

/* A call may only fail for a reason that fits this kind of file. */
static void may_fail(const char *call, unsigned int which, long ret, int error)
{
	static const int reasons[] = { EINVAL, EACCES, EPERM,	   EAGAIN, EBADF,     ESPIPE,
				       ENODEV, ENOTTY, EEXIST,	   EFBIG,  EOVERFLOW, EISDIR,
				       ENXIO,  EFAULT, EOPNOTSUPP, ENOMEM };
	unsigned int i;

	if (verbose)
		printf("  %s of %s: %ld %s\n", call, paths[which], ret,
		       ret < 0 ? strerrorname_np(error) : "");
	if (ret >= 0)
		return;
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i] == error)
			return;
	found("%s of %s: %s", call, paths[which], strerror(error));
}

static void check_read(unsigned int which, ssize_t bytes, size_t asked)
{
	if (bytes > 0 && (size_t)bytes > asked)
		found("a read of %zu bytes of %s gives %zd", asked, paths[which], bytes);
	if (which == EVENTS && bytes > 0 && bytes % EVENT_BYTES)
		found("a read of %zu bytes of events ends within a record: %zd", asked, bytes);
}

static ssize_t read_parts(int fd, uint32_t first, uint32_t second)
{
	struct iovec parts[3] = { { room(0), first % ROOM },
				  { room(1), second % ROOM },
				  { room(2), 1 } };

	return readv(fd, parts, 3);
}

static void file_open(const struct action *action)
{
	unsigned int which = action->a % FILES;

	if (files[action->slot].fd >= 0)
		close(files[action->slot].fd);
	coverage_on();
	files[action->slot].fd = open(paths[which], action->b | O_NONBLOCK | O_CLOEXEC, 0);
	coverage_off();
	files[action->slot].which = which;
	may_fail("open", which, files[action->slot].fd, errno);
}

static void file_map(int fd, unsigned int which, const struct action *action)
{
	void *at = mmap(NULL, action->a ? action->a : 1, action->b & 7, MAP_SHARED, fd, 0);

	may_fail("mmap", which, at == MAP_FAILED ? -1 : 0, errno);
	if (at != MAP_FAILED)
		found("%s can be mapped", paths[which]);
}

/* --- a text in odd pieces is the text */

/* The time changes even if nothing else does. */
static void mask_time(char *text)
{
	char *at = strstr(text, "\nnow_ns ");

	for (at = at ? at + 8 : text; at != text && *at >= '0' && *at <= '9'; at++)
		*at = '0';
}

static size_t read_whole(unsigned int which, char *to)
{
	int fd = open(paths[which], O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t bytes;

	if (fd < 0)
		found("open of %s: %s", paths[which], strerror(errno));
	while ((bytes = read(fd, to + length, ROOM - 1 - length)) > 0)
		length += bytes;
	if (bytes < 0 || length == ROOM - 1)
		found("read of %s: %s", paths[which], bytes ? strerror(errno) : "too long");
	close(fd);
	to[length] = '\0';
	return length;
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Mostly large, so that a text does not take thousands of calls. */
static size_t piece(uint32_t *seed, size_t length)
{
	size_t size = next(seed) % 8 ? length / 16 + next(seed) % (length / 8 + 1) :
				       next(seed) % 40;

	return size ? size : 1;
}

static size_t read_pieces(unsigned int which, uint32_t *seed, size_t length, char *to)
{
	int fd = open(paths[which], O_RDONLY | O_CLOEXEC);
	size_t at = 0, size, other;
	struct iovec parts[2];
	ssize_t bytes;

	do {
		size = piece(seed, length);
		other = piece(seed, length);
		if (at + size + other >= ROOM)
			found("%s is longer in pieces", paths[which]);
		parts[0] = (struct iovec){ to + at, size };
		parts[1] = (struct iovec){ to + at + size, other };
		switch (next(seed) % 4) {
		case 0: /* continue, or read somewhere else in between */
			lseek(fd, 0, SEEK_CUR);
			bytes = read(fd, to + at, size);
			break;
		case 1:
			bytes = readv(fd, parts, 2);
			break;
		default:
			bytes = read(fd, to + at, size);
		}
		if (bytes < 0 || (size_t)bytes > size + other)
			found("read of %zu bytes of %s: %zd", size, paths[which], bytes);
		at += bytes;
	} while (bytes);
	close(fd);
	to[at] = '\0';
	return at;
}

/*
 * Whether a difference counts: not if the text has changed since @whole was read. 10 and 100 s
 * after boot now_ns gets one more digit, which moves all that follows it.
 */
static bool is_unchanged(unsigned int which, const char *whole)
{
	char *again = room(2);

	read_whole(which, again);
	mask_time(again);
	return !strcmp(again, whole);
}

/* Read at some offsets of one open file. */
static void read_places(unsigned int which, uint32_t seed, const char *whole, size_t length)
{
	int fd = open(paths[which], O_RDONLY | O_CLOEXEC);
	const char *time = strstr(whole, "\nnow_ns ");
	size_t time_at = time ? (size_t)(time - whole) : length;
	char *to = room(1);
	size_t size, at, should;
	ssize_t bytes;
	int i;

	for (i = 0; i < 3; i++) {
		size = piece(&seed, length);
		at = next(&seed) % (length + length / 8 + 2);
		should = at >= length ? 0 : size < length - at ? size : length - at;
		bytes = pread(fd, to, size, at);
		if (bytes < 0 || (size_t)bytes > size)
			found("pread of %zu bytes at %zu of %s: %zd", size, at, paths[which],
			      bytes);
		/* While others change things, each open() may return another text. */
		if (!model.exact)
			continue;
		if (((size_t)bytes > should || (!bytes && should)) && is_unchanged(which, whole))
			found("pread of %zu bytes at %zu of %s: %zd, expected %zu", size, at,
			      paths[which], bytes, should);
		if (at + bytes > time_at && at < time_at + 40)
			continue;
		if (memcmp(to, whole + at, bytes) && is_unchanged(which, whole))
			found("%s is another text at %zu", paths[which], at);
	}
	close(fd);
}

static void file_pieces(const struct action *action)
{
	unsigned int which = action->a % FILES;
	char *before = room(0), *pieces = room(1), *after = room(2);
	size_t length, got;
	uint32_t seed = action->b;

	if (which == EVENTS)
		return;
	coverage_on();
	length = read_whole(which, before);
	got = read_pieces(which, &seed, length, pieces);
	read_whole(which, after);
	coverage_off();
	mask_time(before);
	mask_time(pieces);
	mask_time(after);
	if (strcmp(before, after)) {
		if (model.exact && verbose)
			printf("  %s changes meanwhile\n", paths[which]);
		return;
	}
	/* Others may have changed it and changed it back. */
	if (model.exact && (got != length || memcmp(pieces, before, length)))
		found("%s is another text in pieces, %zu bytes and not %zu", paths[which], got,
		      length);
	read_places(which, seed, before, length);
}

void files_do(const struct action *action)
{
	int fd = files[action->slot].fd;
	unsigned int which = files[action->slot].which;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };
	size_t size = action->a % ROOM;
	char argument[256];
	long ret = 0;
	int error;

	if (action->kind == ACTION_OPEN) {
		file_open(action);
		return;
	}
	if (action->kind == ACTION_PIECES) {
		file_pieces(action);
		return;
	}
	if (fd < 0)
		return;
	errno = 0;
	coverage_on();
	switch (action->kind) {
	case ACTION_READ:
		ret = read(fd, room(0), size);
		break;
	case ACTION_PREAD:
		ret = pread(fd, room(0), size, action->c);
		break;
	case ACTION_SEEK:
		ret = lseek(fd, action->c, action->a);
		break;
	case ACTION_READV:
		ret = read_parts(fd, action->a, action->b);
		break;
	case ACTION_WRITE:
		ret = action->a ? pwrite(fd, action->bytes, action->length, action->a - 1) :
				  write(fd, action->bytes, action->length);
		break;
	case ACTION_POLL:
		ret = poll(&poll_fd, 1, 0);
		break;
	case ACTION_MAP:
		file_map(fd, which, action);
		break;
	case ACTION_IOCTL:
		ret = ioctl(fd, action->a, argument);
		break;
	default:
		close(fd);
		files[action->slot].fd = -1;
	}
	error = errno;
	coverage_off();
	if (action->kind == ACTION_IOCTL)
		return;
	may_fail("a call", which, ret, error);
	if (action->kind == ACTION_READ || action->kind == ACTION_PREAD)
		check_read(which, ret, size);
	if (action->kind == ACTION_WRITE && ret > 0)
		found("%s takes %ld bytes", paths[which], ret);
}

void files_end(void)
{
	int i;

	for (i = 0; i < SOCKETS; i++) {
		if (files[i].fd >= 0)
			close(files[i].fd);
		files[i].fd = -1;
	}
}
