// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Joins launches and operations by correlation id. */
#include <stdlib.h>
#include <string.h>

#include "index.h"

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
	launch->state |= LAUNCH_GONE;
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

static inline struct work_view view_work(enum gpumon_work_kind kind,
					 const struct gpumon_record *record)
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

static inline bool too_old(const struct join *join, const struct launch *launch)
{
	uint64_t id = (uint64_t)launch->turn << 32 | launch->correlation;

	return join->newest_id > id && join->newest_id - id >= TURN_MAX;
}

/*
 * Find the launch of an operation by id and time: the last one before it, or otherwise the first
 * one shortly after it.
 */
static struct launch *find_launch(struct join *join, const struct work_view *work)
{
	uint64_t start = work->start_ns;
	struct launch *found = NULL;

	if (!join->launch_index.slots || !work->correlation)
		return NULL;
	for (uint32_t place = *launch_slot(join, work->correlation), tries = TRIES_MAX;
	     place && tries; place = join->launches[place - 1].next, tries--) {
		struct launch *launch = &join->launches[place - 1];

		/*
		 * A captured launch has no operations. If it is in this list, it waits for its hit.
		 */
		if (launch->state & LAUNCH_GONE || launch->flags & GPUMON_LAUNCH_CAPTURED ||
		    too_old(join, launch))
			continue;
		/* One of another turn or of a much later time: the id was used again. */
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
	uint32_t stack = 0;

	work.turn = turn;
	if (work.internal) {
		give_work(correlate, process, kind, record, &work, NULL, GPUMON_MATCH_INTERNAL, 0);
		return true;
	}
	if (work.node && !gpumon_nodes_stack(&process->nodes, work.node, &stack) && !last &&
	    !process->no_nodes)
		return false;
	launch = find_launch(&process->join, &work);
	if (!launch && work.correlation && !last)
		return false;
	if (launch && launch->state & LAUNCH_PENDING && !stack && !last)
		return false;

	if (stack) {
		match = GPUMON_MATCH_GRAPH_NODE;
	} else if (!launch) {
		match = GPUMON_MATCH_NO_LAUNCH;
	} else if (launch->state & LAUNCH_UNSURE) {
		match = GPUMON_MATCH_AMBIGUOUS;
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
	uint32_t share = gpumon_correlate_share(correlate, GPUMON_CORRELATE_WORKS);
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

static int works_room(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;
	uint32_t room = join->works_room ? join->works_room * 2 : ROOM_FIRST;
	struct work *works;

	if (join->works_used < join->works_room)
		return 0;
	sweep_works(correlate, process);
	if (join->works_used < join->works_room / 8 * 5)
		return 0;
	works = realloc(join->works, room * sizeof(*works));
	if (!works)
		return join->works_used < join->works_room ? 0 : -1;
	join->works = works;
	if (index_resize(&join->work_index, room))
		return join->works_used < join->works_room ? 0 : -1;
	join->works_room = room;
	for (uint32_t i = 0; i < join->works_used; i++)
		index_work(join, i);
	return 0;
}

static int keep_work(struct gpumon_correlate *correlate, struct process *process,
		     enum gpumon_work_kind kind, const struct gpumon_record *record, size_t size)
{
	struct join *join = &process->join;
	struct work *work;

	if (works_room(correlate, process))
		return -1;
	work = &join->works[join->works_used];
	memcpy(&work->head, record, size);
	work->correlation = view_work(kind, record).correlation;
	work->since = join->records;
	work->kind = (uint8_t)kind;
	work->gone = 0;
	/* Its launch may come after the ids wrapped, or never. Then the next one is another's. */
	work->turn = join->newest_id ? (uint16_t)(nearest_id(join, work->correlation) >> 32) : 0;
	index_work(join, join->works_used++);
	join->works_waiting++;
	gpumon_correlate_wait(correlate);
	return 0;
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

/* There is no more room for it. Without a decision of the hits it has no stack. */
static void expire_launch(struct gpumon_correlate *correlate, struct process *process,
			  struct launch *launch)
{
	if (launch->state & LAUNCH_PENDING) {
		launch->state &= ~LAUNCH_PENDING;
		wake_works(correlate, process, launch->correlation);
	}
	if (!launch->works)
		end_launch(correlate, process, launch);
}

static bool launch_retained(const struct join *join, const struct launch *launch)
{
	uint32_t retain = launch->flags & GPUMON_LAUNCH_GRAPH ? GPUMON_CORRELATE_RETAIN_GRAPH :
								GPUMON_CORRELATE_RETAIN;

	return join->records - launch->last <= retain;
}

/* Remove finished and surplus launches, and close the gaps. */
static void sweep_launches(struct gpumon_correlate *correlate, struct process *process)
{
	uint32_t share = gpumon_correlate_share(correlate, GPUMON_CORRELATE_LAUNCHES);
	struct join *join = &process->join;
	uint32_t excess = join->launches_waiting > share ? join->launches_waiting - share / 8 * 7 :
							   0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->launches_used; i++) {
		struct launch *launch = &join->launches[i];

		if (launch->state & LAUNCH_GONE || launch->works)
			continue;
		if (excess || too_old(join, launch)) {
			expire_launch(correlate, process, launch);
			excess -= excess > 0;
		}
	}
	for (uint32_t i = 0; i < join->launches_used; i++) {
		const struct launch *launch = &join->launches[i];

		if (launch->state & LAUNCH_GONE ||
		    (launch->works && !launch_retained(join, launch)))
			continue;
		if (kept != i)
			join->launches[kept] = *launch;
		kept++;
	}
	join->launches_used = kept;
}

static int launches_room(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;
	uint32_t room = join->launches_room ? join->launches_room * 2 : ROOM_FIRST;
	struct launch *launches;
	int status = 0;

	if (join->launches_used < join->launches_room)
		return 0;
	sweep_launches(correlate, process);
	if (join->launches_used >= join->launches_room / 8 * 5) {
		launches = realloc(join->launches, room * sizeof(*launches));
		if (launches)
			join->launches = launches;
		if (launches && !index_resize(&join->launch_index, room))
			join->launches_room = room;
		else if (join->launches_used == join->launches_room)
			status = -1;
	}
	if (!join->launch_index.slots)
		return status;
	index_empty(&join->launch_index);
	for (uint32_t i = 0; i < join->launches_used; i++)
		index_launch(join, i);
	return status;
}

static struct launch *by_serial(const struct join *join, uint32_t serial)
{
	uint32_t low = 0;
	uint32_t high = join->launches_used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((int32_t)(join->launches[middle].serial - serial) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < join->launches_used && join->launches[low].serial == serial &&
			       !(join->launches[low].state & LAUNCH_GONE) ?
		       &join->launches[low] :
		       NULL;
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

int gpumon_join_launch(struct gpumon_correlate *correlate, struct process *process,
		       const struct gpumon_record_launch *record)
{
	struct join *join = &process->join;
	bool by_hits = !process->no_hits &&
		       (!record->stack || process->hits.used || process->hits.queued);
	struct launch *launch;

	join->records++;
	if (record->head.flags & GPUMON_LAUNCH_CAPTURED && !by_hits) {
		/* It has no operations, so it does not wait. */
		const struct launch captured = {
			.start_ns = record->start_ns,
			.end_ns = record->end_ns,
			.tid = record->tid,
			.correlation = record->correlation,
			.stack = record->stack,
			.function = record->function,
			.context = record->context,
			.result = record->result,
			.flags = record->head.flags,
		};

		give_launch(correlate, process, &captured);
		return 0;
	}
	if (launches_room(correlate, process))
		return -1;
	launch = &join->launches[join->launches_used];
	*launch = (struct launch){
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.serial = ++join->next_serial,
		.tid = record->tid,
		.correlation = record->correlation,
		.stack = record->stack,
		.function = record->function,
		.context = record->context,
		.graph = record->graph,
		.name = record->name,
		.result = record->result,
		.flags = record->head.flags,
		.state = by_hits && !record->stack ? LAUNCH_PENDING : 0,
	};
	if (record->correlation)
		launch->turn = take_id(join, record->correlation);
	index_launch(join, join->launches_used++);
	join->launches_waiting++;
	gpumon_correlate_wait(correlate);
	if (by_hits && gpumon_hits_launch(correlate, process, launch))
		return -1;
	if (record->correlation && !(launch->state & LAUNCH_GONE))
		wake_works(correlate, process, record->correlation);
	if (launch->flags & GPUMON_LAUNCH_CAPTURED &&
	    !(launch->state & (LAUNCH_PENDING | LAUNCH_GONE)) && !launch->works)
		end_launch(correlate, process, launch);
	return 0;
}

void gpumon_join_resolve(struct gpumon_correlate *correlate, struct process *process,
			 uint32_t serial, uint32_t stack, bool unsure)
{
	struct launch *launch = by_serial(&process->join, serial);

	if (!launch || !(launch->state & LAUNCH_PENDING))
		return;
	launch->state &= ~LAUNCH_PENDING;
	launch->stack = stack;
	if (unsure)
		launch->state |= LAUNCH_UNSURE;
	wake_works(correlate, process, launch->correlation);
	if (launch->flags & GPUMON_LAUNCH_CAPTURED && !launch->works)
		end_launch(correlate, process, launch);
}

int gpumon_join_work(struct gpumon_correlate *correlate, struct process *process,
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
	if (decide_match(correlate, process, kind, record, 0, false))
		return 0;
	return keep_work(correlate, process, kind, record, sizes[kind]);
}

void gpumon_join_node(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;

	/* Search all operations once per 1024 nodes, so that the cost per node stays constant. */
	if (join->works_waiting && ++join->new_nodes >= 1024 &&
	    join->new_nodes >= join->works_waiting)
		sweep_works(correlate, process);
}

void gpumon_join_finish(struct gpumon_correlate *correlate, struct process *process)
{
	struct join *join = &process->join;

	for (uint32_t i = 0; i < join->launches_used; i++)
		join->launches[i].state &= ~LAUNCH_PENDING;
	for (uint32_t i = 0; i < join->works_used; i++) {
		struct work *work = &join->works[i];

		if (!work->gone) {
			decide_match(correlate, process, work->kind, &work->head, work->turn, true);
			work_gone(correlate, process, work);
		}
	}
	for (uint32_t i = 0; i < join->launches_used; i++) {
		struct launch *launch = &join->launches[i];

		if (!launch->works && !(launch->state & LAUNCH_GONE))
			end_launch(correlate, process, launch);
	}
	free(join->launches);
	free(join->launch_index.slots);
	free(join->works);
	free(join->work_index.slots);
	memset(join, 0, sizeof(*join));
}
