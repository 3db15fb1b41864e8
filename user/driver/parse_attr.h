/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the parsers: reading attributes one by one, and by a table. */
#ifndef GPUMON_DRIVER_PARSE_ATTR_H
#define GPUMON_DRIVER_PARSE_ATTR_H

#include <linux/netlink.h>
#include <stddef.h>

#include "model.h"

enum gpumon_field_kind {
	GPUMON_FIELD_U32,
	GPUMON_FIELD_U64,
	GPUMON_FIELD_S64,
	GPUMON_FIELD_STRING,
	GPUMON_FIELD_FLAG,
};

/* Where to store a plain attribute: a gpumon_value or _level, a char * or a bool at an offset. */
struct gpumon_field {
	unsigned short type;
	enum gpumon_field_kind kind;
	size_t offset;
};

#define GPUMON_FIELD(attr, kind, type, member)                    \
	{                                                         \
		attr, GPUMON_FIELD_##kind, offsetof(type, member) \
	}
#define GPUMON_U32(attr, type, member)	  GPUMON_FIELD(attr, U32, type, member)
#define GPUMON_U64(attr, type, member)	  GPUMON_FIELD(attr, U64, type, member)
#define GPUMON_S64(attr, type, member)	  GPUMON_FIELD(attr, S64, type, member)
#define GPUMON_STRING(attr, type, member) GPUMON_FIELD(attr, STRING, type, member)
#define GPUMON_FLAG(attr, type, member)	  GPUMON_FIELD(attr, FLAG, type, member)
#define GPUMON_FIELDS(table)		  table, sizeof(table) / sizeof(table[0])

/* One attribute, taken from the front of a buffer. */
struct gpumon_attr {
	unsigned short type;
	const unsigned char *data;
	size_t len;
};

/* 1: *attr is the next attribute; 0: the end; -EBADMSG. */
int gpumon_next_attr(const unsigned char **at, size_t *left, struct gpumon_attr *attr);

/* Store the attributes in the table into *base and skip the others. 0, -EBADMSG or -ENOMEM. */
int gpumon_parse_fields(const void *attrs, size_t len, const struct gpumon_field *fields, size_t n,
			void *base);

/* The same for a message without nested attributes. */
int gpumon_parse_flat(const struct nlmsghdr *message, size_t len, int command,
		      const struct gpumon_field *fields, size_t n, void *base);

/* Parse the nested buckets of a histogram, which are attributes of that type. */
int gpumon_parse_buckets(const void *attrs, size_t len, int type,
			 struct gpumon_histogram *histogram);

#endif /* GPUMON_DRIVER_PARSE_ATTR_H */
