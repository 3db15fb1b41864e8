// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert_message.h"
#include "lib/memory.h"
#include "model_fields.h"
#include "parse.h"

/* Tables of what is only in messages. All others are those of model_fields.h. */
#define FIELD(number, type_of, type, member)                                                     \
	{                                                                                        \
		.attr = number, .kind = GPUMON_FIELD_##type_of, .offset = offsetof(type, member) \
	}
#define FIELDS(table)                                   \
	&(const struct gpumon_fields)                   \
	{                                               \
		table, sizeof(table) / sizeof(table[0]) \
	}

/* One attribute, taken from the front of a buffer. */
struct attr {
	unsigned short type;
	const unsigned char *data;
	size_t len;
};

/* Everything is copied out with memcpy(), since the bytes may not be aligned. */
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

static int store_field(const struct gpumon_field *field, const struct attr *attr, void *base)
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
		*string = gpumon_strdup((const char *)attr->data);
		return 0;
	case GPUMON_FIELD_CONSTANT:
		break;
	}
	return -EBADMSG;
}

/* Store the attributes of the table into *base and skip the others. 0 or -EBADMSG. */
static int parse_fields(const void *attrs, size_t len, const struct gpumon_fields *fields,
			void *base)
{
	const unsigned char *at = attrs;
	struct attr attr;
	int ret;

	while ((ret = next_attr(&at, &len, &attr)) > 0) {
		for (size_t i = 0; attr.type && i < fields->n; i++) {
			if (fields->at[i].attr != attr.type)
				continue;
			ret = store_field(&fields->at[i], &attr, base);
			if (ret)
				return ret;
			break;
		}
	}
	return ret;
}

/* Check the headers and find the attributes behind them. */
static int parse_message(const struct nlmsghdr *message, size_t len, int command,
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

/* A message without nested attributes. What was parsed of a bad one is freed and zeroed. */
static int parse_flat(const struct nlmsghdr *message, size_t len, int command,
		      const struct gpumon_fields *fields, void *base, size_t size)
{
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = parse_message(message, len, command, &attrs, &attrs_len);

	if (!ret)
		ret = parse_fields(attrs, attrs_len, fields, base);
	if (ret) {
		gpumon_fields_free(fields, base);
		memset(base, 0, size);
	}
	return ret;
}

static int parse_info_nests(const void *attrs, size_t len, struct gpumon_info *info)
{
	const unsigned char *at = attrs;
	struct attr attr;
	int ret;

	while ((ret = next_attr(&at, &len, &attr)) > 0) {
		if (attr.type == GPUMON_A_INFO_EXITED)
			ret = parse_fields(attr.data, attr.len, &gpumon_process_fields,
					   &info->exited);
		else if (attr.type == GPUMON_A_INFO_MISSING_OPTION)
			ret = parse_fields(attr.data, attr.len, &gpumon_missing_option_fields,
					   gpumon_info_add_missing_option(info));
		else
			continue;
		if (ret)
			return ret;
	}
	return ret;
}

int gpumon_parse_info(const struct nlmsghdr *message, size_t len, struct gpumon_info *info)
{
	struct gpumon_info new = { 0 };
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = parse_message(message, len, GPUMON_CMD_INFO_GET, &attrs, &attrs_len);

	if (!ret)
		ret = parse_fields(attrs, attrs_len, &gpumon_info_fields, &new);
	if (!ret)
		ret = parse_info_nests(attrs, attrs_len, &new);
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
	const unsigned char *at = nest->data;
	size_t left = nest->len;
	struct attr attr;
	int ret = parse_fields(at, left, &gpumon_probe_fields, probe);

	while (!ret && (ret = next_attr(&at, &left, &attr)) > 0) {
		ret = 0;
		if (attr.type == GPUMON_A_PROBE_DROPPED)
			ret = parse_fields(attr.data, attr.len, &gpumon_drops_fields,
					   &probe->dropped);
	}
	return ret;
}

static int parse_group(const void *attrs, size_t len, struct gpumon_group *group)
{
	const unsigned char *at = attrs;
	struct attr attr;
	int ret = parse_fields(attrs, len, &gpumon_group_fields, group);

	while (!ret && (ret = next_attr(&at, &len, &attr)) > 0) {
		ret = 0;
		if (attr.type == GPUMON_A_GROUP_PROBE)
			ret = parse_probe(&attr, gpumon_group_add_probe(group));
	}
	return ret;
}

int gpumon_parse_group(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	const struct nlattr *attrs;
	struct gpumon_group *group;
	size_t attrs_len;
	int ret = parse_message(message, len, GPUMON_CMD_GROUP_GET, &attrs, &attrs_len);

	if (ret)
		return ret;
	group = gpumon_model_add_group(model);
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

/* The nested buckets of a histogram, which are attributes of that type. */
static int parse_buckets(const void *attrs, size_t len, int type,
			 struct gpumon_histogram *histogram)
{
	static const struct gpumon_field fields[] = {
		FIELD(GPUMON_A_BUCKET_GE, U64, struct bucket, ge),
		FIELD(GPUMON_A_BUCKET_LT, U64, struct bucket, lt),
		FIELD(GPUMON_A_BUCKET_COUNT, U64, struct bucket, count),
	};
	const unsigned char *at = attrs;
	uint64_t end = 0;
	struct attr attr;
	int ret;

	while ((ret = next_attr(&at, &len, &attr)) > 0) {
		struct bucket bucket = { 0 };

		if (attr.type != type)
			continue;
		ret = parse_fields(attr.data, attr.len, FIELDS(fields), &bucket);
		if (ret)
			return ret;
		/* Percentiles and differences expect ordered buckets, so check that once here. */
		if (!bucket.ge.known || !bucket.lt.known || !bucket.count.known ||
		    bucket.ge.v < end || bucket.lt.v <= bucket.ge.v)
			return -EBADMSG;
		end = bucket.lt.v;
		if (bucket.count.v)
			gpumon_histogram_add_bucket(histogram, bucket.ge.v, bucket.lt.v,
						    bucket.count.v);
	}
	return ret;
}

int gpumon_parse_process(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	struct gpumon_process new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_PROCESS_GET, &gpumon_process_fields, &new,
			     sizeof(new));

	if (!ret)
		*gpumon_model_add_process(model) = new;
	return ret;
}

int gpumon_parse_layout(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	struct gpumon_layout new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_LAYOUT_GET, &gpumon_layout_fields, &new,
			     sizeof(new));

	if (!ret)
		*gpumon_model_add_layout(model) = new;
	return ret;
}

