/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the BPF programs counted, as the model that the module's answers fill too: the same
 * tables, columns and units. No BPF in here, so that a test can make tables up.
 *
 * All functions return 0, or -1 without memory.
 */
#ifndef GPUMON_BPF_SOURCE_FILL_H
#define GPUMON_BPF_SOURCE_FILL_H

#include "../bpf/source.h"
#include "model/model.h"

/**
 * gpumon_source_histogram() - a histogram from the module's form of buckets
 * @histogram: zeroed, gets numbers and buckets
 * @buckets: counts
 * @n: their number, SOURCE_BUCKETS()
 * @sum: of the values
 * @max: the highest
 * @not_min: complement of the lowest, 0 where it is not kept: then the lowest bucket says it
 *
 * Extremes are held to the buckets that are in use: they are not read at the same time.
 */
int gpumon_source_histogram(struct gpumon_histogram *histogram, const uint64_t *buckets, size_t n,
			    uint64_t sum, uint64_t max, uint64_t not_min);

/* Lowest value of a bucket, and the lowest above it. */
uint64_t gpumon_source_bucket_lower(size_t bucket);
uint64_t gpumon_source_bucket_upper(size_t bucket, size_t n);

/* Add the words of one processor to those of others: counts are summed, extremes are the highest. */
void gpumon_source_add_words(struct source_ring_words *sum, const struct source_ring_words *words);

/**
 * gpumon_source_ring() - a row of drm_sched.rings with its four histograms
 * @model: where to
 * @id: its place in the table
 * @ring: names and levels
 * @words: of all processors
 * @live: schedulers of its names
 * @results: are errors and killed jobs seen?
 */
int gpumon_source_ring(struct gpumon_model *model, unsigned int id, const struct source_ring *ring,
		       const struct source_ring_words *words, struct gpumon_value live,
		       bool results);

int gpumon_source_crtc(struct gpumon_model *model, unsigned int id, const struct source_crtc *crtc);

/* @name: of the hardware, NULL where only the minor number is known. */
int gpumon_source_device(struct gpumon_model *model, unsigned int id,
			 const struct source_device *device, const char *name);
int gpumon_source_command(struct gpumon_model *model, unsigned int id,
			  const struct source_command *command);
/* A row of nvidia.xids, and an alert. */
int gpumon_source_xid(struct gpumon_model *model, unsigned int id, const struct source_xid *xid);

/**
 * gpumon_source_process() - what a process did, added to what is known of it already
 * @model: where to
 * @process: of one program's table; the programs count different things
 * @known: bits of enum source_process_word that are counted there
 */
int gpumon_source_process(struct gpumon_model *model, const struct source_process *process,
			  unsigned int known);

/* Which processes still exist, and their present names; nothing where /proc is of another namespace. */
void gpumon_source_alive(struct gpumon_model *model, const char *root,
			 const struct source_process *processes, size_t n);

/* Is a module loaded? */
bool gpumon_source_loaded(const char *root, const char *module);

struct btf;

/* Do these types, of the kernel itself, have a tracepoint? Then the driver that it is of is built in. */
bool gpumon_source_has_tracepoint(const struct btf *kernel, const char *name);

/* A driver's major number in /proc/devices, 0 if it is not there. */
unsigned int gpumon_source_major(const char *root, enum source_nvidia_family family);

#define GPUMON_SOURCE_GPUS 64

/* Bus addresses of GPUs by minor number, "" where that is not known. */
struct gpumon_source_gpus {
	char name[GPUMON_SOURCE_GPUS][SOURCE_NAME_LEN];
};

/* From /proc/driver/nvidia/gpus. */
void gpumon_source_gpus(const char *root, struct gpumon_source_gpus *gpus);

#endif /* GPUMON_BPF_SOURCE_FILL_H */
