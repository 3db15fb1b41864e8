// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "correlate_program.h"

/* Nodes of a graph. Every graph is launched itself, and as a clone. */
#define GRAPH_NODES 8
#define GRAPHS	    4

/* Ids of the names of functions. */
static const uint32_t functions[] = {
	[PROGRAM_LAUNCH] = 1, [PROGRAM_COPY] = 2,     [PROGRAM_SET] = 3,
	[PROGRAM_GRAPH] = 4,  [PROGRAM_CAPTURED] = 1, [PROGRAM_FAILED] = 1,
};

static const unsigned int writers_fixed = 2; /* nodes, operations */

struct builder {
	struct program *program;
	uint64_t random;
	uint64_t *keys;	   /* sort keys: times of the records */
	uint32_t *writers; /* writer of each record */
	unsigned int room;
};

static unsigned int below(struct builder *builder, unsigned int limit)
{
	return (unsigned int)(test_random(&builder->random) % limit);
}

static bool lost(struct builder *builder, unsigned int per_mille)
{
	return below(builder, 1000) < per_mille;
}

static void *must(void *memory)
{
	assert_non_null(memory);
	return memory;
}

static union program_record *put(struct builder *builder, unsigned int type, size_t size,
				 uint32_t writer, uint64_t key)
{
	struct program *program = builder->program;
	union program_record *record;

	if (program->record_count == builder->room) {
		builder->room = builder->room ? builder->room * 2 : 1024;
		program->records =
			must(realloc(program->records, builder->room * sizeof(*program->records)));
		builder->keys = must(realloc(builder->keys, builder->room * sizeof(uint64_t)));
		builder->writers =
			must(realloc(builder->writers, builder->room * sizeof(uint32_t)));
	}
	builder->keys[program->record_count] = key;
	builder->writers[program->record_count] = writer;
	record = &program->records[program->record_count++];
	memset(record, 0, sizeof(*record));
	record->head.type = (uint16_t)type;
	record->head.size = (uint32_t)size;
	return record;
}

