// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Turns readings into the rows of "top". */
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "model_fields.h"
#include "top.h"

static int compare_text(const char *a, const char *b)
{
	/* Sort by number: ring10 after ring9. */
	return strverscmp(a ? a : "", b ? b : "");
}

static int compare_ring_names(const struct gpumon_top_ring *x, const struct gpumon_top_ring *y)
{
	int order = compare_text(x->device, y->device);

	if (!order)
		order = compare_text(x->name, y->name);
	if (!order)
		order = x->id < y->id ? -1 : x->id > y->id;
	return order;
}

/* Highest first, unknown last. */
static int compare_values(struct gpumon_value x, struct gpumon_value y)
{
	if (x.known != y.known)
		return x.known ? -1 : 1;
	return x.v > y.v ? -1 : x.v < y.v;
}

static int compare_rings(const void *a, const void *b, void *data)
{
	const struct gpumon_top_ring *x = a;
	const struct gpumon_top_ring *y = b;
	int order = 0;

	switch (*(const enum gpumon_top_sort *)data) {
	case GPUMON_TOP_BUSY:
		order = x->busy > y->busy ? -1 : x->busy < y->busy;
		break;
	case GPUMON_TOP_LOAD:
		order = x->load > y->load ? -1 : x->load < y->load;
		break;
	case GPUMON_TOP_JOBS:
		order = compare_values(x->done, y->done);
		break;
	case GPUMON_TOP_QUEUED:
		order = compare_values(x->queue_depth, y->queue_depth);
		break;
	case GPUMON_TOP_QUEUE_TIME:
		order = compare_values(x->queue_p99, y->queue_p99);
		break;
	case GPUMON_TOP_RUN_TIME:
		order = compare_values(x->run_p99, y->run_p99);
		break;
	case GPUMON_TOP_ERRORS:
		order = compare_values(x->errors, y->errors);
		break;
	case GPUMON_TOP_NAME:
	case GPUMON_TOP_SORTS:
		break;
	}
	/* Equal rows keep their position from page to page. */
	return order ? order : compare_ring_names(x, y);
}

static int compare_processes(const void *a, const void *b)
{
	const struct gpumon_top_process *x = a;
	const struct gpumon_top_process *y = b;
	uint64_t left = x->usage->sum.gpu_ns.v, right = y->usage->sum.gpu_ns.v;
	int order = left > right ? -1 : left < right;

	if (!order)
		order = compare_values(x->jobs, y->jobs);
	if (!order)
		order = x->exited - y->exited;
	if (!order)
		order = compare_values(x->total, y->total);
	return order ? order : -compare_values(x->pid, y->pid);
}

void gpumon_top_sort(struct gpumon_top *top, enum gpumon_top_sort sort)
{
	if (top->n_rings)
		qsort_r(top->rings, top->n_rings, sizeof(*top->rings), compare_rings, &sort);
}

static void rings_free(struct gpumon_top_ring *rings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rings[i].device);
		free(rings[i].name);
	}
	free(rings);
}

void gpumon_top_free(struct gpumon_top *top)
{
	rings_free(top->rings, top->n_rings);
	free(top->processes);
	gpumon_usage_clear(&top->usage);
	gpumon_model_free(&top->last);
	gpumon_model_free(&top->diff);
	memset(top, 0, sizeof(*top));
}

static const struct gpumon_top_ring *find_ring(const struct gpumon_top *top,
					       const struct gpumon_top_ring *like)
{
	for (size_t i = 0; i < top->n_rings; i++) {
		if (!compare_ring_names(&top->rings[i], like))
			return &top->rings[i];
	}
	return NULL;
}

static void ring_history(const struct gpumon_top *top, struct gpumon_top_ring *ring)
{
	const struct gpumon_top_ring *old = find_ring(top, ring);

	/* The first reading is a mean over a long time and does not belong on the curve. */
	if (!top->readings)
		return;
	if (old) {
		size_t drop = old->n_history == GPUMON_TOP_HISTORY;

		ring->n_history = old->n_history - drop;
		memcpy(ring->history, old->history + drop,
		       ring->n_history * sizeof(*ring->history));
	}
	ring->history[ring->n_history++] = ring->busy;
}

