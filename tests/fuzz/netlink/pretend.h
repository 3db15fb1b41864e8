/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The system calls that pretend.c replaces, if it is built in. */
#ifndef GPUMON_PRETEND_H
#define GPUMON_PRETEND_H

#include <sys/socket.h>
#include <sys/types.h>

int pretend_seteuid(unsigned int user);
int pretend_socket(int domain, int type, int protocol);
int pretend_bind(int fd, const struct sockaddr *address, unsigned int length);
int pretend_setsockopt(int fd, int level, int option, const void *value, unsigned int length);
ssize_t pretend_sendto(int fd, const void *bytes, size_t length, int flags,
		       const struct sockaddr *address, unsigned int address_length);
ssize_t pretend_send(int fd, const void *bytes, size_t length, int flags);
ssize_t pretend_recvmsg(int fd, struct msghdr *header, int flags);
ssize_t pretend_recv(int fd, void *bytes, size_t length, int flags);

#ifdef PRETEND
#define seteuid	   pretend_seteuid
#define socket	   pretend_socket
#define bind	   pretend_bind
#define setsockopt pretend_setsockopt
#define sendto	   pretend_sendto
#define send	   pretend_send
#define recvmsg	   pretend_recvmsg
#define recv	   pretend_recv
#endif

#endif /* GPUMON_PRETEND_H */
