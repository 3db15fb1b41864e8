// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "correlate.h"
#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"

#define ROOM_FIRST 1024u

/*
 * Number of later ids after which a launch expires, before it could be taken for one of the next
 * turn. The rest of the turn is for records that arrive out of order.
 */
#define TURN_MAX ((1ull << 32) - (1u << 28))

/* How many launches of one id, or foreign operations, are checked: bad input has many. */
#define TRIES_MAX 64

/* How often, in records, waiting operations are checked for expiry. */
#define SWEEP_RECORDS (1u << 17)

/* Maximum number of known graph nodes per process. Beyond it, operations have the launch's stack. */
#define NODES_MAX (1u << 22)

/* Maximum number of threads whose first launches are told from others. */
#define THREADS_MAX (1u << 20)

/* Clones of clones. A longer chain is a cycle, which only a broken capture has. */
#define CLONES_MAX 64

/* Slots tried in a row: half a cache line. */
#define INDEX_RUN 8

/**
 * struct launch - a launch that waits, or recently had operations
 * @number: which of all launches it is
 * @next: index + 1 of the previous launch with the same id
 * @last: number of the record of its last operation
 * @works: number of delivered operations
 * @turn: how often the ids had wrapped around
 * @flags: GPUMON_LAUNCH_*
 * @gone: delivered, and its entry is free
 * @first: it is the first one of its thread
 */
struct launch {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t number;
	uint32_t next;
	uint32_t tid;
	uint32_t correlation;
	uint32_t stack;
	uint32_t function;
	uint32_t context;
	uint32_t graph;
	uint32_t name;
	int32_t result;
	uint32_t last;
	uint32_t works;
	uint32_t turn;
	uint16_t flags;
	bool gone;
	bool first;
};

/**
 * struct work - an operation that waits
 * @correlation: correlation id
 * @since: number of its record
 * @next: index + 1 of the next operation with the same id; the last one refers to the first
 * @kind: enum gpumon_work_kind
 * @gone: delivered, and its entry is free
 * @turn: turn of its id, according to the launches at its arrival; 0: there were none
 */
struct work {
	uint32_t correlation;
	uint32_t since;
	uint32_t next;
	uint8_t kind;
	uint8_t gone;
	uint16_t turn;
	union {
		struct gpumon_record head;
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	};
};

/* Of a thread, in struct join. */
#define MORE_LAUNCHES (1ull << 33)

/* Open addressing from a correlation id to the index of its last entry in an array. */
struct index {
	uint32_t *slots; /* index + 1 */
	uint32_t mask;
};

/* Both arrays are in the order of arrival. */
struct join {
	struct launch *launches;
	uint32_t launches_used;
	uint32_t launches_room;
	uint32_t launches_waiting;
	struct index launch_index;
	uint64_t newest_id; /* with the turn in the upper half; 0: none yet */
	uint32_t records;   /* launches and operations so far, may wrap around */
	struct work *works;
	uint32_t works_used;
	uint32_t works_room;
	uint32_t works_waiting;
	uint32_t works_sweep; /* record number at which to look for old ones */
	struct index work_index;
	uint32_t new_nodes;	   /* since the last search for operations that wait for them */
	struct gpumon_map threads; /* by tid: correlation id + 1 of its only launch, MORE_LAUNCHES */
	uint32_t last_tid;	   /* has more launches */
};

struct node {
	uint64_t node;
	uint64_t original;
	uint32_t stack;
	uint32_t graph;
};

struct nodes {
	struct gpumon_map by_id; /* index + 1 */
	struct node *nodes;
	uint32_t used;
	uint32_t room;
};

/* State of one API in a process: each API has its own correlation ids. */
struct process {
	uint32_t number;
	uint32_t api;
	bool no_nodes; /* no nodes will come */
	struct join join;
	struct nodes nodes;
};

struct gpumon_correlate {
	struct gpumon_correlate_output output;
	struct gpumon_correlate_counts counts;
	struct process **processes;
	size_t room;
	uint32_t count;	   /* number of processes */
	uint64_t launches; /* number of launches so far */
	struct process *last;
};

