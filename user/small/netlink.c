// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* In place of libnl, see include/netlink/netlink.h: one socket, requests of a few attributes. */
#include <netlink/genl/ctrl.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"

/* As libnl's default. */
#define SOCKET_BYTES 32768
/* A request: headers, and names of groups at most. */
#define REQUEST_BYTES 1024
#define HEADER_BYTES  (NLMSG_HDRLEN + GENL_HDRLEN)

struct nl_sock {
	int fd;
	uint32_t port;
	uint32_t seq;
};

struct nl_msg {
	union {
		struct nlmsghdr header;
		unsigned char bytes[REQUEST_BYTES];
	};
};

/* --- the socket */

struct nl_sock *nl_socket_alloc(void)
{
	struct nl_sock *sock = gpumon_calloc(1, sizeof(*sock));

	sock->fd = -1;
	return sock;
}

void nl_socket_free(struct nl_sock *sock)
{
	if (sock->fd >= 0)
		close(sock->fd);
	free(sock);
}

int nl_socket_get_fd(const struct nl_sock *sock)
{
	return sock->fd;
}

int nl_socket_set_buffer_size(struct nl_sock *sock, int receive, int send)
{
	if (!receive)
		receive = SOCKET_BYTES;
	if (!send)
		send = SOCKET_BYTES;
	return setsockopt(sock->fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send)) ||
			       setsockopt(sock->fd, SOL_SOCKET, SO_RCVBUF, &receive,
					  sizeof(receive)) ?
		       -errno :
		       0;
}

int nl_socket_add_membership(struct nl_sock *sock, int group)
{
	return setsockopt(sock->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) ?
		       -errno :
		       0;
}

int genl_connect(struct nl_sock *sock)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(address);

	sock->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (sock->fd < 0 || nl_socket_set_buffer_size(sock, 0, 0) ||
	    bind(sock->fd, (struct sockaddr *)&address, len) ||
	    getsockname(sock->fd, (struct sockaddr *)&address, &len))
		return -errno;
	sock->port = address.nl_pid;
	return 0;
}

const char *nl_geterror(int error)
{
	return strerror(abs(error));
}

int nl_send_auto(struct nl_sock *sock, struct nl_msg *msg)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr *header = &msg->header;
	ssize_t sent;

	header->nlmsg_pid = sock->port;
	header->nlmsg_seq = ++sock->seq;
	header->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	do {
		sent = sendto(sock->fd, header, header->nlmsg_len, 0, (struct sockaddr *)&kernel,
			      sizeof(kernel));
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (int)sent;
}

static ssize_t receive(int fd, void *buffer, size_t size, int flags, struct sockaddr_nl *from)
{
	socklen_t len = sizeof(*from);
	ssize_t n;

	do {
		n = recvfrom(fd, buffer, size, flags, (struct sockaddr *)from, &len);
	} while (n < 0 && errno == EINTR);
	return n;
}

int nl_recv(struct nl_sock *sock, struct sockaddr_nl *from, unsigned char **buffer,
	    struct ucred **credentials)
{
	ssize_t size = receive(sock->fd, NULL, 0, MSG_PEEK | MSG_TRUNC, from);

	(void)credentials;
	if (size <= 0)
		return size ? -errno : 0;
	*buffer = gpumon_malloc((size_t)size);
	size = receive(sock->fd, *buffer, (size_t)size, 0, from);
	return size < 0 ? -errno : (int)size;
}

/* --- messages */

struct nl_msg *nlmsg_alloc(void)
{
	return gpumon_calloc(1, sizeof(struct nl_msg));
}

void nlmsg_free(struct nl_msg *msg)
{
	free(msg);
}

struct nlmsghdr *nlmsg_hdr(struct nl_msg *msg)
{
	return &msg->header;
}

void *genlmsg_put(struct nl_msg *msg, uint32_t port, uint32_t seq, int family, int header_len,
		  int flags, uint8_t command, uint8_t version)
{
	struct genlmsghdr *header = NLMSG_DATA(&msg->header);

	msg->header = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(HEADER_BYTES + header_len),
					 .nlmsg_type = (uint16_t)family,
					 .nlmsg_flags = (uint16_t)flags,
					 .nlmsg_seq = seq,
					 .nlmsg_pid = port };
	*header = (struct genlmsghdr){ .cmd = command, .version = version };
	return header;
}

static int put(struct nl_msg *msg, int type, const void *value, size_t size)
{
	size_t at = NLMSG_ALIGN(msg->header.nlmsg_len);
	struct nlattr *attribute = (void *)(msg->bytes + at);

	if (at + NLA_HDRLEN + size > sizeof(msg->bytes))
		return -ENOMEM;
	attribute->nla_type = (uint16_t)type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + size);
	memcpy((char *)attribute + NLA_HDRLEN, value, size);
	msg->header.nlmsg_len = (uint32_t)(at + NLA_ALIGN(attribute->nla_len));
	return 0;
}

int nla_put_u32(struct nl_msg *msg, int type, uint32_t value)
{
	return put(msg, type, &value, sizeof(value));
}

int nla_put_string(struct nl_msg *msg, int type, const char *text)
{
	return put(msg, type, text, strlen(text) + 1);
}

