// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Computes the expected result of a request from the spec, the rules in its documentation, and the
 * rules of the netlink layer for strict families.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>

#include "fuzz.h"

/* The last known flag of a request. */
#define KNOWN_FLAGS (NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO)

struct model model;

/* Attributes as seen by the kernel: of several with one number, the last. */
struct request {
	const unsigned char *payload[64];
	unsigned int length[64];
};

static void refuse(struct verdict *verdict, int error, bool says_why)
{
	int i;

	for (i = 0; i < (int)verdict->error_count; i++)
		if (verdict->errors[i] == error)
			return;
	if (verdict->error_count < MAX_ERRORS)
		verdict->errors[verdict->error_count++] = error;
	verdict->says_why &= says_why;
	verdict->may_pass = false;
}

static void judge_string(const struct spec_attr *attr, const unsigned char *payload,
			 unsigned int length, struct verdict *verdict)
{
	unsigned int reach = length < attr->max_len + 1 ? length : attr->max_len + 1;

	if (!reach || !memchr(payload, '\0', reach)) {
		refuse(verdict, EINVAL, true);
		refuse(verdict, ERANGE, true);
	} else if (length - (payload[length - 1] == '\0') > attr->max_len) {
		refuse(verdict, ERANGE, true);
	}
}

static void judge_attr(const struct spec_op *op, int kind, unsigned int type,
		       const unsigned char *payload, unsigned int length, struct verdict *verdict)
{
	const struct spec_set *set = &spec_sets[op->set];
	unsigned int number = type & NLA_TYPE_MASK;
	const struct spec_attr *attr;

	if (!number || number > set->count || type & NLA_F_NESTED) {
		refuse(verdict, EINVAL, true);
		return;
	}
	if (!(op->kinds[kind].request & (1ULL << number))) {
		refuse(verdict, EINVAL, true);
		/*
		 * One policy covers both kinds and is checked first: it may reject the attribute
		 * itself.
		 */
		if (!(op->kinds[!kind].request & (1ULL << number)))
			return;
	}
	attr = &set->attrs[number];
	if (attr->type == TYPE_STRING) {
		judge_string(attr, payload, length, verdict);
	} else if (length != 4) {
		refuse(verdict, EINVAL, true);
		refuse(verdict, ERANGE, true);
	} else if (get_u32(payload) < attr->min || get_u32(payload) > attr->max) {
		refuse(verdict, ERANGE, true);
	}
}

static void judge_attrs(const struct spec_op *op, int kind, const unsigned char *data,
			unsigned int left, struct request *request, struct verdict *verdict)
{
	unsigned int length, number;

	while (left >= 4) {
		length = get_u16(data);
		if (length < 4 || length > left)
			break;
		judge_attr(op, kind, get_u16(data + 2), data + 4, length - 4, verdict);
		number = get_u16(data + 2) & NLA_TYPE_MASK;
		if (number < 64) {
			request->payload[number] = data + 4;
			request->length[number] = length - 4;
		}
		left -= ALIGN4(length) < left ? ALIGN4(length) : left;
		data += ALIGN4(length);
	}
	if (left)
		refuse(verdict, EINVAL, true);
}

static unsigned int number_of(int set, const char *name)
{
	unsigned int number;

	for (number = 1; number <= spec_sets[set].count; number++)
		if (!strcmp(spec_sets[set].attrs[number].name, name))
			return number;
	found("the spec has no attribute %s in set %s", name, spec_sets[set].name);
}

static bool asked(const struct spec_op *op, int kind, const struct request *request,
		  const char *name, uint32_t *value)
{
	unsigned int number = number_of(op->set, name);

	if (!(op->kinds[kind].request & (1ULL << number)) || !request->payload[number])
		return false;
	if (value)
		*value = get_u32(request->payload[number]);
	return true;
}

static int group_of(const struct request *request, unsigned int number)
{
	unsigned int group;

	for (group = 0; group < model.groups; group++)
		if (!strcmp(model.group[group], (const char *)request->payload[number]))
			return group;
	return -1;
}

bool model_period_kept(uint32_t period)
{
	return period == model.period || (period && period == model.period - 1);
}

static void judge_group(const struct spec_op *op, int kind, const struct request *request,
			struct verdict *verdict)
{
	bool set = !strcmp(op->name, "group-set");
	unsigned int number = number_of(op->set, "name");
	uint32_t enabled;
	int group;

	if (kind == KIND_DUMP)
		return;
	if (!request->payload[number]) {
		refuse(verdict, EINVAL, true);
		return;
	}
	group = group_of(request, number);
	if (group < 0)
		refuse(verdict, ENOENT, true);
	if (!set)
		return;
	if (!asked(op, kind, request, "enabled", &enabled))
		refuse(verdict, EINVAL, true);
	else if (!verdict->error_count)
		model.group_enabled[group] = enabled;
}