int gpumon_parse_alert(const struct nlmsghdr *message, size_t len, int command,
		       struct gpumon_model *model)
{
	struct gpumon_alert new = { 0 };
	int ret = parse_flat(message, len, command, &gpumon_alert_fields, &new, sizeof(new));

	if (!ret) {
		gpumon_alert_complete(&new);
		*gpumon_model_add_alert(model) = new;
	}
	return ret;
}

/* drm_ras' attributes of an event, as in the kernel's drm_ras.yaml. */
enum {
	RAS_DEVICE_NAME = 1,
	RAS_NODE_ID,
	RAS_NODE_NAME,
	RAS_ERROR_ID,
	RAS_ERROR_NAME,
	RAS_ERROR_VALUE,
};

/*
 * The number of the command is not checked: it was another one in versions before Linux 7.4, and the
 * group has nothing but events.
 */
int gpumon_parse_ras_event(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	static const struct gpumon_field fields[] = {
		FIELD(RAS_DEVICE_NAME, STRING, struct gpumon_alert, device),
		FIELD(RAS_NODE_NAME, STRING, struct gpumon_alert, kind),
		FIELD(RAS_ERROR_ID, U32, struct gpumon_alert, code),
		FIELD(RAS_ERROR_NAME, STRING, struct gpumon_alert, message),
		FIELD(RAS_ERROR_VALUE, U32, struct gpumon_alert, count),
	};
	struct gpumon_alert new = { 0 };
	struct genlmsghdr genl = { 0 };
	int ret;

	if (len >= NLMSG_HDRLEN + GENL_HDRLEN)
		memcpy(&genl, (const char *)message + NLMSG_HDRLEN, sizeof(genl));
	ret = parse_flat(message, len, genl.cmd, FIELDS(fields), &new, sizeof(new));
	if (ret)
		return ret;
	new.source = GPUMON_ALERT_SOURCE_RAS;
	new.group = gpumon_strdup("drm_ras");
	if (!new.kind)
		new.kind = gpumon_strdup("error");
	*gpumon_model_add_alert(model) = new;
	return 0;
}

int gpumon_parse_event_ring(const struct nlmsghdr *message, size_t len,
			    struct gpumon_event_ring *ring)
{
	struct gpumon_event_ring new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_EVENT_RING_GET, &gpumon_event_ring_fields,
			     &new, sizeof(new));

	if (!ret)
		*ring = new;
	return ret;
}

int gpumon_parse_limits(const struct nlmsghdr *message, size_t len, struct gpumon_limits *limits)
{
	struct gpumon_limits new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_LIMIT_GET, &gpumon_limits_fields, &new,
			     sizeof(new));

	if (!ret)
		*limits = new;
	return ret;
}

