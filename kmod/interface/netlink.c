// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: the interface that programs use. Documentation/netlink/specs/gpumon.yaml
 * describes it; tests/style/netlink-spec.py compares the policies and operations here with it.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/ktime.h>
#include <net/genetlink.h>

#include "account.h"
#include "attach/probe.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "compat/genetlink.h"
#include "core/fault.h"
#include "core/period.h"
#include "drivers/drm_sched/hang.h"
#include "drivers/drm_sched/job.h"
#include "drivers/drm_sched/ring.h"
#include "netlink.h"

#define GROUP_NAME_MAX 31

static const struct nla_policy group_get_policy[GPUMON_A_GROUP_MAX + 1] = {
	[GPUMON_A_GROUP_NAME] = { .type = NLA_NUL_STRING, .len = GROUP_NAME_MAX },
	[GPUMON_A_GROUP_PERIOD] = { .type = NLA_U32 },
};

static const struct nla_policy group_set_policy[GPUMON_A_GROUP_MAX + 1] = {
	[GPUMON_A_GROUP_NAME] = { .type = NLA_NUL_STRING, .len = GROUP_NAME_MAX },
	[GPUMON_A_GROUP_ENABLED] = NLA_POLICY_MAX(NLA_U32, 1),
};

static const struct nla_policy statistic_get_policy[GPUMON_A_STATISTIC_MAX + 1] = {
	[GPUMON_A_STATISTIC_PERIOD] = { .type = NLA_U32 },
};

static const struct nla_policy process_get_policy[GPUMON_A_PROCESS_MAX + 1] = {
	[GPUMON_A_PROCESS_PERIOD] = { .type = NLA_U32 },
};

/* A range is a pointer to const only from 6.7 on. */
static struct netlink_range_validation event_ring_size_range = {
	.min = GPUMON_EVENT_RING_MIN_KIB,
	.max = GPUMON_EVENT_RING_MAX_KIB,
};

static const struct nla_policy event_ring_set_policy[GPUMON_A_EVENT_RING_MAX + 1] = {
	[GPUMON_A_EVENT_RING_ENABLED] = NLA_POLICY_MAX(NLA_U32, 1),
	[GPUMON_A_EVENT_RING_SIZE_KIB] = NLA_POLICY_FULL_RANGE(NLA_U32, &event_ring_size_range),
};

static struct netlink_range_validation limit_range = {
	.min = 0,
	.max = GPUMON_HANG_LIMIT_MAX_MS,
};

static const struct nla_policy limit_set_policy[GPUMON_A_LIMIT_MAX + 1] = {
	[GPUMON_A_LIMIT_HANG_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &limit_range),
	[GPUMON_A_LIMIT_STARVED_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &limit_range),
};

/* Room for the answer to a do request. */
static struct sk_buff *reply_new(struct genl_info *info, size_t size)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (!skb)
		GENL_SET_ERR_MSG(info, GPUMON_NO_MEMORY);
	return skb;
}

