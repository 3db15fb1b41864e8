// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Makes requests according to the spec, with or without one error, and cases of them. */
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

/* Below this, the next attribute still fits into a message of MAX_BYTES. */
#define ROOM (MAX_BYTES - 600)

static const uint32_t edges[] = { 0,	 1,	     2,	      7,	  8,
				  9,	 64,	     512,     1024,	  65536,
				  65537, 0x7fffffff, 1 << 31, 0xfffffffe, 0xffffffff };

static uint32_t edge(void)
{
	return edges[random_below(ARRAY_SIZE(edges))];
}

static const struct spec_op *any_op(void)
{
	return &spec_ops[1 + random_below(spec_op_count - 1)];
}

static unsigned int put_string(unsigned char *at, unsigned int type, const struct spec_attr *attr)
{
	static const char *const words[] = { "",	   "x",		"drm_sche",
					     "drm_sched_", "DRM_SCHED", "nvidia_",
					     "%s%n",	   "../../x",	"drm sched" };
	char text[64];

	if (random_chance(6)) {
		/* The maximum length, or one less or more. */
		unsigned int length = attr->max_len - 1 + random_below(3);

		memset(text, 'a' + random_below(26), sizeof(text));
		text[length < sizeof(text) - 1 ? length : sizeof(text) - 1] = '\0';
	} else if (model.groups && !random_chance(6)) {
		snprintf(text, sizeof(text), "%s", model.group[random_below(model.groups)]);
	} else {
		snprintf(text, sizeof(text), "%s", words[random_below(ARRAY_SIZE(words))]);
	}
	return put_attr(at, type, text, strlen(text) + 1);
}

static uint32_t number_for(const struct spec_attr *attr)
{
	if (!strcmp(attr->name, "period"))
		return random_chance(4) ? edge() : RELATIVE_PERIOD + 2 + random_below(4);
	/* Many small rings and few large ones, since allocating their pages takes time. */
	if (!strcmp(attr->name, "size-kib") && !random_chance(20))
		return random_chance(3) ? 8 + random_below(100) : 4 + random_below(8);
	if (attr->max < 16)
		return random_below(attr->max + (random_chance(8) ? 3 : 1));
	if (random_chance(4))
		return (random_chance(2) ? attr->min : attr->max) + random_below(3) - 1;
	return edge();
}

static unsigned int put_right(unsigned char *at, const struct spec_set *set, unsigned int number)
{
	const struct spec_attr *attr = &set->attrs[number];
	uint64_t value;

	switch (attr->type) {
	case TYPE_U32:
		value = number_for(attr);
		return put_attr(at, number, &value, 4);
	case TYPE_U64:
	case TYPE_S64:
		value = edge();
		return put_attr(at, number, &value, 8);
	case TYPE_STRING:
		return put_string(at, number, attr);
	case TYPE_NEST:
		value = 0;
		set_u16(at, 12);
		set_u16(at + 2, number | NLA_F_NESTED);
		return 4 + put_attr(at + 4, 1, &value, 4);
	default:
		return put_attr(at, number, NULL, 0);
	}
}

static unsigned int put_nests(unsigned char *at)
{
	unsigned int depth = 1 + random_below(60), i, length = 4 * depth;

	for (i = 0; i < depth; i++) {
		set_u16(at + 4 * i, length - 4 * i);
		set_u16(at + 4 * i + 2, (1 + random_below(20)) | NLA_F_NESTED);
	}
	/* The innermost one claims more than there is. */
	if (random_chance(3))
		set_u16(at + 4 * (depth - 1), 4 + random_below(100));
	return length;
}

/* An invalid attribute, in one of several ways. */
static unsigned int put_wrong(unsigned char *at, const struct spec_set *set)
{
	static const unsigned int types[] = { 0, 63, 255, 0x3fff };
	unsigned int number = 1 + random_below(set->count + 1), length, i;
	unsigned char junk[256];

	if (random_chance(4))
		number = types[random_below(4)];
	for (i = 0; i < sizeof(junk); i++)
		junk[i] = random_u32();
	switch (random_below(8)) {
	case 0: /* a number of another width */
		return put_attr(at, number, junk, random_below(17));
	case 1: /* flags in the type */
		return put_attr(at, number | (1 + random_below(3)) << 14, junk, 4);
	case 2: /* a wrong length */
		length = put_attr(at, number, junk, random_below(40));
		set_u16(at, random_chance(2) ? random_below(64) : random_u32());
		return length;
	case 3:
		return put_nests(at);
	case 4: /* text without a NUL, with two NULs, or far too long */
		memset(junk, 'x', sizeof(junk));
		if (random_chance(2))
			junk[random_below(40)] = '\0';
		return put_attr(at, number, junk, random_below(sizeof(junk)));
	case 5: /* valid, but not allowed here */
		if (number >= 1 && number <= set->count)
			return put_right(at, set, number);
		return put_attr(at, number, junk, 4);
	case 6: /* not an attribute */
		length = 1 + random_below(40);
		memcpy(at, junk, length);
		return length;
	default:
		return put_attr(at, number, junk, random_below(200));
	}
}

