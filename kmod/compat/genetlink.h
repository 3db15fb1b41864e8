/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attributes of a dump request. Since 6.6 they are in a
 * struct genl_info: 9272af109fe6 ("genetlink: add struct genl_info to
 * struct genl_dumpit_info").
 */
#ifndef GPUMON_COMPAT_GENETLINK_H
#define GPUMON_COMPAT_GENETLINK_H

#include <net/genetlink.h>

static inline struct nlattr **gpumon_compat_genl_dump_attrs(struct netlink_callback *cb)
{
#ifdef GPUMON_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

#endif /* GPUMON_COMPAT_GENETLINK_H */
