/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Parses netlink messages into the model. The functions take a message and its length and use no
 * socket, so that tests and a fuzzer can feed them any bytes.
 *
 * Unknown attributes are skipped, since a newer module may send more. An attribute of the wrong
 * size, an unterminated string, or a truncated message is rejected with -EBADMSG, and nothing of it
 * is kept.
 */
#ifndef GPUMON_DRIVER_PARSE_H
#define GPUMON_DRIVER_PARSE_H

#include <linux/netlink.h>
#include <stddef.h>

#include "model.h"

int gpumon_parse_info(const struct nlmsghdr *message, size_t len, struct gpumon_info *info);
int gpumon_parse_group(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
int gpumon_parse_process(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
/*
 * A message has a whole row, or one of its histograms with buckets, which follows later. Its
 * contents replace those in the model.
 */
int gpumon_parse_statistic(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
/*
 * When all of them are in: the table drm_sched.rings becomes the model's rings and histograms, and
 * is not among the tables any more.
 */
void gpumon_parse_rings(struct gpumon_model *model);
int gpumon_parse_layout(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
/* @command: GPUMON_CMD_ALERT_GET, or GPUMON_CMD_ALERT_NTF for a notification. */
int gpumon_parse_alert(const struct nlmsghdr *message, size_t len, int command,
		       struct gpumon_model *model);
/*
 * An error event of the kernel's drm_ras, as an alert without a time: its kind is the node's name, its
 * code the error's number, its count the error's counter.
 */
int gpumon_parse_ras_event(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
int gpumon_parse_event_ring(const struct nlmsghdr *message, size_t len,
			    struct gpumon_event_ring *ring);
int gpumon_parse_limits(const struct nlmsghdr *message, size_t len, struct gpumon_limits *limits);
int gpumon_parse_period(const struct nlmsghdr *message, size_t len, struct gpumon_period *period);

/**
 * gpumon_parse_extack() - parse the result in NLMSG_ERROR or NLMSG_DONE
 * @message: message
 * @len: bytes that can be read from @message
 * @error: out, 0 or a negative errno
 * @text: out, the kernel's message, or ""
 * @text_len: size of @text, not 0
 */
int gpumon_parse_extack(const struct nlmsghdr *message, size_t len, int *error, char *text,
			size_t text_len);

#endif /* GPUMON_DRIVER_PARSE_H */
