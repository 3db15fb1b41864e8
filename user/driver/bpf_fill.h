/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Puts the counts of the BPF programs into the same model as those of the module, with the same
 * tables, columns and units. Nothing here uses BPF, so that a test can construct tables.
 *
 * All functions return 0, or -1 without memory.
 */
#ifndef GPUMON_DRIVER_BPF_FILL_H
#define GPUMON_DRIVER_BPF_FILL_H

#include "../bpf/source.h"
#include "model.h"

/**
 * gpumon_source_histogram() - make a histogram from buckets like the module's
 * @histogram: out, zeroed by the caller
 * @buckets: counts
 * @n: their number, SOURCE_BUCKETS()
 * @sum: sum of the values
 * @max: highest value
 * @not_min: complement of the lowest value; 0: not kept, use the lowest bucket
 *
 * Extremes are clamped to the buckets in use, since they are not read at the same time.
 */
int gpumon_source_histogram(struct gpumon_histogram *histogram, const uint64_t *buckets, size_t n,
			    uint64_t sum, uint64_t max, uint64_t not_min);

/* Lowest value of a bucket, and the lowest value above it. */
uint64_t gpumon_source_bucket_lower(size_t bucket);
uint64_t gpumon_source_bucket_upper(size_t bucket, size_t n);

/* Add the words of one CPU: counts are summed, extremes are the highest. */
void gpumon_source_add_words(struct source_ring_words *sum, const struct source_ring_words *words);

/* Length of all busy times, from the sum of the words SOURCE_RING_BUSY of all CPUs; CLOCK_MONOTONIC. */
uint64_t gpumon_source_busy_ns(uint64_t words, uint64_t now_ns);

/**
 * gpumon_source_ring() - add a row of drm_sched.rings with its two histograms
 * @model: model
 * @id: its index in the table
 * @ring: names and levels
 * @words: words of all CPUs
 * @live: number of schedulers with its names
 * @attached: a bit for each enum source_drm_sched_probe; what the others count is unknown
 */
int gpumon_source_ring(struct gpumon_model *model, unsigned int id, const struct source_ring *ring,
		       const struct source_ring_words *words, uint64_t live, unsigned int attached);

/**
 * struct gpumon_source_rings - the tables of rings, which the programs change meanwhile
 * @rings: SOURCE_RINGS + 1 rings
 * @classes: SOURCE_CLASSES classes
 * @schedulers: SOURCE_SCHEDULERS schedulers
 * @clear: zeroes the words of a ring on all CPUs; 0 or -1
 * @data: for @clear
 */
struct gpumon_source_rings {
	struct source_ring *rings;
	struct source_class *classes;
	struct source_scheduler *schedulers;
	int (*clear)(void *data, unsigned int slot);
	void *data;
};

/**
 * gpumon_source_rings_age() - make room for rings that come, as the module does
 * @tables: tables
 * @now_ns: CLOCK_MONOTONIC, a second or more after the call before
 *
 * When three quarters of the table are used, the ring that has been without a scheduler longest
 * leaves it, with its counts: it is chosen by one call and freed by the next.
 *
 * Return: true if a ring has left.
 */
bool gpumon_source_rings_age(const struct gpumon_source_rings *tables, uint64_t now_ns);

int gpumon_source_crtc(struct gpumon_model *model, unsigned int id, const struct source_crtc *crtc);

/* @name: name of the hardware, NULL if only the minor number is known. */
int gpumon_source_device(struct gpumon_model *model, unsigned int id,
			 const struct source_device *device, const char *name);
int gpumon_source_command(struct gpumon_model *model, unsigned int id,
			  const struct source_command *command);
/* Add a row of nvidia.xids, and an alert. */
int gpumon_source_xid(struct gpumon_model *model, unsigned int id, const struct source_xid *xid);

/**
 * gpumon_source_process() - add counts of a process to those already known
 * @model: model
 * @process: entry of one program's table, since programs count different things
 * @id: its number for rows of drm_sched.usage, 0: it has none
 * @known: bits of enum source_process_word that this program counts
 */
int gpumon_source_process(struct gpumon_model *model, const struct source_process *process,
			  uint64_t id, unsigned int known);

/**
 * gpumon_source_usage() - add a row of drm_sched.usage
 * @model: model
 * @id: its index in the table
 * @usage: what a process used of a ring
 * @rings: SOURCE_RINGS + 1 rings, of which it may be one
 * @attached: a bit for each enum source_drm_sched_probe; what the others count is unknown
 */
int gpumon_source_usage(struct gpumon_model *model, unsigned int id,
			const struct source_usage *usage, const struct source_ring *rings,
			unsigned int attached);

/*
 * Set which processes still exist, and their current names. Does nothing if /proc belongs to
 * another namespace.
 */
void gpumon_source_alive(struct gpumon_model *model, const char *root,
			 const struct source_process *processes, size_t n);

/* True if a module is loaded. */
bool gpumon_source_loaded(const char *root, const char *module);

struct btf;

/* True if the kernel's own types have a tracepoint, which means that its driver is built in. */
bool gpumon_source_has_tracepoint(const struct btf *kernel, const char *name);

/* A driver's major number in /proc/devices, or 0. */
unsigned int gpumon_source_major(const char *root, enum source_nvidia_family family);

#define GPUMON_SOURCE_GPUS 64

/* Bus addresses of GPUs by minor number, "" if unknown. */
struct gpumon_source_gpus {
	char name[GPUMON_SOURCE_GPUS][SOURCE_NAME_LEN];
};

/* From /proc/driver/nvidia/gpus. */
void gpumon_source_gpus(const char *root, struct gpumon_source_gpus *gpus);

#endif /* GPUMON_DRIVER_BPF_FILL_H */
