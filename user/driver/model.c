// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "histogram.h"
#include "model.h"

struct gpumon_group *gpumon_model_add_group(struct gpumon_model *model)
{
	return GPUMON_GROW(model->groups, model->n_groups);
}

struct gpumon_probe *gpumon_group_add_probe(struct gpumon_group *group)
{
	return GPUMON_GROW(group->probes, group->n_probes);
}

struct gpumon_ring *gpumon_model_add_ring(struct gpumon_model *model)
{
	return GPUMON_GROW(model->rings, model->n_rings);
}

struct gpumon_histogram *gpumon_model_add_histogram(struct gpumon_model *model)
{
	return GPUMON_GROW(model->histograms, model->n_histograms);
}

struct gpumon_process *gpumon_model_add_process(struct gpumon_model *model)
{
	return GPUMON_GROW(model->processes, model->n_processes);
}

int gpumon_histogram_add_bucket(struct gpumon_histogram *histogram, uint64_t ge, uint64_t lt,
				uint64_t count)
{
	struct gpumon_bucket *bucket = GPUMON_GROW(histogram->buckets, histogram->n_buckets);

	if (!bucket)
		return -1;
	*bucket = (struct gpumon_bucket){ .ge = ge, .lt = lt, .count = count };
	return 0;
}

void gpumon_group_clear(struct gpumon_group *group)
{
	for (size_t i = 0; i < group->n_probes; i++) {
		free(group->probes[i].name);
		free(group->probes[i].module);
		free(group->probes[i].reason);
	}
	free(group->probes);
	free(group->name);
	free(group->reason);
	memset(group, 0, sizeof(*group));
}

static void clear_ring(struct gpumon_ring *ring)
{
	free(ring->device);
	free(ring->name);
	memset(ring, 0, sizeof(*ring));
}

void gpumon_histogram_clear(struct gpumon_histogram *histogram)
{
	free(histogram->group);
	free(histogram->name);
	free(histogram->buckets);
	memset(histogram, 0, sizeof(*histogram));
}

void gpumon_process_clear(struct gpumon_process *process)
{
	free(process->comm);
	free(process->container);
	free(process->cgroup);
	memset(process, 0, sizeof(*process));
}

void gpumon_info_clear(struct gpumon_info *info)
{
	free(info->version);
	free(info->clock);
	gpumon_process_clear(&info->exited);
	memset(info, 0, sizeof(*info));
}

void gpumon_model_clear(struct gpumon_model *model, unsigned int parts)
{
	if (parts & GPUMON_PART_INFO)
		gpumon_info_clear(&model->info);
	if (parts & GPUMON_PART_EVENT_RING)
		memset(&model->event_ring, 0, sizeof(model->event_ring));
	if (parts & GPUMON_PART_GROUPS) {
		for (size_t i = 0; i < model->n_groups; i++)
			gpumon_group_clear(&model->groups[i]);
		free(model->groups);
		model->groups = NULL;
		model->n_groups = 0;
	}
	if (parts & GPUMON_PART_RINGS) {
		for (size_t i = 0; i < model->n_rings; i++)
			clear_ring(&model->rings[i]);
		free(model->rings);
		model->rings = NULL;
		model->n_rings = 0;
	}
	if (parts & GPUMON_PART_HISTOGRAMS) {
		for (size_t i = 0; i < model->n_histograms; i++)
			gpumon_histogram_clear(&model->histograms[i]);
		free(model->histograms);
		model->histograms = NULL;
		model->n_histograms = 0;
	}
	if (parts & GPUMON_PART_PROCESSES) {
		for (size_t i = 0; i < model->n_processes; i++)
			gpumon_process_clear(&model->processes[i]);
		free(model->processes);
		model->processes = NULL;
		model->n_processes = 0;
	}
	gpumon_statistics_clear(model, parts);
	model->parts &= ~parts;
	model->inconsistent &= ~parts;
}

void gpumon_model_free(struct gpumon_model *model)
{
	gpumon_model_clear(model, GPUMON_PART_ALL);
	memset(model, 0, sizeof(*model));
}

const struct gpumon_group *gpumon_model_group(const struct gpumon_model *model, const char *name)
{
	for (size_t i = 0; i < model->n_groups; i++) {
		if (model->groups[i].name && !strcmp(model->groups[i].name, name))
			return &model->groups[i];
	}
	return NULL;
}

const struct gpumon_ring *gpumon_model_ring(const struct gpumon_model *model, uint64_t id)
{
	for (size_t i = 0; i < model->n_rings; i++) {
		if (model->rings[i].id.known && model->rings[i].id.v == id)
			return &model->rings[i];
	}
	return NULL;
}

const struct gpumon_histogram *gpumon_model_histogram(const struct gpumon_model *model,
						      uint64_t ring_id, const char *name)
{
	for (size_t i = 0; i < model->n_histograms; i++) {
		const struct gpumon_histogram *histogram = &model->histograms[i];

		if (histogram->ring_id.known && histogram->ring_id.v == ring_id &&
		    histogram->name && !strcmp(histogram->name, name))
			return histogram;
	}
	return NULL;
}

const char *gpumon_attach_state_name(struct gpumon_value state)
{
	static const char *const names[] = {
		[GPUMON_ATTACH_STATE_OFF] = "off",
		[GPUMON_ATTACH_STATE_WAITING] = "waiting",
		[GPUMON_ATTACH_STATE_ATTACHED] = "attached",
		[GPUMON_ATTACH_STATE_MISSING] = "missing",
		[GPUMON_ATTACH_STATE_MISMATCH] = "mismatch",
		[GPUMON_ATTACH_STATE_FAILED] = "failed",
	};

	if (!state.known || state.v >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[state.v];
}

const char *gpumon_probe_kind_name(struct gpumon_value kind)
{
	static const char *const names[] = {
		[GPUMON_PROBE_KIND_TRACEPOINT] = "tracepoint",
		[GPUMON_PROBE_KIND_KPROBE] = "kprobe",
		[GPUMON_PROBE_KIND_KRETPROBE] = "kretprobe",
	};

	if (!kind.known || kind.v >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[kind.v];
}