static void judge_event_ring(const struct spec_op *op, int kind, const struct request *request,
			     struct verdict *verdict)
{
	uint32_t enabled, kib;
	bool has_enabled = asked(op, kind, request, "enabled", &enabled);
	bool has_kib = asked(op, kind, request, "size-kib", &kib);

	if (!has_enabled && !has_kib) {
		refuse(verdict, EINVAL, true);
		return;
	}
	if (!model.exact) {
		verdict->errors[verdict->error_count++] = EBUSY;
		verdict->errors[verdict->error_count++] = ENOMEM;
		return;
	}
	if (has_kib && kib != model.ring_kib && model.ring_enabled) {
		refuse(verdict, EBUSY, true);
		return;
	}
	if (!has_kib)
		kib = model.ring_kib;
	if (has_enabled && enabled && kib > 4096) {
		/* There may be no memory for it. Then nothing has changed. */
		verdict->errors[verdict->error_count++] = ENOMEM;
		model.unknown = true;
	}
	model.ring_kib = kib;
	if (has_enabled)
		model.ring_enabled = enabled;
}

static void judge_limit(const struct spec_op *op, int kind, const struct request *request,
			struct verdict *verdict)
{
	if (!asked(op, kind, request, "hang-ms", NULL) &&
	    !asked(op, kind, request, "starved-ms", NULL))
		refuse(verdict, EINVAL, true);
	else if (!model.exact)
		/* There may be no memory to remember jobs that were said. Then nothing has changed. */
		verdict->errors[verdict->error_count++] = ENOMEM;
}

/* Requests that set something have no period. */
static bool sets_something(const struct spec_op *op)
{
	return !strcmp(op->name, "group-set") || !strcmp(op->name, "event-ring-set") ||
	       !strcmp(op->name, "limit-set");
}

/* How the module handles a request that passes the netlink layer. */
static void judge_meaning(const struct spec_op *op, int kind, const struct request *request,
			  struct verdict *verdict)
{
	const struct spec_set *set = &spec_sets[op->set];

	if (!strcmp(set->name, "group"))
		judge_group(op, kind, request, verdict);
	if (!strcmp(op->name, "event-ring-set"))
		judge_event_ring(op, kind, request, verdict);
	if (!strcmp(op->name, "limit-set"))
		judge_limit(op, kind, request, verdict);
	if (!strcmp(op->name, "reset"))
		model.period++;
	else if (op->kinds[kind].request && !sets_something(op))
		verdict->has_period = asked(op, kind, request, "period", &verdict->period);
	if (!verdict->has_period || verdict->error_count)
		return;
	if (!model.exact)
		verdict->errors[verdict->error_count++] = ESTALE;
	else if (!model_period_kept(verdict->period))
		refuse(verdict, ESTALE, true);
}

/*
 * model_judge - compute the expected result of a message
 *
 * Changes the model if the message must be accepted. @message has the length in its header.
 */
void model_judge(const unsigned char *message, bool nobody, struct verdict *verdict)
{
	unsigned int length = get_u32(message), flags = get_u16(message + 6), command;
	struct request request = {};

	memset(verdict, 0, sizeof(*verdict));
	verdict->may_pass = true;
	verdict->says_why = true;
	if (!(flags & NLM_F_REQUEST) || get_u16(message + 4) < NLMSG_MIN_TYPE) {
		verdict->ignored = true;
		return;
	}
	if (length < NLMSG_HDRLEN + GENL_HDRLEN) {
		refuse(verdict, EINVAL, false);
		return;
	}
	command = message[16];
	verdict->kind = (flags & NLM_F_DUMP) == NLM_F_DUMP ? KIND_DUMP : KIND_DO;
	if (verdict->kind == KIND_DUMP)
		flags &= ~NLM_F_DUMP;
	if (flags & ~KNOWN_FLAGS || get_u16(message + 18))
		refuse(verdict, EINVAL, true);
	if (!command || command >= spec_op_count || spec_ops[command].event ||
	    !spec_ops[command].kinds[verdict->kind].there) {
		/* The netlink layer has no message for it. */
		refuse(verdict, EOPNOTSUPP, false);
		/* Before 6.2, the sender is checked first, and then whether it is a dump. */
		if (nobody && command && command < spec_op_count && !spec_ops[command].event)
			refuse(verdict, EPERM, false);
		return;
	}
	verdict->op = &spec_ops[command];
	if (nobody)
		refuse(verdict, EPERM, false);
	judge_attrs(verdict->op, verdict->kind, message + 20, length - 20, &request, verdict);
	if (!verdict->error_count)
		judge_meaning(verdict->op, verdict->kind, &request, verdict);
}
