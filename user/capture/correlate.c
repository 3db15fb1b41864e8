// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* Processes are numbered from 0 on, so a higher number is a bug of the caller. */
#define PROCESSES_MAX (1u << 20)

struct gpumon_correlate *gpumon_correlate_new(const struct gpumon_correlate_output *output)
{
	struct gpumon_correlate *correlate = calloc(1, sizeof(*correlate));

	if (correlate)
		correlate->output = *output;
	return correlate;
}

/* What of a process belongs to one API. */
static struct process *find_process(struct gpumon_correlate *correlate, uint32_t number,
				    uint32_t api)
{
	struct process **processes;
	struct process *process;
	uint32_t place;

	if (correlate->last && correlate->last->number == number && correlate->last->api == api)
		return correlate->last;
	if (number >= PROCESSES_MAX || api >= GPUMON_APIS)
		return NULL;
	place = number * GPUMON_APIS + api;
	if (place >= correlate->room) {
		uint32_t room = correlate->room ? correlate->room : 8;

		while (room <= place)
			room *= 2;
		processes = realloc(correlate->processes, room * sizeof(*processes));
		if (!processes)
			return NULL;
		memset(processes + correlate->room, 0,
		       (room - correlate->room) * sizeof(*processes));
		correlate->processes = processes;
		correlate->room = room;
	}
	process = correlate->processes[place];
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return NULL;
		process->number = number;
		process->api = api;
		/* Hits do not say of which API they are. */
		process->no_hits = api != GPUMON_API_CUDA;
		correlate->processes[place] = process;
		correlate->count++;
	}
	correlate->last = process;
	return process;
}

int gpumon_correlate_expect(struct gpumon_correlate *correlate, uint32_t number, uint32_t expect)
{
	struct process *process = find_process(correlate, number, GPUMON_API_CUDA);

	if (!process)
		return -1;
	process->no_hits = !(expect & GPUMON_EXPECT_HITS);
	process->no_nodes = !(expect & GPUMON_EXPECT_NODES);
	return 0;
}

/* A record of at least its type's size: the record itself, or a copy with missing fields as 0. */
static const void *whole_record(const struct gpumon_record *record, size_t size, void *copy)
{
	if (record->size >= size)
		return record;
	memset(copy, 0, size);
	memcpy(copy, record, record->size);
	return copy;
}

/* Of an id, CUDA for one that is not known. */
static uint32_t api_of(uint32_t id)
{
	return GPUMON_API_OF(id) < GPUMON_APIS ? GPUMON_API_OF(id) : GPUMON_API_CUDA;
}

/* @context: says of which API it is. */
static int join_work(struct gpumon_correlate *correlate, uint32_t number,
		     enum gpumon_work_kind kind, const struct gpumon_record *work, uint32_t context)
{
	struct process *process = find_process(correlate, number, api_of(context));

	return process ? gpumon_join_work(correlate, process, kind, work) : -1;
}