/* The share of a process in the total limit. */
static uint32_t share_of(const struct gpumon_correlate *correlate, uint32_t total)
{
	uint32_t share = total / (correlate->count ? correlate->count : 1);

	return share > 4096 ? share : 4096;
}

static void count_waiting(struct gpumon_correlate *correlate)
{
	if (++correlate->counts.in_flight > correlate->counts.in_flight_max)
		correlate->counts.in_flight_max = correlate->counts.in_flight;
}

/* --- graph nodes */

static void add_node(struct nodes *nodes, const struct gpumon_record_graph_node *record)
{
	uint64_t place = gpumon_map_get(&nodes->by_id, record->node);
	struct node *node;

	if (!record->node)
		return;
	if (!place) {
		if (nodes->used == NODES_MAX)
			return;
		(void)GPUMON_ARRAY_ADD(nodes->nodes, nodes->used, nodes->room);
		place = nodes->used;
		gpumon_map_set(&nodes->by_id, record->node, place);
	}
	/* A reused id: launches from now on belong to the new node. */
	node = &nodes->nodes[place - 1];
	node->node = record->node;
	node->original = record->original;
	node->stack = record->stack;
	node->graph = record->graph;
}

/*
 * False if its record, or that of the node it was cloned from, is missing. @stack 0: it has none.
 */
static bool find_node_stack(const struct nodes *nodes, uint64_t node, uint32_t *stack)
{
	*stack = 0;
	for (unsigned int i = 0; i < CLONES_MAX; i++) {
		uint64_t place = gpumon_map_get(&nodes->by_id, node);

		if (!place)
			return false;
		*stack = nodes->nodes[place - 1].stack;
		node = nodes->nodes[place - 1].original;
		if (*stack || !node)
			return true;
	}
	return true;
}

/* --- indexes from correlation ids to launches and operations */

/* Consecutive ids are adjacent, and ids at a stride do not collide. */
static uint32_t index_hash(const struct index *index, uint32_t correlation)
{
	return (correlation + (correlation >> 16) * 0x9e3779b1u) & index->mask;
}

/*
 * The slot to try after @tries occupied ones. After a loss, launches of several times wait at once,
 * and their long runs of occupied slots overlap. So after INDEX_RUN slots, jump by a distance that
 * depends on the id. With the steps before it the distance is odd, so that every slot is reached.
 */
static uint32_t index_next(const struct index *index, uint32_t slot, uint32_t correlation,
			   uint32_t tries)
{
	if (tries % INDEX_RUN)
		return (slot + 1) & index->mask;
	return (slot + (correlation * 0x9e3779b1u >> 8 << 1)) & index->mask;
}

/* The slot of an id, or the free slot where it belongs. */
static uint32_t *launch_slot(const struct join *join, uint32_t correlation)
{
	const struct index *index = &join->launch_index;
	uint32_t slot = index_hash(index, correlation), tries = 0;

	while (index->slots[slot] &&
	       join->launches[index->slots[slot] - 1].correlation != correlation)
		slot = index_next(index, slot, correlation, ++tries);
	return &index->slots[slot];
}

static uint32_t *work_slot(const struct join *join, uint32_t correlation)
{
	const struct index *index = &join->work_index;
	uint32_t slot = index_hash(index, correlation), tries = 0;

	while (index->slots[slot] && join->works[index->slots[slot] - 1].correlation != correlation)
		slot = index_next(index, slot, correlation, ++tries);
	return &index->slots[slot];
}

static void index_launch(struct join *join, uint32_t place)
{
	uint32_t *slot = launch_slot(join, join->launches[place].correlation);

	join->launches[place].next = *slot;
	*slot = place + 1;
}

static void index_work(struct join *join, uint32_t place)
{
	uint32_t *slot = work_slot(join, join->works[place].correlation);
	struct work *last = *slot ? &join->works[*slot - 1] : &join->works[place];

	/* A circular list, so that they come out in order. */
	join->works[place].next = *slot ? last->next : place + 1;
	last->next = place + 1;
	*slot = place + 1;
}