int gpumon_parse_period(const struct nlmsghdr *message, size_t len, struct gpumon_period *period)
{
	static const struct gpumon_field fields[] = {
		FIELD(GPUMON_A_PERIOD_CLOSED, U32, struct gpumon_period, closed),
		FIELD(GPUMON_A_PERIOD_CLOSED_SINCE_NS, U64, struct gpumon_period, closed_since_ns),
		FIELD(GPUMON_A_PERIOD_CLOSED_AT_NS, U64, struct gpumon_period, closed_at_ns),
	};
	struct gpumon_period new = { 0 };
	int ret = parse_flat(message, len, GPUMON_CMD_RESET, FIELDS(fields), &new, sizeof(new));

	if (!ret)
		*period = new;
	return ret;
}

static int parse_label(const struct attr *nest, struct gpumon_row *row)
{
	static const struct gpumon_field fields[] = {
		FIELD(GPUMON_A_LABEL_NAME, STRING, struct gpumon_label, name),
		FIELD(GPUMON_A_LABEL_VALUE, STRING, struct gpumon_label, value),
		FIELD(GPUMON_A_LABEL_NUMBER, FLAG, struct gpumon_label, number),
	};
	struct gpumon_label *label = gpumon_row_add_label(row);
	int ret = parse_fields(nest->data, nest->len, FIELDS(fields), label);

	if (ret)
		return ret;
	return label->name && label->value ? 0 : -EBADMSG;
}

static int parse_column(const struct attr *nest, struct gpumon_row *row)
{
	static const struct gpumon_field fields[] = {
		FIELD(GPUMON_A_COLUMN_NAME, STRING, struct gpumon_column, name),
		FIELD(GPUMON_A_COLUMN_KIND, U32, struct gpumon_column, kind),
		FIELD(GPUMON_A_COLUMN_VALUE, U64, struct gpumon_column, value),
		FIELD(GPUMON_A_COLUMN_LEVEL, S64, struct gpumon_column, level),
		FIELD(GPUMON_A_COLUMN_HIGHEST, U64, struct gpumon_column, highest),
		FIELD(GPUMON_A_COLUMN_COUNT, U64, struct gpumon_column, histogram.count),
		FIELD(GPUMON_A_COLUMN_SUM, U64, struct gpumon_column, histogram.sum),
		FIELD(GPUMON_A_COLUMN_MIN_VALUE, U64, struct gpumon_column, histogram.min),
		FIELD(GPUMON_A_COLUMN_MAX_VALUE, U64, struct gpumon_column, histogram.max),
	};
	struct gpumon_column *column = gpumon_row_add_column(row);
	int ret = parse_fields(nest->data, nest->len, FIELDS(fields), column);

	if (!ret)
		ret = parse_buckets(nest->data, nest->len, GPUMON_A_COLUMN_BUCKET,
				    &column->histogram);
	if (ret)
		return ret;
	return column->name && column->kind.known ? 0 : -EBADMSG;
}

/* A row, and the table it belongs to. */
struct statistic {
	char *group;
	char *table;
	struct gpumon_row row;
};

static void statistic_free(struct statistic *statistic)
{
	free(statistic->group);
	free(statistic->table);
	gpumon_row_clear(&statistic->row);
}

static int parse_statistic(const struct nlattr *attrs, size_t len, struct statistic *statistic)
{
	static const struct gpumon_field fields[] = {
		FIELD(GPUMON_A_STATISTIC_GROUP, STRING, struct statistic, group),
		FIELD(GPUMON_A_STATISTIC_TABLE, STRING, struct statistic, table),
		FIELD(GPUMON_A_STATISTIC_ROW, U32, struct statistic, row.number),
	};
	const unsigned char *at = (const unsigned char *)attrs;
	struct attr attr;
	int ret = parse_fields(attrs, len, FIELDS(fields), statistic);

	while (!ret && (ret = next_attr(&at, &len, &attr)) > 0) {
		ret = 0;
		if (attr.type == GPUMON_A_STATISTIC_LABEL)
			ret = parse_label(&attr, &statistic->row);
		else if (attr.type == GPUMON_A_STATISTIC_COLUMN)
			ret = parse_column(&attr, &statistic->row);
	}
	if (ret)
		return ret;
	/* Without these the numbers have no meaning. */
	return statistic->group && statistic->table && statistic->row.number.known ? 0 : -EBADMSG;
}

