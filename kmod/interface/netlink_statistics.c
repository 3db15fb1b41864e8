// SPDX-License-Identifier: GPL-2.0-only
/* Generic netlink: the tables of statistics, and the layouts that they depend on. */
#include <linux/mm.h>
#include <net/genetlink.h>

#include "attach/probe.h"
#include "core/period.h"
#include "core/statistics.h"
#include "netlink.h"

/* Room for a row with many columns, or a histogram with every bucket in use. */
#define ROW_BYTES (GPUMON_HISTOGRAM_BUCKETS(42) * 48 + 1024)

static int put_labels(struct sk_buff *skb, const struct gpumon_statistics *statistics, u32 row)
{
	struct nlattr *nest;
	int i;

	for (i = 0; i < GPUMON_LABELS && statistics->labels[i]; i++) {
		nest = nla_nest_start(skb, GPUMON_A_STATISTIC_LABEL);
		if (!nest || nla_put_string(skb, GPUMON_A_LABEL_NAME, statistics->labels[i]) ||
		    nla_put_string(skb, GPUMON_A_LABEL_VALUE, gpumon_row_label(statistics, row, i)) ||
		    (statistics->numbers & BIT(i) && nla_put_flag(skb, GPUMON_A_LABEL_NUMBER)))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

static int put_histogram(struct sk_buff *skb, const struct gpumon_statistics *statistics,
			 u32 column, const struct gpumon_row_view *view)
{
	struct gpumon_distribution d;

	gpumon_row_distribution(statistics, column, view, &d);
	if (nla_put_u64_64bit(skb, GPUMON_A_COLUMN_COUNT, d.count, GPUMON_A_COLUMN_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_COLUMN_SUM, d.sum, GPUMON_A_COLUMN_PAD))
		return -EMSGSIZE;
	if (!d.count)
		return 0;
	if (nla_put_u64_64bit(skb, GPUMON_A_COLUMN_MIN_VALUE, d.min, GPUMON_A_COLUMN_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_COLUMN_MAX_VALUE, d.max, GPUMON_A_COLUMN_PAD))
		return -EMSGSIZE;
	return 0;
}

static int put_gauge(struct sk_buff *skb, const struct gpumon_statistics *statistics, u32 row,
		     u32 column, const struct gpumon_row_view *view)
{
	if (!gpumon_row_level_known(statistics, row, column))
		return 0;
	if (nla_put_s64(skb, GPUMON_A_COLUMN_LEVEL, view->level[column], GPUMON_A_COLUMN_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_COLUMN_HIGHEST,
			      view->words[statistics->places[column].extreme], GPUMON_A_COLUMN_PAD))
		return -EMSGSIZE;
	return 0;
}

static int put_column(struct sk_buff *skb, const struct gpumon_group *group,
		      const struct gpumon_statistics *statistics, u32 row, u32 column,
		      const struct gpumon_row_view *view, bool buckets)
{
	const struct gpumon_column *described = &statistics->columns[column];
	const struct gpumon_place *place = &statistics->places[column];
	struct nlattr *nest = nla_nest_start(skb, GPUMON_A_STATISTIC_COLUMN);
	int ret = 0;

	if (!nest || nla_put_string(skb, GPUMON_A_COLUMN_NAME, described->name) ||
	    nla_put_u32(skb, GPUMON_A_COLUMN_KIND, described->kind))
		return -EMSGSIZE;
	if (!gpumon_group_column_known(group, statistics, row, column))
		goto end;
	switch (described->kind) {
	case GPUMON_COLUMN_KIND_GAUGE:
		ret = put_gauge(skb, statistics, row, column, view);
		break;
	case GPUMON_COLUMN_KIND_HISTOGRAM:
		ret = put_histogram(skb, statistics, column, view);
		if (!ret && buckets)
			ret = gpumon_netlink_put_buckets(skb, GPUMON_A_COLUMN_BUCKET,
							 view->words + place->bucket,
							 place->buckets);
		break;
	default:
		ret = nla_put_u64_64bit(skb, GPUMON_A_COLUMN_VALUE, view->words[column],
					GPUMON_A_COLUMN_PAD);
	}
end:
	nla_nest_end(skb, nest);
	return ret;
}

/* Part 0 is the whole row, part i + 1 column i with its buckets. */
static int put_part(struct sk_buff *skb, const struct gpumon_group *group,
		    const struct gpumon_statistics *statistics, u32 row, u32 part,
		    const struct gpumon_row_view *view)
{
	u32 column;
	int ret;

	if (nla_put_string(skb, GPUMON_A_STATISTIC_GROUP, group->name) ||
	    nla_put_string(skb, GPUMON_A_STATISTIC_TABLE, statistics->name) ||
	    nla_put_u32(skb, GPUMON_A_STATISTIC_ROW, row))
		return -EMSGSIZE;
	if (part)
		return put_column(skb, group, statistics, row, part - 1, view, true);
	ret = put_labels(skb, statistics, row);
	for (column = 0; !ret && column < statistics->column_count; column++)
		ret = put_column(skb, group, statistics, row, column, view, false);
	return ret;
}

static bool part_wanted(const struct gpumon_group *group,
			const struct gpumon_statistics *statistics, u32 row, u32 part,
			const struct gpumon_row_view *view)
{
	struct gpumon_distribution d;

	if (!part)
		return true;
	if (statistics->columns[part - 1].kind != GPUMON_COLUMN_KIND_HISTOGRAM ||
	    !gpumon_group_column_known(group, statistics, row, part - 1))
		return false;
	gpumon_row_distribution(statistics, part - 1, view, &d);
	return d.count;
}

static int dump_row(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct gpumon_group *group, const struct gpumon_statistics *statistics,
		    const struct gpumon_row_view *view)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	int ret;

	for (; state->part <= statistics->column_count; state->part++) {
		if (!part_wanted(group, statistics, state->index, state->part, view))
			continue;
		ret = GPUMON_NETLINK_DUMP(skb, cb, GPUMON_CMD_STATISTIC_GET,
					  put_part(skb, group, statistics, state->index,
						   state->part, view));
		if (ret)
			return ret;
	}
	state->part = 0;
	return 0;
}

static int dump_table(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct gpumon_group *group, const struct gpumon_statistics *statistics,
		      bool closed, struct gpumon_row_view *view)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	int ret;

	for (; state->index < statistics->table.slots; state->index++) {
		if (!gpumon_row_read(statistics, state->index, closed, view)) {
			/* The row may have been released between two of its parts. */
			state->part = 0;
			continue;
		}
		ret = dump_row(skb, cb, group, statistics, view);
		if (ret)
			return ret;
	}
	state->index = 0;
	return 0;
}

