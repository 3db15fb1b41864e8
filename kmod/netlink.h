/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_NETLINK_INTERNAL_H
#define GPUMON_NETLINK_INTERNAL_H

int gpumon_netlink_init(void);
void gpumon_netlink_exit(void);

#endif /* GPUMON_NETLINK_INTERNAL_H */
