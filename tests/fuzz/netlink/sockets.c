// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Carries out actions of a case on sockets, and compares each answer with the expected one. */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "pretend.h"

#define MAX_PENDING  256
#define DRAIN_BYTES  (1 << 17)
#define NOBODY	     65534
#define BUFFER_BYTES (8 << 20)
#define MAX_LATE     32

/* A request without an answer so far. */
struct pending {
	uint32_t seq;
	unsigned int length;
	bool ack;
	bool replied;
	/* An answer is optional: the message is ignored, or succeeds without output. */
	bool quiet;
	struct verdict verdict;
};

struct endpoint {
	int fd;
	unsigned int flags;
	/* Answers may be missing for lack of room on either side. */
	bool lossy;
	unsigned int pending_count;
	struct pending pending[MAX_PENDING];
	/*
	 * Dumps for which there was no room when they were requested, or which stopped in the
	 * middle for that reason. The kernel may report ENOBUFS or nothing, and continues the dump
	 * when something else is read. A ring of the last ones.
	 */
	unsigned int late_next;
	struct pending late[MAX_LATE];
};

unsigned int family_id, alerts_group;
unsigned long long executed_requests, answers_checked, answers_lost, refusals, acceptances;

static struct endpoint sockets[SOCKETS];
static uint32_t next_seq = 1000;
static unsigned char received[DRAIN_BYTES];

void become_nobody(bool nobody)
{
	if (seteuid(nobody ? NOBODY : 0))
		found("seteuid: %s", strerror(errno));
}