static void index_empty(struct index *index)
{
	memset(index->slots, 0, ((size_t)index->mask + 1) * sizeof(*index->slots));
}

/* Twice as many slots as places. The contents are lost. */
static void index_resize(struct index *index, uint32_t places)
{
	free(index->slots);
	index->slots = gpumon_calloc((size_t)places * 2, sizeof(*index->slots));
	index->mask = places * 2 - 1;
}

/* --- giving out */

static void give_launch(struct gpumon_correlate *correlate, const struct process *process,
			const struct launch *launch)
{
	const struct gpumon_correlate_output *output = &correlate->output;
	const struct gpumon_record_launch record = {
		.head = { GPUMON_RECORD_LAUNCH, launch->flags, sizeof(record) },
		.start_ns = launch->start_ns,
		.end_ns = launch->end_ns,
		.tid = launch->tid,
		.correlation = launch->correlation,
		.stack = launch->stack,
		.function = launch->function,
		.context = launch->context,
		.result = launch->result,
		.graph = launch->graph,
		.name = launch->name,
	};
	struct gpumon_unmatched_launch unmatched = {
		.process = process->number,
		.end = GPUMON_LAUNCH_UNMATCHED,
		.launch = &record,
		.number = launch->number,
	};

	if (launch->flags & GPUMON_LAUNCH_CAPTURED)
		unmatched.end = GPUMON_LAUNCH_IN_GRAPH;
	else if (launch->flags & GPUMON_LAUNCH_FAILED)
		unmatched.end = GPUMON_LAUNCH_REFUSED;
	else if (output->left_out && output->left_out(output->data, process->number, &record))
		unmatched.end = GPUMON_LAUNCH_LEFT_OUT;
	else if (output->is_cut && output->is_cut(output->data, process->number))
		unmatched.end = GPUMON_LAUNCH_WITHHELD;
	correlate->counts.unmatched_launches[unmatched.end]++;
	if (output->launch)
		output->launch(output->data, &unmatched);
}

/* End a launch in the array that had no operations. */
static void end_launch(struct gpumon_correlate *correlate, struct process *process,
		       struct launch *launch)
{
	give_launch(correlate, process, launch);
	launch->gone = 1;
	process->join.launches_waiting--;
	correlate->counts.in_flight--;
}

/* Fields that all kinds of operations share. */
struct work_view {
	uint64_t start_ns;
	uint64_t node;
	uint32_t correlation;
	uint16_t turn; /* 0: unknown */
	bool internal;
};

static struct work_view view_work(enum gpumon_work_kind kind, const struct gpumon_record *record)
{
	struct work_view view = { .internal = record->flags & GPUMON_WORK_INTERNAL };

#define TAKE(type, of_node)                                                   \
	do {                                                                  \
		const struct gpumon_record_##type *of = (const void *)record; \
		view.start_ns = of->start_ns;                                 \
		view.node = of_node;                                          \
		view.correlation = of->correlation;                           \
	} while (0)
	if (kind == GPUMON_WORK_KERNEL)
		TAKE(kernel, of->node);
	else if (kind == GPUMON_WORK_COPY)
		TAKE(copy, of->node);
	else if (kind == GPUMON_WORK_SET)
		TAKE(set, of->node);
	else
		TAKE(graph, 0);
#undef TAKE
	return view;
}

