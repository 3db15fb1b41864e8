// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Replaces the kernel, to test the fuzzer itself: it answers according to model.c, or with a fault
 * named in PRETEND_FAULT. `make check` runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "pretend.h"

#define FAMILY	    30
#define DESCRIPTORS 64
#define ROOM	    (1 << 16)

struct datagram {
	unsigned int length;
	struct datagram *next;
	unsigned char bytes[];
};

static struct {
	struct datagram *first;
	bool nobody;
	bool ext_ack;
	bool cap_ack;
	/* There is room for one datagram only. */
	bool small;
	/* A dump that did not fit. It begins when something has been read. */
	unsigned char *late;
	bool late_addressed;
} ends[DESCRIPTORS];

/* State of the kernel. The fuzzer's own state is in model. */
static struct model kernel = {
	.exact = true,
	.period = 1,
	.ring_kib = 512,
	.groups = 2,
	.group = { "drm_sched", "i915" },
	.group_enabled = { 1, 1 },
};

static bool nobody;
static unsigned char out[ROOM];

static bool fault(const char *name)
{
	const char *planted = getenv("PRETEND_FAULT");

	return planted && !strcmp(planted, name);
}

static void push(int fd, unsigned int length)
{
	struct datagram *new = malloc(sizeof(*new) + length), **at = &ends[fd].first;

	if (!new)
		abort();
	memcpy(new->bytes, out, length);
	new->length = length;
	new->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = new;
}

static unsigned int begin(unsigned int at, unsigned int type, unsigned int flags, uint32_t seq)
{
	memset(out + at, 0, 20);
	set_u16(out + at + 4, type);
	set_u16(out + at + 6, flags);
	set_u32(out + at + 8, seq);
	return at + 16;
}

static void push_error(int fd, const unsigned char *message, int error)
{
	unsigned int at = begin(0, NLMSG_ERROR, 0, get_u32(message + 8)), flags = 0, copied = 16;
	uint32_t offset = fault("offset") ? get_u32(message) + 4 : 20;

	set_u32(out + at, -error);
	at += 4;
	if (error && !ends[fd].cap_ack)
		copied = get_u32(message);
	else
		flags |= NLM_F_CAPPED;
	memcpy(out + at, message, copied);
	at += ALIGN4(copied);
	if (error && ends[fd].ext_ack) {
		flags |= NLM_F_ACK_TLVS;
		if (get_u32(message) > 20)
			at += put_attr(out + at, NLMSGERR_ATTR_OFFS, &offset, 4);
		if (!fault("words"))
			at += put_attr(out + at, NLMSGERR_ATTR_MSG, "no", 3);
	}
	set_u16(out + 6, flags);
	set_u32(out, at);
	push(fd, at);
}

static uint32_t number_of_state(const char *set, const char *attr, unsigned int group)
{
	if (!strcmp(attr, "period"))
		return kernel.period;
	if (!strcmp(attr, "size-kib"))
		return kernel.ring_kib;
	if (strcmp(attr, "enabled"))
		return 0;
	if (!strcmp(set, "group"))
		return kernel.group_enabled[group];
	return fault("range") ? 2 : kernel.ring_enabled;
}

/* A reply with every attribute that is not a list. */
static unsigned int put_reply(unsigned int at, const unsigned char *message,
			      const struct spec_op *op, int kind, unsigned int group)
{
	const struct spec_set *set = &spec_sets[op->set];
	const struct spec_attr *attr;
	unsigned int start = at, i;
	const char *text;
	uint64_t value;

	at = begin(at, FAMILY, kind == KIND_DUMP ? NLM_F_MULTI : 0, get_u32(message + 8)) + 4;
	out[at - 4] = op - spec_ops;
	for (i = 1; i <= set->count; i++) {
		attr = &set->attrs[i];
		if (!(op->kinds[kind].reply & (1ULL << i)) || attr->multi)
			continue;
		value = attr->type == TYPE_U32 ? number_of_state(set->name, attr->name, group) : 0;
		text = !strcmp(set->name, "group") && i == 1 ? kernel.group[group] : "x";
		if (attr->type == TYPE_STRING)
			at += put_attr(out + at, i, text, strlen(text) + !fault("text"));
		else
			at += put_attr(out + at, i, &value,
				       attr->type == TYPE_U32  ? 4 :
				       attr->type == TYPE_NEST ? 0 :
								 8);
	}
	set_u32(out + start, at - start);
	return at;
}