static void fill_ring(const struct gpumon_top *top, const struct gpumon_model *diff,
		      const struct gpumon_ring *from, struct gpumon_top_ring *ring)
{
	const struct gpumon_histogram *queue = gpumon_model_histogram(diff, from->id.v, "queue_ns");
	const struct gpumon_histogram *run = gpumon_model_histogram(diff, from->id.v, "run_ns");

	ring->id = from->id.v;
	ring->device = gpumon_strdup(from->device ? from->device : "-");
	ring->name = gpumon_strdup(from->name ? from->name : "-");

	ring->busy = -1;
	if (from->busy_ns.known && diff->interval_ns)
		ring->busy = (double)from->busy_ns.v / (double)diff->interval_ns;
	/* The time of the reading and the busy time are not read at one moment. */
	if (ring->busy > 1)
		ring->busy = 1;
	ring->load = -1;
	if (run && run->sum.known && diff->interval_ns)
		ring->load = (double)run->sum.v / (double)diff->interval_ns;
	ring->done = from->done;
	ring->errors = from->errors;
	ring->queue_depth = from->queue_depth;
	ring->queue_depth_max = from->queue_depth_max;
	ring->hw_depth = from->hw_depth;
	ring->hw_depth_max = from->hw_depth_max;
	ring->queue_p50 = gpumon_histogram_percentile(queue, 500);
	ring->queue_p99 = gpumon_histogram_percentile(queue, 990);
	ring->run_p50 = gpumon_histogram_percentile(run, 500);
	ring->run_p99 = gpumon_histogram_percentile(run, 990);
	ring_history(top, ring);
}

/* @now: the same process in the reading */
static void fill_process(const struct gpumon_process *now, const struct gpumon_process *from,
			 struct gpumon_top_process *process)
{
	process->pid = from->pid;
	process->comm = now->comm ? now->comm : "-";
	process->exited = from->alive.known && !from->alive.v;
	process->jobs = from->jobs;
	process->total = now->jobs;
	process->vram_bytes = now->vram_bytes;
	process->live_object_bytes = now->live_object_bytes;
}

static struct gpumon_drops sum_drops(const struct gpumon_model *model)
{
	struct gpumon_drops sum = { 0 };

	for (size_t i = 0; i < model->n_groups; i++) {
		const struct gpumon_group *group = &model->groups[i];

		for (size_t k = 0; k < group->n_probes; k++) {
			const struct gpumon_drops *dropped = &group->probes[k].dropped;

			gpumon_value_add(&sum.table_full, dropped->table_full);
			gpumon_value_add(&sum.recursion, dropped->recursion);
			gpumon_value_add(&sum.unreadable, dropped->unreadable);
			gpumon_value_add(&sum.missed, dropped->missed);
			gpumon_value_add(&sum.no_memory, dropped->no_memory);
		}
	}
	return sum;
}

void gpumon_top_update(struct gpumon_top *top, struct gpumon_model *reading)
{
	/* Without an earlier reading, the difference is the whole period. */
	const struct gpumon_model nothing = { .info.period = { .known = true } };
	struct gpumon_top_process *processes;
	struct gpumon_top_ring *rings;
	struct gpumon_model diff = { 0 };
	struct gpumon_usage usage;

	gpumon_model_diff(&diff, top->readings ? &top->last : &nothing, reading);
	gpumon_usage_init(&usage, &diff);
	rings = gpumon_calloc(diff.n_rings, sizeof(*rings));
	processes = gpumon_calloc(diff.n_processes, sizeof(*processes));
	for (size_t i = 0; i < diff.n_rings; i++)
		fill_ring(top, &diff, &diff.rings[i], &rings[i]);
	/* A difference has the processes of the reading, in its order. */
	for (size_t i = 0; i < diff.n_processes; i++) {
		fill_process(&reading->processes[i], &diff.processes[i], &processes[i]);
		processes[i].usage = &usage.processes[i];
	}
	qsort(processes, diff.n_processes, sizeof(*processes), compare_processes);

	rings_free(top->rings, top->n_rings);
	free(top->processes);
	gpumon_usage_clear(&top->usage);
	gpumon_model_free(&top->last);
	gpumon_model_free(&top->diff);
	top->usage = usage;
	top->rings = rings;
	top->n_rings = diff.n_rings;
	top->processes = processes;
	top->n_processes = diff.n_processes;
	top->last = *reading;
	top->diff = diff;
	top->lost = sum_drops(reading);
	top->lost_now = sum_drops(&diff);
	top->readings++;
	memset(reading, 0, sizeof(*reading));
}
