// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/wait.h"
#include "model.h"
#include "bpf_fill.h"

uint64_t gpumon_source_bucket_lower(size_t bucket)
{
	size_t shift;

	if (bucket < 2 << SOURCE_SUB_BITS)
		return bucket;
	shift = (bucket >> SOURCE_SUB_BITS) - 1;
	return (uint64_t)(bucket - (shift << SOURCE_SUB_BITS)) << shift;
}

uint64_t gpumon_source_bucket_upper(size_t bucket, size_t n)
{
	return bucket + 1 < n ? gpumon_source_bucket_lower(bucket + 1) : UINT64_MAX;
}

static uint64_t within_bucket(uint64_t value, size_t bucket, size_t n)
{
	uint64_t low = gpumon_source_bucket_lower(bucket);
	uint64_t high = gpumon_source_bucket_upper(bucket, n) - 1;

	return value < low ? low : value > high ? high : value;
}

int gpumon_source_histogram(struct gpumon_histogram *histogram, const uint64_t *buckets, size_t n,
			    uint64_t sum, uint64_t max, uint64_t not_min)
{
	size_t lowest = 0, highest = 0;
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!buckets[i])
			continue;
		if (!count)
			lowest = i;
		highest = i;
		count += buckets[i];
		gpumon_histogram_add_bucket(histogram, gpumon_source_bucket_lower(i),
					    gpumon_source_bucket_upper(i, n), buckets[i]);
	}
	histogram->count = gpumon_value_of(count);
	histogram->sum = gpumon_value_of(count ? sum : 0);
	if (!count)
		return 0;
	histogram->min = gpumon_value_of(within_bucket(~not_min, lowest, n));
	/* The minimum is not kept. Use the beginning of the lowest bucket. */
	if (!not_min)
		histogram->min = gpumon_value_of(gpumon_source_bucket_lower(lowest));
	histogram->max = gpumon_value_of(within_bucket(max, highest, n));
	return 0;
}

void gpumon_source_add_words(struct source_ring_words *sum, const struct source_ring_words *words)
{
	for (size_t i = 0; i < SOURCE_RING_SUMS; i++)
		sum->word[i] += words->word[i];
	for (size_t i = SOURCE_RING_SUMS; i < SOURCE_RING_WORDS; i++) {
		if (words->word[i] > sum->word[i])
			sum->word[i] = words->word[i];
	}
}

static int ring_histogram(struct gpumon_model *model, unsigned int id, const char *name,
			  const uint64_t *words, size_t first, size_t buckets, size_t sum,
			  size_t max, size_t min)
{
	struct gpumon_histogram *histogram = gpumon_model_add_histogram(model);

	if (!histogram)
		return -1;
	histogram->ring_id = gpumon_value_of(id);
	histogram->group = strdup("drm_sched");
	histogram->name = strdup(name);
	if (!histogram->group || !histogram->name)
		return -1;
	return gpumon_source_histogram(histogram, words + first, buckets, words[sum], words[max],
				       min ? words[min] : 0);
}

static uint64_t at_least(uint64_t value, uint64_t other)
{
	return value > other ? value : other;
}

uint64_t gpumon_source_busy_ns(uint64_t words, uint64_t now_ns)
{
	/* As gpumon_interval_sum() in kmod/core/clock.c. */
	int64_t ended = (int64_t)(words + SOURCE_EPOCH / 2) >> 60;
	uint64_t sum = words - (uint64_t)ended * (now_ns | SOURCE_EPOCH);

	return (int64_t)sum < 0 ? 0 : sum;
}