static void give_work(struct gpumon_correlate *correlate, struct process *process,
		      enum gpumon_work_kind kind, const struct gpumon_record *record,
		      const struct work_view *seen, struct launch *launch, enum gpumon_match match,
		      uint32_t stack)
{
	struct gpumon_work work = {
		.process = process->number,
		.kind = kind,
		.match = match,
		.stack = stack,
	};

	correlate->counts.works[kind][match]++;
	if (launch) {
		if (!launch->works) {
			process->join.launches_waiting--;
			correlate->counts.in_flight--;
			correlate->counts.launches++;
		}
		if (seen->start_ns && seen->start_ns < launch->start_ns)
			correlate->counts.work_before_launch++;
		work.tid = launch->tid;
		work.launch_ns = launch->start_ns;
		work.launch_end_ns = launch->end_ns;
		work.launch_function = launch->function;
		work.launch_flags = launch->flags;
		work.launch_stack = launch->stack;
		work.launch_graph = launch->graph;
		work.launch_work = launch->works;
		work.launch_number = launch->number;
		launch->works++;
		launch->last = process->join.records;
	}
	if (!seen->start_ns || record->flags & (GPUMON_WORK_UNFINISHED | GPUMON_WORK_FAILED))
		correlate->counts.untimed[gpumon_untimed_of(record->flags)]++;
	if (kind == GPUMON_WORK_KERNEL)
		work.kernel = (const void *)record;
	else if (kind == GPUMON_WORK_COPY)
		work.copy = (const void *)record;
	else if (kind == GPUMON_WORK_GRAPH)
		work.graph = (const void *)record;
	else
		work.set = (const void *)record;
	if (correlate->output.work)
		correlate->output.work(correlate->output.data, &work);
}

/* --- deciding */

/* An id with its turn, the one nearest to the newest id. */
static uint64_t nearest_id(const struct join *join, uint32_t correlation)
{
	return join->newest_id +
	       (uint64_t)(int64_t)(int32_t)(correlation - (uint32_t)join->newest_id);
}

static bool too_old(const struct join *join, const struct launch *launch)
{
	uint64_t id = (uint64_t)launch->turn << 32 | launch->correlation;

	return join->newest_id > id && join->newest_id - id >= TURN_MAX;
}

/*
 * Find the launch of an operation by id and time: the last one before it, or otherwise the first
 * one shortly after it. @ambiguous: set where launches with that id have different stacks. CUPTI 13.0 gives all
 * launches of a thread one id once it was switched on just while the thread was in a call.
 */
static struct launch *find_launch(struct join *join, const struct work_view *work, bool *ambiguous)
{
	const struct launch *newest = NULL;
	uint64_t start = work->start_ns;
	struct launch *found = NULL;

	if (!join->launch_index.slots || !work->correlation)
		return NULL;
	for (uint32_t place = *launch_slot(join, work->correlation), tries = TRIES_MAX;
	     place && tries; place = join->launches[place - 1].next, tries--) {
		struct launch *launch = &join->launches[place - 1];

		if (launch->gone || too_old(join, launch))
			continue;
		if (!newest)
			newest = launch;
		*ambiguous |= launch->stack != newest->stack && launch->turn == newest->turn;
		/*
		 * An operation of another turn of the ids, or of a much later time: the id was used
		 * again.
		 */
		if ((work->turn && work->turn != (uint16_t)launch->turn) ||
		    (start && launch->start_ns >= start + GPUMON_CORRELATE_CLOCK_NS))
			continue;
		if (!found || (start && found->start_ns > start ?
				       launch->start_ns < found->start_ns :
				       launch->start_ns >= found->start_ns &&
					       (!start || launch->start_ns <= start)))
			found = launch;
	}
	return found;
}

/*
 * Deliver an operation if everything it needs is known. With @last it does not wait any longer.
 * @turn: turn of its id, 0 if unknown. Returns false if it has to wait.
 */
