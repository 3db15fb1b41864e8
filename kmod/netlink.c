// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: the interface that programs use. Its description is
 * Documentation/netlink/specs/gpumon.yaml, which the policies and operations
 * here are held against by tests/style/netlink-spec.py.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/ktime.h>
#include <net/genetlink.h>

#include "compat/genetlink.h"
#include "event_ring.h"
#include "info.h"
#include "netlink.h"
#include "period.h"
#include "probe.h"
#include "process.h"
#include "ring.h"

#define GROUP_NAME_MAX 31

/* A histogram with every bucket in use. */
#define HISTOGRAM_BYTES (GPUMON_LATENCY_BUCKETS * 48 + 256)

static struct genl_family gpumon_family;

static const struct nla_policy group_get_policy[GPUMON_A_GROUP_MAX + 1] = {
	[GPUMON_A_GROUP_NAME] = { .type = NLA_NUL_STRING, .len = GROUP_NAME_MAX },
	[GPUMON_A_GROUP_PERIOD] = { .type = NLA_U32 },
};

static const struct nla_policy group_set_policy[GPUMON_A_GROUP_MAX + 1] = {
	[GPUMON_A_GROUP_NAME] = { .type = NLA_NUL_STRING, .len = GROUP_NAME_MAX },
	[GPUMON_A_GROUP_ENABLED] = NLA_POLICY_MAX(NLA_U32, 1),
};

static const struct nla_policy ring_get_policy[GPUMON_A_RING_MAX + 1] = {
	[GPUMON_A_RING_PERIOD] = { .type = NLA_U32 },
};

static const struct nla_policy histogram_get_policy[GPUMON_A_HISTOGRAM_MAX + 1] = {
	[GPUMON_A_HISTOGRAM_PERIOD] = { .type = NLA_U32 },
};

static const struct nla_policy process_get_policy[GPUMON_A_PROCESS_MAX + 1] = {
	[GPUMON_A_PROCESS_PERIOD] = { .type = NLA_U32 },
};

static struct netlink_range_validation event_ring_size_range = {
	.min = GPUMON_EVENT_RING_MIN_KIB,
	.max = GPUMON_EVENT_RING_MAX_KIB,
};

static const struct nla_policy event_ring_set_policy[GPUMON_A_EVENT_RING_MAX + 1] = {
	[GPUMON_A_EVENT_RING_ENABLED] = NLA_POLICY_MAX(NLA_U32, 1),
	[GPUMON_A_EVENT_RING_SIZE_KIB] = NLA_POLICY_FULL_RANGE(NLA_U32, &event_ring_size_range),
};

/* What a dump in parts remembers; the rest of it is counted from here. */
struct dump_state {
	u32 index;
	u32 part;
};

static struct dump_state *dump_state(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct dump_state) > sizeof(cb->ctx));
	return (struct dump_state *)cb->ctx;
}

/*
 * Which period is asked for. gpumon_period_lock held.
 * Return: 0 with @closed set, or -ESTALE.
 */
static int period_asked(const struct nlattr *attr, bool *closed, struct netlink_ext_ack *extack)
{
	*closed = false;
	if (!attr || nla_get_u32(attr) == gpumon_period.number)
		return 0;
	if (nla_get_u32(attr) && nla_get_u32(attr) == gpumon_period.number - 1) {
		*closed = true;
		return 0;
	}
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "only the current period and the one before it are kept");
	return -ESTALE;
}

static int put_u64(struct sk_buff *skb, int type, u64 value, int pad)
{
	return nla_put_u64_64bit(skb, type, value, pad);
}

/* Send the answer to a do request that @fill writes. */
static int reply(struct genl_info *info, size_t size,
		 int (*fill)(struct sk_buff *skb, void *arg), void *arg)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);
	void *header;
	int ret;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &gpumon_family, 0, info->genlhdr->cmd);
	ret = header ? fill(skb, arg) : -EMSGSIZE;
	if (ret) {
		nlmsg_free(skb);
		return ret;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* Begin of one message of a dump, marked where the table changes between two of them. */
static void *dump_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &gpumon_family, NLM_F_MULTI, cmd);

	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