static void put_header(unsigned char *at, unsigned int length, unsigned int flags,
		       unsigned int command, unsigned int version)
{
	memset(at, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	set_u32(at, length);
	set_u16(at + 4, TYPE_FAMILY);
	set_u16(at + 6, flags);
	at[16] = command;
	at[17] = version;
}

/* A request of one operation; returns its length. */
static unsigned int generate_message(unsigned char *bytes)
{
	const struct spec_op *op = any_op();
	const struct spec_set *set = &spec_sets[op->set];
	unsigned int length = NLMSG_HDRLEN + GENL_HDRLEN, flags = NLM_F_REQUEST, number;
	int kind = random_below(KINDS);

	/* Usually one that exists. */
	if (!op->kinds[kind].there && !random_chance(20))
		kind = !kind;
	if (kind == KIND_DUMP)
		flags |= NLM_F_DUMP;
	if (!random_chance(8))
		flags |= NLM_F_ACK;
	for (number = 1; number <= set->count; number++)
		if (op->kinds[kind].request & (1ULL << number) &&
		    !random_chance(set->attrs[number].type == TYPE_STRING ? 10 : 3))
			length += put_right(bytes + length, set, number);
	/* A duplicate, or another invalid one, before or after. */
	if (random_chance(8) && length > 20) {
		unsigned int size = length - 20;

		memcpy(bytes + length, bytes + 20, size);
		length += size;
	}
	if (random_chance(3)) {
		unsigned char wrong[600];
		unsigned int size = put_wrong(wrong, set);

		if (random_chance(2)) {
			memcpy(bytes + length, wrong, size);
		} else {
			memmove(bytes + 20 + size, bytes + 20, length - 20);
			memcpy(bytes + 20, wrong, size);
		}
		length += size;
	}
	put_header(bytes, length, flags, op - spec_ops, random_chance(10) ? random_u32() : 1);
	if (random_chance(5))
		length = mutate_message(bytes, length);
	return length;
}

/* Change the surroundings of the attributes, or any bytes. Returns the new length. */
unsigned int mutate_message(unsigned char *bytes, unsigned int length)
{
	const struct spec_set *set;
	unsigned int i;

	if (length < 20)
		return length;
	switch (random_below(11)) {
	case 0:
		set_u16(bytes + 6, get_u16(bytes + 6) ^ (1u << random_below(16)));
		break;
	case 1:
		bytes[16] = random_chance(2) ? 1 + random_below(spec_op_count + 1) : random_u32();
		break;
	case 2:
		set_u16(bytes + 18, random_u32());
		break;
	case 3: /* truncated, with or without a matching header */
		length = 16 + random_below(length - 15);
		if (random_chance(3))
			break;
		set_u32(bytes, length);
		break;
	case 4:
		set_u32(bytes, random_chance(2) ? random_below(2 * length) : edge());
		break;
	case 5:
		for (i = 1 + random_below(5); i; i--)
			bytes[16 + random_below(length - 16)] ^= 1 << random_below(8);
		break;
	case 6:
		if (bytes[16] && bytes[16] < spec_op_count && length < ROOM) {
			set = &spec_sets[spec_ops[bytes[16]].set];
			length = ALIGN4(length);
			length += put_wrong(bytes + length, set);
			set_u32(bytes, length);
		}
		break;
	case 7:
		if (bytes[16] && bytes[16] < spec_op_count && length < ROOM) {
			set = &spec_sets[spec_ops[bytes[16]].set];
			length = ALIGN4(length);
			length += put_right(bytes + length, set, 1 + random_below(set->count));
			set_u32(bytes, length);
		}
		break;
	case 8: /* an attribute gets another number */
		if (length >= 28)
			set_u32(bytes + 24,
				random_chance(2) ? edge() : RELATIVE_PERIOD + 2 + random_below(4));
		break;
	case 9: /* to the netlink layer itself */
		set_u16(bytes + 4, random_below(16));
		break;
	default:
		set_u16(bytes + 6, get_u16(bytes + 6) ^ NLM_F_DUMP);
	}
	return length;
}

static void generate_send(struct action *action, unsigned char *bytes)
{
	unsigned int length = generate_message(bytes);

	/* Several in one datagram. */
	while (random_chance(6) && length < 1000) {
		memset(bytes + length, 0, ALIGN4(length) - length);
		length = ALIGN4(length);
		length += generate_message(bytes + length);
	}
	action->kind = ACTION_SEND;
	action->a = (random_chance(12) ? SEND_AS_NOBODY : 0) |
		    (random_chance(2) ? SEND_TO_ADDRESS : 0);
	action->length = length;
	action->bytes = bytes;
}

static uint32_t odd_size(void)
{
	static const uint32_t sizes[] = { 0,	1,    2,    15,	   16,	  20,	 87,
					  88,	175,  176,  177,   264,	  1000,	 4095,
					  4096, 4097, 8192, 16384, 32768, 65536, 1 << 20 };

	return sizes[random_below(ARRAY_SIZE(sizes))];
}

static uint64_t odd_offset(void)
{
	static const uint64_t offsets[] = { 0,		1,	    4095,	4096,
					    4097,	1 << 16,    1 << 24,	0x7fffffff,
					    0x80000000, 0xffffffff, 1ULL << 40, ~0ULL >> 1,
					    ~0ULL };

	return random_chance(3) ? random_below(20000) : offsets[random_below(ARRAY_SIZE(offsets))];
}

/* A file is far more expensive than a request, since it formats all statistics. */
static void generate_file(struct action *action, unsigned char *bytes)
{
	static const uint32_t flags[] = { O_RDONLY,
					  O_WRONLY,
					  O_RDWR,
					  O_RDONLY | O_APPEND,
					  O_RDWR | O_TRUNC,
					  O_WRONLY | O_APPEND,
					  O_RDONLY | O_DIRECT,
					  O_PATH,
					  O_RDONLY | O_EXCL | O_CREAT };
	static const enum action_kind kinds[] = { ACTION_OPEN,	ACTION_OPEN,  ACTION_READ,
						  ACTION_READ,	ACTION_PREAD, ACTION_SEEK,
						  ACTION_READV, ACTION_WRITE, ACTION_POLL,
						  ACTION_MAP,	ACTION_IOCTL, ACTION_SHUT,
						  ACTION_PIECES };
	unsigned int i;

	action->kind = kinds[random_below(ARRAY_SIZE(kinds))];
	action->a = odd_size();
	action->b = odd_size();
	action->c = odd_offset();
	switch (action->kind) {
	case ACTION_OPEN:
		action->a = random_below(FILES);
		action->b = random_chance(3) ? flags[random_below(9)] : O_RDONLY;
		break;
	case ACTION_SEEK:
		action->a = random_below(6);
		break;
	case ACTION_WRITE:
		action->a = random_chance(2) ? 0 : random_below(5000);
		action->length = random_below(300);
		action->bytes = bytes;
		for (i = 0; i < action->length; i++)
			bytes[i] = random_chance(4) ? 0 : random_u32();
		break;
	case ACTION_MAP:
		action->b = random_below(8);
		break;
	case ACTION_IOCTL:
		action->a = random_u32();
		break;
	case ACTION_PIECES:
		action->a = random_below(FILES);
		action->b = random_u32();
		break;
	default:
		break;
	}
}

static void generate_action(struct action *action, unsigned char *bytes)
{
	unsigned int which = random_below(100);

	memset(action, 0, sizeof(*action));
	action->slot = random_below(SOCKETS);
	if (which < 58) {
		generate_send(action, bytes);
	} else if (which < 73) {
		action->kind = ACTION_RECEIVE;
		action->a = odd_size();
		action->b = 1 + random_below(4);
	} else if (which < 80) {
		action->kind = ACTION_SOCKET;
		action->a = random_chance(2) ? 0 : random_u32() & SOCKET_FLAGS;
	} else if (which < 83) {
		action->kind = ACTION_CLOSE;
	} else if (which < 85) {
		action->kind = ACTION_JOIN;
	} else if (which < 87) {
		action->kind = ACTION_LEAVE;
	} else {
		generate_file(action, bytes);
	}
}

void generate_case(struct test_case *test)
{
	static unsigned char bytes[2 * MAX_BYTES];
	unsigned int length = 1 + random_below(10);
	struct action action;

	case_clear(test);
	while (length--) {
		generate_action(&action, bytes);
		case_add(test, test->count, &action);
	}
}

static void mutate_action(struct test_case *test, unsigned int at)
{
	static unsigned char bytes[2 * MAX_BYTES];
	struct action action = test->actions[at];

	if (action.length)
		memcpy(bytes, action.bytes, action.length);
	action.bytes = bytes;
	if (action.kind == ACTION_SEND && action.length >= 20) {
		action.length = mutate_message(bytes, action.length);
		if (action.length > MAX_BYTES)
			action.length = MAX_BYTES;
	} else if (random_chance(2)) {
		action.a ^= 1u << random_below(32);
		if (action.kind == ACTION_OPEN)
			action.a %= FILES;
	} else {
		generate_action(&action, bytes);
	}
	case_remove(test, at);
	case_add(test, at, &action);
}

/* Change a case slightly. @other can provide a part. */
void mutate_case(struct test_case *test, const struct test_case *other)
{
	static unsigned char bytes[2 * MAX_BYTES];
	unsigned int changes = 1 + random_below(3), at;
	struct action action;

	while (changes--) {
		at = random_below(test->count);
		switch (random_below(6)) {
		case 0:
			if (test->count > 1)
				case_remove(test, at);
			break;
		case 1:
			generate_action(&action, bytes);
			case_add(test, at, &action);
			break;
		case 2:
			if (other->count)
				case_add(test, at, &other->actions[random_below(other->count)]);
			break;
		case 3:
			action = test->actions[random_below(test->count)];
			case_add(test, at, &action);
			break;
		default:
			if (test->count)
				mutate_action(test, at);
		}
	}
}