/* Merge the columns of a message into a row of the model. Moved values are removed from @from. */
static void merge_row(struct gpumon_row *row, struct gpumon_row *from)
{
	if (from->n_labels) {
		struct gpumon_row old = { .labels = row->labels, .n_labels = row->n_labels };

		row->labels = from->labels;
		row->n_labels = from->n_labels;
		from->labels = NULL;
		from->n_labels = 0;
		gpumon_row_clear(&old);
	}
	for (size_t i = 0; i < from->n_columns; i++) {
		struct gpumon_column *new = &from->columns[i];
		struct gpumon_column *column = gpumon_row_column(row, new->name);

		if (!column) {
			column = gpumon_row_add_column(row);
		} else {
			free(column->name);
			gpumon_histogram_clear(&column->histogram);
		}
		*column = *new;
		memset(new, 0, sizeof(*new));
	}
}

static void store_statistic(struct gpumon_model *model, struct statistic *statistic)
{
	struct gpumon_statistics *table =
		gpumon_model_statistics(model, statistic->group, statistic->table);
	struct gpumon_row *row;

	if (!table) {
		table = gpumon_model_add_statistics(model);
		table->group = statistic->group;
		table->table = statistic->table;
		statistic->group = NULL;
		statistic->table = NULL;
	}
	row = gpumon_statistics_row(table, statistic->row.number.v);
	if (!row)
		row = gpumon_statistics_add_row(table, statistic->row.number);
	merge_row(row, &statistic->row);
}

int gpumon_parse_statistic(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	struct statistic statistic = { 0 };
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = parse_message(message, len, GPUMON_CMD_STATISTIC_GET, &attrs, &attrs_len);

	if (!ret)
		ret = parse_statistic(attrs, attrs_len, &statistic);
	if (!ret)
		store_statistic(model, &statistic);
	statistic_free(&statistic);
	return ret;
}

/*
 * Rings and their histograms, from the table drm_sched.rings. The module describes them like any
 * other table, and BPF programs use them as well.
 */
static const char *const ring_histograms[] = { "queue_ns", "run_ns" };

static void take_gauge(const struct gpumon_row *row, const char *name, struct gpumon_value *now,
		       struct gpumon_value *highest)
{
	const struct gpumon_column *column = gpumon_row_column(row, name);

	if (!column || !column->level.known)
		return;
	/* Two CPUs that change it at once may make it negative for a moment. */
	*now = gpumon_value_of(column->level.v > 0 ? (uint64_t)column->level.v : 0);
	*highest = column->highest;
}

/* Strings and buckets are moved, not copied. */
static void take_histogram(struct gpumon_model *model, struct gpumon_row *row, size_t i)
{
	struct gpumon_column *column = gpumon_row_column(row, ring_histograms[i]);
	struct gpumon_histogram *histogram;

	if (!column)
		return;
	histogram = gpumon_model_add_histogram(model);
	*histogram = column->histogram;
	memset(&column->histogram, 0, sizeof(column->histogram));
	histogram->ring_id = row->number;
	histogram->group = gpumon_strdup("drm_sched");
	histogram->name = gpumon_strdup(ring_histograms[i]);
}

static void take_row(struct gpumon_model *model, struct gpumon_row *row)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(model);
	const char *device = gpumon_row_label(row, "device");
	const char *name = gpumon_row_label(row, "ring");

	ring->id = row->number;
	ring->device = device ? gpumon_strdup(device) : NULL;
	ring->name = name ? gpumon_strdup(name) : NULL;
	for (size_t i = 0; i < gpumon_ring_fields.n; i++) {
		const struct gpumon_field *field = &gpumon_ring_fields.at[i];
		const struct gpumon_column *column;

		if (!gpumon_field_counts(field))
			continue;
		column = gpumon_row_column(row, field->name);
		if (column)
			*(struct gpumon_value *)((char *)ring + field->offset) = column->value;
	}
	take_gauge(row, "queue_depth", &ring->queue_depth, &ring->queue_depth_max);
	take_gauge(row, "hw_depth", &ring->hw_depth, &ring->hw_depth_max);
	take_gauge(row, "live", &ring->live, &ring->live_max);
	for (size_t i = 0; i < sizeof(ring_histograms) / sizeof(ring_histograms[0]); i++)
		take_histogram(model, row, i);
}

void gpumon_parse_rings(struct gpumon_model *model)
{
	struct gpumon_statistics *table = gpumon_model_statistics(model, "drm_sched", "rings");

	if (!table)
		return;
	for (size_t i = 0; i < table->n_rows; i++)
		take_row(model, &table->rows[i]);
	gpumon_model_remove_statistics(model, table);
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
	while ((ret = next_attr(&attrs, &len, &attr)) > 0) {
		if (attr.type != NLMSGERR_ATTR_MSG || !attr.len || attr.data[attr.len - 1])
			continue;
		snprintf(text, text_len, "%s", (const char *)attr.data);
	}
	return ret;
}
