// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "parse.h"
#include "parse_attr.h"

/* Fields of process-get, and of the exited processes in info-get. */
static const struct gpumon_field process_fields[] = {
	GPUMON_U32(GPUMON_A_PROCESS_PID, struct gpumon_process, pid),
	GPUMON_U64(GPUMON_A_PROCESS_START_NS, struct gpumon_process, start_ns),
	GPUMON_STRING(GPUMON_A_PROCESS_COMM, struct gpumon_process, comm),
	GPUMON_U32(GPUMON_A_PROCESS_ALIVE, struct gpumon_process, alive),
	GPUMON_U64(GPUMON_A_PROCESS_JOBS, struct gpumon_process, jobs),
	GPUMON_U64(GPUMON_A_PROCESS_SUBMISSIONS, struct gpumon_process, submissions),
	GPUMON_U64(GPUMON_A_PROCESS_ALLOCATED_BYTES, struct gpumon_process, allocated_bytes),
	GPUMON_U64(GPUMON_A_PROCESS_MAPPED_BYTES, struct gpumon_process, mapped_bytes),
	GPUMON_U64(GPUMON_A_PROCESS_IOCTLS, struct gpumon_process, ioctls),
	GPUMON_U64(GPUMON_A_PROCESS_FAULTS, struct gpumon_process, faults),
	GPUMON_U64(GPUMON_A_PROCESS_OPENS, struct gpumon_process, opens),
	GPUMON_U64(GPUMON_A_PROCESS_OPEN_HANDLES, struct gpumon_process, open_handles),
	GPUMON_U64(GPUMON_A_PROCESS_CGROUP_ID, struct gpumon_process, cgroup_id),
	GPUMON_STRING(GPUMON_A_PROCESS_CGROUP, struct gpumon_process, cgroup),
};

static int parse_exited(const void *attrs, size_t len, struct gpumon_process *exited)
{
	const unsigned char *at = attrs;
	struct gpumon_attr attr;
	int ret;

	while ((ret = gpumon_next_attr(&at, &len, &attr)) > 0) {
		if (attr.type != GPUMON_A_INFO_EXITED)
			continue;
		ret = gpumon_parse_fields(attr.data, attr.len, GPUMON_FIELDS(process_fields),
					  exited);
		if (ret)
			return ret;
	}
	return ret;
}

int gpumon_parse_info(const struct nlmsghdr *message, size_t len, struct gpumon_info *info)
{
	static const struct gpumon_field fields[] = {
		GPUMON_STRING(GPUMON_A_INFO_VERSION, struct gpumon_info, version),
		GPUMON_U32(GPUMON_A_INFO_SCHEMA, struct gpumon_info, schema),
		GPUMON_STRING(GPUMON_A_INFO_CLOCK, struct gpumon_info, clock),
		GPUMON_U64(GPUMON_A_INFO_NOW_NS, struct gpumon_info, now_ns),
		GPUMON_U64(GPUMON_A_INFO_SINCE_NS, struct gpumon_info, since_ns),
		GPUMON_U32(GPUMON_A_INFO_PERIOD, struct gpumon_info, period),
		GPUMON_U32(GPUMON_A_INFO_POSSIBLE_CPUS, struct gpumon_info, possible_cpus),
		GPUMON_U32(GPUMON_A_INFO_MAX_RINGS, struct gpumon_info, max_rings),
		GPUMON_U32(GPUMON_A_INFO_RINGS, struct gpumon_info, rings),
		GPUMON_U64(GPUMON_A_INFO_RINGS_RETIRED, struct gpumon_info, rings_retired),
		GPUMON_U32(GPUMON_A_INFO_MAX_PROCESSES, struct gpumon_info, max_processes),
		GPUMON_U32(GPUMON_A_INFO_PROCESSES, struct gpumon_info, processes),
		GPUMON_U64(GPUMON_A_INFO_PROCESSES_EXITED, struct gpumon_info, processes_exited),
		GPUMON_U64(GPUMON_A_INFO_JOBS_UNATTRIBUTED, struct gpumon_info, jobs_unattributed),
		GPUMON_U64(GPUMON_A_INFO_JOBS_EXITED, struct gpumon_info, jobs_exited),
		GPUMON_U32(GPUMON_A_INFO_MAX_JOBS, struct gpumon_info, max_jobs),
		GPUMON_U64(GPUMON_A_INFO_MEMORY_BYTES, struct gpumon_info, memory_bytes),
	};
	struct gpumon_info new = { 0 };
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = gpumon_parse_message(message, len, GPUMON_CMD_INFO_GET, &attrs, &attrs_len);

	if (!ret)
		ret = gpumon_parse_fields(attrs, attrs_len, GPUMON_FIELDS(fields), &new);
	if (!ret)
		ret = parse_exited(attrs, attrs_len, &new.exited);
	if (ret) {
		gpumon_info_clear(&new);
		return ret;
	}
	gpumon_info_clear(info);
	*info = new;
	return 0;
}

