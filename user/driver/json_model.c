// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "json_model.h"
#include "process_count.h"

struct json_object *gpumon_json_histogram(const struct gpumon_histogram *histogram)
{
	static const struct gpumon_histogram unknown;
	struct json_object *object = json_object_new_object();
	struct json_object *buckets = json_object_new_array();
	bool failed = !object || !buckets;

	if (!histogram)
		histogram = &unknown;
	failed |=
		gpumon_json_add_value(object, "count", histogram->count) ||
		gpumon_json_add_value(object, "sum", histogram->sum) ||
		gpumon_json_add_value(object, "min", histogram->min) ||
		gpumon_json_add_value(object, "max", histogram->max) ||
		gpumon_json_add_value(object, "p50", gpumon_histogram_percentile(histogram, 500)) ||
		gpumon_json_add_value(object, "p90", gpumon_histogram_percentile(histogram, 900)) ||
		gpumon_json_add_value(object, "p99", gpumon_histogram_percentile(histogram, 990));

	for (size_t i = 0; i < histogram->n_buckets && !failed; i++) {
		struct json_object *bucket = json_object_new_object();

		failed = gpumon_json_add_u64(bucket, "ge", histogram->buckets[i].ge) ||
			 gpumon_json_add_u64(bucket, "lt", histogram->buckets[i].lt) ||
			 gpumon_json_add_u64(bucket, "count", histogram->buckets[i].count);
		failed |= gpumon_json_append(buckets, bucket) != 0;
	}
	failed |= gpumon_json_add(object, "buckets", buckets) != 0;
	return gpumon_json_finish(object, failed);
}

static struct json_object *json_parts(unsigned int parts)
{
	static const struct {
		unsigned int part;
		const char *name;
	} names[] = {
		{ GPUMON_PART_GROUPS, "groups" },	  { GPUMON_PART_RINGS, "rings" },
		{ GPUMON_PART_HISTOGRAMS, "histograms" }, { GPUMON_PART_PROCESSES, "processes" },
		{ GPUMON_PART_STATISTICS, "statistics" }, { GPUMON_PART_LAYOUTS, "layouts" },
		{ GPUMON_PART_ALERTS, "alerts" },
	};
	struct json_object *array = json_object_new_array();
	bool failed = !array;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !failed; i++) {
		if (parts & names[i].part)
			failed = gpumon_json_append(array, json_object_new_string(names[i].name));
	}
	return gpumon_json_finish(array, failed);
}

static int add_process_counts(struct json_object *object, const struct gpumon_process *process)
{
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++) {
		if (gpumon_json_add_value(object, gpumon_process_counts[i].name,
					  gpumon_process_count_of(process, i)))
			return -1;
	}
	return 0;
}

static struct json_object *json_exited(const struct gpumon_process *exited)
{
	struct json_object *object = json_object_new_object();

	return gpumon_json_finish(object, add_process_counts(object, exited) != 0);
}

static struct json_object *json_process(const struct gpumon_process *process)
{
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = gpumon_json_add_value(object, "pid", process->pid) ||
		 gpumon_json_add_string(object, "comm", process->comm) ||
		 gpumon_json_add_value(object, "start_ns", process->start_ns) ||
		 (process->alive.known ?
			  gpumon_json_add_bool(object, "alive", process->alive.v != 0) :
			  gpumon_json_add_null(object, "alive")) ||
		 add_process_counts(object, process) ||
		 gpumon_json_add_value(object, "open_handles", process->open_handles) ||
		 gpumon_json_add_value(object, "cgroup_id", process->cgroup_id) ||
		 gpumon_json_add_string(object, "cgroup", process->cgroup) ||
		 gpumon_json_add_string(object, "container", process->container) ||
		 gpumon_json_add_value(object, "container_pid", process->container_pid);
	return gpumon_json_finish(object, failed);
}