/* Send @skb with what @fill writes, or free it. */
static int reply_send(struct sk_buff *skb, struct genl_info *info,
		      int (*fill)(struct sk_buff *skb, void *arg), void *arg)
{
	void *header;
	int ret;

	header = genlmsg_put_reply(skb, info, &gpumon_family, 0, info->genlhdr->cmd);
	ret = header ? fill(skb, arg) : -EMSGSIZE;
	if (ret) {
		nlmsg_free(skb);
		return ret;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

static int reply_with(struct genl_info *info, size_t size,
		      int (*fill)(struct sk_buff *skb, void *arg), void *arg)
{
	struct sk_buff *skb = reply_new(info, size);

	return skb ? reply_send(skb, info, fill, arg) : -ENOMEM;
}

static int put_missing_option(void *skb, const char *option, const char *lost)
{
	struct nlattr *nest = nla_nest_start(skb, GPUMON_A_INFO_MISSING_OPTION);

	if (!nest || nla_put_string(skb, GPUMON_A_OPTION_NAME, option) ||
	    nla_put_string(skb, GPUMON_A_OPTION_LOST, lost))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* What drm_sched's tables have room for, and hold. */
static int put_info_of_rings(struct sk_buff *skb, int pad)
{
	if (nla_put_u32(skb, GPUMON_A_INFO_MAX_RINGS, gpumon_ring_max) ||
	    nla_put_u32(skb, GPUMON_A_INFO_RINGS, gpumon_ring_count()) ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_RINGS_RETIRED, gpumon_rings_retired, pad) ||
	    nla_put_u32(skb, GPUMON_A_INFO_MAX_JOBS, gpumon_job_max))
		return -EMSGSIZE;
	return 0;
}

static int fill_info(struct sk_buff *skb, void *unused)
{
	const int pad = GPUMON_A_INFO_PAD;
	struct gpumon_process_totals totals;
	struct nlattr *nest;

	gpumon_process_totals(false, &totals);
	if (nla_put_string(skb, GPUMON_A_INFO_VERSION, GPUMON_VERSION) ||
	    nla_put_u32(skb, GPUMON_A_INFO_SCHEMA, GPUMON_SCHEMA) ||
	    nla_put_string(skb, GPUMON_A_INFO_CLOCK, "monotonic") ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_NOW_NS, ktime_get_mono_fast_ns(), pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_SINCE_NS, gpumon_period.since_ns, pad) ||
	    nla_put_u32(skb, GPUMON_A_INFO_PERIOD, gpumon_period.number) ||
	    nla_put_u32(skb, GPUMON_A_INFO_POSSIBLE_CPUS, num_possible_cpus()) ||
	    (GPUMON_HAS_drm_sched && put_info_of_rings(skb, pad)) ||
	    nla_put_u32(skb, GPUMON_A_INFO_MAX_PROCESSES, gpumon_process_max) ||
	    nla_put_u32(skb, GPUMON_A_INFO_PROCESSES, gpumon_table_used(&gpumon_process_table)) ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_PROCESSES_EXITED, totals.exited, pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_JOBS_EXITED, totals.words[GPUMON_PROCESS_JOBS],
			      pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_JOBS_UNATTRIBUTED,
			      gpumon_process_unattributed(false, GPUMON_PROCESS_JOBS), pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_INFO_MEMORY_BYTES, gpumon_account_bytes(), pad))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, GPUMON_A_INFO_EXITED);
	if (!nest || gpumon_netlink_put_process_words(skb, totals.words))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return gpumon_missing_options(put_missing_option, skb);
}

static int info_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret;

	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	ret = reply_with(info, NLMSG_GOODSIZE, fill_info, NULL);
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	return ret;
}