static const struct nlattr *dump_attr(struct netlink_callback *cb, int type)
{
	struct nlattr **attrs = gpumon_compat_genl_dump_attrs(cb);

	return attrs ? attrs[type] : NULL;
}

static int fill_info(struct sk_buff *skb, void *unused)
{
	const int pad = GPUMON_A_INFO_PAD;
	struct gpumon_process_totals totals;

	gpumon_process_totals(false, &totals);
	if (nla_put_string(skb, GPUMON_A_INFO_VERSION, GPUMON_VERSION) ||
	    nla_put_u32(skb, GPUMON_A_INFO_SCHEMA, GPUMON_SCHEMA) ||
	    nla_put_string(skb, GPUMON_A_INFO_CLOCK, "monotonic") ||
	    put_u64(skb, GPUMON_A_INFO_NOW_NS, ktime_get_mono_fast_ns(), pad) ||
	    put_u64(skb, GPUMON_A_INFO_SINCE_NS, gpumon_period.since_ns, pad) ||
	    nla_put_u32(skb, GPUMON_A_INFO_PERIOD, gpumon_period.number) ||
	    nla_put_u32(skb, GPUMON_A_INFO_POSSIBLE_CPUS, num_possible_cpus()) ||
	    nla_put_u32(skb, GPUMON_A_INFO_MAX_RINGS, gpumon_max_rings) ||
	    nla_put_u32(skb, GPUMON_A_INFO_RINGS, gpumon_table_used(&gpumon_ring_table)) ||
	    put_u64(skb, GPUMON_A_INFO_RINGS_RETIRED, gpumon_rings_retired, pad) ||
	    nla_put_u32(skb, GPUMON_A_INFO_MAX_PROCESSES, gpumon_max_processes) ||
	    nla_put_u32(skb, GPUMON_A_INFO_PROCESSES, gpumon_table_used(&gpumon_process_table)) ||
	    put_u64(skb, GPUMON_A_INFO_PROCESSES_EXITED, totals.exited, pad) ||
	    put_u64(skb, GPUMON_A_INFO_JOBS_EXITED, totals.jobs_exited, pad) ||
	    nla_put_u32(skb, GPUMON_A_INFO_MAX_JOBS, gpumon_max_jobs) ||
	    put_u64(skb, GPUMON_A_INFO_JOBS_UNATTRIBUTED, gpumon_jobs_unattributed(false), pad) ||
	    put_u64(skb, GPUMON_A_INFO_MEMORY_BYTES, gpumon_memory_bytes(), pad))
		return -EMSGSIZE;
	return 0;
}

static int info_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret;

	mutex_lock(&gpumon_period_lock);
	ret = reply(info, NLMSG_GOODSIZE, fill_info, NULL);
	mutex_unlock(&gpumon_period_lock);
	return ret;
}

