// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "look.h"

/* By the kernel's numbers: functions of the C library may be interposed by the program. */
static int open_file(const char *folder, uint32_t tid, const char *name)
{
	char path[GPUMON_LOOK_PATH + 32];
	long file;

	snprintf(path, sizeof(path), "%s/%u/%s", folder, tid, name);
	file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	return file < 0 ? -errno : (int)file;
}

int gpumon_look_open(struct gpumon_look_files *files, const char *folder, uint32_t tid)
{
	files->runs = -1;
	files->call = open_file(folder, tid, "syscall");
	if (files->call < 0)
		return files->call;
	files->runs = open_file(folder, tid, "schedstat");
	/* Kernels without this count have another one in a longer file. */
	if (files->runs == -ENOENT)
		files->runs = open_file(folder, tid, "status");
	if (files->runs >= 0)
		return 0;
	syscall(SYS_close, files->call);
	files->call = -1;
	return files->runs;
}

void gpumon_look_close(struct gpumon_look_files *files)
{
	if (files->call < 0)
		return;
	syscall(SYS_close, files->call);
	syscall(SYS_close, files->runs);
	files->call = -1;
	files->runs = -1;
}

/* The length, 0 at the end, or a negative errno. */
static long read_text(int file, char *text, size_t size)
{
	long length = syscall(SYS_pread64, file, text, size - 1, 0l);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	return length;
}

/* A number in hexadecimal digits behind "0x", and the blank behind it. */
static uint64_t parse_hexadecimal(const char **text)
{
	uint64_t value = 0;

	if ((*text)[0] == '0' && (*text)[1] == 'x')
		*text += 2;
	for (;; (*text)++) {
		if (**text >= '0' && **text <= '9')
			value = value << 4 | (uint64_t)(**text - '0');
		else if (**text >= 'a' && **text <= 'f')
			value = value << 4 | (uint64_t)(**text - 'a' + 10);
		else
			break;
	}
	*text += **text == ' ';
	return value;
}

static uint64_t parse_decimal(const char **text)
{
	uint64_t value = 0;

	for (; **text >= '0' && **text <= '9'; (*text)++)
		value = value * 10 + (uint64_t)(**text - '0');
	*text += **text == ' ';
	return value;
}

/* "running", or number, six arguments, stack pointer and address; outside of a call -1 and the last two. */
static void parse_call(const char *text, struct gpumon_look *look)
{
	*look = (struct gpumon_look){ .call = GPUMON_LOOK_NO_CALL };
	if (*text == 'r')
		return;
	look->is_blocked = true;
	if (*text == '-') {
		text += strcspn(text, " ");
		text += *text == ' ';
	} else {
		look->call = (uint32_t)parse_decimal(&text);
		look->first = parse_hexadecimal(&text);
		for (unsigned int i = 1; i < 6; i++)
			parse_hexadecimal(&text);
	}
	look->stack = parse_hexadecimal(&text);
	look->code = parse_hexadecimal(&text);
}

static uint64_t count_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		return 0;
	at += strlen(name);
	at += strspn(at, " \t");
	return parse_decimal(&at);
}

/* In schedstat the third number; where the kernel does not count, and in status, the switches. */
static uint64_t parse_runs(const char *text)
{
	if (*text >= '0' && *text <= '9') {
		parse_decimal(&text);
		parse_decimal(&text);
		return parse_decimal(&text);
	}
	return count_after(text, "\nvoluntary_ctxt_switches:") +
	       count_after(text, "\nnonvoluntary_ctxt_switches:");
}

int gpumon_look(const struct gpumon_look_files *files, struct gpumon_look *look)
{
	char text[4096];
	long length = read_text(files->call, text, sizeof(text));

	if (length <= 0)
		return length ? (int)length : -ESRCH;
	parse_call(text, look);
	if (!look->is_blocked)
		return 0;
	length = read_text(files->runs, text, sizeof(text));
	if (length <= 0)
		return length ? (int)length : -ESRCH;
	look->runs = parse_runs(text);
	return 0;
}

