// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "parse.h"

enum field_kind {
	FIELD_U32,
	FIELD_U64,
	FIELD_STRING,
};

/* Where a plain attribute goes: a struct gpumon_value or a char * at an offset. */
struct field {
	unsigned short type;
	enum field_kind kind;
	size_t offset;
};

#define U32(attr, type, member)                         \
	{                                               \
		attr, FIELD_U32, offsetof(type, member) \
	}
#define U64(attr, type, member)                         \
	{                                               \
		attr, FIELD_U64, offsetof(type, member) \
	}
#define STRING(attr, type, member)                         \
	{                                                  \
		attr, FIELD_STRING, offsetof(type, member) \
	}
#define FIELDS(table) table, sizeof(table) / sizeof(table[0])

/* One attribute, taken off the front of a buffer. */
struct attr {
	unsigned short type;
	const unsigned char *data;
	size_t len;
};

/*
 * 1: *attr is the next one; 0: the end; -EBADMSG. Everything is copied out with memcpy(), since
 * nothing says that the bytes are aligned.
 */
static int next_attr(const unsigned char **at, size_t *left, struct attr *attr)
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

static int store(const struct field *field, const struct attr *attr, void *base)
{
	struct gpumon_value *value;
	char **string;
	uint32_t u32;

	switch (field->kind) {
	case FIELD_U32:
		if (attr->len != sizeof(u32))
			return -EBADMSG;
		memcpy(&u32, attr->data, sizeof(u32));
		value = (void *)((char *)base + field->offset);
		*value = gpumon_value_of(u32);
		return 0;
	case FIELD_U64:
		value = (void *)((char *)base + field->offset);
		if (attr->len != sizeof(value->v))
			return -EBADMSG;
		memcpy(&value->v, attr->data, sizeof(value->v));
		value->known = true;
		return 0;
	case FIELD_STRING:
		if (!attr->len || attr->data[attr->len - 1])
			return -EBADMSG;
		string = (void *)((char *)base + field->offset);
		free(*string); /* sent twice */
		*string = strdup((const char *)attr->data);
		return *string ? 0 : -ENOMEM;
	}
	return -EBADMSG;
}