static int fill_probe(struct sk_buff *skb, const struct gpumon_probe *probe, bool closed)
{
	static const int drop_attrs[GPUMON_DROPS] = {
		[GPUMON_DROP_TABLE_FULL] = GPUMON_A_DROPS_TABLE_FULL,
		[GPUMON_DROP_RECURSION] = GPUMON_A_DROPS_RECURSION,
		[GPUMON_DROP_UNREADABLE] = GPUMON_A_DROPS_UNREADABLE,
		[GPUMON_DROP_MISSED] = GPUMON_A_DROPS_MISSED,
		[GPUMON_DROP_NO_MEMORY] = GPUMON_A_DROPS_NO_MEMORY,
	};
	const int pad = GPUMON_A_PROBE_PAD;
	struct gpumon_probe_view view;
	struct nlattr *nest;
	int i;

	gpumon_probe_read(probe, closed, &view);
	if (nla_put_string(skb, GPUMON_A_PROBE_NAME, probe->name) ||
	    nla_put_string(skb, GPUMON_A_PROBE_MODULE, gpumon_probe_module_name(probe)) ||
	    nla_put_u32(skb, GPUMON_A_PROBE_KIND, probe->kind) ||
	    nla_put_u32(skb, GPUMON_A_PROBE_STATE, probe->state) ||
	    nla_put_string(skb, GPUMON_A_PROBE_REASON, probe->reason) ||
	    nla_put_u64_64bit(skb, GPUMON_A_PROBE_SEEN, view.seen, pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_PROBE_RECORDED, view.words[GPUMON_PROBE_RECORDED], pad))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, GPUMON_A_PROBE_DROPPED);
	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < GPUMON_DROPS; i++)
		if (nla_put_u64_64bit(skb, drop_attrs[i], view.words[GPUMON_PROBE_DROPPED + i],
				      GPUMON_A_DROPS_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

struct group_request {
	const struct gpumon_group *group;
	bool closed;
};

static int fill_group(struct sk_buff *skb, void *arg)
{
	const struct group_request *request = arg;
	const struct gpumon_group *group = request->group;
	const struct gpumon_probe *probe;
	enum gpumon_attach_state state;
	struct nlattr *nest;
	const char *reason;

	state = gpumon_group_state(group, &reason);
	if (nla_put_string(skb, GPUMON_A_GROUP_NAME, group->name) ||
	    nla_put_u32(skb, GPUMON_A_GROUP_ENABLED, group->enabled) ||
	    nla_put_u32(skb, GPUMON_A_GROUP_STATE, state) ||
	    nla_put_string(skb, GPUMON_A_GROUP_REASON, reason))
		return -EMSGSIZE;
	for_each_probe(group, probe) {
		nest = nla_nest_start(skb, GPUMON_A_GROUP_PROBE);
		if (!nest || fill_probe(skb, probe, request->closed))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

/* Room for a group with all its probes. */
static size_t group_bytes(const struct gpumon_group *group)
{
	return 512 + group->count * 640;
}

/* A group is sent whole, it may be larger than the usual buffer. */
static int group_get_start(struct netlink_callback *cb)
{
	const struct gpumon_group *group;
	size_t most = 0;
	unsigned int g;

	for_each_group(group, g)
		most = max(most, group_bytes(group));
	cb->min_dump_alloc = most;
	return 0;
}

static struct gpumon_group *group_asked(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[GPUMON_A_GROUP_NAME];
	struct gpumon_group *group;

	if (!attr) {
		GENL_SET_ERR_MSG(info, "the name of a group is needed");
		return ERR_PTR(-EINVAL);
	}
	group = gpumon_group_find(nla_data(attr));
	if (group)
		return group;
	NL_SET_ERR_MSG_ATTR(info->extack, attr, "no group of this name, group-get lists them");
	return ERR_PTR(-ENOENT);
}

static int group_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct group_request request = { .group = group_asked(info) };
	int ret;

	if (IS_ERR(request.group))
		return PTR_ERR(request.group);
	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	ret = gpumon_netlink_period(info->attrs[GPUMON_A_GROUP_PERIOD], &request.closed,
				    info->extack);
	if (!ret)
		ret = reply_with(info, group_bytes(request.group), fill_group, &request);
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	return ret;
}

static int group_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct nlattr *name = gpumon_netlink_dump_attr(cb, GPUMON_A_GROUP_NAME);
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	struct group_request request;
	int ret;

	/*
	 * The policy is that of a request for one group, and allows this attribute. It is not
	 * refused in start(), which has no extack to say why on 6.1.
	 */
	if (name) {
		NL_SET_ERR_MSG_ATTR(cb->extack, name,
				    "a dump has all groups, ask for one without NLM_F_DUMP");
		return -EINVAL;
	}
	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	cb->seq = gpumon_period.number;
	ret = gpumon_netlink_period(gpumon_netlink_dump_attr(cb, GPUMON_A_GROUP_PERIOD),
				    &request.closed, cb->extack);
	for (; !ret && state->index < gpumon_group_count; state->index++) {
		request.group = gpumon_groups[state->index];
		ret = GPUMON_NETLINK_DUMP(skb, cb, GPUMON_CMD_GROUP_GET, fill_group(skb, &request));
		if (ret)
			break;
	}
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	return gpumon_netlink_dump_end(skb, ret);
}

static int group_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gpumon_group *group = group_asked(info);

	if (IS_ERR(group))
		return PTR_ERR(group);
	if (!info->attrs[GPUMON_A_GROUP_ENABLED]) {
		GENL_SET_ERR_MSG(info, "enabled is needed, 1 for on or 0 for off");
		return -EINVAL;
	}
	mutex_lock(&gpumon_probe_lock);
	gpumon_group_set(group, nla_get_u32(info->attrs[GPUMON_A_GROUP_ENABLED]));
	mutex_unlock(&gpumon_probe_lock);
	return 0;
}

static int fill_event_ring(struct sk_buff *skb, void *unused)
{
	const int pad = GPUMON_A_EVENT_RING_PAD;
	struct gpumon_event_ring_view view;

	gpumon_event_ring_read(&view);
	if (nla_put_u32(skb, GPUMON_A_EVENT_RING_ENABLED, view.enabled) ||
	    nla_put_u32(skb, GPUMON_A_EVENT_RING_SIZE_KIB, view.size_kib) ||
	    nla_put_u64_64bit(skb, GPUMON_A_EVENT_RING_WRITTEN, view.written, pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_EVENT_RING_OVERWRITTEN, view.overwritten, pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_EVENT_RING_DELIVERED, view.delivered, pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_EVENT_RING_PENDING, view.pending, pad) ||
	    nla_put_u64_64bit(skb, GPUMON_A_EVENT_RING_DROPPED, view.dropped, pad))
		return -EMSGSIZE;
	return 0;
}

static int event_ring_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return reply_with(info, NLMSG_GOODSIZE, fill_event_ring, NULL);
}