static int fill_probe(struct sk_buff *skb, const struct gpumon_probe *probe, bool closed)
{
	static const int drop_attrs[GPUMON_DROPS] = {
		[GPUMON_DROP_TABLE_FULL] = GPUMON_A_DROPS_TABLE_FULL,
		[GPUMON_DROP_RECURSION] = GPUMON_A_DROPS_RECURSION,
		[GPUMON_DROP_UNTRACKED] = GPUMON_A_DROPS_UNTRACKED,
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
	    put_u64(skb, GPUMON_A_PROBE_SEEN, view.words[GPUMON_PROBE_SEEN], pad) ||
	    put_u64(skb, GPUMON_A_PROBE_RECORDED, view.words[GPUMON_PROBE_RECORDED], pad))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, GPUMON_A_PROBE_DROPPED);
	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < GPUMON_DROPS; i++)
		if (put_u64(skb, drop_attrs[i], view.words[GPUMON_PROBE_DROPPED + i],
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
	for (probe = group->probes; probe < group->probes + group->count; probe++) {
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
	return 512 + group->count * 512;
}

static const struct gpumon_group *group_asked(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[GPUMON_A_GROUP_NAME];
	const struct gpumon_group *group;

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
	ret = period_asked(info->attrs[GPUMON_A_GROUP_PERIOD], &request.closed, info->extack);
	if (!ret)
		ret = reply(info, group_bytes(request.group), fill_group, &request);
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	return ret;
}

static int group_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dump_state *state = dump_state(cb);
	struct group_request request;
	void *header;
	int ret;

	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	cb->seq = gpumon_period.number;
	ret = period_asked(dump_attr(cb, GPUMON_A_GROUP_PERIOD), &request.closed, cb->extack);
	for (; !ret && state->index < gpumon_group_count; state->index++) {
		request.group = gpumon_groups[state->index];
		header = dump_begin(skb, cb, GPUMON_CMD_GROUP_GET);
		if (!header || fill_group(skb, &request)) {
			if (header)
				genlmsg_cancel(skb, header);
			ret = -EMSGSIZE;
			break;
		}
		genlmsg_end(skb, header);
	}
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	return ret == -EMSGSIZE && skb->len ? (int)skb->len : ret ?: (int)skb->len;
}

static int group_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct gpumon_group *group = group_asked(info);
	int ret;

	if (IS_ERR(group))
		return PTR_ERR(group);
	if (!info->attrs[GPUMON_A_GROUP_ENABLED]) {
		GENL_SET_ERR_MSG(info, "enabled is needed, 1 for on or 0 for off");
		return -EINVAL;
	}
	mutex_lock(&gpumon_probe_lock);
	ret = gpumon_group_set((struct gpumon_group *)group,
			       nla_get_u32(info->attrs[GPUMON_A_GROUP_ENABLED]));
	mutex_unlock(&gpumon_probe_lock);
	return ret;
}

static int fill_ring(struct sk_buff *skb, u32 slot, const struct gpumon_ring_view *view)
{
	static const struct {
		u8 attr;
		u8 word;
	} counters[] = {
		{ GPUMON_A_RING_QUEUED, GPUMON_RING_QUEUED },
		{ GPUMON_A_RING_RUN, GPUMON_RING_RUN },
		{ GPUMON_A_RING_DONE, GPUMON_RING_DONE },
		{ GPUMON_A_RING_ERRORS, GPUMON_RING_ERRORS },
		{ GPUMON_A_RING_KILLED, GPUMON_RING_KILLED },
		{ GPUMON_A_RING_DEPENDENCY_WAITS, GPUMON_RING_WAITS },
		{ GPUMON_A_RING_UNTRACKED, GPUMON_RING_UNTRACKED },
		{ GPUMON_A_RING_JOBS_TABLE_FULL, GPUMON_RING_JOBS_TABLE_FULL },
		{ GPUMON_A_RING_CLOCK_BACKWARDS, GPUMON_RING_BACKWARDS },
	};
	unsigned int i;

	if (nla_put_u32(skb, GPUMON_A_RING_ID, slot) ||
	    nla_put_string(skb, GPUMON_A_RING_DEVICE, gpumon_rings[slot].device) ||
	    nla_put_string(skb, GPUMON_A_RING_NAME, gpumon_rings[slot].name) ||
	    nla_put_u32(skb, GPUMON_A_RING_LIVE, view->live))
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		if (put_u64(skb, counters[i].attr, view->words[counters[i].word],
			    GPUMON_A_RING_PAD))
			return -EMSGSIZE;
	if (!view->depth_known)
		return 0;
	if (nla_put_u32(skb, GPUMON_A_RING_QUEUE_DEPTH, view->queue_depth) ||
	    nla_put_u32(skb, GPUMON_A_RING_QUEUE_DEPTH_MAX,
			view->words[GPUMON_RING_QUEUE_DEPTH_MAX]) ||
	    nla_put_u32(skb, GPUMON_A_RING_HW_DEPTH, view->hw_depth) ||
	    nla_put_u32(skb, GPUMON_A_RING_HW_DEPTH_MAX, view->words[GPUMON_RING_HW_DEPTH_MAX]))
		return -EMSGSIZE;
	return 0;
}

