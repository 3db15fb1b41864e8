/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * From netlink messages to the model. No socket in here: the functions take a message with its
 * length, so that tests (and a fuzzer) feed them any bytes.
 *
 * Unknown attributes are skipped (a newer module may send more); an attribute of the wrong size, a
 * string without its end, or a message cut short is refused with -EBADMSG, and nothing of that
 * message is kept. -ENOMEM without memory.
 */
#ifndef GPUMON_USER_PARSE_H
#define GPUMON_USER_PARSE_H

#include <linux/netlink.h>
#include <stddef.h>

#include "model/model.h"

/**
 * gpumon_parse_message() - check the headers, find the attributes
 * @message: message, of which @len bytes are there
 * @len: bytes that can be read from @message
 * @command: the GPUMON_CMD_* that it must be
 * @attrs: out, first byte after the genetlink header
 * @attrs_len: out
 */
int gpumon_parse_message(const struct nlmsghdr *message, size_t len, int command,
			 const struct nlattr **attrs, size_t *attrs_len);

int gpumon_parse_info(const struct nlmsghdr *message, size_t len, struct gpumon_info *info);
int gpumon_parse_group(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
int gpumon_parse_ring(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
int gpumon_parse_histogram(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
int gpumon_parse_process(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
/*
 * A message has a whole row or, later, one of its histograms with the buckets: what it says
 * replaces what the model has of that row.
 */
int gpumon_parse_statistic(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
int gpumon_parse_layout(const struct nlmsghdr *message, size_t len, struct gpumon_model *model);
/* @command: GPUMON_CMD_ALERT_GET, or GPUMON_CMD_ALERT_NTF for one that is sent as it happens. */
int gpumon_parse_alert(const struct nlmsghdr *message, size_t len, int command,
		       struct gpumon_model *model);
int gpumon_parse_event_ring(const struct nlmsghdr *message, size_t len,
			    struct gpumon_event_ring *ring);
int gpumon_parse_period(const struct nlmsghdr *message, size_t len, struct gpumon_period *period);

/**
 * gpumon_parse_extack() - the outcome in NLMSG_ERROR or NLMSG_DONE
 * @message: message
 * @len: bytes that can be read from @message
 * @error: out, 0 or a negative errno
 * @text: out, the kernel's own words, "" if there are none
 * @text_len: bytes in @text, not 0
 */
int gpumon_parse_extack(const struct nlmsghdr *message, size_t len, int *error, char *text,
			size_t text_len);

#endif /* GPUMON_USER_PARSE_H */