static void push_done(int fd, unsigned int at, const unsigned char *message, int error)
{
	unsigned int start = at;

	at = begin(at, NLMSG_DONE, NLM_F_MULTI, get_u32(message + 8)) + 4;
	set_u32(out + at - 4, -error);
	if (error && ends[fd].ext_ack) {
		set_u16(out + start + 6, NLM_F_MULTI | NLM_F_ACK_TLVS);
		at += put_attr(out + at, NLMSGERR_ATTR_MSG, "no", 3);
	}
	set_u32(out + start, at - start);
	push(fd, at);
}

static void answer_family(int fd, const unsigned char *message)
{
	unsigned int at = begin(0, GENL_ID_CTRL, 0, get_u32(message + 8)) + 4, length;
	uint16_t number = FAMILY;
	unsigned char group[16];
	uint32_t id = 9;

	length = put_attr(group + 4, CTRL_ATTR_MCAST_GRP_ID, &id, 4);
	set_u16(group, 4 + length);
	set_u16(group + 2, 1);
	at += put_attr(out + at, CTRL_ATTR_FAMILY_ID, &number, 2);
	at += put_attr(out + at, CTRL_ATTR_MCAST_GROUPS, group, 4 + length);
	set_u32(out, at);
	push(fd, at);
}

static void judge(int fd, const unsigned char *message, bool addressed, struct verdict *verdict)
{
	struct model own = model;

	model = kernel;
	model_judge(message, nobody || (ends[fd].nobody && !addressed && !fault("capability")),
		    verdict);
	kernel = model;
	kernel.unknown = false;
	if (fault("state") && verdict->error_count && verdict->op)
		kernel.ring_kib = 77;
	model = own;
}

static bool is_stale(const struct verdict *verdict)
{
	return verdict->kind == KIND_DUMP && verdict->error_count && verdict->errors[0] == ESTALE;
}

static void dump(int fd, const unsigned char *message, const struct verdict *verdict)
{
	unsigned int at = 0, group;

	if (is_stale(verdict)) {
		push_done(fd, 0, message, ESTALE);
		return;
	}
	for (group = 0; group < kernel.groups; group++)
		at = put_reply(at, message, verdict->op, KIND_DUMP, group);
	push_done(fd, at, message, 0);
}

/* True if @message is a dump that waits, or may not. For some, the error does not fit either. */
static bool is_late(int fd, const unsigned char *message, bool addressed)
{
	if (ends[fd].late) {
		push_error(fd, message, EBUSY);
		return true;
	}
	if (!ends[fd].small || !ends[fd].first)
		return false;
	ends[fd].late = malloc(get_u32(message));
	if (!ends[fd].late)
		abort();
	memcpy(ends[fd].late, message, get_u32(message));
	ends[fd].late_addressed = addressed;
	if (get_u32(message + 8) & 1)
		push_error(fd, message, ENOBUFS);
	return true;
}

static void late_begins(int fd)
{
	unsigned char *message = ends[fd].late;
	struct verdict verdict;

	if (!message || ends[fd].first)
		return;
	ends[fd].late = NULL;
	judge(fd, message, ends[fd].late_addressed, &verdict);
	dump(fd, message, &verdict);
	free(message);
}