static int fill_histogram(struct sk_buff *skb, u32 slot, const struct gpumon_ring_view *view,
			  const struct gpumon_ring_histogram *histogram)
{
	const u64 *bucket = view->words + histogram->first;
	const int pad = GPUMON_A_HISTOGRAM_PAD;
	struct gpumon_distribution d;
	struct nlattr *nest;
	unsigned int i;

	gpumon_ring_distribution(view, histogram, &d);
	if (nla_put_string(skb, GPUMON_A_HISTOGRAM_GROUP, "drm_sched") ||
	    nla_put_u32(skb, GPUMON_A_HISTOGRAM_RING_ID, slot) ||
	    nla_put_string(skb, GPUMON_A_HISTOGRAM_NAME, histogram->name) ||
	    put_u64(skb, GPUMON_A_HISTOGRAM_COUNT, d.count, pad) ||
	    put_u64(skb, GPUMON_A_HISTOGRAM_SUM, d.sum, pad))
		return -EMSGSIZE;
	if (!d.count)
		return 0;
	if (put_u64(skb, GPUMON_A_HISTOGRAM_MIN_VALUE, d.min, pad) ||
	    put_u64(skb, GPUMON_A_HISTOGRAM_MAX_VALUE, d.max, pad))
		return -EMSGSIZE;
	for (i = 0; i < histogram->buckets; i++) {
		if (!bucket[i])
			continue;
		nest = nla_nest_start(skb, GPUMON_A_HISTOGRAM_BUCKET);
		if (!nest ||
		    put_u64(skb, GPUMON_A_BUCKET_GE, gpumon_histogram_lower(i),
			    GPUMON_A_BUCKET_PAD) ||
		    put_u64(skb, GPUMON_A_BUCKET_LT,
			    gpumon_histogram_upper(i, histogram->buckets), GPUMON_A_BUCKET_PAD) ||
		    put_u64(skb, GPUMON_A_BUCKET_COUNT, bucket[i], GPUMON_A_BUCKET_PAD))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

/* The rings, or with @histograms their histograms, as far as they fit into @skb. */
static int dump_rings(struct sk_buff *skb, struct netlink_callback *cb, bool histograms)
{
	struct dump_state *state = dump_state(cb);
	u8 cmd = histograms ? GPUMON_CMD_HISTOGRAM_GET : GPUMON_CMD_RING_GET;
	struct gpumon_ring_view *view;
	void *header;
	bool closed;
	int ret;

	view = kvmalloc(sizeof(*view), GFP_KERNEL);
	if (!view)
		return -ENOMEM;
	mutex_lock(&gpumon_period_lock);
	cb->seq = atomic_read(&gpumon_ring_generation);
	ret = period_asked(dump_attr(cb, histograms ? GPUMON_A_HISTOGRAM_PERIOD :
						      GPUMON_A_RING_PERIOD),
			   &closed, cb->extack);
	for (; !ret && state->index < gpumon_ring_table.slots; state->index++, state->part = 0) {
		if (!gpumon_ring_read(state->index, closed, view))
			continue;
		for (; state->part < (histograms ? GPUMON_RING_HISTOGRAMS : 1); state->part++) {
			header = dump_begin(skb, cb, cmd);
			if (!header)
				ret = -EMSGSIZE;
			else if (histograms)
				ret = fill_histogram(skb, state->index, view,
						     &gpumon_ring_histograms[state->part]);
			else
				ret = fill_ring(skb, state->index, view);
			if (ret) {
				if (header)
					genlmsg_cancel(skb, header);
				goto unlock;
			}
			genlmsg_end(skb, header);
		}
	}
unlock:
	mutex_unlock(&gpumon_period_lock);
	kvfree(view);
	return ret == -EMSGSIZE && skb->len ? (int)skb->len : ret ?: (int)skb->len;
}

static int ring_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_rings(skb, cb, false);
}

static int histogram_get_start(struct netlink_callback *cb)
{
	/* A histogram is sent whole, it may be larger than the usual buffer. */
	cb->min_dump_alloc = HISTOGRAM_BYTES;
	return 0;
}

static int histogram_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_rings(skb, cb, true);
}