/* Store what the table knows, skip the rest. */
static int parse_fields(const void *attrs, size_t len, const struct field *fields, size_t n,
			void *base)
{
	const unsigned char *at = attrs;
	struct attr attr;
	int ret;

	while ((ret = next_attr(&at, &len, &attr)) > 0) {
		for (size_t i = 0; i < n; i++) {
			if (fields[i].type != attr.type)
				continue;
			ret = store(&fields[i], &attr, base);
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

static int parse_flat(const struct nlmsghdr *message, size_t len, int command,
		      const struct field *fields, size_t n, void *base)
{
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = gpumon_parse_message(message, len, command, &attrs, &attrs_len);

	return ret ? ret : parse_fields(attrs, attrs_len, fields, n, base);
}

int gpumon_parse_info(const struct nlmsghdr *message, size_t len, struct gpumon_info *info)
{
	static const struct field fields[] = {
		STRING(GPUMON_A_INFO_VERSION, struct gpumon_info, version),
		U32(GPUMON_A_INFO_SCHEMA, struct gpumon_info, schema),
		STRING(GPUMON_A_INFO_CLOCK, struct gpumon_info, clock),
		U64(GPUMON_A_INFO_NOW_NS, struct gpumon_info, now_ns),
		U64(GPUMON_A_INFO_SINCE_NS, struct gpumon_info, since_ns),
		U32(GPUMON_A_INFO_PERIOD, struct gpumon_info, period),
		U32(GPUMON_A_INFO_POSSIBLE_CPUS, struct gpumon_info, possible_cpus),
		U32(GPUMON_A_INFO_MAX_RINGS, struct gpumon_info, max_rings),
		U32(GPUMON_A_INFO_RINGS, struct gpumon_info, rings),
		U64(GPUMON_A_INFO_RINGS_RETIRED, struct gpumon_info, rings_retired),
		U32(GPUMON_A_INFO_MAX_PROCESSES, struct gpumon_info, max_processes),
		U32(GPUMON_A_INFO_PROCESSES, struct gpumon_info, processes),
		U64(GPUMON_A_INFO_PROCESSES_EXITED, struct gpumon_info, processes_exited),
		U64(GPUMON_A_INFO_JOBS_UNATTRIBUTED, struct gpumon_info, jobs_unattributed),
		U64(GPUMON_A_INFO_JOBS_EXITED, struct gpumon_info, jobs_exited),
		U32(GPUMON_A_INFO_MAX_JOBS, struct gpumon_info, max_jobs),
		U64(GPUMON_A_INFO_MEMORY_BYTES, struct gpumon_info, memory_bytes),
	};
	struct gpumon_info new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_INFO_GET, FIELDS(fields), &new);

	if (ret) {
		gpumon_info_clear(&new);
		return ret;
	}
	gpumon_info_clear(info);
	*info = new;
	return 0;
}

static int parse_probe(const struct attr *nest, struct gpumon_probe *probe)
{
	static const struct field fields[] = {
		STRING(GPUMON_A_PROBE_NAME, struct gpumon_probe, name),
		STRING(GPUMON_A_PROBE_MODULE, struct gpumon_probe, module),
		U32(GPUMON_A_PROBE_KIND, struct gpumon_probe, kind),
		U32(GPUMON_A_PROBE_STATE, struct gpumon_probe, state),
		STRING(GPUMON_A_PROBE_REASON, struct gpumon_probe, reason),
		U64(GPUMON_A_PROBE_SEEN, struct gpumon_probe, seen),
		U64(GPUMON_A_PROBE_RECORDED, struct gpumon_probe, recorded),
	};
	static const struct field drops[] = {
		U64(GPUMON_A_DROPS_TABLE_FULL, struct gpumon_drops, table_full),
		U64(GPUMON_A_DROPS_RECURSION, struct gpumon_drops, recursion),
	};
	const unsigned char *at = nest->data;
	size_t left = nest->len;
	struct attr attr;
	int ret = parse_fields(at, left, FIELDS(fields), probe);

	while (!ret && (ret = next_attr(&at, &left, &attr)) > 0) {
		ret = 0;
		if (attr.type == GPUMON_A_PROBE_DROPPED)
			ret = parse_fields(attr.data, attr.len, FIELDS(drops), &probe->dropped);
	}
	return ret;
}

static int parse_group(const void *attrs, size_t len, struct gpumon_group *group)
{
	static const struct field fields[] = {
		STRING(GPUMON_A_GROUP_NAME, struct gpumon_group, name),
		U32(GPUMON_A_GROUP_ENABLED, struct gpumon_group, enabled),
		U32(GPUMON_A_GROUP_STATE, struct gpumon_group, state),
		STRING(GPUMON_A_GROUP_REASON, struct gpumon_group, reason),
	};
	const unsigned char *at = attrs;
	struct attr attr;
	int ret = parse_fields(attrs, len, FIELDS(fields), group);

	while (!ret && (ret = next_attr(&at, &len, &attr)) > 0) {
		struct gpumon_probe *probe;

		ret = 0;
		if (attr.type != GPUMON_A_GROUP_PROBE)
			continue;
		probe = gpumon_group_add_probe(group);
		ret = probe ? parse_probe(&attr, probe) : -ENOMEM;
	}
	return ret;
}

int gpumon_parse_group(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	const struct nlattr *attrs;
	struct gpumon_group *group;
	size_t attrs_len;
	int ret = gpumon_parse_message(message, len, GPUMON_CMD_GROUP_GET, &attrs, &attrs_len);

	if (ret)
		return ret;
	group = gpumon_model_add_group(model);
	if (!group)
		return -ENOMEM;
	ret = parse_group(attrs, attrs_len, group);
	if (ret) {
		gpumon_group_clear(group);
		model->n_groups--;
	}
	return ret;
}

int gpumon_parse_ring(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	static const struct field fields[] = {
		U32(GPUMON_A_RING_ID, struct gpumon_ring, id),
		STRING(GPUMON_A_RING_DEVICE, struct gpumon_ring, device),
		STRING(GPUMON_A_RING_NAME, struct gpumon_ring, name),
		U32(GPUMON_A_RING_LIVE, struct gpumon_ring, live),
		U64(GPUMON_A_RING_QUEUED, struct gpumon_ring, queued),
		U64(GPUMON_A_RING_RUN, struct gpumon_ring, run),
		U64(GPUMON_A_RING_DONE, struct gpumon_ring, done),
		U64(GPUMON_A_RING_ERRORS, struct gpumon_ring, errors),
		U64(GPUMON_A_RING_KILLED, struct gpumon_ring, killed),
		U64(GPUMON_A_RING_DEPENDENCY_WAITS, struct gpumon_ring, dependency_waits),
		U64(GPUMON_A_RING_UNTRACKED, struct gpumon_ring, untracked),
		U64(GPUMON_A_RING_JOBS_TABLE_FULL, struct gpumon_ring, jobs_table_full),
		U64(GPUMON_A_RING_CLOCK_BACKWARDS, struct gpumon_ring, clock_backwards),
		U32(GPUMON_A_RING_QUEUE_DEPTH, struct gpumon_ring, queue_depth),
		U32(GPUMON_A_RING_QUEUE_DEPTH_MAX, struct gpumon_ring, queue_depth_max),
		U32(GPUMON_A_RING_HW_DEPTH, struct gpumon_ring, hw_depth),
		U32(GPUMON_A_RING_HW_DEPTH_MAX, struct gpumon_ring, hw_depth_max),
	};
	struct gpumon_ring new = { 0 }, *ring = NULL;
	int ret = parse_flat(message, len, GPUMON_CMD_RING_GET, FIELDS(fields), &new);

	if (!ret) {
		ring = gpumon_model_add_ring(model);
		ret = ring ? 0 : -ENOMEM;
	}
	if (ret)
		gpumon_ring_clear(&new);
	else
		*ring = new;
	return ret;
}

struct bucket {
	struct gpumon_value ge, lt, count;
};

static int parse_buckets(const void *attrs, size_t len, struct gpumon_histogram *histogram)
{
	static const struct field fields[] = {
		U64(GPUMON_A_BUCKET_GE, struct bucket, ge),
		U64(GPUMON_A_BUCKET_LT, struct bucket, lt),
		U64(GPUMON_A_BUCKET_COUNT, struct bucket, count),
	};
	const unsigned char *at = attrs;
	uint64_t end = 0;
	struct attr attr;
	int ret;

	while ((ret = next_attr(&at, &len, &attr)) > 0) {
		struct bucket bucket = { 0 };

		if (attr.type != GPUMON_A_HISTOGRAM_BUCKET)
			continue;
		ret = parse_fields(attr.data, attr.len, FIELDS(fields), &bucket);
		if (ret)
			return ret;
		/* Percentiles and differences walk the buckets in order, so it is checked here once. */
		if (!bucket.ge.known || !bucket.lt.known || !bucket.count.known ||
		    bucket.ge.v < end || bucket.lt.v <= bucket.ge.v)
			return -EBADMSG;
		end = bucket.lt.v;
		if (bucket.count.v && gpumon_histogram_add_bucket(histogram, bucket.ge.v,
								  bucket.lt.v, bucket.count.v))
			return -ENOMEM;
	}
	return ret;
}

int gpumon_parse_histogram(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	static const struct field fields[] = {
		STRING(GPUMON_A_HISTOGRAM_GROUP, struct gpumon_histogram, group),
		U32(GPUMON_A_HISTOGRAM_RING_ID, struct gpumon_histogram, ring_id),
		STRING(GPUMON_A_HISTOGRAM_NAME, struct gpumon_histogram, name),
		U64(GPUMON_A_HISTOGRAM_COUNT, struct gpumon_histogram, count),
		U64(GPUMON_A_HISTOGRAM_SUM, struct gpumon_histogram, sum),
		U64(GPUMON_A_HISTOGRAM_MIN_VALUE, struct gpumon_histogram, min),
		U64(GPUMON_A_HISTOGRAM_MAX_VALUE, struct gpumon_histogram, max),
	};
	struct gpumon_histogram new = { 0 }, *histogram = NULL;
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = gpumon_parse_message(message, len, GPUMON_CMD_HISTOGRAM_GET, &attrs, &attrs_len);

	if (!ret)
		ret = parse_fields(attrs, attrs_len, FIELDS(fields), &new);
	if (!ret)
		ret = parse_buckets(attrs, attrs_len, &new);
	if (!ret) {
		histogram = gpumon_model_add_histogram(model);
		ret = histogram ? 0 : -ENOMEM;
	}
	if (ret)
		gpumon_histogram_clear(&new);
	else
		*histogram = new;
	return ret;
}

int gpumon_parse_process(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	static const struct field fields[] = {
		U32(GPUMON_A_PROCESS_PID, struct gpumon_process, pid),
		U64(GPUMON_A_PROCESS_START_NS, struct gpumon_process, start_ns),
		STRING(GPUMON_A_PROCESS_COMM, struct gpumon_process, comm),
		U32(GPUMON_A_PROCESS_ALIVE, struct gpumon_process, alive),
		U64(GPUMON_A_PROCESS_JOBS, struct gpumon_process, jobs),
	};
	struct gpumon_process new = { 0 }, *process = NULL;
	int ret = parse_flat(message, len, GPUMON_CMD_PROCESS_GET, FIELDS(fields), &new);

	if (!ret) {
		process = gpumon_model_add_process(model);
		ret = process ? 0 : -ENOMEM;
	}
	if (ret)
		gpumon_process_clear(&new);
	else
		*process = new;
	return ret;
}

int gpumon_parse_event_ring(const struct nlmsghdr *message, size_t len,
			    struct gpumon_event_ring *ring)
{
	static const struct field fields[] = {
		U32(GPUMON_A_EVENT_RING_ENABLED, struct gpumon_event_ring, enabled),
		U32(GPUMON_A_EVENT_RING_SIZE_KIB, struct gpumon_event_ring, size_kib),
		U64(GPUMON_A_EVENT_RING_WRITTEN, struct gpumon_event_ring, written),
		U64(GPUMON_A_EVENT_RING_OVERWRITTEN, struct gpumon_event_ring, overwritten),
		U64(GPUMON_A_EVENT_RING_DELIVERED, struct gpumon_event_ring, delivered),
		U64(GPUMON_A_EVENT_RING_PENDING, struct gpumon_event_ring, pending),
		U64(GPUMON_A_EVENT_RING_DROPPED, struct gpumon_event_ring, dropped),
	};
	struct gpumon_event_ring new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_EVENT_RING_GET, FIELDS(fields), &new);

	if (!ret)
		*ring = new;
	return ret;
}

int gpumon_parse_period(const struct nlmsghdr *message, size_t len, struct gpumon_period *period)
{
	static const struct field fields[] = {
		U32(GPUMON_A_PERIOD_CLOSED, struct gpumon_period, closed),
		U64(GPUMON_A_PERIOD_CLOSED_SINCE_NS, struct gpumon_period, closed_since_ns),
		U64(GPUMON_A_PERIOD_CLOSED_AT_NS, struct gpumon_period, closed_at_ns),
	};
	struct gpumon_period new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_RESET, FIELDS(fields), &new);

	if (!ret)
		*period = new;
	return ret;
}