static bool decide_match(struct gpumon_correlate *correlate, struct process *process,
			 enum gpumon_work_kind kind, const struct gpumon_record *record,
			 uint16_t turn, bool last)
{
	struct work_view work = view_work(kind, record);
	enum gpumon_match match;
	struct launch *launch;
	bool ambiguous = false;
	uint32_t stack = 0;

	work.turn = turn;
	if (work.internal) {
		give_work(correlate, process, kind, record, &work, NULL, GPUMON_MATCH_INTERNAL, 0);
		return true;
	}
	if (work.node && !find_node_stack(&process->nodes, work.node, &stack) && !last &&
	    !process->no_nodes)
		return false;
	launch = find_launch(&process->join, &work, &ambiguous);
	if (!launch && !ambiguous && work.correlation && !last)
		return false;
	/* The next launch of the thread shows whether each has an id of its own. */
	if (launch && launch->first && !last &&
	    gpumon_map_get(&process->join.threads, launch->tid) != MORE_LAUNCHES)
		return false;

	if (stack) {
		match = GPUMON_MATCH_GRAPH_NODE;
	} else if (ambiguous) {
		launch = NULL;
		match = GPUMON_MATCH_AMBIGUOUS;
	} else if (!launch) {
		match = GPUMON_MATCH_NO_LAUNCH;
	} else {
		stack = launch->stack;
		match = stack					? GPUMON_MATCH_STACK :
			launch->flags & GPUMON_LAUNCH_UNSAMPLED ? GPUMON_MATCH_UNSAMPLED :
								  GPUMON_MATCH_NO_STACK;
	}
	give_work(correlate, process, kind, record, &work, launch, match, stack);
	return true;
}

/* --- work that waits */

static void work_gone(struct gpumon_correlate *correlate, struct process *process,
		      struct work *work)
{
	work->gone = 1;
	process->join.works_waiting--;
	correlate->counts.in_flight--;
}

/* Deliver operations that waited too long or can be decided now, and close the gaps. */
static void sweep_works(struct gpumon_correlate *correlate, struct process *process)
{
	uint32_t share = share_of(correlate, GPUMON_CORRELATE_WORKS);
	struct join *join = &process->join;
	uint32_t excess = join->works_waiting > share ? join->works_waiting - share / 8 * 7 : 0;
	uint32_t kept = 0;

	join->works_sweep = join->records + SWEEP_RECORDS;
	join->new_nodes = 0;
	for (uint32_t i = 0; i < join->works_used; i++) {
		struct work *work = &join->works[i];

		if (work->gone)
			continue;
		if (decide_match(correlate, process, work->kind, &work->head, work->turn, false)) {
			work_gone(correlate, process, work);
			excess -= excess > 0;
			continue;
		}
		if (excess || join->records - work->since >= GPUMON_CORRELATE_WORK_RECORDS) {
			decide_match(correlate, process, work->kind, &work->head, work->turn, true);
			work_gone(correlate, process, work);
			excess -= excess > 0;
			continue;
		}
		if (kept != i)
			join->works[kept] = *work;
		kept++;
	}
	join->works_used = kept;
	if (!join->work_index.slots)
		return;
	index_empty(&join->work_index);
	for (uint32_t i = 0; i < kept; i++)
		index_work(join, i);
}

static void make_works_room(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;
	uint32_t room = join->works_room ? join->works_room * 2 : ROOM_FIRST;

	if (join->works_used < join->works_room)
		return;
	sweep_works(correlate, process);
	if (join->works_used < join->works_room / 8 * 5)
		return;
	join->works = gpumon_reallocarray(join->works, room, sizeof(*join->works));
	index_resize(&join->work_index, room);
	join->works_room = room;
	for (uint32_t i = 0; i < join->works_used; i++)
		index_work(join, i);
}

static void keep_work(struct gpumon_correlate *correlate, struct process *process,
		      enum gpumon_work_kind kind, const struct gpumon_record *record, size_t size)
{
	struct join *join = &process->join;
	struct work *work;

	make_works_room(correlate, process);
	work = &join->works[join->works_used];
	memcpy(&work->head, record, size);
	work->correlation = view_work(kind, record).correlation;
	work->since = join->records;
	work->kind = (uint8_t)kind;
	work->gone = 0;
	/*
	 * The launch may come after the ids wrapped, or never. Then the next one is of another
	 * operation.
	 */
	work->turn = join->newest_id ? (uint16_t)(nearest_id(join, work->correlation) >> 32) : 0;
	index_work(join, join->works_used++);
	join->works_waiting++;
	count_waiting(correlate);
}