int gpumon_source_ring(struct gpumon_model *model, unsigned int id, const struct source_ring *from,
		       const struct source_ring_words *words, uint64_t live, unsigned int attached)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(model);
	const uint64_t *w = (const uint64_t *)words->word;
	bool results = attached & 1U << SOURCE_SCHED_RESULT;

	if (!ring)
		return -1;
	ring->id = gpumon_value_of(id);
	ring->device = strndup(from->device, sizeof(from->device));
	ring->name = strndup(from->name, sizeof(from->name));
	ring->live = gpumon_value_if(attached & 1U << SOURCE_SCHED_FINI, live);
	ring->queued = gpumon_value_of(w[SOURCE_RING_QUEUED]);
	ring->run = gpumon_value_of(w[SOURCE_RING_RUN]);
	ring->done = gpumon_value_of(w[SOURCE_RING_DONE]);
	ring->errors = gpumon_value_if(results, w[SOURCE_RING_ERRORS]);
	ring->killed = gpumon_value_if(results, w[SOURCE_RING_KILLED]);
	ring->dependency_waits =
		gpumon_value_if(attached & 1U << SOURCE_SCHED_WAIT, w[SOURCE_RING_WAITS]);
	ring->untracked = gpumon_value_of(w[SOURCE_RING_UNTRACKED]);
	ring->jobs_table_full = gpumon_value_of(w[SOURCE_RING_JOBS_TABLE_FULL]);
	ring->clock_backwards = gpumon_value_of(w[SOURCE_RING_BACKWARDS]);
	ring->abandoned =
		gpumon_value_if(attached & 1U << SOURCE_SCHED_FINI, w[SOURCE_RING_ABANDONED]);
	ring->busy_ns =
		gpumon_value_of(gpumon_source_busy_ns(w[SOURCE_RING_BUSY], gpumon_monotonic_ns()));
	if (from->begun) {
		ring->queue_depth = gpumon_value_of(from->queued);
		ring->queue_depth_max =
			gpumon_value_of(at_least(w[SOURCE_RING_QUEUE_DEPTH_MAX], from->queued));
		ring->hw_depth = gpumon_value_of(from->running);
		ring->hw_depth_max =
			gpumon_value_of(at_least(w[SOURCE_RING_HW_DEPTH_MAX], from->running));
	}
	if (!ring->device || !ring->name ||
	    ring_histogram(model, id, "queue_ns", w, SOURCE_RING_QUEUE_NS, SOURCE_LATENCY_BUCKETS,
			   SOURCE_RING_QUEUE_NS_SUM, SOURCE_RING_QUEUE_NS_MAX,
			   SOURCE_RING_QUEUE_NS_MIN) ||
	    ring_histogram(model, id, "run_ns", w, SOURCE_RING_RUN_NS, SOURCE_LATENCY_BUCKETS,
			   SOURCE_RING_RUN_NS_SUM, SOURCE_RING_RUN_NS_MAX, SOURCE_RING_RUN_NS_MIN))
		return -1;
	return 0;
}

static void add_word(struct gpumon_value *value, const struct source_process *process,
		     enum source_process_word word, unsigned int known)
{
	if (!(known & 1U << word))
		return;
	value->v += process->words[word];
	value->known = true;
}

int gpumon_source_process(struct gpumon_model *model, const struct source_process *from,
			  uint64_t id, unsigned int known)
{
	struct gpumon_process *process = NULL;

	for (size_t i = 0; i < model->n_processes && !process; i++) {
		if (model->processes[i].pid.v == from->pid &&
		    model->processes[i].start_ns.v == from->start_ns)
			process = &model->processes[i];
	}
	if (!process) {
		process = gpumon_model_add_process(model);
		if (!process)
			return -1;
		process->pid = gpumon_value_of(from->pid);
		process->start_ns = gpumon_value_of(from->start_ns);
		process->cgroup_id = (struct gpumon_value){ from->cgroup_id, from->cgroup_id != 0 };
		process->comm = strndup(from->comm, sizeof(from->comm));
		if (!process->comm)
			return -1;
	}
	if (id)
		process->id = gpumon_value_of(id);
	add_word(&process->jobs, from, SOURCE_PROCESS_JOBS, known);
	add_word(&process->ioctls, from, SOURCE_PROCESS_IOCTLS, known);
	add_word(&process->mapped_bytes, from, SOURCE_PROCESS_MAPPED_BYTES, known);
	add_word(&process->opens, from, SOURCE_PROCESS_OPENS, known);
	return 0;
}
