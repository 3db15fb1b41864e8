// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reads the module's state on a socket of its own, and compares it with the model. */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "fuzz.h"
#include "pretend.h"

static int control = -1;
static unsigned char answer[1 << 17];

static const struct spec_op *op_named(const char *name)
{
	unsigned int i;

	for (i = 1; i < spec_op_count; i++)
		if (!strcmp(spec_ops[i].name, name))
			return &spec_ops[i];
	found("the spec has no operation %s", name);
}

static ssize_t ask(unsigned int type, unsigned int command, unsigned int flags, const char *name)
{
	unsigned char message[64];
	unsigned int length = 20;
	ssize_t bytes;

	memset(message, 0, sizeof(message));
	if (name)
		length += put_attr(message + length, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	set_u32(message, length);
	set_u16(message + 4, type);
	set_u16(message + 6, NLM_F_REQUEST | flags);
	message[16] = command;
	message[17] = 1;
	if (send(control, message, length, 0) < 0)
		found("asking: %s", strerror(errno));
	bytes = recv(control, answer, sizeof(answer), 0);
	if (bytes < 20)
		found("no answer from the kernel: %s", strerror(errno));
	return bytes;
}

static void control_open(void)
{
	struct timeval wait = { .tv_sec = 60 };
	int bytes = 1 << 22;

	control = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(control, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
}

/* The attributes of a nest, which must exist. */
static const unsigned char *attr_at(const unsigned char *data, unsigned int left, unsigned int type,
				    unsigned int *length)
{
	while (left >= 4 && get_u16(data) >= 4) {
		if ((get_u16(data + 2) & NLA_TYPE_MASK) == type) {
			*length = get_u16(data) - 4;
			return data + 4;
		}
		if (ALIGN4(get_u16(data)) >= left)
			break;
		left -= ALIGN4(get_u16(data));
		data += ALIGN4(get_u16(data));
	}
	return NULL;
}

static void find_family(void)
{
	ssize_t bytes = ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, "gpumon");
	const unsigned char *at;
	unsigned int length;

	if (get_u16(answer + 4) == NLMSG_ERROR)
		found("the family gpumon is not there");
	at = attr_at(answer + 20, bytes - 20, CTRL_ATTR_FAMILY_ID, &length);
	family_id = get_u16(at);
	at = attr_at(answer + 20, bytes - 20, CTRL_ATTR_MCAST_GROUPS, &length);
	/* There is one group, in a nest of its own. */
	at = attr_at(at + 4, length - 4, CTRL_ATTR_MCAST_GRP_ID, &length);
	alerts_group = get_u32(at);
}

static void ask_one(const char *name, const char *attr, uint32_t *value)
{
	const struct spec_op *op = op_named(name);
	ssize_t bytes = ask(family_id, op - spec_ops, 0, NULL);

	if (get_u16(answer + 4) != family_id ||
	    !decode_u32(op->set, attr, answer + 20, bytes - 20, value))
		found("%s is not answered", name);
}

static void take_group(struct model *is, const struct spec_op *op, unsigned int at,
		       unsigned int length)
{
	const char *name = decode_string(op->set, "name", answer + at + 20, length - 20);

	if (!name || is->groups == MAX_GROUPS)
		found("group %u has no name, or there are too many", is->groups);
	snprintf(is->group[is->groups], sizeof(is->group[0]), "%s", name);
	if (!decode_u32(op->set, "enabled", answer + at + 20, length - 20,
			&is->group_enabled[is->groups++]))
		found("group %s is neither on nor off", name);
}

static void ask_groups(struct model *is)
{
	const struct spec_op *op = op_named("group-get");
	ssize_t bytes = ask(family_id, op - spec_ops, NLM_F_DUMP, NULL);
	unsigned int at, length;

	for (;;) {
		for (at = 0; at + 16 <= (size_t)bytes; at += ALIGN4(length)) {
			length = get_u32(answer + at);
			if (length < 16 || at + length > (size_t)bytes)
				found("group-get: an answer of %u bytes", length);
			if (get_u16(answer + at + 4) == NLMSG_DONE)
				return;
			if (get_u16(answer + at + 4) != family_id)
				found("group-get is refused");
			take_group(is, op, at, length);
		}
		bytes = recv(control, answer, sizeof(answer), 0);
		if (bytes < 0)
			found("group-get: %s", strerror(errno));
	}
}

static void ask_state(struct model *is)
{
	memset(is, 0, sizeof(*is));
	ask_one("info-get", "period", &is->period);
	ask_one("event-ring-get", "enabled", &is->ring_enabled);
	ask_one("event-ring-get", "size-kib", &is->ring_kib);
	ask_groups(is);
}

/* Take the module's state into the model. */
void sockets_state(void)
{
	bool exact = model.exact;

	if (control < 0) {
		control_open();
		find_family();
	}
	ask_state(&model);
	model.exact = exact;
}

/* After a case: nothing but accepted changes. */
void sockets_compare_state(void)
{
	struct model is;
	unsigned int i;

	ask_state(&is);
	if (is.period != model.period)
		found("the period is %u, expected %u", is.period, model.period);
	if (is.ring_enabled != model.ring_enabled || is.ring_kib != model.ring_kib)
		found("the event ring is %u with %u KiB, expected %u with %u", is.ring_enabled,
		      is.ring_kib, model.ring_enabled, model.ring_kib);
	if (is.groups != model.groups)
		found("there are %u groups, expected %u", is.groups, model.groups);
	for (i = 0; i < is.groups; i++)
		if (is.group_enabled[i] != model.group_enabled[i])
			found("group %s is %u, expected %u", is.group[i], is.group_enabled[i],
			      model.group_enabled[i]);
}
