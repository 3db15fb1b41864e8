/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * As much of libnl's interface as the commands of the small build use, in netlink.c. Errors are errnos.
 */
#ifndef GPUMON_SMALL_NETLINK_H
#define GPUMON_SMALL_NETLINK_H

#include <errno.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define NLE_FAILURE	 EIO
#define NLE_AGAIN	 EAGAIN
#define NLE_NOMEM	 ENOMEM
#define NLE_OBJ_NOTFOUND ENOENT
#define NLE_PERM	 EPERM

#define NL_AUTO_PORT 0
#define NL_AUTO_SEQ  0

struct nl_sock;
struct nl_msg;
struct ucred;

struct nl_sock *nl_socket_alloc(void);
void nl_socket_free(struct nl_sock *sock);
int nl_socket_get_fd(const struct nl_sock *sock);
int nl_socket_set_buffer_size(struct nl_sock *sock, int receive, int send);
int nl_socket_add_membership(struct nl_sock *sock, int group);
/* nl_recv() always asks for the size first. */
static inline void nl_socket_enable_msg_peek(struct nl_sock *sock)
{
	(void)sock;
}

static inline int nl_socket_set_msg_buf_size(struct nl_sock *sock, size_t size)
{
	(void)sock;
	(void)size;
	return 0;
}

const char *nl_geterror(int error);

/* Sets port, number and NLM_F_REQUEST | NLM_F_ACK. */
int nl_send_auto(struct nl_sock *sock, struct nl_msg *msg);
/* The size, 0 at the end, or an error. *@buffer is to be freed. */
int nl_recv(struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **buffer,
	    struct ucred **credentials);

struct nl_msg *nlmsg_alloc(void);
void nlmsg_free(struct nl_msg *msg);
struct nlmsghdr *nlmsg_hdr(struct nl_msg *msg);

int nla_put_u32(struct nl_msg *msg, int type, uint32_t value);
int nla_put_string(struct nl_msg *msg, int type, const char *text);
const struct nlattr *nla_find(const struct nlattr *attributes, int len, int type);
int nla_len(const struct nlattr *attribute);
uint16_t nla_get_u16(const struct nlattr *attribute);

#endif /* GPUMON_SMALL_NETLINK_H */
