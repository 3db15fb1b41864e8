/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The ioctl interface of the mock GPU, /dev/mock_gpu, for the programs that submit to it. Only
 * gpumon's tests use it, so it may change at any time.
 */
#ifndef MOCK_GPU_H
#define MOCK_GPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define MOCK_GPU_MAX_COUNT	100000
#define MOCK_GPU_MAX_SERVICE_NS	10000000000ULL

/**
 * enum mock_gpu_fail - how a job ends
 * @MOCK_GPU_FAIL_NONE: without an error
 * @MOCK_GPU_FAIL_RUN: run_job() returns -EIO, there is no hardware fence
 * @MOCK_GPU_FAIL_FENCE: the hardware fence signals with the error -EIO
 * @MOCK_GPU_FAIL_HANG: never by itself; the scheduler's timeout ends it with -ETIMEDOUT. Later jobs
 *	on the same ring wait.
 * @MOCK_GPU_FAIL_COUNT: number of the modes above
 */
enum mock_gpu_fail {
	MOCK_GPU_FAIL_NONE,
	MOCK_GPU_FAIL_RUN,
	MOCK_GPU_FAIL_FENCE,
	MOCK_GPU_FAIL_HANG,
	MOCK_GPU_FAIL_COUNT,
};

/* Return only when the last job this file ever pushed to the ring has ended. */
#define MOCK_GPU_SUBMIT_WAIT	(1U << 0)
/* Each job waits for the last job this file pushed to dep_device, dep_ring. */
#define MOCK_GPU_SUBMIT_DEPEND	(1U << 1)
/* The jobs complete inside run_job(), or by the timer, whatever the module's default is. */
#define MOCK_GPU_SUBMIT_INLINE	(1U << 2)
#define MOCK_GPU_SUBMIT_TIMER	(1U << 3)

#define MOCK_GPU_SUBMIT_FLAGS	(MOCK_GPU_SUBMIT_WAIT | MOCK_GPU_SUBMIT_DEPEND | \
				 MOCK_GPU_SUBMIT_INLINE | MOCK_GPU_SUBMIT_TIMER)

/**
 * struct mock_gpu_submit - push jobs to one ring
 * @device: index of the device
 * @ring: index of the ring on that device
 * @count: number of jobs, at most MOCK_GPU_MAX_COUNT; 0 only waits
 * @flags: MOCK_GPU_SUBMIT_*
 * @service_ns: time a job takes on the hardware; 0 draws it from the module's
 *	distribution
 * @fail: enum mock_gpu_fail, for each of the jobs
 * @dep_device: device of the dependency
 * @dep_ring: ring of the dependency
 * @submitted: out: number of jobs pushed, also if the call failed
 */
struct mock_gpu_submit {
	__u32 device;
	__u32 ring;
	__u32 count;
	__u32 flags;
	__u64 service_ns;
	__u32 fail;
	__u32 dep_device;
	__u32 dep_ring;
	__u32 submitted;
};

/**
 * struct mock_gpu_hold - stop the hardware of a ring, or let it continue
 * @device: index of the device
 * @ring: index of the ring
 * @hold: 1 or 0
 * @reserved: 0
 *
 * A held ring accepts jobs (up to hw_limit) but completes none, so that depths do not change. The
 * scheduler's timeout still runs. Closing the file releases the ring.
 */
struct mock_gpu_hold {
	__u32 device;
	__u32 ring;
	__u32 hold;
	__u32 reserved;
};

/**
 * struct mock_gpu_info - parameters of the module
 * @devices: number of devices
 * @rings: number of rings of each
 * @hw_limit: jobs that a ring's hardware accepts
 * @timeout_ms: the scheduler's timeout, 0 is none
 */
struct mock_gpu_info {
	__u32 devices;
	__u32 rings;
	__u32 hw_limit;
	__u32 timeout_ms;
};

#define MOCK_GPU_IOC_SUBMIT	_IOWR('M', 0x01, struct mock_gpu_submit)
#define MOCK_GPU_IOC_HOLD	_IOW('M', 0x02, struct mock_gpu_hold)
#define MOCK_GPU_IOC_INFO	_IOR('M', 0x03, struct mock_gpu_info)

#endif /* MOCK_GPU_H */