static int event_ring_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *enabled = info->attrs[GPUMON_A_EVENT_RING_ENABLED];
	struct nlattr *size = info->attrs[GPUMON_A_EVENT_RING_SIZE_KIB];
	bool on = enabled && nla_get_u32(enabled);
	u32 size_kib = size ? nla_get_u32(size) : 0;

	if (!enabled && !size) {
		GENL_SET_ERR_MSG(info, "enabled or size-kib is needed");
		return -EINVAL;
	}
	return gpumon_event_ring_set(enabled ? &on : NULL, size ? &size_kib : NULL, info->extack);
}

static int fill_limits(struct sk_buff *skb, void *unused)
{
	struct gpumon_hang_limits limits;

	mutex_lock(&gpumon_period_lock);
	gpumon_hang_limits(&limits);
	mutex_unlock(&gpumon_period_lock);
	if (nla_put_u32(skb, GPUMON_A_LIMIT_HANG_MS, limits.hang_ms) ||
	    nla_put_u32(skb, GPUMON_A_LIMIT_STARVED_MS, limits.starved_ms))
		return -EMSGSIZE;
	return 0;
}

static int limit_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return reply_with(info, NLMSG_GOODSIZE, fill_limits, NULL);
}

static int limit_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *hang = info->attrs[GPUMON_A_LIMIT_HANG_MS];
	struct nlattr *starved = info->attrs[GPUMON_A_LIMIT_STARVED_MS];
	u32 hang_ms = hang ? nla_get_u32(hang) : 0;
	u32 starved_ms = starved ? nla_get_u32(starved) : 0;

	if (!hang && !starved) {
		GENL_SET_ERR_MSG(info, "hang-ms or starved-ms is needed, 0 is off");
		return -EINVAL;
	}
	return gpumon_hang_limits_set(hang ? &hang_ms : NULL, starved ? &starved_ms : NULL,
				      info->extack);
}

static int fill_period(struct sk_buff *skb, void *unused)
{
	if (nla_put_u32(skb, GPUMON_A_PERIOD_CLOSED, gpumon_period.number - 1) ||
	    nla_put_u64_64bit(skb, GPUMON_A_PERIOD_CLOSED_SINCE_NS, gpumon_period.closed_since_ns,
			      GPUMON_A_PERIOD_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_PERIOD_CLOSED_AT_NS, gpumon_period.since_ns,
			      GPUMON_A_PERIOD_PAD))
		return -EMSGSIZE;
	return 0;
}

static int reset_doit(struct sk_buff *skb, struct genl_info *info)
{
	/* Checked before the period ends: a request that is refused must not change it. */
	struct sk_buff *answer = reply_new(info, NLMSG_GOODSIZE);
	int ret;

	if (!answer)
		return -ENOMEM;
	mutex_lock(&gpumon_period_lock);
	ret = gpumon_account_close();
	if (ret) {
		GENL_SET_ERR_MSG(info, GPUMON_NO_MEMORY);
		nlmsg_free(answer);
	} else {
		ret = reply_send(answer, info, fill_period, NULL);
	}
	mutex_unlock(&gpumon_period_lock);
	return ret;
}

/* Requests to parts that `make modules` was told to leave out. */
static int events_left_out(struct sk_buff *skb, struct genl_info *info)
{
	GENL_SET_ERR_MSG(info, "this gpumon was built without the event ring: build it without EVENTS=no, or NETLINK=no or DEBUGFS=no");
	return -EOPNOTSUPP;
}