static int parse_probe(const struct gpumon_attr *nest, struct gpumon_probe *probe)
{
	static const struct gpumon_field fields[] = {
		GPUMON_STRING(GPUMON_A_PROBE_NAME, struct gpumon_probe, name),
		GPUMON_STRING(GPUMON_A_PROBE_MODULE, struct gpumon_probe, module),
		GPUMON_U32(GPUMON_A_PROBE_KIND, struct gpumon_probe, kind),
		GPUMON_U32(GPUMON_A_PROBE_STATE, struct gpumon_probe, state),
		GPUMON_STRING(GPUMON_A_PROBE_REASON, struct gpumon_probe, reason),
		GPUMON_U64(GPUMON_A_PROBE_SEEN, struct gpumon_probe, seen),
		GPUMON_U64(GPUMON_A_PROBE_RECORDED, struct gpumon_probe, recorded),
	};
	static const struct gpumon_field drops[] = {
		GPUMON_U64(GPUMON_A_DROPS_TABLE_FULL, struct gpumon_drops, table_full),
		GPUMON_U64(GPUMON_A_DROPS_RECURSION, struct gpumon_drops, recursion),
		GPUMON_U64(GPUMON_A_DROPS_UNREADABLE, struct gpumon_drops, unreadable),
		GPUMON_U64(GPUMON_A_DROPS_MISSED, struct gpumon_drops, missed),
		GPUMON_U64(GPUMON_A_DROPS_NO_MEMORY, struct gpumon_drops, no_memory),
	};
	const unsigned char *at = nest->data;
	size_t left = nest->len;
	struct gpumon_attr attr;
	int ret = gpumon_parse_fields(at, left, GPUMON_FIELDS(fields), probe);

	while (!ret && (ret = gpumon_next_attr(&at, &left, &attr)) > 0) {
		ret = 0;
		if (attr.type == GPUMON_A_PROBE_DROPPED)
			ret = gpumon_parse_fields(attr.data, attr.len, GPUMON_FIELDS(drops),
						  &probe->dropped);
	}
	return ret;
}

