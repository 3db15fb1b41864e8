/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_SMALL_CTRL_H
#define GPUMON_SMALL_CTRL_H

#include <netlink/genl/genl.h>

/* The number of a family, or of a group of it, or an error. */
int genl_ctrl_resolve(struct nl_sock *sock, const char *family);
int genl_ctrl_resolve_grp(struct nl_sock *sock, const char *family, const char *group);

#endif /* GPUMON_SMALL_CTRL_H */