static int by_start(const void *a, const void *b)
{
	const struct program_call *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static enum program_call_kind pick_kind(struct builder *builder)
{
	unsigned int dice = below(builder, 100);

	if (dice < 8)
		return PROGRAM_COPY;
	if (dice < 12)
		return PROGRAM_SET;
	if (dice < 15)
		return PROGRAM_FAILED;
	if (dice < 30 && builder->program->options.graphs)
		return PROGRAM_GRAPH;
	if (dice < 35 && builder->program->options.graphs)
		return PROGRAM_CAPTURED;
	return PROGRAM_LAUNCH;
}

static void make_calls(struct builder *builder)
{
	struct program *program = builder->program;
	const struct program_options *options = &program->options;
	uint64_t id = options->first_id;
	struct program_call *call;

	program->calls = must(calloc(options->threads * options->calls, sizeof(*call)));
	for (unsigned int thread = 0; thread < options->threads; thread++) {
		uint64_t now = 1000000 + below(builder, 1000);

		for (unsigned int i = 0; i < options->calls; i++) {
			call = &program->calls[program->call_count++];
			call->kind = pick_kind(builder);
			call->thread = thread;
			now += 500 + below(builder, 3000);
			call->start_ns = now += 1100 + below(builder, 2000);
			call->end_ns = now += 1500 + below(builder, 3000);
			call->works = call->kind == PROGRAM_GRAPH ? GRAPH_NODES :
				      call->kind <= PROGRAM_SET	  ? 1 :
								    0;
		}
	}
	/* CUPTI numbers calls in the order of their start. */
	qsort(program->calls, program->call_count, sizeof(*call), by_start);
	for (unsigned int i = 0; i < program->call_count; i++) {
		call = &program->calls[i];
		/* 0 is not an id. */
		if (!(uint32_t)id)
			id += options->stride;
		call->id = id;
		id += options->stride;
		call->stack = i + 1;
		call->has_record = !lost(builder, options->loss.launches);
	}
}

static void put_nodes(struct builder *builder)
{
	struct program *program = builder->program;
	unsigned int originals = GRAPHS * GRAPH_NODES;

	program->node_count = 2 * originals;
	program->node_stack = must(calloc(program->node_count + 1, sizeof(uint32_t)));
	program->node_recorded = must(calloc(program->node_count + 1, sizeof(bool)));
	for (unsigned int node = 1; node <= program->node_count; node++) {
		bool clone = node > originals;
		union program_record *record;

		program->node_recorded[node] = !lost(builder, program->options.loss.nodes);
		program->node_stack[node] = clone ? program->node_stack[node - originals] :
						    10000000 + node;
		if (!program->node_recorded[node])
			continue;
		record = put(builder, GPUMON_RECORD_GRAPH_NODE, sizeof(record->node), 0, 1);
		record->node.node = node;
		record->node.original = clone ? node - originals : 0;
		record->node.stack = clone ? 0 : program->node_stack[node];
		if (clone)
			program->node_recorded[node] = program->node_recorded[node - originals];
	}
}

static void put_launch(struct builder *builder, const struct program_call *call)
{
	struct program *program = builder->program;
	union program_record *record = put(builder, GPUMON_RECORD_LAUNCH, sizeof(record->launch),
					   writers_fixed + call->thread, call->end_ns);

	program->launches_recorded++;
	record->launch = (struct gpumon_record_launch){
		.head = record->head,
		.start_ns = call->start_ns,
		.end_ns = call->end_ns,
		.tid = 100 + call->thread,
		.correlation = (uint32_t)call->id,
		.stack = call->stack,
		.function = functions[call->kind],
		.result = call->kind == PROGRAM_FAILED,
	};
	record->head.flags = call->kind == PROGRAM_CAPTURED ? GPUMON_LAUNCH_CAPTURED :
			     call->kind == PROGRAM_FAILED   ? GPUMON_LAUNCH_FAILED :
			     call->kind == PROGRAM_GRAPH    ? GPUMON_LAUNCH_GRAPH :
							      0;
}

static void put_work(struct builder *builder, unsigned int number, uint32_t stream)
{
	struct program *program = builder->program;
	const struct program_work *work = &program->works[number];
	const struct program_call *call = &program->calls[work->call];
	uint64_t end_ns = work->start_ns + work->duration_ns;
	uint64_t comes_ns = end_ns + 2000000 / program->options.threads; /* some 300 calls */
	union program_record *record;

	program->works_recorded++;
	if (call->kind == PROGRAM_COPY) {
		record = put(builder, GPUMON_RECORD_COPY, sizeof(record->copy), 1, comes_ns);
		record->copy = (struct gpumon_record_copy){
			.head = record->head,
			.start_ns = work->start_ns,
			.end_ns = end_ns,
			.bytes = number,
			.correlation = (uint32_t)call->id,
			.stream = stream,
		};
	} else if (call->kind == PROGRAM_SET) {
		record = put(builder, GPUMON_RECORD_SET, sizeof(record->set), 1, comes_ns);
		record->set = (struct gpumon_record_set){
			.head = record->head,
			.start_ns = work->start_ns,
			.end_ns = end_ns,
			.bytes = number,
			.correlation = (uint32_t)call->id,
			.stream = stream,
		};
	} else {
		record = put(builder, GPUMON_RECORD_KERNEL, sizeof(record->kernel), 1, comes_ns);
		record->kernel = (struct gpumon_record_kernel){
			.head = record->head,
			.start_ns = work->start_ns,
			.end_ns = end_ns,
			.node = work->node,
			.correlation = (uint32_t)call->id,
			.stream = stream,
			.grid = { number, 1, 1 },
		};
	}
}

static void make_works(struct builder *builder)
{
	struct program *program = builder->program;
	unsigned int streams = program->options.streams;
	uint64_t *busy_until = must(calloc(program->options.threads * streams, sizeof(uint64_t)));

	program->works =
		must(calloc((size_t)program->call_count * GRAPH_NODES, sizeof(*program->works)));
	for (unsigned int i = 0; i < program->call_count; i++) {
		const struct program_call *call = &program->calls[i];
		unsigned int stream = call->thread * streams + below(builder, streams);
		unsigned int graph = below(builder, 2 * GRAPHS);

		for (unsigned int j = 0; j < call->works; j++) {
			struct program_work *work = &program->works[program->work_count];
			uint64_t *free_at = &busy_until[stream];

			work->call = i;
			work->node = call->kind == PROGRAM_GRAPH ? graph * GRAPH_NODES + j + 1 : 0;
			work->start_ns = call->start_ns + 200 + below(builder, 5000);
			if (work->start_ns < *free_at)
				work->start_ns = *free_at;
			work->duration_ns = 1 + below(builder, 8000);
			*free_at = work->start_ns + work->duration_ns;
			work->recorded = !lost(builder, program->options.loss.works);
			if (work->recorded)
				put_work(builder, program->work_count, stream);
			program->work_count++;
		}
	}
	free(busy_until);
}

/* --- order */

struct place {
	uint64_t key;
	uint32_t writer;
	uint32_t record;
};

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->record < y->record ? -1 : x->record > y->record;
}

