/* SPDX-License-Identifier: GPL-2.0-only */
/* Interface between the files of generic netlink. */
#ifndef GPUMON_NETLINK_INTERNAL_H
#define GPUMON_NETLINK_INTERNAL_H

#include <net/genetlink.h>

#include "uapi/gpumon_netlink.h"

/* Text of the extack with -ENOMEM; nothing was changed. */
#define GPUMON_NO_MEMORY "no memory for the answer, ask again"

struct gpumon_alert;

extern struct genl_family gpumon_family;

int gpumon_netlink_init(void);
void gpumon_netlink_exit(void);

int gpumon_netlink_period(const struct nlattr *attr, bool *closed, struct netlink_ext_ack *extack);
void *gpumon_netlink_dump_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
const struct nlattr *gpumon_netlink_dump_attr(struct netlink_callback *cb, int type);

int gpumon_netlink_process_get(struct sk_buff *skb, struct netlink_callback *cb);

bool gpumon_netlink_alert_send(const struct gpumon_alert *alert);
int gpumon_netlink_alert_get(struct sk_buff *skb, struct netlink_callback *cb);

int gpumon_netlink_statistic_start(struct netlink_callback *cb);
int gpumon_netlink_statistic_get(struct sk_buff *skb, struct netlink_callback *cb);
int gpumon_netlink_layout_get(struct sk_buff *skb, struct netlink_callback *cb);
int gpumon_netlink_put_buckets(struct sk_buff *skb, int type, const u64 *bucket,
			       unsigned int buckets);
int gpumon_netlink_put_process_words(struct sk_buff *skb, const u64 *words);

/**
 * struct gpumon_netlink_dump - where a dump in parts goes on
 * @group: group
 * @table: table of the group
 * @index: slot of the table
 * @part: message of the slot
 */
struct gpumon_netlink_dump {
	u32 group;
	u32 table;
	u32 index;
	u32 part;
};

static inline struct gpumon_netlink_dump *gpumon_netlink_dump(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct gpumon_netlink_dump) > sizeof(cb->ctx));
	return (struct gpumon_netlink_dump *)cb->ctx;
}

/* Result of a dump: as long as something was written, a full buffer only means more to come. */
static inline int gpumon_netlink_dump_end(const struct sk_buff *skb, int ret)
{
	if (ret && !(ret == -EMSGSIZE && skb->len))
		return ret;
	return skb->len;
}

/* Writes one message of a dump, whole or not at all; @put writes its attributes. */
#define GPUMON_NETLINK_DUMP(skb, cb, command, put)				\
	({									\
		void *__header = gpumon_netlink_dump_begin(skb, cb, command);	\
		int __error = __header ? (put) : -EMSGSIZE;			\
										\
		if (__error)							\
			genlmsg_cancel(skb, __header);				\
		else								\
			genlmsg_end(skb, __header);				\
		__error;							\
	})

#endif /* GPUMON_NETLINK_INTERNAL_H */