/* Number that rises when any table gets a row or a period ends. */
static unsigned int statistics_generation(void)
{
	const struct gpumon_group *group;
	unsigned int g, i, sum = 1;

	for_each_group(group, g) {
		for (i = 0; i < group->statistics_count; i++)
			sum += atomic_read(&group->statistics[i]->generation);
	}
	return sum ?: 1;
}

int gpumon_netlink_statistic_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = ROW_BYTES;
	return 0;
}

int gpumon_netlink_statistic_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	struct gpumon_row_view *view = gpumon_row_view_alloc();
	const struct gpumon_group *group;
	bool closed;
	int ret;

	if (!view) {
		NL_SET_ERR_MSG(cb->extack, GPUMON_NO_MEMORY);
		return -ENOMEM;
	}
	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	cb->seq = statistics_generation();
	ret = gpumon_netlink_period(gpumon_netlink_dump_attr(cb, GPUMON_A_STATISTIC_PERIOD),
				    &closed, cb->extack);
	for (; !ret && state->group < gpumon_group_count; state->group++, state->table = 0) {
		group = gpumon_groups[state->group];
		for (; state->table < group->statistics_count; state->table++) {
			ret = dump_table(skb, cb, group, group->statistics[state->table], closed,
					 view);
			if (ret)
				goto unlock;
		}
	}
unlock:
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	kvfree(view);
	return gpumon_netlink_dump_end(skb, ret);
}

static int put_field(struct sk_buff *skb, const struct gpumon_group *group,
		     const struct gpumon_field *field)
{
	if (nla_put_string(skb, GPUMON_A_LAYOUT_GROUP, group->name) ||
	    nla_put_string(skb, GPUMON_A_LAYOUT_MODULE, field->module ?: "vmlinux") ||
	    nla_put_string(skb, GPUMON_A_LAYOUT_TYPE, field->type) ||
	    nla_put_string(skb, GPUMON_A_LAYOUT_MEMBER, field->member) ||
	    nla_put_string(skb, GPUMON_A_LAYOUT_REASON, field->reason))
		return -EMSGSIZE;
	if (!gpumon_field_known(field))
		return 0;
	if (nla_put_u32(skb, GPUMON_A_LAYOUT_OFFSET, field->offset) ||
	    nla_put_u32(skb, GPUMON_A_LAYOUT_SIZE, field->found_size))
		return -EMSGSIZE;
	return 0;
}

int gpumon_netlink_layout_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	const struct gpumon_group *group;
	int ret = 0;

	mutex_lock(&gpumon_probe_lock);
	/* The fields are always the same; their state may change during the dump. */
	cb->seq = 1;
	for (; state->group < gpumon_group_count; state->group++, state->index = 0) {
		group = gpumon_groups[state->group];
		for (; state->index < group->field_count; state->index++) {
			ret = GPUMON_NETLINK_DUMP(skb, cb, GPUMON_CMD_LAYOUT_GET,
						  put_field(skb, group,
							    &group->fields[state->index]));
			if (ret)
				goto unlock;
		}
	}
unlock:
	mutex_unlock(&gpumon_probe_lock);
	return gpumon_netlink_dump_end(skb, ret);
}