/* Decide operations that may have waited for a launch of this id. */
static void wake_works(struct gpumon_correlate *correlate, struct process *process,
		       uint32_t correlation)
{
	struct join *join = &process->join;
	unsigned int tries = TRIES_MAX;
	uint32_t last, place;

	if (!join->works_waiting)
		return;
	last = *work_slot(join, correlation);
	if (!last)
		return;
	place = last;
	do {
		struct work *work;

		place = join->works[place - 1].next;
		work = &join->works[place - 1];
		if (!work->gone &&
		    decide_match(correlate, process, work->kind, &work->head, work->turn, false))
			work_gone(correlate, process, work);
		else
			tries--;
	} while (place != last && tries);
}

/* --- launches that are kept */

static bool launch_retained(const struct join *join, const struct launch *launch)
{
	uint32_t retain = launch->flags & GPUMON_LAUNCH_GRAPH ? GPUMON_CORRELATE_RETAIN_GRAPH :
								GPUMON_CORRELATE_RETAIN;

	return join->records - launch->last <= retain;
}

/* Remove finished and surplus launches, close the gaps, and index those that are left. */
static void sweep_launches(struct gpumon_correlate *correlate, struct process *process)
{
	uint32_t share = share_of(correlate, GPUMON_CORRELATE_LAUNCHES);
	struct join *join = &process->join;
	uint32_t excess = join->launches_waiting > share ? join->launches_waiting - share / 8 * 7 :
							   0;
	uint32_t kept = 0;

	if (join->launch_index.slots)
		index_empty(&join->launch_index);
	/* In one pass: they are more than the processor's caches hold. */
	for (uint32_t i = 0; i < join->launches_used; i++) {
		struct launch *launch = &join->launches[i];

		if (!launch->gone && !launch->works && (excess || too_old(join, launch))) {
			end_launch(correlate, process, launch);
			excess -= excess > 0;
		}
		if (launch->gone || (launch->works && !launch_retained(join, launch)))
			continue;
		if (kept != i)
			join->launches[kept] = *launch;
		index_launch(join, kept++);
	}
	join->launches_used = kept;
}

static void make_launches_room(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;
	uint32_t room = join->launches_room ? join->launches_room * 2 : ROOM_FIRST;

	if (join->launches_used < join->launches_room)
		return;
	sweep_launches(correlate, process);
	if (join->launches_used < join->launches_room / 8 * 5)
		return;
	join->launches = gpumon_reallocarray(join->launches, room, sizeof(*join->launches));
	index_resize(&join->launch_index, room);
	join->launches_room = room;
	for (uint32_t i = 0; i < join->launches_used; i++)
		index_launch(join, i);
}

/* The turn of a launch's id. */
static uint32_t take_id(struct join *join, uint32_t correlation)
{
	uint64_t id = 1ull << 32 | correlation; /* turn 1, so that an earlier one exists */

	if (join->newest_id)
		id = nearest_id(join, correlation);
	if (id > join->newest_id)
		join->newest_id = id;
	return (uint32_t)(id >> 32);
}

/* Is it the first launch of its thread? With the second one, operations of the first are decided. */
static bool is_first_of_thread(struct gpumon_correlate *correlate, struct process *process,
			       const struct launch *launch)
{
	struct join *join = &process->join;
	uint64_t known;

	if (launch->tid == join->last_tid || !launch->correlation)
		return false;
	known = gpumon_map_get(&join->threads, launch->tid);
	if (!known && join->threads.used == THREADS_MAX)
		return false;
	if (!known) {
		gpumon_map_set(&join->threads, launch->tid, 1ull + launch->correlation);
		return true;
	}
	join->last_tid = launch->tid;
	if (known == MORE_LAUNCHES)
		return false;
	gpumon_map_set(&join->threads, launch->tid, MORE_LAUNCHES);
	if ((uint32_t)(known - 1) != launch->correlation)
		wake_works(correlate, process, (uint32_t)(known - 1));
	return false;
}

