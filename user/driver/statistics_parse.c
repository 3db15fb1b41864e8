// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Parses the self-describing parts, see parse.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "parse.h"
#include "parse_attr.h"

static int parse_label(const struct gpumon_attr *nest, struct gpumon_row *row)
{
	static const struct gpumon_field fields[] = {
		GPUMON_STRING(GPUMON_A_LABEL_NAME, struct gpumon_label, name),
		GPUMON_STRING(GPUMON_A_LABEL_VALUE, struct gpumon_label, value),
		GPUMON_FLAG(GPUMON_A_LABEL_NUMBER, struct gpumon_label, number),
	};
	struct gpumon_label *label = gpumon_row_add_label(row);
	int ret;

	if (!label)
		return -ENOMEM;
	ret = gpumon_parse_fields(nest->data, nest->len, GPUMON_FIELDS(fields), label);
	if (ret)
		return ret;
	return label->name && label->value ? 0 : -EBADMSG;
}

static int parse_column(const struct gpumon_attr *nest, struct gpumon_row *row)
{
	static const struct gpumon_field fields[] = {
		GPUMON_STRING(GPUMON_A_COLUMN_NAME, struct gpumon_column, name),
		GPUMON_U32(GPUMON_A_COLUMN_KIND, struct gpumon_column, kind),
		GPUMON_U64(GPUMON_A_COLUMN_VALUE, struct gpumon_column, value),
		GPUMON_S64(GPUMON_A_COLUMN_LEVEL, struct gpumon_column, level),
		GPUMON_U64(GPUMON_A_COLUMN_HIGHEST, struct gpumon_column, highest),
		GPUMON_U64(GPUMON_A_COLUMN_COUNT, struct gpumon_column, histogram.count),
		GPUMON_U64(GPUMON_A_COLUMN_SUM, struct gpumon_column, histogram.sum),
		GPUMON_U64(GPUMON_A_COLUMN_MIN_VALUE, struct gpumon_column, histogram.min),
		GPUMON_U64(GPUMON_A_COLUMN_MAX_VALUE, struct gpumon_column, histogram.max),
	};
	struct gpumon_column *column = gpumon_row_add_column(row);
	int ret;

	if (!column)
		return -ENOMEM;
	ret = gpumon_parse_fields(nest->data, nest->len, GPUMON_FIELDS(fields), column);
	if (!ret)
		ret = gpumon_parse_buckets(nest->data, nest->len, GPUMON_A_COLUMN_BUCKET,
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
		GPUMON_STRING(GPUMON_A_STATISTIC_GROUP, struct statistic, group),
		GPUMON_STRING(GPUMON_A_STATISTIC_TABLE, struct statistic, table),
		GPUMON_U32(GPUMON_A_STATISTIC_ROW, struct statistic, row.number),
	};
	const unsigned char *at = (const unsigned char *)attrs;
	struct gpumon_attr attr;
	int ret = gpumon_parse_fields(attrs, len, GPUMON_FIELDS(fields), statistic);

	while (!ret && (ret = gpumon_next_attr(&at, &len, &attr)) > 0) {
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
static int merge_row(struct gpumon_row *row, struct gpumon_row *from)
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
			if (!column)
				return -ENOMEM;
		} else {
			free(column->name);
			gpumon_histogram_clear(&column->histogram);
		}
		*column = *new;
		memset(new, 0, sizeof(*new));
	}
	return 0;
}

static int store_statistic(struct gpumon_model *model, struct statistic *statistic)
{
	struct gpumon_statistics *table =
		gpumon_model_statistics(model, statistic->group, statistic->table);
	struct gpumon_row *row;

	if (!table) {
		table = gpumon_model_add_statistics(model);
		if (!table)
			return -ENOMEM;
		table->group = statistic->group;
		table->table = statistic->table;
		statistic->group = NULL;
		statistic->table = NULL;
	}
	row = gpumon_statistics_row(table, statistic->row.number.v);
	if (!row) {
		row = gpumon_statistics_add_row(table);
		if (!row)
			return -ENOMEM;
		row->number = statistic->row.number;
	}
	return merge_row(row, &statistic->row);
}

int gpumon_parse_statistic(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	struct statistic statistic = { 0 };
	const struct nlattr *attrs;
	size_t attrs_len;
	int ret = gpumon_parse_message(message, len, GPUMON_CMD_STATISTIC_GET, &attrs, &attrs_len);

	if (!ret)
		ret = parse_statistic(attrs, attrs_len, &statistic);
	if (!ret)
		ret = store_statistic(model, &statistic);
	statistic_free(&statistic);
	return ret;
}

int gpumon_parse_layout(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	static const struct gpumon_field fields[] = {
		GPUMON_STRING(GPUMON_A_LAYOUT_GROUP, struct gpumon_layout, group),
		GPUMON_STRING(GPUMON_A_LAYOUT_MODULE, struct gpumon_layout, module),
		GPUMON_STRING(GPUMON_A_LAYOUT_TYPE, struct gpumon_layout, type),
		GPUMON_STRING(GPUMON_A_LAYOUT_MEMBER, struct gpumon_layout, member),
		GPUMON_STRING(GPUMON_A_LAYOUT_REASON, struct gpumon_layout, reason),
		GPUMON_U32(GPUMON_A_LAYOUT_OFFSET, struct gpumon_layout, offset),
		GPUMON_U32(GPUMON_A_LAYOUT_SIZE, struct gpumon_layout, size),
	};
	struct gpumon_layout new = { 0 }, *layout = NULL;
	int ret =
		gpumon_parse_flat(message, len, GPUMON_CMD_LAYOUT_GET, GPUMON_FIELDS(fields), &new);

	if (!ret) {
		layout = gpumon_model_add_layout(model);
		ret = layout ? 0 : -ENOMEM;
	}
	if (ret)
		gpumon_layout_clear(&new);
	else
		*layout = new;
	return ret;
}

int gpumon_parse_alert(const struct nlmsghdr *message, size_t len, int command,
		       struct gpumon_model *model)
{
	static const struct gpumon_field fields[] = {
		GPUMON_U64(GPUMON_A_ALERT_TIME_NS, struct gpumon_alert, time_ns),
		GPUMON_STRING(GPUMON_A_ALERT_GROUP, struct gpumon_alert, group),
		GPUMON_STRING(GPUMON_A_ALERT_KIND, struct gpumon_alert, kind),
		GPUMON_STRING(GPUMON_A_ALERT_DEVICE, struct gpumon_alert, device),
		GPUMON_U32(GPUMON_A_ALERT_CODE, struct gpumon_alert, code),
		GPUMON_STRING(GPUMON_A_ALERT_MESSAGE, struct gpumon_alert, message),
		GPUMON_U64(GPUMON_A_ALERT_COUNT, struct gpumon_alert, count),
		GPUMON_U64(GPUMON_A_ALERT_LOST, struct gpumon_alert, lost),
		GPUMON_U64(GPUMON_A_ALERT_FORGOTTEN, struct gpumon_alert, forgotten),
	};
	struct gpumon_alert new = { 0 }, *alert = NULL;
	int ret = gpumon_parse_flat(message, len, command, GPUMON_FIELDS(fields), &new);

	if (!ret) {
		alert = gpumon_model_add_alert(model);
		ret = alert ? 0 : -ENOMEM;
	}
	if (ret)
		gpumon_alert_clear(&new);
	else
		*alert = new;
	return ret;
}
