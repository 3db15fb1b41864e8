/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Netlink client of the family "gpumon": one function for each operation.
 * Every function returns 0, or -1 with *err filled in.
 */
#ifndef GPUMON_USER_CLIENT_H
#define GPUMON_USER_CLIENT_H

#include "base/error.h"
#include "model/model.h"

struct gpumon_client;

/**
 * gpumon_client_open() - connect, find the family, and check its schema
 * @client: out, NULL on failure
 * @err: why not: module not loaded, no permission, other schema (all exit 77), or failed
 */
int gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err);
void gpumon_client_close(struct gpumon_client *client);

/* Does the module speak this program's schema? 0, or -1 with *err for exit 77. Part of open. */
int gpumon_client_check_schema(const struct gpumon_info *info, struct gpumon_error *err);

/* The module's version, known after open. */
const char *gpumon_client_version(const struct gpumon_client *client);

/**
 * gpumon_client_read() - read parts of the model
 * @client: the client
 * @parts: GPUMON_PART_*
 * @period: 0 for the running one, or the number of the one just closed
 * @model: zeroed or earlier read; the parts asked for are replaced
 * @err: out
 *
 * A dump that the kernel flags as interrupted is read again, a few times; if it still
 * changes, what was read last is kept and model->inconsistent says so. A period that was
 * closed by somebody else meanwhile fails with code "changed" (ESTALE).
 */
int gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
		       struct gpumon_model *model, struct gpumon_error *err);

int gpumon_client_group_set(struct gpumon_client *client, const char *name, bool on,
			    struct gpumon_error *err);

int gpumon_client_event_ring_get(struct gpumon_client *client, struct gpumon_event_ring *ring,
				 struct gpumon_error *err);

/* @enabled: 1, 0, or -1 to leave it; @size_kib: 0 to leave it. The kernel takes a size only while off. */
int gpumon_client_event_ring_set(struct gpumon_client *client, int enabled, uint32_t size_kib,
				 struct gpumon_error *err);

int gpumon_client_reset(struct gpumon_client *client, struct gpumon_period *closed,
			struct gpumon_error *err);

#endif /* GPUMON_USER_CLIENT_H */