static struct json_object *json_info(const struct gpumon_model *model)
{
	const struct gpumon_info *info = &model->info;
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = gpumon_json_add_string(object, "version", info->version) ||
		 gpumon_json_add_value(object, "schema", info->schema) ||
		 gpumon_json_add_string(object, "source", info->source ? info->source : "kmod") ||
		 gpumon_json_add_string(object, "clock", info->clock) ||
		 gpumon_json_add_value(object, "now_ns", info->now_ns) ||
		 gpumon_json_add_value(object, "since_ns", info->since_ns) ||
		 gpumon_json_add_value(object, "period", info->period) ||
		 gpumon_json_add_value(object, "possible_cpus", info->possible_cpus) ||
		 gpumon_json_add_value(object, "max_rings", info->max_rings) ||
		 gpumon_json_add_value(object, "rings", info->rings) ||
		 gpumon_json_add_value(object, "rings_retired", info->rings_retired) ||
		 gpumon_json_add_value(object, "max_processes", info->max_processes) ||
		 gpumon_json_add_value(object, "processes", info->processes) ||
		 gpumon_json_add_value(object, "processes_exited", info->processes_exited) ||
		 gpumon_json_add_value(object, "jobs_exited", info->jobs_exited) ||
		 gpumon_json_add_value(object, "jobs_unattributed", info->jobs_unattributed) ||
		 gpumon_json_add_value(object, "max_jobs", info->max_jobs) ||
		 gpumon_json_add_value(object, "memory_bytes", info->memory_bytes) ||
		 gpumon_json_add(object, "exited", json_exited(&info->exited)) ||
		 gpumon_json_add(object, "inconsistent", json_parts(model->inconsistent));
	/* Only a difference has these keys: they show that the counts are differences. */
	if (!failed && model->interval_ns)
		failed = gpumon_json_add_u64(object, "interval_ns", model->interval_ns) ||
			 gpumon_json_add_bool(object, "reset_between", model->reset_between);
	return gpumon_json_finish(object, failed);
}

static struct json_object *json_probe(const struct gpumon_probe *probe)
{
	struct json_object *object = json_object_new_object();
	struct json_object *dropped = json_object_new_object();
	bool failed;

	failed = gpumon_json_add_value(dropped, "table_full", probe->dropped.table_full) ||
		 gpumon_json_add_value(dropped, "recursion", probe->dropped.recursion) ||
		 gpumon_json_add_value(dropped, "unreadable", probe->dropped.unreadable) ||
		 gpumon_json_add_value(dropped, "missed", probe->dropped.missed) ||
		 gpumon_json_add_value(dropped, "no_memory", probe->dropped.no_memory) ||
		 gpumon_json_add_string(object, "name", probe->name) ||
		 gpumon_json_add_string(object, "module", probe->module) ||
		 gpumon_json_add_string(object, "kind", gpumon_probe_kind_name(probe->kind)) ||
		 gpumon_json_add_string(object, "state", gpumon_attach_state_name(probe->state)) ||
		 gpumon_json_add_string(object, "reason", probe->reason ? probe->reason : "") ||
		 gpumon_json_add_value(object, "seen", probe->seen) ||
		 gpumon_json_add_value(object, "recorded", probe->recorded);
	failed |= gpumon_json_add(object, "dropped", dropped) != 0;
	return gpumon_json_finish(object, failed);
}

struct json_object *gpumon_json_group(const struct gpumon_group *group)
{
	struct json_object *object = json_object_new_object();
	struct json_object *probes = json_object_new_array();
	bool failed;

	failed = gpumon_json_add_string(object, "name", group->name) ||
		 gpumon_json_add_string(object, "state", gpumon_attach_state_name(group->state)) ||
		 gpumon_json_add_string(object, "reason", group->reason ? group->reason : "") ||
		 (group->enabled.known ?
			  gpumon_json_add_bool(object, "enabled", group->enabled.v != 0) :
			  gpumon_json_add_null(object, "enabled"));
	for (size_t i = 0; i < group->n_probes && !failed; i++)
		failed = gpumon_json_append(probes, json_probe(&group->probes[i]));
	failed |= gpumon_json_add(object, "probes", probes) != 0;
	return gpumon_json_finish(object, failed);
}

static struct json_object *json_depth(struct gpumon_value now, struct gpumon_value max,
				      const struct gpumon_histogram *histogram)
{
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = gpumon_json_add_value(object, "now", now) ||
		 gpumon_json_add_value(object, "max", max) ||
		 gpumon_json_add(object, "histogram", gpumon_json_histogram(histogram));
	return gpumon_json_finish(object, failed);
}

