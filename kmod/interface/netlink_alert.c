// SPDX-License-Identifier: GPL-2.0-only
/* Generic netlink: new alerts to listeners, kept ones on request. */
#include <net/genetlink.h>

#include "common/alert.h"
#include "compat/genetlink.h"
#include "core/fault.h"
#include "netlink.h"

static int alert_fill(struct sk_buff *skb, const struct gpumon_alert *alert)
{
	if (nla_put_u64_64bit(skb, GPUMON_A_ALERT_TIME_NS, alert->time_ns, GPUMON_A_ALERT_PAD) ||
	    nla_put_string(skb, GPUMON_A_ALERT_GROUP, alert->group) ||
	    nla_put_string(skb, GPUMON_A_ALERT_KIND, alert->kind) ||
	    nla_put_string(skb, GPUMON_A_ALERT_DEVICE, alert->device) ||
	    nla_put_u32(skb, GPUMON_A_ALERT_CODE, alert->code) ||
	    nla_put_string(skb, GPUMON_A_ALERT_MESSAGE, alert->message) ||
	    nla_put_u64_64bit(skb, GPUMON_A_ALERT_COUNT, alert->count, GPUMON_A_ALERT_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_ALERT_LOST, gpumon_alert_lost(), GPUMON_A_ALERT_PAD) ||
	    nla_put_u64_64bit(skb, GPUMON_A_ALERT_FORGOTTEN, gpumon_alert_forgotten(),
			      GPUMON_A_ALERT_PAD))
		return -EMSGSIZE;
	return 0;
}

/**
 * gpumon_netlink_alert_send - send an alert to the multicast group
 * @alert: alert
 *
 * Context: may sleep, gpumon_alert_lock held, the family is registered.
 * Return: false if there was no memory for it.
 */
bool gpumon_netlink_alert_send(const struct gpumon_alert *alert)
{
	struct sk_buff *skb;
	void *header;

	/* Requests are only taken from the initial network namespace, alerts only sent there. */
	if (!gpumon_family.n_mcgrps || !genl_has_listeners(&gpumon_family, &init_net, 0))
		return true;
	/* A worker is not reached by the kernel's fail-nth: GPUMON_REGISTER() makes this fail. */
	skb = GPUMON_REGISTER_OR_NULL("genlmsg_new", NULL,
				      genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL));
	if (!skb)
		return false;
	header = genlmsg_put(skb, 0, 0, &gpumon_family, 0, GPUMON_CMD_ALERT_NTF);
	if (!header || alert_fill(skb, alert)) {
		nlmsg_free(skb);
		return false;
	}
	genlmsg_end(skb, header);
	/* A listener whose buffer is full gets ENOBUFS from its socket. */
	genlmsg_multicast(&gpumon_family, skb, 0, 0, GFP_KERNEL);
	return true;
}

int gpumon_netlink_alert_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gpumon_netlink_dump *state = gpumon_netlink_dump(cb);
	struct gpumon_alert alert;
	int ret = 0;

	mutex_lock(&gpumon_alert_lock);
	cb->seq = gpumon_alert_generation();
	for (; gpumon_alert_kept(&state->index, &alert); state->index++) {
		ret = GPUMON_NETLINK_DUMP(skb, cb, GPUMON_CMD_ALERT_GET, alert_fill(skb, &alert));
		if (ret)
			break;
	}
	mutex_unlock(&gpumon_alert_lock);
	return gpumon_netlink_dump_end(skb, ret);
}