static void join_launch(struct gpumon_correlate *correlate, struct process *process,
			const struct gpumon_record_launch *record)
{
	struct launch launch = {
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.number = ++correlate->launches,
		.tid = record->tid,
		.correlation = record->correlation,
		.stack = record->stack,
		.function = record->function,
		.context = record->context,
		.graph = record->graph,
		.name = record->name,
		.result = record->result,
		.flags = record->head.flags,
	};
	struct join *join = &process->join;

	join->records++;
	/* A launch without operations does not wait for any. */
	if (launch.flags & GPUMON_LAUNCH_CAPTURED) {
		give_launch(correlate, process, &launch);
		return;
	}
	make_launches_room(correlate, process);
	if (launch.correlation)
		launch.turn = take_id(join, launch.correlation);
	launch.first = is_first_of_thread(correlate, process, &launch);
	join->launches[join->launches_used] = launch;
	index_launch(join, join->launches_used++);
	join->launches_waiting++;
	count_waiting(correlate);
	if (launch.correlation)
		wake_works(correlate, process, launch.correlation);
}

static void join_work(struct gpumon_correlate *correlate, struct process *process,
		      enum gpumon_work_kind kind, const struct gpumon_record *record)
{
	static const size_t sizes[] = {
		[GPUMON_WORK_KERNEL] = sizeof(struct gpumon_record_kernel),
		[GPUMON_WORK_COPY] = sizeof(struct gpumon_record_copy),
		[GPUMON_WORK_SET] = sizeof(struct gpumon_record_set),
		[GPUMON_WORK_GRAPH] = sizeof(struct gpumon_record_graph),
	};
	struct join *join = &process->join;

	join->records++;
	if (join->works_waiting && (int32_t)(join->records - join->works_sweep) >= 0)
		sweep_works(correlate, process);
	if (!decide_match(correlate, process, kind, record, 0, false))
		keep_work(correlate, process, kind, record, sizes[kind]);
}

/* Operations may be waiting for the node. */
static void join_node(struct gpumon_correlate *correlate, struct process *process,
		      const struct gpumon_record_graph_node *record)
{
	struct join *join = &process->join;

	add_node(&process->nodes, record);
	/* Search all operations once per 1024 nodes, so that the cost per node stays constant. */
	if (join->works_waiting && ++join->new_nodes >= 1024 &&
	    join->new_nodes >= join->works_waiting)
		sweep_works(correlate, process);
}

/* --- processes */

struct gpumon_correlate *gpumon_correlate_new(const struct gpumon_correlate_output *output)
{
	struct gpumon_correlate *correlate = gpumon_calloc(1, sizeof(*correlate));

	correlate->output = *output;
	return correlate;
}

/* Finds the state of one API in a process. */
static struct process *find_process(struct gpumon_correlate *correlate, uint32_t number,
				    uint32_t api)
{
	size_t place = (size_t)number * GPUMON_APIS + api;
	struct process *process;

	if (correlate->last && correlate->last->number == number && correlate->last->api == api)
		return correlate->last;
	if (place >= correlate->room) {
		size_t room = correlate->room ? correlate->room : 8;

		while (room <= place)
			room *= 2;
		correlate->processes = gpumon_reallocarray(correlate->processes, room,
							   sizeof(*correlate->processes));
		memset(correlate->processes + correlate->room, 0,
		       (room - correlate->room) * sizeof(*correlate->processes));
		correlate->room = room;
	}
	process = correlate->processes[place];
	if (!process) {
		process = gpumon_calloc(1, sizeof(*process));
		process->number = number;
		process->api = api;
		correlate->processes[place] = process;
		correlate->count++;
	}
	correlate->last = process;
	return process;
}

void gpumon_correlate_expect_nodes(struct gpumon_correlate *correlate, uint32_t number, bool nodes)
{
	find_process(correlate, number, GPUMON_API_CUDA)->no_nodes = !nodes;
}

/* @context: says of which API it is. CUDA for one that is not known. */
static struct process *process_of(struct gpumon_correlate *correlate, uint32_t number,
				  uint32_t context)
{
	uint32_t api = GPUMON_API_OF(context);

	return find_process(correlate, number, api < GPUMON_APIS ? api : GPUMON_API_CUDA);
}