static int by_writer(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->writer != y->writer ? (x->writer < y->writer ? -1 : 1) : by_key(a, b);
}

/* Alternate between writers after a few records, whatever the times. */
static void interleave(struct builder *builder, struct place *places, unsigned int count)
{
	unsigned int writers = writers_fixed + builder->program->options.threads;
	unsigned int *next = must(calloc(writers, sizeof(*next)));
	unsigned int *end = must(calloc(writers, sizeof(*end)));
	struct place *mixed = must(calloc(count, sizeof(*mixed)));
	unsigned int done = 0;

	qsort(places, count, sizeof(*places), by_writer);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int writer = places[i].writer;

		if (!end[writer])
			next[writer] = i;
		end[writer] = i + 1;
	}
	while (done < count) {
		unsigned int writer = below(builder, writers);
		unsigned int chunk = 1 + below(builder, 700);

		while (chunk-- && next[writer] < end[writer])
			mixed[done++] = places[next[writer]++];
	}
	memcpy(places, mixed, count * sizeof(*places));
	free(mixed);
	free(next);
	free(end);
}

static void order(struct builder *builder)
{
	struct program *program = builder->program;
	unsigned int count = program->record_count;
	struct place *places = must(calloc(count, sizeof(*places)));
	union program_record *sorted = must(calloc(count, sizeof(*sorted)));

	for (unsigned int i = 0; i < count; i++)
		places[i] = (struct place){ builder->keys[i], builder->writers[i], i };
	if (program->options.order == PROGRAM_RANDOM) {
		for (unsigned int i = 0; i < count; i++)
			places[i].key = test_random(&builder->random);
	}
	if (program->options.order == PROGRAM_SHUFFLED)
		interleave(builder, places, count);
	else
		qsort(places, count, sizeof(*places), by_key);
	for (unsigned int i = 0; i < count; i++)
		sorted[i] = program->records[places[i].record];
	free(program->records);
	program->records = sorted;
	free(places);
}

struct program *program_new(const struct program_options *options)
{
	struct program *program = must(calloc(1, sizeof(*program)));
	struct builder builder = { .program = program, .random = options->seed };

	program->options = *options;
	make_calls(&builder);
	put_nodes(&builder);
	for (unsigned int i = 0; i < program->call_count; i++) {
		if (program->calls[i].has_record)
			put_launch(&builder, &program->calls[i]);
	}
	make_works(&builder);
	order(&builder);
	free(builder.keys);
	free(builder.writers);
	return program;
}

void program_free(struct program *program)
{
	free(program->calls);
	free(program->works);
	free(program->node_stack);
	free(program->node_recorded);
	free(program->records);
	free(program);
}

unsigned int program_work_number(const struct gpumon_work *work)
{
	return work->kind == GPUMON_WORK_KERNEL ? work->kernel->grid[0] :
	       work->kind == GPUMON_WORK_COPY	? (unsigned int)work->copy->bytes :
						  (unsigned int)work->set->bytes;
}
