// SPDX-License-Identifier: GPL-2.0-only
/* Generic netlink: dumps of tables, in any number of messages. */
#include <linux/mm.h>
#include <net/genetlink.h>

#include "attach/probe.h"
#include "common/process.h"
#include "compat/genetlink.h"
#include "core/histogram.h"
#include "core/period.h"
#include "netlink.h"

/*
 * Finds the period that is asked for by number; -ESTALE if it is not kept. gpumon_period_lock held.
 */
int gpumon_netlink_period(const struct nlattr *attr, bool *closed, struct netlink_ext_ack *extack)
{
	*closed = false;
	if (!attr || nla_get_u32(attr) == gpumon_period.number)
		return 0;
	if (nla_get_u32(attr) && nla_get_u32(attr) == gpumon_period.number - 1) {
		*closed = true;
		return 0;
	}
	NL_SET_ERR_MSG_ATTR(extack, attr, "only the current period and the one before it are kept");
	return -ESTALE;
}

/*
 * Begins a message of a dump, returns NULL if there is no room. The message is marked if the seq of
 * @cb changed since the last one.
 */
void *gpumon_netlink_dump_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &gpumon_family, NLM_F_MULTI, cmd);

	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

/* An attribute of the request that began a dump, or NULL. */
const struct nlattr *gpumon_netlink_dump_attr(struct netlink_callback *cb, int type)
{
	struct nlattr **attrs = gpumon_compat_genl_dump_attrs(cb);

	return attrs ? attrs[type] : NULL;
}

int gpumon_netlink_put_buckets(struct sk_buff *skb, int type, const u64 *bucket,
			       unsigned int buckets)
{
	struct nlattr *nest;
	unsigned int i;

	for (i = 0; i < buckets; i++) {
		if (!bucket[i])
			continue;
		nest = nla_nest_start(skb, type);
		if (!nest ||
		    nla_put_u64_64bit(skb, GPUMON_A_BUCKET_GE, gpumon_histogram_lower(i),
				      GPUMON_A_BUCKET_PAD) ||
		    nla_put_u64_64bit(skb, GPUMON_A_BUCKET_LT, gpumon_histogram_upper(i, buckets),
				      GPUMON_A_BUCKET_PAD) ||
		    nla_put_u64_64bit(skb, GPUMON_A_BUCKET_COUNT, bucket[i], GPUMON_A_BUCKET_PAD))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

/*
 * Is a count of processes sent? Jobs always are, the others if a probe counts them.
 * gpumon_probe_lock held.
 */
int gpumon_netlink_put_process_words(struct sk_buff *skb, const u64 *words)
{
	static const u8 attr[GPUMON_PROCESS_WORDS] = {
		[GPUMON_PROCESS_JOBS] = GPUMON_A_PROCESS_JOBS,
		[GPUMON_PROCESS_SUBMISSIONS] = GPUMON_A_PROCESS_SUBMISSIONS,
		[GPUMON_PROCESS_ALLOCATED_BYTES] = GPUMON_A_PROCESS_ALLOCATED_BYTES,
		[GPUMON_PROCESS_MAPPED_BYTES] = GPUMON_A_PROCESS_MAPPED_BYTES,
		[GPUMON_PROCESS_IOCTLS] = GPUMON_A_PROCESS_IOCTLS,
		[GPUMON_PROCESS_FAULTS] = GPUMON_A_PROCESS_FAULTS,
		[GPUMON_PROCESS_OPENS] = GPUMON_A_PROCESS_OPENS,
	};
	int word;

	for (word = 0; word < GPUMON_PROCESS_WORDS; word++) {
		if (!attr[word] ||
		    (word != GPUMON_PROCESS_JOBS && !gpumon_group_counts_of_processes(word)))
			continue;
		if (nla_put_u64_64bit(skb, attr[word], words[word], GPUMON_A_PROCESS_PAD))
			return -EMSGSIZE;
	}
	return 0;
}

/* Sends the levels of a process that are known. Both locks held. */
static int put_process_levels(struct sk_buff *skb, u32 slot)
{
	static const u8 attr[GPUMON_PROCESS_LEVELS] = {
		[GPUMON_PROCESS_VRAM_BYTES] = GPUMON_A_PROCESS_VRAM_BYTES,
		[GPUMON_PROCESS_LIVE_OBJECT_BYTES] = GPUMON_A_PROCESS_LIVE_OBJECT_BYTES,
	};
	u64 value;
	int which;

	for (which = 0; which < GPUMON_PROCESS_LEVELS; which++)
		if (gpumon_group_keeps_level_of_processes(which) &&
		    gpumon_process_level(slot, which, &value) &&
		    nla_put_u64_64bit(skb, attr[which], value, GPUMON_A_PROCESS_PAD))
			return -EMSGSIZE;
	return 0;
}

static int fill_process(struct sk_buff *skb, u32 slot, bool closed)
{
	const struct gpumon_process *process = &gpumon_processes[slot];
	u64 words[GPUMON_PROCESS_WORDS], handles;
	bool alive;

	gpumon_process_read(slot, closed, words);
	alive = gpumon_process_refresh(slot);
	if (nla_put_u32(skb, GPUMON_A_PROCESS_PID, process->pid) ||
	    nla_put_u64_64bit(skb, GPUMON_A_PROCESS_START_NS, process->start_ns,
			      GPUMON_A_PROCESS_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_PROCESS_ID, process->id, GPUMON_A_PROCESS_PAD) ||
	    nla_put_string(skb, GPUMON_A_PROCESS_COMM, process->comm) ||
	    nla_put_u32(skb, GPUMON_A_PROCESS_ALIVE, alive) ||
	    gpumon_netlink_put_process_words(skb, words))
		return -EMSGSIZE;
	if (gpumon_group_counts_of_processes(GPUMON_PROCESS_OPENS) &&
	    gpumon_group_counts_of_processes(GPUMON_PROCESS_CLOSES) &&
	    gpumon_process_open_handles(slot, &handles) &&
	    nla_put_u64_64bit(skb, GPUMON_A_PROCESS_OPEN_HANDLES, handles, GPUMON_A_PROCESS_PAD))
		return -EMSGSIZE;
	if (put_process_levels(skb, slot))
		return -EMSGSIZE;
	if (process->cgroup_id && nla_put_u64_64bit(skb, GPUMON_A_PROCESS_CGROUP_ID,
						    process->cgroup_id, GPUMON_A_PROCESS_PAD))
		return -EMSGSIZE;
	if (process->cgroup && nla_put_string(skb, GPUMON_A_PROCESS_CGROUP, process->cgroup))
		return -EMSGSIZE;
	return 0;
}

int gpumon_netlink_process_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	bool closed;
	int ret;

	mutex_lock(&gpumon_probe_lock);
	mutex_lock(&gpumon_period_lock);
	cb->seq = atomic_read(&gpumon_process_generation);
	ret = gpumon_netlink_period(gpumon_netlink_dump_attr(cb, GPUMON_A_PROCESS_PERIOD), &closed,
				    cb->extack);
	for (; !ret && state->index < gpumon_process_table.slots; state->index++) {
		if (!gpumon_process_ready(state->index))
			continue;
		ret = GPUMON_NETLINK_DUMP(skb, cb, GPUMON_CMD_PROCESS_GET,
					  fill_process(skb, state->index, closed));
		if (ret)
			break;
	}
	mutex_unlock(&gpumon_period_lock);
	mutex_unlock(&gpumon_probe_lock);
	return gpumon_netlink_dump_end(skb, ret);
}
