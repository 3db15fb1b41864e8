/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The minimum of generic netlink for the bench. Without a library, the count covers the kernel's
 * part and not libnl's.
 */
#ifndef BENCH_NETLINK_H
#define BENCH_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void netlink_open(void);
size_t netlink_dump(const char *command);
void netlink_event_ring(bool on, uint32_t kib);

#endif /* BENCH_NETLINK_H */