void gpumon_correlate_record(struct gpumon_correlate *correlate, uint32_t number,
			     const struct gpumon_record *record)
{
	union {
		struct gpumon_record_launch launch;
		struct gpumon_record_graph_node node;
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	} copy;

#define WHOLE(member) gpumon_record_whole(record, sizeof(copy.member), &copy.member)
	/* Driver events of the module belong to no process. */
	if (number == ~0u || record->size < sizeof(*record))
		return;
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH: {
		const struct gpumon_record_launch *launch = WHOLE(launch);

		join_launch(correlate, process_of(correlate, number, launch->context), launch);
		return;
	}
	case GPUMON_RECORD_KERNEL: {
		const struct gpumon_record_kernel *work = WHOLE(kernel);

		join_work(correlate, process_of(correlate, number, work->context),
			  GPUMON_WORK_KERNEL, &work->head);
		return;
	}
	case GPUMON_RECORD_COPY: {
		const struct gpumon_record_copy *work = WHOLE(copy);

		join_work(correlate, process_of(correlate, number, work->context), GPUMON_WORK_COPY,
			  &work->head);
		return;
	}
	case GPUMON_RECORD_SET: {
		const struct gpumon_record_set *work = WHOLE(set);

		join_work(correlate, process_of(correlate, number, work->context), GPUMON_WORK_SET,
			  &work->head);
		return;
	}
	case GPUMON_RECORD_GRAPH: {
		const struct gpumon_record_graph *work = WHOLE(graph);

		join_work(correlate, process_of(correlate, number, work->context),
			  GPUMON_WORK_GRAPH, &work->head);
		return;
	}
	case GPUMON_RECORD_GRAPH_NODE: {
		const struct gpumon_record_graph_node *node = WHOLE(node);

		join_node(correlate, process_of(correlate, number, node->graph), node);
		return;
	}
	default:
		return;
	}
#undef WHOLE
}

static void finish_process(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;

	for (uint32_t i = 0; i < join->works_used; i++) {
		struct work *work = &join->works[i];

		if (!work->gone) {
			decide_match(correlate, process, work->kind, &work->head, work->turn, true);
			work_gone(correlate, process, work);
		}
	}
	for (uint32_t i = 0; i < join->launches_used; i++) {
		struct launch *launch = &join->launches[i];

		if (!launch->works && !launch->gone)
			end_launch(correlate, process, launch);
	}
	free(join->launches);
	free(join->launch_index.slots);
	free(join->works);
	free(join->work_index.slots);
	gpumon_map_clear(&join->threads);
	gpumon_map_clear(&process->nodes.by_id);
	free(process->nodes.nodes);
	correlate->processes[(size_t)process->number * GPUMON_APIS + process->api] = NULL;
	correlate->count--;
	if (correlate->last == process)
		correlate->last = NULL;
	free(process);
}

void gpumon_correlate_finish(struct gpumon_correlate *correlate, uint32_t number)
{
	for (size_t i = 0; i < correlate->room; i++) {
		if (correlate->processes[i] && (number == ~0u || number == i / GPUMON_APIS))
			finish_process(correlate, correlate->processes[i]);
	}
}

const struct gpumon_correlate_counts *
gpumon_correlate_counts(const struct gpumon_correlate *correlate)
{
	return &correlate->counts;
}

size_t gpumon_correlate_memory(const struct gpumon_correlate *correlate)
{
	size_t bytes = sizeof(*correlate) + correlate->room * sizeof(*correlate->processes);

	for (size_t i = 0; i < correlate->room; i++) {
		const struct process *process = correlate->processes[i];

		if (!process)
			continue;
		bytes += sizeof(*process) +
			 process->join.launches_room *
				 (sizeof(struct launch) + 2 * sizeof(uint32_t)) +
			 process->join.works_room * (sizeof(struct work) + 2 * sizeof(uint32_t)) +
			 process->nodes.room * sizeof(struct node) +
			 gpumon_map_bytes(&process->nodes.by_id) +
			 gpumon_map_bytes(&process->join.threads);
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
	free(correlate);
}