static struct json_object *json_ring(const struct gpumon_model *model,
				     const struct gpumon_ring *ring)
{
	struct json_object *object = json_object_new_object();
	uint64_t id = ring->id.known ? ring->id.v : UINT64_MAX;
	bool failed;

	failed =
		gpumon_json_add_value(object, "id", ring->id) ||
		gpumon_json_add_string(object, "device", ring->device) ||
		gpumon_json_add_string(object, "ring", ring->name) ||
		gpumon_json_add_value(object, "live", ring->live) ||
		gpumon_json_add_value(object, "queued", ring->queued) ||
		gpumon_json_add_value(object, "run", ring->run) ||
		gpumon_json_add_value(object, "done", ring->done) ||
		gpumon_json_add_value(object, "errors", ring->errors) ||
		gpumon_json_add_value(object, "killed", ring->killed) ||
		gpumon_json_add_value(object, "dependency_waits", ring->dependency_waits) ||
		gpumon_json_add_value(object, "untracked", ring->untracked) ||
		gpumon_json_add_value(object, "jobs_table_full", ring->jobs_table_full) ||
		gpumon_json_add_value(object, "clock_backwards", ring->clock_backwards) ||
		gpumon_json_add(object, "queue_depth",
				json_depth(ring->queue_depth, ring->queue_depth_max,
					   gpumon_model_histogram(model, id, "queue_depth"))) ||
		gpumon_json_add(object, "hw_depth",
				json_depth(ring->hw_depth, ring->hw_depth_max,
					   gpumon_model_histogram(model, id, "hw_depth"))) ||
		gpumon_json_add(
			object, "queue_ns",
			gpumon_json_histogram(gpumon_model_histogram(model, id, "queue_ns"))) ||
		gpumon_json_add(object, "run_ns",
				gpumon_json_histogram(gpumon_model_histogram(model, id, "run_ns")));
	return gpumon_json_finish(object, failed);
}

struct json_object *gpumon_json_event_ring(const struct gpumon_event_ring *ring)
{
	struct json_object *object = json_object_new_object();
	bool failed;

	failed = (ring->enabled.known ?
			  gpumon_json_add_bool(object, "enabled", ring->enabled.v != 0) :
			  gpumon_json_add_null(object, "enabled")) ||
		 gpumon_json_add_value(object, "size_kib", ring->size_kib) ||
		 gpumon_json_add_value(object, "written", ring->written) ||
		 gpumon_json_add_value(object, "overwritten", ring->overwritten) ||
		 gpumon_json_add_value(object, "delivered", ring->delivered) ||
		 gpumon_json_add_value(object, "pending", ring->pending) ||
		 gpumon_json_add_value(object, "dropped", ring->dropped);
	return gpumon_json_finish(object, failed);
}

static int add_drm_sched(struct json_object *document, const struct gpumon_model *model)
{
	struct json_object *drm_sched = json_object_new_object();
	struct json_object *rings = json_object_new_array();
	bool failed = !drm_sched || !rings;

	for (size_t i = 0; i < model->n_rings && !failed; i++)
		failed = gpumon_json_append(rings, json_ring(model, &model->rings[i]));
	failed |= gpumon_json_add(drm_sched, "rings", rings) != 0;
	failed |= gpumon_json_add(document, "drm_sched", drm_sched) != 0;
	return failed ? -1 : 0;
}

/* Processes belong to no single group. */
static int add_processes(struct json_object *document, const struct gpumon_model *model)
{
	struct json_object *processes = json_object_new_array();
	bool failed = !processes;

	for (size_t i = 0; i < model->n_processes && !failed; i++)
		failed = gpumon_json_append(processes, json_process(&model->processes[i]));
	failed |= gpumon_json_add(document, "processes", processes) != 0;
	return failed ? -1 : 0;
}

struct json_object *gpumon_json_model(const struct gpumon_model *model, const char *group)
{
	struct json_object *document = json_object_new_object();
	struct json_object *groups = json_object_new_array();
	bool failed = !document || !groups;

	for (size_t i = 0; i < model->n_groups && !failed; i++) {
		const char *name = model->groups[i].name;

		if (!group || (name && !strcmp(name, group)))
			failed = gpumon_json_append(groups, gpumon_json_group(&model->groups[i]));
	}
	failed |= gpumon_json_add(document, "gpumon", json_info(model)) != 0;
	failed |= gpumon_json_add(document, "groups", groups) != 0;
	if (!failed && (!group || !strcmp(group, "drm_sched")))
		failed = add_drm_sched(document, model);
	failed = failed || gpumon_json_statistics(document, model, group) ||
		 add_processes(document, model);
	failed |= gpumon_json_add(document, "event_ring",
				  gpumon_json_event_ring(&model->event_ring)) != 0;
	return gpumon_json_finish(document, failed);
}