static int fill_process(struct sk_buff *skb, u32 slot, bool closed)
{
	const struct gpumon_process *process = &gpumon_processes[slot];
	char comm[TASK_COMM_LEN];
	bool alive;
	u64 jobs;

	gpumon_counters_read(&gpumon_process_counters, slot, closed, &jobs);
	alive = gpumon_process_alive(slot, comm);
	if (nla_put_u32(skb, GPUMON_A_PROCESS_PID, process->pid) ||
	    put_u64(skb, GPUMON_A_PROCESS_START_NS, process->start_ns, GPUMON_A_PROCESS_PAD) ||
	    nla_put_string(skb, GPUMON_A_PROCESS_COMM, comm) ||
	    nla_put_u32(skb, GPUMON_A_PROCESS_ALIVE, alive) ||
	    put_u64(skb, GPUMON_A_PROCESS_JOBS, jobs, GPUMON_A_PROCESS_PAD))
		return -EMSGSIZE;
	return 0;
}

static int process_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dump_state *state = dump_state(cb);
	void *header;
	bool closed;
	int ret;

	mutex_lock(&gpumon_period_lock);
	cb->seq = atomic_read(&gpumon_process_generation);
	ret = period_asked(dump_attr(cb, GPUMON_A_PROCESS_PERIOD), &closed, cb->extack);
	for (; !ret && state->index < gpumon_process_table.slots; state->index++) {
		if (!smp_load_acquire(&gpumon_processes[state->index].ready))
			continue;
		header = dump_begin(skb, cb, GPUMON_CMD_PROCESS_GET);
		ret = header ? fill_process(skb, state->index, closed) : -EMSGSIZE;
		if (ret) {
			if (header)
				genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
	}
	mutex_unlock(&gpumon_period_lock);
	return ret == -EMSGSIZE && skb->len ? (int)skb->len : ret ?: (int)skb->len;
}

static int fill_event_ring(struct sk_buff *skb, void *unused)
{
	const int pad = GPUMON_A_EVENT_RING_PAD;
	struct gpumon_event_ring_view view;

	gpumon_event_ring_read(&view);
	if (nla_put_u32(skb, GPUMON_A_EVENT_RING_ENABLED, view.enabled) ||
	    nla_put_u32(skb, GPUMON_A_EVENT_RING_SIZE_KIB, view.size_kib) ||
	    put_u64(skb, GPUMON_A_EVENT_RING_WRITTEN, view.written, pad) ||
	    put_u64(skb, GPUMON_A_EVENT_RING_OVERWRITTEN, view.overwritten, pad) ||
	    put_u64(skb, GPUMON_A_EVENT_RING_DELIVERED, view.delivered, pad) ||
	    put_u64(skb, GPUMON_A_EVENT_RING_PENDING, view.pending, pad) ||
	    put_u64(skb, GPUMON_A_EVENT_RING_DROPPED, view.dropped, pad))
		return -EMSGSIZE;
	return 0;
}

static int event_ring_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return reply(info, NLMSG_GOODSIZE, fill_event_ring, NULL);
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

