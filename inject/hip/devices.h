/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Records of devices and of their queues. An operation says only which number the kernel driver has
 * for its device; HIP's own number of it is that of a kernel's launch.
 */
#ifndef GPUMON_INJECT_HIP_DEVICES_H
#define GPUMON_INJECT_HIP_DEVICES_H

#include "channel/operation.h"
#include "hip.h"

/* More than a machine has, processors included. Behind them are devices whose number is not known. */
#define INJECT_HIP_NODES	128
#define INJECT_HIP_NODES_BEYOND (INJECT_HIP_NODES + 128)

static inline uint32_t inject_hip_device_id(uint32_t node)
{
	return INJECT_HIP_ID(node);
}

/* 0 is the number of none. */
static inline uint32_t inject_hip_context_id(uint32_t node)
{
	return INJECT_HIP_ID(node + 1);
}

static inline uint32_t inject_hip_stream_id(uint64_t queue)
{
	return INJECT_HIP_ID((uint32_t)queue + 1);
}

/* The kernel driver's number of one of HIP's, or one that stands for it. */
uint32_t inject_hip_device_node(int32_t device);

/**
 * inject_hip_device_seen - there is an operation: its context and its queue become known
 * @thread: caller, within
 * @node: of it, below INJECT_HIP_NODES_BEYOND
 * @queue: of it
 * @device: HIP's number, -1 if not known
 */
void inject_hip_device_seen(struct inject_thread *thread, uint32_t node, uint64_t queue,
			    int32_t device);

/**
 * inject_hip_devices_write - DEVICE records of those that were seen and have none yet
 * @thread: caller, within
 * @at_end: also of those of which HIP's number is not known
 *
 * Asks HIP.
 */
void inject_hip_devices_write(struct inject_thread *thread, bool at_end);

/* A time of the device as CLOCK_MONOTONIC; 0 where it is none. */
uint64_t inject_hip_time(uint32_t node, uint64_t time);

/* Error of the clock's offset, ns. */
uint64_t inject_hip_time_error(uint32_t node);

/* Called in a child after fork. */
void inject_hip_devices_forked(void);

#endif /* GPUMON_INJECT_HIP_DEVICES_H */
