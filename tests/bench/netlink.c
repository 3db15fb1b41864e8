// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Raw generic netlink for gpumon. Any error ends the program. */
#include <errno.h>
#include <error.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "../../kmod/uapi/gpumon_netlink.h"
#include "netlink.h"

static int sock = -1;
static uint16_t family;

static union {
	struct nlmsghdr header;
	char bytes[32768];
} message;

static void begin(uint16_t type, uint16_t flags, uint8_t command)
{
	struct genlmsghdr *genl = NLMSG_DATA(&message.header);

	memset(&message, 0, NLMSG_SPACE(GENL_HDRLEN));
	message.header.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	message.header.nlmsg_type = type;
	message.header.nlmsg_flags = NLM_F_REQUEST | flags;
	genl->cmd = command;
	genl->version = 1;
}

static void add(uint16_t type, const void *data, size_t length)
{
	struct nlattr *attr = (void *)(message.bytes + NLMSG_ALIGN(message.header.nlmsg_len));

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + length;
	memcpy((char *)attr + NLA_HDRLEN, data, length);
	message.header.nlmsg_len = NLMSG_ALIGN(message.header.nlmsg_len) + NLA_ALIGN(attr->nla_len);
}

static size_t receive(void)
{
	ssize_t n = recv(sock, message.bytes, sizeof(message.bytes), MSG_TRUNC);

	if (n < 0)
		error(1, errno, "netlink: receive");
	if ((size_t)n > sizeof(message.bytes))
		error(1, 0, "netlink: a message of %zd bytes", n);
	return n;
}

static void send_message(void)
{
	if (send(sock, message.bytes, message.header.nlmsg_len, 0) < 0)
		error(1, errno, "netlink: send");
}

/* End the program on an error. Returns whether this is an acknowledgement. */
static bool is_ack(const struct nlmsghdr *header)
{
	const struct nlmsgerr *result = NLMSG_DATA(header);

	if (header->nlmsg_type != NLMSG_ERROR)
		return false;
	if (result->error)
		error(1, -result->error, "netlink: refused");
	return true;
}

/* Open the socket and look up the family. */
void netlink_open(void)
{
	struct sockaddr_nl local = { .nl_family = AF_NETLINK };
	const struct nlattr *attr;
	size_t offset, length;

	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (sock < 0 || bind(sock, (void *)&local, sizeof(local)))
		error(1, errno, "netlink: socket");
	begin(GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
	add(CTRL_ATTR_FAMILY_NAME, GPUMON_FAMILY_NAME, sizeof(GPUMON_FAMILY_NAME));
	send_message();
	length = receive();
	is_ack(&message.header);
	for (offset = NLMSG_LENGTH(GENL_HDRLEN); offset + NLA_HDRLEN <= length;
	     offset += NLA_ALIGN(attr->nla_len)) {
		attr = (const void *)(message.bytes + offset);
		if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(&family, (const char *)attr + NLA_HDRLEN, sizeof(family));
		if (attr->nla_len < NLA_HDRLEN)
			break;
	}
	if (!family)
		error(1, 0, "netlink: no id of family %s", GPUMON_FAMILY_NAME);
}

/* Returns the size of all replies. */
size_t netlink_dump(const char *command)
{
	static const struct {
		const char *name;
		uint8_t command;
	} commands[] = {
		{ "statistic", GPUMON_CMD_STATISTIC_GET },
		{ "process", GPUMON_CMD_PROCESS_GET },
		{ "group", GPUMON_CMD_GROUP_GET },
	};
	const struct nlmsghdr *header;
	size_t i, n, bytes = 0;
	int left;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(commands[i].name, command))
			break;
	if (i == sizeof(commands) / sizeof(*commands))
		error(2, 0, "no dump %s", command);
	begin(family, NLM_F_DUMP, commands[i].command);
	send_message();
	for (;;) {
		n = receive();
		left = n;
		bytes += n;
		for (header = &message.header; NLMSG_OK(header, (unsigned int)left);
		     header = NLMSG_NEXT(header, left)) {
			is_ack(header);
			if (header->nlmsg_type == NLMSG_DONE)
				return bytes;
		}
	}
}

/* kib is the size per CPU, 0 keeps it. */
void netlink_event_ring(bool on, uint32_t kib)
{
	uint32_t enabled = on;

	begin(family, NLM_F_ACK, GPUMON_CMD_EVENT_RING_SET);
	add(GPUMON_A_EVENT_RING_ENABLED, &enabled, sizeof(enabled));
	if (kib)
		add(GPUMON_A_EVENT_RING_SIZE_KIB, &kib, sizeof(kib));
	send_message();
	receive();
	if (!is_ack(&message.header))
		error(1, 0, "netlink: no acknowledgement");
}