static int fill_period(struct sk_buff *skb, void *unused)
{
	if (nla_put_u32(skb, GPUMON_A_PERIOD_CLOSED, gpumon_period.number - 1) ||
	    put_u64(skb, GPUMON_A_PERIOD_CLOSED_SINCE_NS, gpumon_period.closed_since_ns,
		    GPUMON_A_PERIOD_PAD) ||
	    put_u64(skb, GPUMON_A_PERIOD_CLOSED_AT_NS, gpumon_period.since_ns,
		    GPUMON_A_PERIOD_PAD))
		return -EMSGSIZE;
	return 0;
}

static int reset_doit(struct sk_buff *skb, struct genl_info *info)
{
	int ret;

	mutex_lock(&gpumon_period_lock);
	gpumon_period_close();
	ret = reply(info, NLMSG_GOODSIZE, fill_period, NULL);
	mutex_unlock(&gpumon_period_lock);
	return ret;
}

/* The answers carry other users' pids and names: nothing is for everybody. */
static const struct genl_ops gpumon_ops[] = {
	{
		.cmd = GPUMON_CMD_INFO_GET,
		.flags = GENL_ADMIN_PERM,
		.doit = info_get_doit,
	},
	{
		.cmd = GPUMON_CMD_GROUP_GET,
		.flags = GENL_ADMIN_PERM,
		.policy = group_get_policy,
		.maxattr = GPUMON_A_GROUP_MAX,
		.doit = group_get_doit,
		.dumpit = group_get_dumpit,
	},
	{
		.cmd = GPUMON_CMD_GROUP_SET,
		.flags = GENL_ADMIN_PERM,
		.policy = group_set_policy,
		.maxattr = GPUMON_A_GROUP_MAX,
		.doit = group_set_doit,
	},
	{
		.cmd = GPUMON_CMD_RING_GET,
		.flags = GENL_ADMIN_PERM,
		.policy = ring_get_policy,
		.maxattr = GPUMON_A_RING_MAX,
		.dumpit = ring_get_dumpit,
	},
	{
		.cmd = GPUMON_CMD_HISTOGRAM_GET,
		.flags = GENL_ADMIN_PERM,
		.policy = histogram_get_policy,
		.maxattr = GPUMON_A_HISTOGRAM_MAX,
		.start = histogram_get_start,
		.dumpit = histogram_get_dumpit,
	},
	{
		.cmd = GPUMON_CMD_PROCESS_GET,
		.flags = GENL_ADMIN_PERM,
		.policy = process_get_policy,
		.maxattr = GPUMON_A_PROCESS_MAX,
		.dumpit = process_get_dumpit,
	},
	{
		.cmd = GPUMON_CMD_EVENT_RING_GET,
		.flags = GENL_ADMIN_PERM,
		.doit = event_ring_get_doit,
	},
	{
		.cmd = GPUMON_CMD_EVENT_RING_SET,
		.flags = GENL_ADMIN_PERM,
		.policy = event_ring_set_policy,
		.maxattr = GPUMON_A_EVENT_RING_MAX,
		.doit = event_ring_set_doit,
	},
	{
		.cmd = GPUMON_CMD_RESET,
		.flags = GENL_ADMIN_PERM,
		.doit = reset_doit,
	},
};

/* admin-perm of the operations does not cover the groups. */
static const struct genl_multicast_group gpumon_mcgrps[] = {
	{ .name = GPUMON_MCGRP_ALERTS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

static struct genl_family gpumon_family __ro_after_init = {
	.name = GPUMON_FAMILY_NAME,
	.version = GPUMON_FAMILY_VERSION,
	.module = THIS_MODULE,
	.netnsok = false,
	.ops = gpumon_ops,
	.n_ops = ARRAY_SIZE(gpumon_ops),
	.resv_start_op = __GPUMON_CMD_MAX,
	.mcgrps = gpumon_mcgrps,
	.n_mcgrps = ARRAY_SIZE(gpumon_mcgrps),
};

/**
 * gpumon_netlink_init - register the family
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int gpumon_netlink_init(void)
{
	return genl_register_family(&gpumon_family);
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