/* Is there a whole attribute in @len bytes? */
static bool is_whole(const struct nlattr *attribute, int len)
{
	return len >= (int)sizeof(*attribute) && attribute->nla_len >= NLA_HDRLEN &&
	       attribute->nla_len <= len;
}

/* The one behind it; @len: bytes that are left from there on. */
static const struct nlattr *next_attribute(const struct nlattr *attribute, int *len)
{
	*len -= (int)NLA_ALIGN(attribute->nla_len);
	return (const void *)((const char *)attribute + NLA_ALIGN(attribute->nla_len));
}

const struct nlattr *nla_find(const struct nlattr *attributes, int len, int type)
{
	const struct nlattr *at;

	for (at = attributes; is_whole(at, len); at = next_attribute(at, &len))
		if ((at->nla_type & NLA_TYPE_MASK) == type)
			return at;
	return NULL;
}

int nla_len(const struct nlattr *attribute)
{
	return attribute->nla_len - NLA_HDRLEN;
}

static const void *data_of(const struct nlattr *attribute)
{
	return (const char *)attribute + NLA_HDRLEN;
}

uint16_t nla_get_u16(const struct nlattr *attribute)
{
	uint16_t value;

	memcpy(&value, data_of(attribute), sizeof(value));
	return value;
}

/* --- families */

/* Does the attribute have this text? It need not end with a zero. */
static bool is_text(const struct nlattr *attribute, const char *text)
{
	size_t len = strlen(text);

	return attribute && (size_t)nla_len(attribute) >= len &&
	       !memcmp(data_of(attribute), text, len) &&
	       ((size_t)nla_len(attribute) == len || !((const char *)data_of(attribute))[len]);
}

/* The number of a group, in the attribute CTRL_ATTR_MCAST_GROUPS. */
static int find_group(const struct nlattr *groups, const char *name)
{
	const struct nlattr *group = groups ? data_of(groups) : NULL;
	int left = groups ? nla_len(groups) : 0;

	for (; is_whole(group, left); group = next_attribute(group, &left)) {
		const struct nlattr *id =
			nla_find(data_of(group), nla_len(group), CTRL_ATTR_MCAST_GRP_ID);

		if (id && nla_len(id) >= (int)sizeof(uint32_t) &&
		    is_text(nla_find(data_of(group), nla_len(group), CTRL_ATTR_MCAST_GRP_NAME),
			    name)) {
			uint32_t number;

			memcpy(&number, data_of(id), sizeof(number));
			return (int)number;
		}
	}
	return -NLE_OBJ_NOTFOUND;
}

/* What a message says of a family: its number, or that of a group. */
static int read_family(const struct nlmsghdr *message, const char *group)
{
	const struct nlattr *first = (const void *)((const char *)message + HEADER_BYTES);
	int len = (int)message->nlmsg_len - (int)HEADER_BYTES;
	const struct nlattr *id = nla_find(first, len, CTRL_ATTR_FAMILY_ID);

	if (group)
		return find_group(nla_find(first, len, CTRL_ATTR_MCAST_GROUPS), group);
	return id && nla_len(id) >= (int)sizeof(uint16_t) ? nla_get_u16(id) : -NLE_OBJ_NOTFOUND;
}

/*
 * The kernel answers with the family and an acknowledgement, or with an error. What it said is in *@found,
 * when all is read. 1: more follows; 0; or an error.
 */
static int take_answer(const unsigned char *at, size_t left, uint32_t seq, const char *group,
		       int *found)
{
	while (left >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *message = (const void *)at;
		const struct nlmsgerr *error = NLMSG_DATA(message);
		size_t step;

		if (message->nlmsg_len < NLMSG_HDRLEN || message->nlmsg_len > left)
			break;
		step = NLMSG_ALIGN(message->nlmsg_len);
		step = step < left ? step : left;
		if (message->nlmsg_seq == seq && message->nlmsg_type == NLMSG_ERROR)
			return message->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ? -NLE_FAILURE :
										   error->error;
		if (message->nlmsg_seq == seq && message->nlmsg_type == GENL_ID_CTRL)
			*found = read_family(message, group);
		at += step;
		left -= step;
	}
	return 1;
}

int genl_ctrl_resolve_grp(struct nl_sock *sock, const char *family, const char *group)
{
	struct nl_msg *request = nlmsg_alloc();
	int found = -NLE_OBJ_NOTFOUND, ret;

	genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, 0, CTRL_CMD_GETFAMILY, 1);
	ret = nla_put_string(request, CTRL_ATTR_FAMILY_NAME, family);
	if (!ret)
		ret = nl_send_auto(sock, request);
	nlmsg_free(request);
	while (ret > 0) {
		struct sockaddr_nl from = { 0 };
		unsigned char *buffer = NULL;

		ret = nl_recv(sock, &from, &buffer, NULL);
		if (!ret)
			ret = -NLE_FAILURE;
		/* Only the kernel has port 0. */
		if (ret > 0)
			ret = from.nl_pid ?
				      1 :
				      take_answer(buffer, (size_t)ret, sock->seq, group, &found);
		free(buffer);
	}
	return ret ? ret : found;
}

int genl_ctrl_resolve(struct nl_sock *sock, const char *family)
{
	return genl_ctrl_resolve_grp(sock, family, NULL);
}
