// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "parse_attr.h"

/* Everything is copied out with memcpy(), since the bytes may not be aligned. */
int gpumon_next_attr(const unsigned char **at, size_t *left, struct gpumon_attr *attr)
{
	struct nlattr header;
	size_t step;

	if (!*left)
		return 0;
	if (*left < sizeof(header))
		return -EBADMSG;
	memcpy(&header, *at, sizeof(header));
	if (header.nla_len < NLA_HDRLEN || header.nla_len > *left)
		return -EBADMSG;

	attr->type = header.nla_type & NLA_TYPE_MASK;
	attr->data = *at + NLA_HDRLEN;
	attr->len = header.nla_len - (size_t)NLA_HDRLEN;

	step = NLA_ALIGN((size_t)header.nla_len);
	if (step > *left)
		step = *left;
	*at += step;
	*left -= step;
	return 1;
}

static int store_field(const struct gpumon_field *field, const struct gpumon_attr *attr, void *base)
{
	struct gpumon_value *value;
	struct gpumon_level *level;
	char **string;
	uint32_t u32;

	switch (field->kind) {
	case GPUMON_FIELD_U32:
		if (attr->len != sizeof(u32))
			return -EBADMSG;
		memcpy(&u32, attr->data, sizeof(u32));
		value = (void *)((char *)base + field->offset);
		*value = gpumon_value_of(u32);
		return 0;
	case GPUMON_FIELD_U64:
		value = (void *)((char *)base + field->offset);
		if (attr->len != sizeof(value->v))
			return -EBADMSG;
		memcpy(&value->v, attr->data, sizeof(value->v));
		value->known = true;
		return 0;
	case GPUMON_FIELD_S64:
		level = (void *)((char *)base + field->offset);
		if (attr->len != sizeof(level->v))
			return -EBADMSG;
		memcpy(&level->v, attr->data, sizeof(level->v));
		level->known = true;
		return 0;
	case GPUMON_FIELD_FLAG:
		if (attr->len)
			return -EBADMSG;
		*(bool *)((char *)base + field->offset) = true;
		return 0;
	case GPUMON_FIELD_STRING:
		if (!attr->len || attr->data[attr->len - 1])
			return -EBADMSG;
		string = (void *)((char *)base + field->offset);
		free(*string); /* the attribute was sent twice */
		*string = strdup((const char *)attr->data);
		return *string ? 0 : -ENOMEM;
	}
	return -EBADMSG;
}

int gpumon_parse_fields(const void *attrs, size_t len, const struct gpumon_field *fields, size_t n,
			void *base)
{
	const unsigned char *at = attrs;
	struct gpumon_attr attr;
	int ret;

	while ((ret = gpumon_next_attr(&at, &len, &attr)) > 0) {
		for (size_t i = 0; i < n; i++) {
			if (fields[i].type != attr.type)
				continue;
			ret = store_field(&fields[i], &attr, base);
			if (ret)
				return ret;
			break;
		}
	}
	return ret;
}

int gpumon_parse_message(const struct nlmsghdr *message, size_t len, int command,
			 const struct nlattr **attrs, size_t *attrs_len)
{
	const size_t headers = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlmsghdr header;
	struct genlmsghdr genl;

	if (len < headers)
		return -EBADMSG;
	memcpy(&header, message, sizeof(header));
	if (header.nlmsg_len < headers || header.nlmsg_len > len)
		return -EBADMSG;
	memcpy(&genl, (const char *)message + NLMSG_HDRLEN, sizeof(genl));
	if (genl.cmd != command)
		return -EBADMSG;
	*attrs = (const void *)((const char *)message + headers);
	*attrs_len = header.nlmsg_len - headers;
	return 0;
}

int gpumon_parse_flat(const struct nlmsghdr *message, size_t len, int command,
		      const struct gpumon_field *fields, size_t n, void *base)
{
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = gpumon_parse_message(message, len, command, &attrs, &attrs_len);

	return ret ? ret : gpumon_parse_fields(attrs, attrs_len, fields, n, base);
}
