// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "times.h"

/* What a driver says of a time may be later than now by this. */
#define FUTURE_NS 1000000u

/* The shortest of so many is taken. */
#define TRIES 3

static uint64_t looks;

void inject_ze_times_look(void)
{
	looks++;
}

static uint64_t to_ns(const struct inject_ze_device *device, uint64_t cycles)
{
	return (uint64_t)((unsigned __int128)cycles * 1000000000 / device->hertz);
}

/* Asks for the device's time; the middle of the call is the host's. */
static bool measure_clock(struct inject_ze_device *device)
{
	uint64_t best = UINT64_MAX, before, after, host, now;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		before = inject_now();
		if (inject_ze.zeDeviceGetGlobalTimestamps(device->handle, &host, &now) !=
		    ZE_RESULT_SUCCESS)
			return false;
		after = inject_now();
		if (after - before >= best)
			continue;
		best = after - before;
		device->now_cycles = now & device->time_mask;
		device->now_ns = before + best / 2;
	}
	device->measured = looks;
	inject_clock_set(&device->clock,
			 (int64_t)(device->now_ns - to_ns(device, device->now_cycles)),
			 best / 2 + to_ns(device, 1) + 1);
	return true;
}

/* How many cycles ago. A time after the device's last one was measured is no time long ago. */
static bool find_age(struct inject_ze_device *device, uint64_t cycles, uint64_t *age)
{
	if (device->measured != looks && !measure_clock(device))
		return false;
	*age = (device->now_cycles - cycles) & device->kernel_mask;
	if (*age <= device->kernel_mask / 2)
		return true;
	if (!measure_clock(device))
		return false;
	*age = (device->now_cycles - cycles) & device->kernel_mask;
	return true;
}

void inject_ze_times(struct inject_ze_device *device, ze_event_handle_t event, uint64_t begin_ns,
		     struct inject_times *times)
{
	ze_kernel_timestamp_result_t result = { 0 };
	uint64_t start, end, age, ago, took;

	*times = (struct inject_times){ .flags = GPUMON_WORK_UNTIMED };
	if (!device->hertz ||
	    inject_ze.zeEventQueryKernelTimestamp(event, &result) != ZE_RESULT_SUCCESS)
		return;
	start = result.global.kernelStart & device->kernel_mask;
	end = result.global.kernelEnd & device->kernel_mask;
	if ((!start && !end) || !find_age(device, end, &age))
		return;
	times->flags = GPUMON_WORK_BAD_TIMES;
	ago = to_ns(device, age);
	took = to_ns(device, (end - start) & device->kernel_mask);
	/* Long ago, or an end before its start, which is a very long time. */
	if (ago >= device->now_ns || took >= device->now_ns - ago)
		return;
	end = device->now_ns - ago;
	start = end - took;
	if (start + device->clock.error + FUTURE_NS < begin_ns)
		return;
	*times = (struct inject_times){ .start = start, .end = end };
}