static int parse_group(const void *attrs, size_t len, struct gpumon_group *group)
{
	static const struct gpumon_field fields[] = {
		GPUMON_STRING(GPUMON_A_GROUP_NAME, struct gpumon_group, name),
		GPUMON_U32(GPUMON_A_GROUP_ENABLED, struct gpumon_group, enabled),
		GPUMON_U32(GPUMON_A_GROUP_STATE, struct gpumon_group, state),
		GPUMON_STRING(GPUMON_A_GROUP_REASON, struct gpumon_group, reason),
	};
	const unsigned char *at = attrs;
	struct gpumon_attr attr;
	int ret = gpumon_parse_fields(attrs, len, GPUMON_FIELDS(fields), group);

	while (!ret && (ret = gpumon_next_attr(&at, &len, &attr)) > 0) {
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

struct bucket {
	struct gpumon_value ge, lt, count;
};

int gpumon_parse_buckets(const void *attrs, size_t len, int type,
			 struct gpumon_histogram *histogram)
{
	static const struct gpumon_field fields[] = {
		GPUMON_U64(GPUMON_A_BUCKET_GE, struct bucket, ge),
		GPUMON_U64(GPUMON_A_BUCKET_LT, struct bucket, lt),
		GPUMON_U64(GPUMON_A_BUCKET_COUNT, struct bucket, count),
	};
	const unsigned char *at = attrs;
	uint64_t end = 0;
	struct gpumon_attr attr;
	int ret;

	while ((ret = gpumon_next_attr(&at, &len, &attr)) > 0) {
		struct bucket bucket = { 0 };

		if (attr.type != type)
			continue;
		ret = gpumon_parse_fields(attr.data, attr.len, GPUMON_FIELDS(fields), &bucket);
		if (ret)
			return ret;
		/* Percentiles and differences expect ordered buckets, so check that once here. */
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

int gpumon_parse_process(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	struct gpumon_process new = { 0 }, *process = NULL;
	int ret = gpumon_parse_flat(message, len, GPUMON_CMD_PROCESS_GET,
				    GPUMON_FIELDS(process_fields), &new);

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
	static const struct gpumon_field fields[] = {
		GPUMON_U32(GPUMON_A_EVENT_RING_ENABLED, struct gpumon_event_ring, enabled),
		GPUMON_U32(GPUMON_A_EVENT_RING_SIZE_KIB, struct gpumon_event_ring, size_kib),
		GPUMON_U64(GPUMON_A_EVENT_RING_WRITTEN, struct gpumon_event_ring, written),
		GPUMON_U64(GPUMON_A_EVENT_RING_OVERWRITTEN, struct gpumon_event_ring, overwritten),
		GPUMON_U64(GPUMON_A_EVENT_RING_DELIVERED, struct gpumon_event_ring, delivered),
		GPUMON_U64(GPUMON_A_EVENT_RING_PENDING, struct gpumon_event_ring, pending),
		GPUMON_U64(GPUMON_A_EVENT_RING_DROPPED, struct gpumon_event_ring, dropped),
	};
	struct gpumon_event_ring new = { 0 };
	int ret = gpumon_parse_flat(message, len, GPUMON_CMD_EVENT_RING_GET, GPUMON_FIELDS(fields),
				    &new);

	if (!ret)
		*ring = new;
	return ret;
}

int gpumon_parse_period(const struct nlmsghdr *message, size_t len, struct gpumon_period *period)
{
	static const struct gpumon_field fields[] = {
		GPUMON_U32(GPUMON_A_PERIOD_CLOSED, struct gpumon_period, closed),
		GPUMON_U64(GPUMON_A_PERIOD_CLOSED_SINCE_NS, struct gpumon_period, closed_since_ns),
		GPUMON_U64(GPUMON_A_PERIOD_CLOSED_AT_NS, struct gpumon_period, closed_at_ns),
	};
	struct gpumon_period new = { 0 };
	int ret = gpumon_parse_flat(message, len, GPUMON_CMD_RESET, GPUMON_FIELDS(fields), &new);

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
	struct gpumon_attr attr;
	int ret;

	text[0] = '\0';
	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, message, sizeof(header));
	if (header.nlmsg_len > len)
		return -EBADMSG;

	if (header.nlmsg_type == NLMSG_DONE) {
		/* The end of a dump has an error number, followed by attributes. */
		if (header.nlmsg_len < NLMSG_HDRLEN + sizeof(*error))
			return header.nlmsg_len == NLMSG_HDRLEN ? (*error = 0) : -EBADMSG;
		memcpy(error, (const char *)message + NLMSG_HDRLEN, sizeof(*error));
		at = NLMSG_HDRLEN + sizeof(*error);
	} else {
		if (header.nlmsg_len < at)
			return -EBADMSG;
		memcpy(&reply, (const char *)message + NLMSG_HDRLEN, sizeof(reply));
		*error = reply.error;
		/* Without NLM_F_CAPPED, the whole request is between the two. */
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
	while ((ret = gpumon_next_attr(&attrs, &len, &attr)) > 0) {
		if (attr.type != NLMSGERR_ATTR_MSG || !attr.len || attr.data[attr.len - 1])
			continue;
		snprintf(text, text_len, "%s", (const char *)attr.data);
	}
	return ret;
}