int gpumon_parse_extack(const struct nlmsghdr *message, size_t len, int *error, char *text,
			size_t text_len)
{
	size_t at = NLMSG_HDRLEN + sizeof(struct nlmsgerr);
	const unsigned char *attrs;
	struct nlmsghdr header;
	struct nlmsgerr reply;
	struct attr attr;
	int ret;

	text[0] = '\0';
	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, message, sizeof(header));
	if (header.nlmsg_len > len)
		return -EBADMSG;

	if (header.nlmsg_type == NLMSG_DONE) {
		/* The end of a dump: an error number, attributes right behind it. */
		if (header.nlmsg_len < NLMSG_HDRLEN + sizeof(*error))
			return header.nlmsg_len == NLMSG_HDRLEN ? (*error = 0) : -EBADMSG;
		memcpy(error, (const char *)message + NLMSG_HDRLEN, sizeof(*error));
		at = NLMSG_HDRLEN + sizeof(*error);
	} else {
		if (header.nlmsg_len < at)
			return -EBADMSG;
		memcpy(&reply, (const char *)message + NLMSG_HDRLEN, sizeof(reply));
		*error = reply.error;
		/* Without NLM_F_CAPPED the whole request stands between the two. */
		if (!(header.nlmsg_flags & NLM_F_CAPPED)) {
			if (reply.msg.nlmsg_len < NLMSG_HDRLEN ||
			    reply.msg.nlmsg_len > header.nlmsg_len)
				return -EBADMSG;
			at += NLMSG_ALIGN((size_t)reply.msg.nlmsg_len) - NLMSG_HDRLEN;
		}
	}
	if (!(header.nlmsg_flags & NLM_F_ACK_TLVS) || at >= header.nlmsg_len)
		return 0;

	attrs = (const unsigned char *)message + at;
	len = header.nlmsg_len - at;
	while ((ret = next_attr(&attrs, &len, &attr)) > 0) {
		if (attr.type != NLMSGERR_ATTR_MSG || !attr.len || attr.data[attr.len - 1])
			continue;
		snprintf(text, text_len, "%s", (const char *)attr.data);
	}
	return ret;
}
