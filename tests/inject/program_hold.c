// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The library's threads are held where they have just got what the program wants, too. */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

_Atomic bool hold_sockets;
static _Atomic bool is_held;

/* For the library's threads: stay here as long as @hold is set. */
BEFORE_SANITIZER static void be_held(const _Atomic bool *hold)
{
	char name[16 + 1] = "";

	prctl(PR_GET_NAME, name, 0, 0, 0);
	while (strcmp(name, "gpumon") == 0 && atomic_load(hold)) {
		atomic_store(&is_held, true);
		usleep(1000);
	}
}

/* Also used by the library: its thread can be held where it has a new socket, whose number the program may want. */
BEFORE_SANITIZER int socket(int domain, int type, int protocol)
{
	int fd = (int)syscall(SYS_socket, domain, type, protocol);

	be_held(&hold_sockets);
	return fd;
}

_Atomic bool hold_loader;

BEFORE_SANITIZER static int hold_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info;
	(void)size;
	(void)argument;
	be_held(&hold_loader);
	return 1;
}

/* Also used by the library: its thread can be held with the loader's lock. */
BEFORE_SANITIZER int
dl_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
	__typeof__(&dl_iterate_phdr) next =
		(__typeof__(&dl_iterate_phdr))dlsym(RTLD_NEXT, "dl_iterate_phdr");

	cancel_in_library();
	if (atomic_load(&hold_loader))
		next(hold_library, NULL);
	return next(callback, data);
}

bool is_library_held(void)
{
	/* The library searches for libraries at each flush, and for a new stack. */
	for (unsigned int i = 0; !atomic_load(&is_held); i++) {
		if (i == 60000)
			return false;
		pause_ms(1);
	}
	return true;
}

/*
 * Close all unknown descriptors, as daemons do, and get the same numbers for a socket. A read from
 * that would steal its data.
 */
int take_descriptors(unsigned int count, _Atomic bool *hold)
{
	char text[8] = "";
	unsigned int i;
	int pair[2], fd;

	/* A library that is not recorded creates its socket with the first call. */
	for (i = 0; i < count && hold != &hold_sockets; i++)
		mixed(i);
	if (hold)
		atomic_store(hold, true);
	for (i = 0; hold && !atomic_load(&is_held); i++) {
		if (i == 6000)
			return 9;
		mixed(i);
		pause_ms(10);
	}
	for (fd = 3; fd < 400; fd++)
		close(fd);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 10;
	for (fd = 5; fd < 400; fd++)
		dup2(pair[0], fd);
	if (write(pair[1], "data", 4) != 4)
		return 11;
	if (hold)
		atomic_store(hold, false);
	for (i = 0; i < count; i++)
		mixed(i);
	pause_ms(600);
	if (recv(pair[0], text, sizeof(text), MSG_DONTWAIT) != 4 || strcmp(text, "data") != 0)
		return 12;
	/* Nothing is written to it, and it is not closed. */
	if (recv(pair[1], text, sizeof(text), MSG_DONTWAIT) >= 0)
		return 13;
	for (fd = 5; fd < 400; fd++)
		if (close(fd))
			return 14;
	return 0;
}
