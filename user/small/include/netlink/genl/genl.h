/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_SMALL_GENL_H
#define GPUMON_SMALL_GENL_H

#include <linux/genetlink.h>
#include <netlink/netlink.h>

int genl_connect(struct nl_sock *sock);
/* Returns the header behind that of netlink, or NULL. */
void *genlmsg_put(struct nl_msg *msg, uint32_t port, uint32_t seq, int family, int header_len,
		  int flags, uint8_t command, uint8_t version);

#endif /* GPUMON_SMALL_GENL_H */
