/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions of libnl that test_client.c replaces with the linker's --wrap. */
#ifndef GPUMON_TEST_WRAP_H
#define GPUMON_TEST_WRAP_H

#include <netlink/netlink.h>

int __wrap_genl_connect(struct nl_sock *sock);
int __wrap_genl_ctrl_resolve(struct nl_sock *sock, const char *name);
int __wrap_nl_send_auto(struct nl_sock *sock, struct nl_msg *msg);
int __wrap_nl_recv(struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **buffer,
		   struct ucred **creds);

#endif /* GPUMON_TEST_WRAP_H */