int gpumon_correlate_record(struct gpumon_correlate *correlate, uint32_t number,
			    const struct gpumon_record *record)
{
	union {
		struct gpumon_record_launch launch;
		struct gpumon_record_hit hit;
		struct gpumon_record_graph_node node;
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
		struct gpumon_record_loss loss;
	} copy;
	struct process *process;

#define WHOLE(member) whole_record(record, sizeof(copy.member), &copy.member)
	/* Driver events of the module belong to no process. */
	if (number == ~0u || record->size < sizeof(*record))
		return 0;
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH: {
		const struct gpumon_record_launch *launch = WHOLE(launch);

		process = find_process(correlate, number, api_of(launch->context));
		return process ? gpumon_join_launch(correlate, process, launch) : -1;
	}
	case GPUMON_RECORD_KERNEL: {
		const struct gpumon_record_kernel *work = WHOLE(kernel);

		return join_work(correlate, number, GPUMON_WORK_KERNEL, &work->head, work->context);
	}
	case GPUMON_RECORD_COPY: {
		const struct gpumon_record_copy *work = WHOLE(copy);

		return join_work(correlate, number, GPUMON_WORK_COPY, &work->head, work->context);
	}
	case GPUMON_RECORD_SET: {
		const struct gpumon_record_set *work = WHOLE(set);

		return join_work(correlate, number, GPUMON_WORK_SET, &work->head, work->context);
	}
	case GPUMON_RECORD_GRAPH: {
		const struct gpumon_record_graph *work = WHOLE(graph);

		return join_work(correlate, number, GPUMON_WORK_GRAPH, &work->head, work->context);
	}
	case GPUMON_RECORD_GRAPH_NODE: {
		const struct gpumon_record_graph_node *node = WHOLE(node);

		process = find_process(correlate, number, api_of(node->graph));
		if (!process || gpumon_nodes_add(&process->nodes, node))
			return -1;
		gpumon_join_node(correlate, process);
		return 0;
	}
	default:
		break;
	}
	process = find_process(correlate, number, GPUMON_API_CUDA);
	if (!process)
		return -1;
	switch (record->type) {
	case GPUMON_RECORD_HIT:
		return gpumon_hits_hit(correlate, process, WHOLE(hit));
	case GPUMON_RECORD_STRING:
		if (process->no_hits || record->size < sizeof(struct gpumon_record_string))
			return 0;
		return gpumon_hits_string(correlate, process, (const void *)record);
	case GPUMON_RECORD_LOSS: {
		const struct gpumon_record_loss *loss = WHOLE(loss);

		if ((loss->cause == GPUMON_LOSS_UPROBE_RING ||
		     loss->cause == GPUMON_LOSS_UPROBE_UNDECIDED) &&
		    loss->count)
			process->hits.lost = true;
		return 0;
	}
	default:
		return 0;
	}
#undef WHOLE
}

static void finish_process(struct gpumon_correlate *correlate, struct process *process)
{
	gpumon_hits_finish(correlate, process);
	gpumon_join_finish(correlate, process);
	gpumon_hits_clear(process);
	gpumon_nodes_clear(&process->nodes);
	correlate->processes[process->number * GPUMON_APIS + process->api] = NULL;
	correlate->count--;
	if (correlate->last == process)
		correlate->last = NULL;
	free(process);
}

int gpumon_correlate_finish(struct gpumon_correlate *correlate, uint32_t number)
{
	for (uint32_t i = 0; i < correlate->room; i++) {
		if (correlate->processes[i] && (number == ~0u || number == i / GPUMON_APIS))
			finish_process(correlate, correlate->processes[i]);
	}
	return 0;
}

const struct gpumon_correlate_counts *
gpumon_correlate_counts(const struct gpumon_correlate *correlate)
{
	return &correlate->counts;
}

size_t gpumon_correlate_memory(const struct gpumon_correlate *correlate)
{
	size_t bytes = sizeof(*correlate) + correlate->room * sizeof(*correlate->processes) +
		       correlate->functions.room * sizeof(*correlate->functions.names) +
		       gpumon_map_bytes(&correlate->functions.by_name);

	for (uint32_t i = 0; i < correlate->room; i++) {
		const struct process *process = correlate->processes[i];

		if (!process)
			continue;
		bytes += sizeof(*process) +
			 process->join.launches_room *
				 (sizeof(struct launch) + 2 * sizeof(uint32_t)) +
			 process->join.works_room * (sizeof(struct work) + 2 * sizeof(uint32_t)) +
			 process->nodes.room * sizeof(struct node) +
			 gpumon_map_bytes(&process->nodes.by_id) +
			 process->hits.room * sizeof(struct hit_thread) +
			 gpumon_map_bytes(&process->hits.by_tid) +
			 gpumon_map_bytes(&process->hits.text);
		for (uint32_t j = 0; j < process->hits.used; j++)
			bytes += process->hits.threads[j].hits.room *
					 sizeof(struct gpumon_record_hit) +
				 process->hits.threads[j].calls.room * sizeof(struct call);
	}
	return bytes;
}

void gpumon_correlate_free(struct gpumon_correlate *correlate)
{
	if (!correlate)
		return;
	/* Drop pending records without reporting them. */
	memset(&correlate->output, 0, sizeof(correlate->output));
	gpumon_correlate_finish(correlate, ~0u);
	free(correlate->processes);
	gpumon_functions_clear(&correlate->functions);
	free(correlate);
}
