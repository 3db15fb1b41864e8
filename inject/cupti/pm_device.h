/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Metrics of one GPU. The hardware takes a sample at each interval into a buffer of its own. From there CUPTI
 * decodes samples into an image in memory, and computes values of metrics for each of them.
 */
#ifndef GPUMON_INJECT_CUPTI_PM_DEVICE_H
#define GPUMON_INJECT_CUPTI_PM_DEVICE_H

#include "channel/thread.h"
#include "pm_metrics.h"

/**
 * struct inject_pm_device - a GPU; used by one thread
 * @device: id
 * @interval_ns: distance of samples that is asked for
 * @set: number of the metrics that are chosen, 0: none so far
 * @written_in: session that has its METRIC_SET record
 * @choice: metrics
 * @sampling: CUPTI's object; NULL: nobody samples the GPU for this process
 * @is_open: the hardware knows what to sample
 * @is_running: the hardware takes samples
 * @is_first: the next sample is the first since then
 * @is_refused: no more attempts in this session
 * @told: error that is in the capture already
 * @retry_ns: the next attempt; 0: at once
 * @restarts: attempts to begin again after an overflow that CUPTI refused
 * @image: decoded samples
 * @image_size: bytes of it
 * @started_ns: when the hardware began to take samples
 * @stopped_ns: when it ended
 * @last_end_ns: end of the last sample
 * @length_ns: of the last sample
 * @has_gap: samples behind @last_end_ns were lost, also if none follows
 * @samples: that were decoded in this session
 * @lost: that were not
 * @impossible: values that were left out
 * @cost_ns: time that decoding has taken
 */
struct inject_pm_device {
	uint32_t device;
	uint64_t interval_ns;
	uint32_t set;
	uint32_t written_in;
	struct inject_pm_choice choice;
	void *sampling;
	bool is_open;
	bool is_running;
	bool is_first;
	bool is_refused;
	int told;
	uint64_t retry_ns;
	unsigned int restarts;
	uint8_t *image;
	size_t image_size;
	uint64_t started_ns;
	uint64_t stopped_ns;
	uint64_t last_end_ns;
	uint64_t length_ns;
	bool has_gap;
	uint64_t samples;
	uint64_t lost;
	uint64_t impossible;
	uint64_t cost_ns;
};

/*
 * All of these are called by a thread of the library between inject_locks_begin() and _end(), not within. They
 * write records into the session of @generation only.
 */

/* Records go into this session from now on, and into no other; 0: into none. In any thread. */
void inject_pm_device_session(uint32_t generation);

/* A new session: what was refused before is tried again. */
void inject_pm_device_begin(struct inject_pm_device *device, uint64_t interval_ns);

/**
 * inject_pm_device_start - have the hardware take samples
 * @device: GPU
 * @generation: of the session
 *
 * What stands in the way becomes a note, once.
 *
 * Return: whether it does. Otherwise another attempt may succeed at @retry_ns, unless it is refused.
 */
bool inject_pm_device_start(struct inject_pm_device *device, uint32_t generation);

/**
 * inject_pm_device_decode - write records of the samples that there are
 * @device: GPU that runs, or that has been stopped
 * @generation: of the session
 * @until_ns: no image is decoded after that
 *
 * If the hardware's buffer has overflowed, sampling begins again, and the samples that were lost are counted.
 *
 * Return: whether all were decoded.
 */
bool inject_pm_device_decode(struct inject_pm_device *device, uint32_t generation,
			     uint64_t until_ns);

/* No more samples; those that were taken can still be decoded. */
void inject_pm_device_stop(struct inject_pm_device *device);

/* After the last decode of a stopped device, which was complete or not: counts what was lost. */
void inject_pm_device_finish(struct inject_pm_device *device, uint32_t generation,
			     bool is_complete);

/* Gives the GPU back. */
void inject_pm_device_end(struct inject_pm_device *device);

#endif /* GPUMON_INJECT_CUPTI_PM_DEVICE_H */
