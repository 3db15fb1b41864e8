// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks the module's messages against the spec and against its documentation. */
#include <linux/netlink.h>
#include <stdarg.h>
#include <string.h>

#include "fuzz.h"

#define DEPTH 6

static char wrong[256];

/* Describe an error. */
__attribute__((format(printf, 1, 2))) static const char *say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(wrong, sizeof(wrong), format, args);
	va_end(args);
	return wrong;
}

/* Numbers of one set by attribute, for the rules between them. */
struct numbers {
	uint64_t value[64];
	uint64_t there;
	/* From the nests "bucket" and "dropped". */
	uint64_t sum;
	uint64_t last_lt;
};

static const char *decode_set(int number, uint64_t allowed, const unsigned char *data,
			      unsigned int left, int depth, struct numbers *numbers);

static uint64_t number_named(int set, const struct numbers *numbers, const char *name)
{
	unsigned int i;

	for (i = 1; i <= spec_sets[set].count; i++)
		if (!strcmp(spec_sets[set].attrs[i].name, name))
			return numbers->value[i];
	return 0;
}

static bool has_named(int set, const struct numbers *numbers, const char *name)
{
	unsigned int i;

	for (i = 1; i <= spec_sets[set].count; i++)
		if (!strcmp(spec_sets[set].attrs[i].name, name))
			return numbers->there & (1ULL << i);
	return false;
}

static const char *decode_nest(const struct spec_attr *attr, const unsigned char *payload,
			       unsigned int length, int depth, struct numbers *outer)
{
	struct numbers inner = {};
	const char *what = decode_set(attr->nest, ~0ULL, payload, length, depth + 1, &inner);
	const char *set = spec_sets[attr->nest].name;
	unsigned int i;

	if (what)
		return what;
	if (!strcmp(set, "drops"))
		for (i = 1; i <= spec_sets[attr->nest].count; i++)
			outer->sum += inner.value[i];
	if (!strcmp(set, "bucket")) {
		uint64_t ge = number_named(attr->nest, &inner, "ge");
		uint64_t lt = number_named(attr->nest, &inner, "lt");
		uint64_t count = number_named(attr->nest, &inner, "count");

		if (ge >= lt || !count || ge < outer->last_lt)
			return say("a bucket from %llu to %llu of %llu values after one to %llu",
				   (unsigned long long)ge, (unsigned long long)lt,
				   (unsigned long long)count, (unsigned long long)outer->last_lt);
		outer->last_lt = lt;
		outer->sum += count;
	}
	return NULL;
}

static const char *decode_value(const struct spec_attr *attr, unsigned int number,
				const unsigned char *payload, unsigned int length, int depth,
				struct numbers *numbers)
{
	switch (attr->type) {
	case TYPE_U32:
		if (length != 4)
			return say("%s has %u bytes", attr->name, length);
		numbers->value[number] = get_u32(payload);
		if (attr->entries && get_u32(payload) >= attr->entries)
			return say("%s is %u, which the enum does not have", attr->name,
				   get_u32(payload));
		if (get_u32(payload) < attr->min || get_u32(payload) > attr->max)
			return say("%s is %u, out of its range", attr->name, get_u32(payload));
		return NULL;
	case TYPE_U64:
	case TYPE_S64:
		if (length != 8)
			return say("%s has %u bytes", attr->name, length);
		numbers->value[number] = get_u64(payload);
		return NULL;
	case TYPE_STRING:
		if (!length || memchr(payload, '\0', length) != payload + length - 1)
			return say("%s is not one text with its end", attr->name);
		return NULL;
	case TYPE_NEST:
		return decode_nest(attr, payload, length, depth, numbers);
	default:
		if (length)
			return say("%s has %u bytes", attr->name, length);
		return NULL;
	}
}

/* Rules of the documentation between numbers. */
static const char *check_rules(int set, const struct numbers *numbers)
{
	const char *name = spec_sets[set].name;

	if (!strcmp(name, "probe") &&
	    number_named(set, numbers, "seen") !=
		    number_named(set, numbers, "recorded") + numbers->sum &&
	    model.exact)
		return say("%llu events were seen, %llu recorded and %llu dropped",
			   (unsigned long long)number_named(set, numbers, "seen"),
			   (unsigned long long)number_named(set, numbers, "recorded"),
			   (unsigned long long)numbers->sum);
	if (has_named(set, numbers, "bucket") &&
	    numbers->sum != number_named(set, numbers, "count"))
		return say("%s: %llu values in all buckets, count is %llu", name,
			   (unsigned long long)numbers->sum,
			   (unsigned long long)number_named(set, numbers, "count"));
	if (has_named(set, numbers, "min-value") &&
	    number_named(set, numbers, "min-value") > number_named(set, numbers, "max-value"))
		return say("%s: the lowest value is above the highest", name);
	if (!strcmp(name, "event-ring") &&
	    number_named(set, numbers, "delivered") + number_named(set, numbers, "pending") +
			    number_named(set, numbers, "overwritten") >
		    number_named(set, numbers, "written"))
		return say("event ring: delivered, pending and overwritten are more than written");
	return NULL;
}

static const char *decode_set(int number, uint64_t allowed, const unsigned char *data,
			      unsigned int left, int depth, struct numbers *numbers)
{
	const struct spec_set *set = &spec_sets[number];
	const struct spec_attr *attr;
	unsigned int length, type;
	const char *what;

	if (depth == DEPTH)
		return say("nests too deep");
	while (left) {
		if (left < 4)
			return say("%u bytes behind the last attribute of %s", left, set->name);
		length = get_u16(data);
		type = get_u16(data + 2) & NLA_TYPE_MASK;
		if (length < 4 || length > left)
			return say("an attribute of %u bytes where %u are left", length, left);
		if (!type || type > set->count)
			return say("attribute %u is not in the set %s", type, set->name);
		attr = &set->attrs[type];
		if (attr->type != TYPE_PAD) {
			if (!(allowed & (1ULL << type)))
				return say("%s of %s is not in the reply", attr->name, set->name);
			if (numbers->there & (1ULL << type) && !attr->multi)
				return say("%s of %s comes twice", attr->name, set->name);
			numbers->there |= 1ULL << type;
			what = decode_value(attr, type, data + 4, length - 4, depth, numbers);
			if (what)
				return what;
		}
		left -= ALIGN4(length) < left ? ALIGN4(length) : left;
		data += ALIGN4(length);
	}
	return check_rules(number, numbers);
}

/* The attributes of a reply, or of a notification with the kind of a dump. */
const char *decode_reply(const struct spec_op *op, int kind, const unsigned char *data,
			 unsigned int length)
{
	struct numbers numbers = {};

	return decode_set(op->set, op->kinds[kind].reply, data, length, 0, &numbers);
}

/* Get a number from an answer. */
bool decode_u32(int set, const char *name, const unsigned char *data, unsigned int length,
		uint32_t *value)
{
	const char *found_at = decode_string(set, name, data, length);

	if (found_at)
		*value = get_u32((const unsigned char *)found_at);
	return found_at;
}

/* The payload of an attribute, NULL if it is missing. */
const char *decode_string(int set, const char *name, const unsigned char *data, unsigned int length)
{
	unsigned int type;

	while (length >= 4) {
		type = get_u16(data + 2) & NLA_TYPE_MASK;
		if (type && type <= spec_sets[set].count &&
		    !strcmp(spec_sets[set].attrs[type].name, name))
			return (const char *)data + 4;
		if (ALIGN4(get_u16(data)) >= length)
			break;
		length -= ALIGN4(get_u16(data));
		data += ALIGN4(get_u16(data));
	}
	return NULL;
}