uint16_t gpumon_look_kind(const struct gpumon_look *look)
{
	static const struct {
		uint16_t call;
		uint16_t kind;
	} kinds[] = {
		{ SYS_futex, GPUMON_WAIT_FUTEX },
		{ 449 /* futex_waitv */, GPUMON_WAIT_FUTEX },
		{ 455 /* futex_wait */, GPUMON_WAIT_FUTEX },
		{ SYS_nanosleep, GPUMON_WAIT_SLEEP },
		{ SYS_clock_nanosleep, GPUMON_WAIT_SLEEP },
		{ SYS_read, GPUMON_WAIT_READ },
		{ SYS_pread64, GPUMON_WAIT_READ },
		{ SYS_readv, GPUMON_WAIT_READ },
		{ SYS_preadv, GPUMON_WAIT_READ },
		{ SYS_preadv2, GPUMON_WAIT_READ },
		{ SYS_recvfrom, GPUMON_WAIT_READ },
		{ SYS_recvmsg, GPUMON_WAIT_READ },
		{ SYS_recvmmsg, GPUMON_WAIT_READ },
		{ SYS_accept, GPUMON_WAIT_READ },
		{ SYS_accept4, GPUMON_WAIT_READ },
		{ SYS_write, GPUMON_WAIT_WRITE },
		{ SYS_pwrite64, GPUMON_WAIT_WRITE },
		{ SYS_writev, GPUMON_WAIT_WRITE },
		{ SYS_pwritev, GPUMON_WAIT_WRITE },
		{ SYS_pwritev2, GPUMON_WAIT_WRITE },
		{ SYS_sendto, GPUMON_WAIT_WRITE },
		{ SYS_sendmsg, GPUMON_WAIT_WRITE },
		{ SYS_sendmmsg, GPUMON_WAIT_WRITE },
		{ SYS_connect, GPUMON_WAIT_WRITE },
#ifdef SYS_poll
		{ SYS_poll, GPUMON_WAIT_POLL },
		{ SYS_select, GPUMON_WAIT_POLL },
		{ SYS_epoll_wait, GPUMON_WAIT_POLL },
#endif
		{ SYS_ppoll, GPUMON_WAIT_POLL },
		{ SYS_pselect6, GPUMON_WAIT_POLL },
		{ SYS_epoll_pwait, GPUMON_WAIT_POLL },
		{ 441 /* epoll_pwait2 */, GPUMON_WAIT_POLL },
		{ SYS_wait4, GPUMON_WAIT_CHILD },
		{ SYS_waitid, GPUMON_WAIT_CHILD },
		/* It was interrupted, and which call goes on is not told. */
		{ SYS_restart_syscall, GPUMON_WAIT_UNKNOWN },
	};

	if (!look->is_blocked)
		return GPUMON_WAIT_RUNNING;
	if (look->call == GPUMON_LOOK_NO_CALL)
		return GPUMON_WAIT_FAULT;
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].call == look->call)
			return kinds[i].kind;
	return GPUMON_WAIT_OTHER;
}

uint16_t gpumon_look_file(const char *folder, uint32_t tid, const struct gpumon_look *look)
{
	uint16_t kind = gpumon_look_kind(look);
	struct statx status;
	char path[GPUMON_LOOK_PATH + 48];

	if (kind != GPUMON_WAIT_READ && kind != GPUMON_WAIT_WRITE)
		return GPUMON_FILE_UNKNOWN;
	/* No server is asked, of a file on a network: it may be what the thread waits for. */
	snprintf(path, sizeof(path), "%s/%u/fd/%d", folder, tid, (int)look->first);
	if (syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0)
		return GPUMON_FILE_UNKNOWN;
	switch (status.stx_mode & S_IFMT) {
	case S_IFREG:
		return GPUMON_FILE_REGULAR;
	case S_IFIFO:
		return GPUMON_FILE_PIPE;
	case S_IFSOCK:
		return GPUMON_FILE_SOCKET;
	case S_IFCHR:
	case S_IFBLK:
		return GPUMON_FILE_DEVICE;
	default:
		return GPUMON_FILE_OTHER;
	}
}