static void answer(int fd, const unsigned char *message, bool addressed)
{
	bool ack = get_u16(message + 6) & NLM_F_ACK;
	struct verdict verdict;

	if (get_u16(message + 4) == GENL_ID_CTRL) {
		answer_family(fd, message);
		return;
	}
	judge(fd, message, addressed, &verdict);
	if (!verdict.ignored && !verdict.may_pass && !is_stale(&verdict)) {
		push_error(fd, message, verdict.errors[0]);
	} else if (verdict.ignored || verdict.kind == KIND_DO) {
		if (!verdict.ignored && verdict.op->kinds[KIND_DO].reply)
			push(fd, put_reply(0, message, verdict.op, KIND_DO, 0));
		if (ack && !fault("ack"))
			push_error(fd, message, 0);
	} else if (!is_late(fd, message, addressed)) {
		dump(fd, message, &verdict);
	}
}

int pretend_seteuid(unsigned int user)
{
	nobody = user;
	return 0;
}

int pretend_socket(int domain, int type, int protocol)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct datagram *next;

	if (domain != AF_NETLINK || !(type & SOCK_RAW) || protocol != NETLINK_GENERIC)
		abort();
	if (fd < 0 || fd >= DESCRIPTORS)
		abort();
	for (; ends[fd].first; ends[fd].first = next) {
		next = ends[fd].first->next;
		free(ends[fd].first);
	}
	ends[fd].nobody = nobody;
	ends[fd].ext_ack = false;
	ends[fd].cap_ack = false;
	ends[fd].small = false;
	free(ends[fd].late);
	ends[fd].late = NULL;
	return fd;
}

int pretend_bind(int fd, const struct sockaddr *address, unsigned int length)
{
	return fd < 0 || !address || !length ? -1 : 0;
}

int pretend_setsockopt(int fd, int level, int option, const void *value, unsigned int length)
{
	if (level == SOL_SOCKET && option == SO_RCVBUFFORCE)
		ends[fd].small = *(const int *)value == 1;
	if (level != SOL_NETLINK || !value || !length)
		return 0;
	ends[fd].ext_ack |= option == NETLINK_EXT_ACK;
	ends[fd].cap_ack |= option == NETLINK_CAP_ACK;
	if (option != NETLINK_ADD_MEMBERSHIP || !nobody)
		return 0;
	errno = EPERM;
	return -1;
}

ssize_t pretend_sendto(int fd, const void *bytes, size_t length, int flags,
		       const struct sockaddr *address, unsigned int address_length)
{
	const unsigned char *at = bytes;
	size_t left = length, size;

	if (flags || (address && !address_length) || !length) {
		errno = ENODATA;
		return -1;
	}
	while (left >= 16) {
		size = get_u32(at);
		if (size < 16 || size > left)
			break;
		answer(fd, at, address);
		size = ALIGN4(size) < left ? ALIGN4(size) : left;
		at += size;
		left -= size;
	}
	return length;
}

ssize_t pretend_send(int fd, const void *bytes, size_t length, int flags)
{
	return pretend_sendto(fd, bytes, length, flags, NULL, 0);
}

ssize_t pretend_recvmsg(int fd, struct msghdr *header, int flags)
{
	struct datagram *first = ends[fd].first;
	size_t length;

	if (!first) {
		errno = flags & MSG_DONTWAIT ? EAGAIN : ETIMEDOUT;
		return -1;
	}
	ends[fd].first = first->next;
	length = first->length;
	header->msg_flags = length > header->msg_iov->iov_len ? MSG_TRUNC : 0;
	if (length > header->msg_iov->iov_len)
		length = header->msg_iov->iov_len;
	memcpy(header->msg_iov->iov_base, first->bytes, length);
	free(first);
	late_begins(fd);
	return length;
}

ssize_t pretend_recv(int fd, void *bytes, size_t length, int flags)
{
	struct iovec part = { .iov_base = bytes, .iov_len = length };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	return pretend_recvmsg(fd, &header, flags);
}

/* There is no debugfs to replace. */
void files_do(const struct action *action)
{
	(void)action;
}

void files_end(void)
{
}
