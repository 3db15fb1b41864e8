/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Netlink client of the family "gpumon", with one function for each operation. All functions return
 * 0, or -1 with *err set.
 */
#ifndef GPUMON_DRIVER_CLIENT_H
#define GPUMON_DRIVER_CLIENT_H

#include "lib/error.h"
#include "model.h"

struct gpumon_client;

/**
 * gpumon_client_open() - connect, find the family, and check its schema
 * @client: out, NULL on failure
 * @err: out: module not loaded, no permission, other schema (all exit 77), or another failure
 */
int gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err);
void gpumon_client_close(struct gpumon_client *client);

/*
 * Check that the module uses this program's schema. 0, or -1 with *err for exit 77. Part of open.
 */
int gpumon_client_check_schema(const struct gpumon_info *info, struct gpumon_error *err);

/* @ret is what genl_ctrl_resolve() returned instead of the family's number. Sets *err, returns -1. */
int gpumon_client_no_family(int ret, struct gpumon_error *err);

/* Why a module that is loaded has no family. @root: prefix of /sys. Sets *err, returns -1. */
int gpumon_client_loaded_without_family(const char *root, struct gpumon_error *err);

/**
 * gpumon_client_read() - read parts of the model
 * @client: the client
 * @parts: GPUMON_PART_*
 * @period: 0 for the running period, or the number of the one just closed
 * @model: zeroed or read before; the requested parts are replaced
 * @err: out
 *
 * A dump that the kernel flags as interrupted is read again a few times. If it still changes, the
 * last reading is kept and flagged in model->inconsistent. If another program closed the period
 * meanwhile, the call fails with code "changed" (ESTALE).
 */
int gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
		       struct gpumon_model *model, struct gpumon_error *err);

int gpumon_client_group_set(struct gpumon_client *client, const char *name, bool on,
			    struct gpumon_error *err);

int gpumon_client_event_ring_get(struct gpumon_client *client, struct gpumon_event_ring *ring,
				 struct gpumon_error *err);

/* @enabled: 1, 0, or -1 for no change. @size_kib: 0 for no change; the ring must be off. */
int gpumon_client_event_ring_set(struct gpumon_client *client, int enabled, uint32_t size_kib,
				 struct gpumon_error *err);

int gpumon_client_limits_get(struct gpumon_client *client, struct gpumon_limits *limits,
			     struct gpumon_error *err);

/* One that is not known is not changed. */
int gpumon_client_limits_set(struct gpumon_client *client, const struct gpumon_limits *limits,
			     struct gpumon_error *err);

int gpumon_client_reset(struct gpumon_client *client, struct gpumon_period *closed,
			struct gpumon_error *err);

#endif /* GPUMON_DRIVER_CLIENT_H */