static void socket_open(struct endpoint *endpoint, unsigned int flags)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int bytes = flags & SOCKET_SMALL ? 1 : BUFFER_BYTES, one = 1;

	if (endpoint->fd >= 0)
		close(endpoint->fd);
	memset(endpoint, 0, sizeof(*endpoint));
	endpoint->flags = flags;
	endpoint->lossy = flags & SOCKET_SMALL;
	become_nobody(flags & SOCKET_NOBODY);
	endpoint->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	become_nobody(false);
	if (endpoint->fd < 0 ||
	    bind(endpoint->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		found("no netlink socket: %s", strerror(errno));
	setsockopt(endpoint->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	if (!(flags & SOCKET_NO_CAP_ACK))
		setsockopt(endpoint->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	if (!(flags & SOCKET_NO_EXT_ACK))
		setsockopt(endpoint->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	if (flags & SOCKET_STRICT)
		setsockopt(endpoint->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
}

static void pending_remove(struct endpoint *endpoint, struct pending *pending)
{
	*pending = endpoint->pending[--endpoint->pending_count];
}

static struct pending *pending_find(struct endpoint *endpoint, uint32_t seq)
{
	unsigned int i;

	for (i = 0; i < endpoint->pending_count; i++)
		if (endpoint->pending[i].seq == seq)
			return &endpoint->pending[i];
	return NULL;
}

/* Its answer may still come, if the socket can lose answers. */
static void pending_late(struct endpoint *endpoint, const struct pending *pending)
{
	if (endpoint->lossy && pending->verdict.kind == KIND_DUMP && pending->verdict.op)
		endpoint->late[endpoint->late_next++ % MAX_LATE] = *pending;
}

static struct pending *late_find(struct endpoint *endpoint, uint32_t seq)
{
	unsigned int i;

	for (i = 0; i < MAX_LATE; i++)
		if (seq && endpoint->late[i].seq == seq)
			return &endpoint->late[i];
	return NULL;
}

/* Was it only rejected for its period, which has begun since? A late dump finds it. */
static bool has_begun_since(const struct endpoint *endpoint, const struct verdict *verdict)
{
	return endpoint->lossy && verdict->kind == KIND_DUMP && verdict->has_period &&
	       verdict->error_count == 1 && verdict->errors[0] == ESTALE &&
	       verdict->period <= model.period;
}

static const char *name_of(const struct verdict *verdict)
{
	return verdict->op ? verdict->op->name : "a request that is none";
}

/* --- answers */

static bool may_end_with(const struct endpoint *endpoint, const struct verdict *verdict, int error,
			 bool done)
{
	unsigned int i;

	if (!error)
		return verdict->may_pass || has_begun_since(endpoint, verdict);
	for (i = 0; i < verdict->error_count; i++)
		if (verdict->errors[i] == error)
			return true;
	/* One dump at a time, whatever is wrong with the second one. */
	if (verdict->kind == KIND_DUMP && error == EBUSY && !done)
		return true;
	/* A period may disappear while it is read. */
	if (verdict->kind == KIND_DUMP && verdict->may_pass && error == ESTALE && done &&
	    verdict->has_period && (!model.exact || !model_period_kept(verdict->period)))
		return true;
	return endpoint->lossy && (error == ENOBUFS || error == EAGAIN);
}

static const char *error_list(const struct verdict *verdict)
{
	static char text[128];
	unsigned int i;
	int at = 0;

	text[0] = '\0';
	for (i = 0; i < verdict->error_count; i++)
		at += snprintf(text + at, sizeof(text) - at, " %s",
			       strerrorname_np(verdict->errors[i]));
	return text;
}

/* The kernel's message after its answer. */
static void check_words(const struct endpoint *endpoint, const struct pending *pending, int error,
			const unsigned char *message, unsigned int length, unsigned int at)
{
	const unsigned char *text = NULL;
	uint32_t offset = 0;
	unsigned int size;

	while (get_u16(message + 6) & NLM_F_ACK_TLVS && at + 4 <= length) {
		size = get_u16(message + at);
		if (size < 4 || at + size > length)
			found("the extack of %s is cut off", name_of(&pending->verdict));
		if ((get_u16(message + at + 2) & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG)
			text = message + at + 4;
		if ((get_u16(message + at + 2) & NLA_TYPE_MASK) == NLMSGERR_ATTR_OFFS)
			offset = get_u32(message + at + 4);
		at += ALIGN4(size);
	}
	if (verbose && error)
		printf("  %s: %s%s%s at %u\n", name_of(&pending->verdict), strerrorname_np(error),
		       text ? ", " : "", text ? (const char *)text : "", offset);
	if (offset && (offset < 16 || offset >= pending->length))
		found("the extack of %s names an attribute at %u of %u bytes",
		      name_of(&pending->verdict), offset, pending->length);
	if (!error || endpoint->flags & SOCKET_NO_EXT_ACK || !pending->verdict.says_why)
		return;
	if (error == EBUSY && pending->verdict.kind == KIND_DUMP)
		return;
	if (error != EINVAL && error != ERANGE && error != ENOENT && error != ESTALE &&
	    error != EBUSY)
		return;
	if (!text || !*text)
		found("%s is refused with %s and no word why", name_of(&pending->verdict),
		      strerrorname_np(error));
	if ((error == ENOENT || error == ESTALE || error == ERANGE) && !offset &&
	    pending->verdict.kind == KIND_DO)
		found("%s is refused with %s (%s), but not which attribute is wrong",
		      name_of(&pending->verdict), strerrorname_np(error), text);
}

static void take_end(struct endpoint *endpoint, struct pending *pending,
		     const unsigned char *message, unsigned int length, bool done)
{
	const struct verdict *verdict = &pending->verdict;
	unsigned int at = 20;
	int error;

	if (length < 20)
		found("an end of %u bytes", length);
	error = -(int)get_u32(message + 16);
	if (verdict->ignored && error)
		found("a message of the netlink layer ends with %s", strerrorname_np(error));
	if (!verdict->ignored && !may_end_with(endpoint, verdict, error, done))
		found("%s ends with %s, expected%s%s", name_of(verdict),
		      error ? strerrorname_np(error) : "success",
		      verdict->may_pass ? " success" : "", error_list(verdict));
	if (!error && !pending->ack && !done)
		found("%s is acknowledged, which was not asked for", name_of(verdict));
	if (!error && !done && verdict->op && verdict->kind == KIND_DO &&
	    verdict->op->kinds[KIND_DO].reply && !pending->replied && !endpoint->lossy)
		found("%s succeeds with no answer", name_of(verdict));
	if (!done)
		at += get_u16(message + 6) & NLM_F_CAPPED ? 16 : ALIGN4(get_u32(message + 20));
	check_words(endpoint, pending, error, message, length, at);
	answers_checked++;
	if (error)
		refusals++;
	else
		acceptances++;
	if (pending < endpoint->pending || pending >= endpoint->pending + MAX_PENDING) {
		pending->seq = 0;
		return;
	}
	if (error == ENOBUFS && !done)
		pending_late(endpoint, pending);
	pending_remove(endpoint, pending);
}

static void take_reply(struct endpoint *endpoint, struct pending *pending,
		       const unsigned char *message, unsigned int length)
{
	const struct verdict *verdict = &pending->verdict;
	const char *wrong;

	if (verdict->ignored || !verdict->op ||
	    (!verdict->may_pass && !has_begun_since(endpoint, verdict)))
		found("%s is answered with data", name_of(verdict));
	if (length < 20 || message[16] != verdict->op - spec_ops || get_u16(message + 18))
		found("%s is answered with another header", name_of(verdict));
	if (!(get_u16(message + 6) & NLM_F_MULTI) != (verdict->kind == KIND_DO))
		found("%s: flags 0x%x", name_of(verdict), get_u16(message + 6));
	if (verdict->kind == KIND_DO && pending->replied)
		found("%s is answered twice", name_of(verdict));
	wrong = decode_reply(verdict->op, verdict->kind, message + 20, length - 20);
	if (wrong)
		found("answer to %s: %s", name_of(verdict), wrong);
	answers_checked++;
	pending->replied = true;
	if (verdict->kind == KIND_DO && !pending->ack) {
		acceptances++;
		pending_remove(endpoint, pending);
	}
}

static void take_message(struct endpoint *endpoint, const unsigned char *message,
			 unsigned int length)
{
	unsigned int kind = get_u16(message + 4);
	uint32_t seq = get_u32(message + 8);
	struct pending *pending;
	const char *wrong;

	if (kind == family_id && !seq && length >= 20 && message[16] < spec_op_count &&
	    spec_ops[message[16]].event) {
		wrong = decode_reply(&spec_ops[message[16]], KIND_DUMP, message + 20, length - 20);
		if (wrong)
			found("notification: %s", wrong);
		return;
	}
	pending = pending_find(endpoint, seq);
	if (!pending)
		pending = late_find(endpoint, seq);
	if (!pending)
		found("an answer of type %u to nothing that was asked", kind);
	if (kind == NLMSG_ERROR || kind == NLMSG_DONE)
		take_end(endpoint, pending, message, length, kind == NLMSG_DONE);
	else if (kind == family_id)
		take_reply(endpoint, pending, message, length);
	else
		found("an answer of type %u", kind);
}

/* Receive one datagram. False if there is none. */
static bool receive(struct endpoint *endpoint, unsigned int room)
{
	struct iovec part = { .iov_base = received, .iov_len = room };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	unsigned int at = 0, length;
	ssize_t bytes;

	coverage_on();
	bytes = recvmsg(endpoint->fd, &header, MSG_DONTWAIT);
	coverage_off();
	if (bytes < 0) {
		if (errno == ENOBUFS) {
			if (!endpoint->lossy)
				found("answers did not fit into %d bytes", BUFFER_BYTES);
			answers_lost++;
			return true;
		}
		if (errno != EAGAIN)
			found("receiving: %s", strerror(errno));
		return false;
	}
	if (header.msg_flags & MSG_TRUNC)
		endpoint->lossy = true;
	while (at + 16 <= (size_t)bytes) {
		length = get_u32(received + at);
		if (length < 16)
			found("an answer of %u bytes", length);
		if (at + length > (size_t)bytes) {
			if (!(header.msg_flags & MSG_TRUNC))
				found("an answer of %u bytes in %zd", length, bytes - at);
			break;
		}
		take_message(endpoint, received + at, length);
		at += ALIGN4(length);
	}
	return true;
}

static void drain(struct endpoint *endpoint)
{
	unsigned int i;

	for (i = 0; receive(endpoint, DRAIN_BYTES); i++)
		if (i > 100000)
			found("a dump without an end");
	for (i = 0; i < endpoint->pending_count; i++) {
		if (endpoint->pending[i].quiet)
			continue;
		if (!endpoint->lossy)
			found("%s gets no answer", name_of(&endpoint->pending[i].verdict));
		pending_late(endpoint, &endpoint->pending[i]);
		answers_lost++;
	}
	endpoint->pending_count = 0;
}

/* --- requests */

/* Turn periods relative to the current one into numbers. */
static void place_periods(unsigned char *message)
{
	unsigned int at = 20, length = get_u32(message), size;

	if (length < 20 || !message[16] || message[16] >= spec_op_count)
		return;
	while (at + 8 <= length) {
		size = get_u16(message + at);
		if (size == 8 && get_u32(message + at + 4) >= RELATIVE_PERIOD &&
		    get_u32(message + at + 4) < RELATIVE_PERIOD + 8)
			set_u32(message + at + 4,
				model.period + get_u32(message + at + 4) - RELATIVE_PERIOD - 4);
		if (size < 4)
			break;
		at += ALIGN4(size);
	}
}

static bool is_quiet(const struct verdict *verdict)
{
	return verdict->ignored || (verdict->may_pass && verdict->kind == KIND_DO &&
				    !verdict->op->kinds[KIND_DO].reply);
}

/* Give each message its number and destination, and record the expected result. */
static void prepare(struct endpoint *endpoint, unsigned char *bytes, unsigned int left, bool nobody)
{
	struct pending *pending;
	unsigned int length;

	while (left >= 16) {
		length = get_u32(bytes);
		if (length < 16 || length > left)
			break;
		if (get_u16(bytes + 4) >= NLMSG_MIN_TYPE)
			set_u16(bytes + 4, family_id);
		set_u32(bytes + 8, ++next_seq);
		place_periods(bytes);
		if (endpoint->pending_count == MAX_PENDING)
			found("a case of too many requests");
		pending = &endpoint->pending[endpoint->pending_count++];
		memset(pending, 0, sizeof(*pending));
		pending->seq = next_seq;
		pending->length = length;
		pending->ack = get_u16(bytes + 6) & NLM_F_ACK;
		model_judge(bytes, nobody, &pending->verdict);
		executed_requests++;
		pending->quiet = !pending->ack && is_quiet(&pending->verdict);
		left -= ALIGN4(length) < left ? ALIGN4(length) : left;
		bytes += ALIGN4(length);
	}
}

static void send_bytes(struct endpoint *endpoint, const struct action *action)
{
	static unsigned char bytes[MAX_BYTES];
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	bool nobody = action->a & SEND_AS_NOBODY, addressed = action->a & SEND_TO_ADDRESS;
	ssize_t sent;
	int error;

	if (endpoint->fd < 0)
		socket_open(endpoint, 0);
	/* Enough for any datagram. Read pending answers first. */
	if (endpoint->pending_count > MAX_PENDING / 2)
		drain(endpoint);
	memcpy(bytes, action->bytes, action->length);
	prepare(endpoint, bytes, action->length,
		nobody || (endpoint->flags & SOCKET_NOBODY && !addressed));
	if (nobody)
		become_nobody(true);
	coverage_on();
	sent = sendto(endpoint->fd, bytes, action->length, 0,
		      addressed ? (struct sockaddr *)&kernel : NULL,
		      addressed ? sizeof(kernel) : 0);
	error = errno;
	coverage_off();
	if (nobody)
		become_nobody(false);
	if (sent < 0 && !(error == ENODATA && !action->length))
		found("sending %u bytes: %s", action->length, strerror(error));
	if (model.unknown)
		sockets_state();
}

static void membership(struct endpoint *endpoint, const struct action *action, int option)
{
	bool nobody = action->a & 1;
	int ret, error;

	if (endpoint->fd < 0)
		return;
	if (nobody)
		become_nobody(true);
	coverage_on();
	ret = setsockopt(endpoint->fd, SOL_NETLINK, option, &alerts_group, sizeof(alerts_group));
	error = errno;
	coverage_off();
	if (nobody)
		become_nobody(false);
	if (option == NETLINK_ADD_MEMBERSHIP && nobody && (!ret || error != EPERM))
		found("nobody joins the group of alerts: %s", ret ? strerror(error) : "done");
	if (!nobody && ret)
		found("the group of alerts: %s", strerror(error));
}

void sockets_do(const struct action *action)
{
	struct endpoint *endpoint = &sockets[action->slot];
	unsigned int i;

	switch (action->kind) {
	case ACTION_SOCKET:
		socket_open(endpoint, action->a & SOCKET_FLAGS);
		break;
	case ACTION_CLOSE:
		if (endpoint->fd >= 0)
			close(endpoint->fd);
		endpoint->fd = -1;
		endpoint->pending_count = 0;
		break;
	case ACTION_SEND:
		send_bytes(endpoint, action);
		break;
	case ACTION_RECEIVE:
		if (endpoint->fd < 0)
			break;
		for (i = 0; i < (action->b & 7); i++)
			if (!receive(endpoint, action->a < DRAIN_BYTES ? action->a : DRAIN_BYTES))
				break;
		break;
	case ACTION_JOIN:
		membership(endpoint, action, NETLINK_ADD_MEMBERSHIP);
		break;
	default:
		membership(endpoint, action, NETLINK_DROP_MEMBERSHIP);
	}
}

void sockets_begin(void)
{
	int i;

	for (i = 0; i < SOCKETS; i++)
		sockets[i].fd = -1;
}

/* Read the rest. Everything must be answered by then. */
void sockets_end(void)
{
	int i;

	for (i = 0; i < SOCKETS; i++) {
		if (sockets[i].fd < 0)
			continue;
		drain(&sockets[i]);
		close(sockets[i].fd);
		sockets[i].fd = -1;
	}
}
