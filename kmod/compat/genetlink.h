/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attributes of a dump request. Since 6.6 they are in a
 * struct genl_info: 9272af109fe6 ("genetlink: add struct genl_info to
 * struct genl_dumpit_info").
 *
 * A multicast group for CAP_NET_ADMIN alone. 5.12, and a stable update of 5.10, have the check, with a
 * flag of operations: 4d54cc32112d ("mptcp: avoid lock_fast usage in accept path"). 6.7, and stable
 * updates, have a flag of its own: cd4d7263d58a ("genetlink: Use internal flags for multicast
 * groups"). Kernels without the check let any user join, and get no group.
 */
#ifndef GPUMON_COMPAT_GENETLINK_H
#define GPUMON_COMPAT_GENETLINK_H

#include <net/genetlink.h>

#if defined(GPUMON_HAVE_GENL_MCAST_CAP_NET_ADMIN)
#define GPUMON_COMPAT_GENL_MCAST(_name) { .name = _name, .flags = GENL_MCAST_CAP_NET_ADMIN },
#elif defined(GPUMON_HAVE_GENL_MCAST_FLAGS)
#define GPUMON_COMPAT_GENL_MCAST(_name) { .name = _name, .flags = GENL_UNS_ADMIN_PERM },
#else
#define GPUMON_COMPAT_GENL_MCAST(_name)
#endif

static inline struct nlattr **gpumon_compat_genl_dump_attrs(struct netlink_callback *cb)
{
#ifdef GPUMON_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

#endif /* GPUMON_COMPAT_GENETLINK_H */