#define ALERTS_LEFT_OUT "this gpumon was built without alerts: build it without ALERTS=no, and with drm_sched for limits of jobs"

static int limits_left_out(struct sk_buff *skb, struct genl_info *info)
{
	GENL_SET_ERR_MSG(info, ALERTS_LEFT_OUT);
	return -EOPNOTSUPP;
}

static int alerts_left_out(struct sk_buff *skb, struct netlink_callback *cb)
{
	NL_SET_ERR_MSG(cb->extack, ALERTS_LEFT_OUT);
	return -EOPNOTSUPP;
}

#define EVENTS_OR(operation) (GPUMON_HAS_EVENTS ? (operation) : events_left_out)
#define LIMITS_OR(operation) (GPUMON_HAS_HANGS ? (operation) : limits_left_out)
#define ALERTS_OR(operation) (GPUMON_HAS_ALERTS ? (operation) : alerts_left_out)

/* Answers have pids and names of other users: all operations need privilege. */
#define OPERATION(command) .cmd = GPUMON_CMD_##command, .flags = GENL_ADMIN_PERM
#define POLICY(operation, object) \
	.policy = operation##_policy, .maxattr = GPUMON_A_##object##_MAX

/* clang-format off */
static const struct genl_ops gpumon_ops[] = {
	{ OPERATION(INFO_GET), .doit = info_get_doit },
	{ OPERATION(GROUP_GET), POLICY(group_get, GROUP), .doit = group_get_doit,
	  .start = group_get_start, .dumpit = group_get_dumpit },
	{ OPERATION(GROUP_SET), POLICY(group_set, GROUP), .doit = group_set_doit },
	{ OPERATION(PROCESS_GET), POLICY(process_get, PROCESS),
	  .dumpit = gpumon_netlink_process_get },
	{ OPERATION(EVENT_RING_GET), .doit = EVENTS_OR(event_ring_get_doit) },
	{ OPERATION(EVENT_RING_SET), POLICY(event_ring_set, EVENT_RING),
	  .doit = EVENTS_OR(event_ring_set_doit) },
	{ OPERATION(RESET), .doit = reset_doit },
	{ OPERATION(STATISTIC_GET), POLICY(statistic_get, STATISTIC),
	  .start = gpumon_netlink_statistic_start, .dumpit = gpumon_netlink_statistic_get },
	{ OPERATION(LAYOUT_GET), .dumpit = gpumon_netlink_layout_get },
	{ OPERATION(ALERT_GET), .dumpit = ALERTS_OR(gpumon_netlink_alert_get) },
	{ OPERATION(LIMIT_GET), .doit = LIMITS_OR(limit_get_doit) },
	{ OPERATION(LIMIT_SET), POLICY(limit_set, LIMIT), .doit = LIMITS_OR(limit_set_doit) },
};
/* clang-format on */

/* admin-perm of the operations does not cover the multicast groups. */
static const struct genl_multicast_group gpumon_mcgrps[] = {
	GPUMON_COMPAT_GENL_MCAST(GPUMON_MCGRP_ALERTS)
};

struct genl_family gpumon_family __ro_after_init = {
	.name = GPUMON_FAMILY_NAME,
	.version = GPUMON_FAMILY_VERSION,
	.module = THIS_MODULE,
	.netnsok = false,
	/*
	 * Without parallel_ops, a command that waits for probes to end stalls those of all other
	 * families.
	 */
	.parallel_ops = true,
	.ops = gpumon_ops,
	.n_ops = ARRAY_SIZE(gpumon_ops),
	.mcgrps = gpumon_mcgrps,
	.n_mcgrps = GPUMON_HAS_ALERTS ? ARRAY_SIZE(gpumon_mcgrps) : 0,
};

/**
 * gpumon_netlink_init - register the family
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int gpumon_netlink_init(void)
{
	return GPUMON_REGISTER("genl_register_family", NULL, genl_register_family(&gpumon_family));
}

/**
 * gpumon_netlink_exit - unregister the family, waits for requests under way
 *
 * Context: may sleep.
 */
void gpumon_netlink_exit(void)
{
	genl_unregister_family(&gpumon_family);
}
