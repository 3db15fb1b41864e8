// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Divides the wall time of threads, and the idle time of GPUs, among the nodes of a tree.
 *
 * Memory: each thread keeps its last calls, since an operation is recorded later than its launch:
 * GPUMON_BUDGET_CALLS_MAX of one thread, GPUMON_BUDGET_CALLS_ALL of all. Idle times whose launch is not
 * among them are unknown, and counted. Those of a GPU that several processes use are only known at the
 * end, when the calls of a long run are gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget_engine.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "time_range.h"

#define CALLS_MIN 256

/* Where ids do not rise, a launch is looked for among so many calls. */
#define UNORDERED_MAX 4096

/* Threads with bins: a page has no room for more. */
#define BINNED_MAX 256

/* Calls without a stack, such as those of --api, between two that have one. */
#define UNSTACKED_MAX 64

/* Idle times that wait for records which are written later than those of the operations. */
#define GAPS_WAITING 4096

/* --- threads and processes */

struct gpumon_budget_process *gpumon_budget_add_process(struct gpumon_budget *budget,
							uint32_t number)
{
	while (budget->process_used <= number)
		(void)GPUMON_ARRAY_ADD(budget->processes, budget->process_used,
				       budget->process_room);
	return &budget->processes[number];
}

struct gpumon_budget_thread *gpumon_budget_thread(struct gpumon_budget *budget, uint32_t number,
						  uint32_t tid)
{
	const struct gpumon_key key = { { number, tid } };
	struct gpumon_budget_process *process = gpumon_budget_process(budget, number);
	struct gpumon_budget_thread **slot, *thread;
	bool added;

	if (process->recent && process->recent->row.tid == tid)
		return process->recent;
	slot = GPUMON_KEYS_VALUE(&budget->thread_keys, &key, budget->threads, budget->threads_room,
				 &added);
	if (added) {
		thread = gpumon_calloc(1, sizeof(*thread));
		*slot = thread;
		thread->row.process = number;
		thread->row.tid = tid;
		thread->next = process->threads;
		process->threads = thread;
	}
	process->recent = *slot;
	return *slot;
}

static struct gpumon_budget_cached *cached(struct gpumon_budget_cached *cache, const void *a,
					   const void *b)
{
	return &cache[gpumon_hash((uintptr_t)a + ((uintptr_t)b << 1)) % GPUMON_BUDGET_CACHED];
}

/* --- nodes */

static struct gpumon_node *state_node(struct gpumon_budget *budget, struct gpumon_node *parent,
				      const char *text)
{
	const struct gpumon_key key = { { (uintptr_t)parent, (uintptr_t)text } };
	struct gpumon_budget_cached *at = cached(budget->state_cache, parent, text);
	struct gpumon_node **slot;
	char name[64];

	if (at->a == parent && at->b == text)
		return at->node;
	slot = GPUMON_KEYS_VALUE(&budget->state_keys, &key, budget->states, budget->states_room,
				 NULL);
	if (!*slot) {
		snprintf(name, sizeof(name), "[%s]", text);
		*slot = gpumon_tree_named(budget->tree, parent, GPUMON_NODE_STATE, name);
	}
	*at = (struct gpumon_budget_cached){ parent, text, *slot };
	return *slot;
}

/* The node of its process, or its own if threads have a level. */
static struct gpumon_node *home_node(struct gpumon_budget *budget,
				     struct gpumon_budget_thread *thread)
{
	const struct gpumon_tree_where where = { .process = thread->row.process,
						 .tid = thread->row.tid };

	if (!thread->home)
		thread->home = gpumon_tree_path(budget->tree, &where);
	return thread->home;
}

static uint32_t depth_of(const struct gpumon_node *node)
{
	uint32_t depth = 0;

	for (; node->parent; node = node->parent)
		depth++;
	return depth;
}

/* Whether two nodes below one parent are calls from different lines of one function. */
static bool is_same_function(const struct gpumon_node *a, const struct gpumon_node *b,
			     size_t *file_length)
{
	unsigned long number;

	*file_length = gpumon_line_file(a->line, &number);
	return a->name == b->name && a->module == b->module && a->kind == b->kind &&
	       (a->kind == GPUMON_NODE_FUNCTION || a->kind == GPUMON_NODE_PYTHON) &&
	       gpumon_line_file(b->line, &number) == *file_length &&
	       !strncmp(a->line, b->line, *file_length);
}

/* The last frame that the paths of two calls have in common. */
static struct gpumon_node *common_node(struct gpumon_budget *budget, struct gpumon_node *a,
				       struct gpumon_node *b)
{
	struct gpumon_node *below_a = NULL, *below_b = NULL;
	uint32_t depth_a = depth_of(a), depth_b = depth_of(b);
	size_t length;

	for (; depth_a > depth_b; depth_a--) {
		below_a = a;
		a = a->parent;
	}
	for (; depth_b > depth_a; depth_b--) {
		below_b = b;
		b = b->parent;
	}
	while (a != b) {
		below_a = a;
		below_b = b;
		a = a->parent;
		b = b->parent;
	}
	if (below_a && below_b && is_same_function(below_a, below_b, &length)) {
		const struct gpumon_tree_frame frame = {
			.name = below_a->name,
			.module = below_a->module,
			.line = gpumon_pool_part(budget->tree->pool, below_a->line, length),
			.kind = below_a->kind,
		};

		return gpumon_tree_child(budget->tree, a, &frame);
	}
	return a->kind == GPUMON_NODE_API ? a->parent : a;
}

/* NULL stands for a call whose stack is not known. */
static struct gpumon_node *between_node(struct gpumon_budget *budget,
					struct gpumon_budget_thread *thread,
					struct gpumon_node *before, struct gpumon_node *after)
{
	const struct gpumon_key key = { { (uintptr_t)before, (uintptr_t)after } };
	struct gpumon_budget_cached *at = cached(budget->between_cache, before, after);
	struct gpumon_node **slot;

	if (!before || !after)
		return home_node(budget, thread);
	if (at->a == before && at->b == after)
		return at->node;
	slot = GPUMON_KEYS_VALUE(&budget->between_keys, &key, budget->betweens,
				 budget->betweens_room, NULL);
	if (!*slot)
		*slot = common_node(budget, before, after);
	*at = (struct gpumon_budget_cached){ before, after, *slot };
	return *slot;
}

/* The state that a look found. */
static const char *wait_state(const struct gpumon_budget_wait *wait)
{
	static const char *const reads[GPUMON_FILE_KINDS] = {
		[GPUMON_FILE_UNKNOWN] = "read",
		[GPUMON_FILE_REGULAR] = "read of a file",
		[GPUMON_FILE_PIPE] = "read of a pipe",
		[GPUMON_FILE_SOCKET] = "read of a socket",
		[GPUMON_FILE_DEVICE] = "read of a device",
		[GPUMON_FILE_OTHER] = "read",
	};
	static const char *const writes[GPUMON_FILE_KINDS] = {
		[GPUMON_FILE_UNKNOWN] = "write",
		[GPUMON_FILE_REGULAR] = "write to a file",
		[GPUMON_FILE_PIPE] = "write to a pipe",
		[GPUMON_FILE_SOCKET] = "write to a socket",
		[GPUMON_FILE_DEVICE] = "write to a device",
		[GPUMON_FILE_OTHER] = "write",
	};

	return wait->kind == GPUMON_WAIT_READ  ? reads[wait->file] :
	       wait->kind == GPUMON_WAIT_WRITE ? writes[wait->file] :
						 gpumon_wait_text(wait->kind);
}

/* --- giving time to nodes */

/**
 * struct segment - a time of a thread, in one state
 * @spent: state
 * @kind: of GPUMON_SPENT_BLOCKED
 * @node: its node
 * @state: its name if it has a node of its own below @node; NULL: it has none
 * @unsampled: @node is not known because a stack was left out
 * @idle: the time is that of an idle GPU, and not wall time; NULL: wall time
 * @after_ns: outside of calls: the end of the call before it, also where only a part of the time since counts
 * @before_ns: the begin of the call behind it
 */
struct segment {
	struct gpumon_budget_thread *thread;
	enum gpumon_spent spent;
	enum gpumon_wait_kind kind;
	struct gpumon_node *node;
	const char *state;
	bool unsampled;
	struct gpumon_idle_row *idle;
	uint64_t after_ns;
	uint64_t before_ns;
};

/* To the time that counts. False if nothing of it is left. */
static bool clip(const struct gpumon_budget *budget, uint64_t *start_ns, uint64_t *end_ns)
{
	return gpumon_time_clip(budget->from_ns, budget->until_ns, start_ns, end_ns);
}

static void add_idle(struct gpumon_node *node, uint64_t ns)
{
	node->idle_ns = gpumon_add_saturated(node->idle_ns, ns);
	node->idle_count++;
	if (ns >= GPUMON_IDLE_LONG_NS)
		node->idle_long_ns = gpumon_add_saturated(node->idle_long_ns, ns);
	if (ns > node->idle_longest_ns)
		node->idle_longest_ns = ns;
}

/* Of a thread of which stacks are left out: those that are there stand for the others. */
static void add_known(struct gpumon_budget *budget, const struct segment *segment,
		      struct gpumon_node *node, uint64_t ns)
{
	const struct gpumon_key key = { { (uintptr_t)segment->thread, (uintptr_t)node,
					  segment->unsampled } };
	struct gpumon_budget_known *known;
	bool added;

	known = GPUMON_KEYS_VALUE(&budget->known_keys, &key, budget->known, budget->known_room,
				  &added);
	known->thread = segment->thread;
	known->node = node;
	known->unsampled = segment->unsampled;
	known->ns += ns;
	if (segment->unsampled)
		segment->thread->row.unsampled_ns += ns;
	else
		segment->thread->known_ns += ns;
}

/* From its first call on. */
static void add_to_bins(struct gpumon_budget *budget, struct gpumon_budget_row *row,
			enum gpumon_spent spent, uint64_t start_ns, uint64_t end_ns)
{
	bool is_new = !row->bins.room;

	if (spent == GPUMON_SPENT_BEFORE || spent == GPUMON_SPENT_AFTER ||
	    (is_new && budget->binned == BINNED_MAX))
		return;
	gpumon_bins_add(&row->bins, &budget->bins, spent, start_ns, end_ns);
	budget->binned += is_new && row->bins.room;
}

static bool is_call(enum gpumon_spent spent)
{
	return spent == GPUMON_SPENT_LAUNCH || spent == GPUMON_SPENT_GPU_WAIT ||
	       spent == GPUMON_SPENT_CALL;
}

static void give(struct gpumon_budget *budget, const struct segment *segment, uint64_t start_ns,
		 uint64_t end_ns)
{
	struct gpumon_budget_row *row = &segment->thread->row;
	struct gpumon_node *node = segment->node;
	uint64_t ns;

	if (!clip(budget, &start_ns, &end_ns))
		return;
	ns = end_ns - start_ns;
	if (segment->state)
		node = state_node(budget, node, segment->state);
	if (segment->idle) {
		add_idle(node, ns);
		if (budget->idled)
			budget->idled(budget->idled_data, row->process, segment->idle->gpu, node,
				      start_ns, end_ns);
		return;
	}
	node->wall_ns = gpumon_add_saturated(node->wall_ns, ns);
	row->wall_ns += ns;
	row->spent_ns[segment->spent] += ns;
	if (budget->bins.bin_ns)
		add_to_bins(budget, row, segment->spent, start_ns, end_ns);
	if (segment->spent == GPUMON_SPENT_BLOCKED)
		row->blocked_ns[segment->kind] += ns;
	else if (segment->spent == GPUMON_SPENT_BETWEEN &&
		 budget->tree->tables->processes[row->process].has_unsampled)
		add_known(budget, segment, node, ns);
	if (budget->state && node->kind == GPUMON_NODE_STATE && !is_call(segment->spent))
		budget->state(budget->state_data, row, node, start_ns, end_ns);
}

static void give_rest_of_call(struct gpumon_budget *budget, const struct segment *segment,
			      uint32_t tid, uint64_t start_ns, uint64_t end_ns);

/* The part of a call in which the API did something else, as it says of @tid, is below its node. */
static void give_overheads(struct gpumon_budget *budget, const struct segment *segment,
			   uint32_t tid, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpumon_budget_process *process =
		&budget->processes[segment->thread->row.process];
	struct segment part = *segment;
	uint32_t low = 0, high = process->overhead_used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct gpumon_budget_overhead *at = &process->overheads[middle];

		if (at->tid < tid || (at->tid == tid && at->end_ns <= start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < process->overhead_used && start_ns < end_ns; low++) {
		const struct gpumon_budget_overhead *overhead = &process->overheads[low];
		uint64_t from_ns = overhead->start_ns > start_ns ? overhead->start_ns : start_ns;
		uint64_t until_ns = overhead->end_ns < end_ns ? overhead->end_ns : end_ns;

		if (overhead->tid != tid || from_ns >= end_ns)
			break;
		give_rest_of_call(budget, segment, tid, start_ns, from_ns);
		part.state = gpumon_overhead_text(overhead->kind);
		give(budget, &part, from_ns, until_ns);
		if (segment->idle)
			segment->idle->overhead_ns[overhead->kind] += until_ns - from_ns;
		start_ns = until_ns;
	}
	give_rest_of_call(budget, segment, tid, start_ns, end_ns);
}

/* Of some overheads it is not said in which thread they were. */
static void give_rest_of_call(struct gpumon_budget *budget, const struct segment *segment,
			      uint32_t tid, uint64_t start_ns, uint64_t end_ns)
{
	if (tid)
		give_overheads(budget, segment, 0, start_ns, end_ns);
	else
		give(budget, segment, start_ns, end_ns);
}

static void give_call(struct gpumon_budget *budget, const struct segment *segment,
		      uint64_t start_ns, uint64_t end_ns)
{
	if (budget->processes[segment->thread->row.process].overhead_used)
		give_overheads(budget, segment, segment->thread->row.tid, start_ns, end_ns);
	else
		give(budget, segment, start_ns, end_ns);
}

/* Whether a look was taken between the calls around a segment, and not only stands for a part of that time. */
static bool is_taken_in(const struct segment *segment, const struct gpumon_budget_wait *wait)
{
	return (wait->first_ns >= segment->after_ns && wait->first_ns < segment->before_ns) ||
	       (wait->last_ns >= segment->after_ns && wait->last_ns < segment->before_ns);
}

/*
 * The frame in which the thread was then; without a stack that which the calls around have in common. A stack
 * of a running thread that is cut, as where Python has called, goes on there, but only between the calls between
 * which it was taken: what is outward of it was another function before and afterwards.
 */
static struct gpumon_node *wait_node(struct gpumon_budget *budget, const struct segment *segment,
				     const struct gpumon_budget_wait *wait)
{
	struct gpumon_budget_thread *thread = segment->thread;
	struct gpumon_tree_where where = {
		.process = thread->row.process,
		.tid = thread->row.tid,
		.stack = wait->stack,
		.time_ns = wait->start_ns,
	};

	if (!wait->stack)
		return segment->node;
	if (wait->kind == GPUMON_WAIT_RUNNING &&
	    gpumon_tables_cut_stack(&budget->tree->tables->processes[where.process], wait->stack)) {
		if (!is_taken_in(segment, wait))
			return segment->node;
		if (segment->node != home_node(budget, thread))
			where.below = segment->node;
	}
	return gpumon_tree_path(budget->tree, &where);
}

/*
 * A time outside of calls, by what looks found in it. @segment->node is the frame that the calls
 * around have in common.
 */
static void give_looked(struct gpumon_budget *budget, const struct segment *segment,
			uint64_t start_ns, uint64_t end_ns)
{
	struct gpumon_budget_thread *thread = segment->thread;
	struct segment rest = *segment, found;
	uint32_t low = 0, high = thread->wait_used;

	rest.state = segment->spent == GPUMON_SPENT_BEFORE ? GPUMON_STATE_BEFORE_CALLS :
		     segment->spent == GPUMON_SPENT_AFTER  ? GPUMON_STATE_AFTER_CALLS :
							     GPUMON_STATE_BETWEEN_CALLS;
	if (!high) {
		give(budget, &rest, start_ns, end_ns);
		return;
	}
	found = *segment;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (thread->waits[middle].end_ns <= start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < thread->wait_used && start_ns < end_ns; low++) {
		const struct gpumon_budget_wait *wait = &thread->waits[low];
		uint64_t from_ns = wait->start_ns > start_ns ? wait->start_ns : start_ns;
		uint64_t until_ns = wait->end_ns < end_ns ? wait->end_ns : end_ns;

		if (from_ns >= end_ns)
			break;
		if (until_ns <= from_ns)
			continue;
		give(budget, &rest, start_ns, from_ns);
		found.node = wait_node(budget, segment, wait);
		found.state = wait_state(wait);
		found.kind = wait->kind;
		if (segment->spent == GPUMON_SPENT_BETWEEN)
			found.spent = wait->kind == GPUMON_WAIT_RUNNING ? GPUMON_SPENT_RUNNING :
									  GPUMON_SPENT_BLOCKED;
		give(budget, &found, from_ns, until_ns);
		start_ns = until_ns;
	}
	give(budget, &rest, start_ns, end_ns);
}

/* The same, without the times in which nothing was recorded. */
static void give_outside(struct gpumon_budget *budget, const struct segment *segment,
			 uint64_t start_ns, uint64_t end_ns)
{
	const struct gpumon_windows *windows =
		&budget->processes[segment->thread->row.process].windows;
	struct segment nothing;

	if (end_ns <= start_ns)
		return;
	if (windows->beginnings < 2) {
		give_looked(budget, segment, start_ns, end_ns);
		return;
	}
	nothing = *segment;
	nothing.spent = GPUMON_SPENT_UNRECORDED;
	nothing.node = home_node(budget, segment->thread);
	nothing.state = GPUMON_STATE_UNRECORDED;
	for (uint32_t i = 0; i < windows->used && start_ns < end_ns; i++) {
		const struct gpumon_window *window = &windows->at[i];
		uint64_t until_ns = window->end_ns < end_ns ? window->end_ns : end_ns;

		if (until_ns <= start_ns)
			continue;
		if (window->start_ns >= end_ns)
			break;
		if (window->start_ns > start_ns) {
			give(budget, &nothing, start_ns, window->start_ns);
			start_ns = window->start_ns;
		}
		give_looked(budget, segment, start_ns, until_ns);
		start_ns = until_ns;
	}
	give(budget, &nothing, start_ns, end_ns);
}

/* --- calls */

static struct gpumon_budget_call *call_at(const struct gpumon_budget_thread *thread,
					  uint64_t number)
{
	return &thread->calls[number & (thread->call_room - 1)];
}

/* Room for one more: the oldest one goes where there is none. */
static struct gpumon_budget_call *new_call(struct gpumon_budget *budget,
					   struct gpumon_budget_thread *thread)
{
	uint32_t room = thread->call_room ? thread->call_room * 2 : CALLS_MIN;
	struct gpumon_budget_call *calls;

	if (thread->call_next - thread->call_first == thread->call_room) {
		if (thread->call_room &&
		    (room > GPUMON_BUDGET_CALLS_MAX ||
		     budget->calls_room - thread->call_room + room > GPUMON_BUDGET_CALLS_ALL)) {
			thread->call_first++;
		} else {
			calls = gpumon_reallocarray(NULL, room, sizeof(*calls));
			for (uint64_t i = thread->call_first; i < thread->call_next; i++)
				calls[i & (room - 1)] = *call_at(thread, i);
			budget->calls_room += room - thread->call_room;
			free(thread->calls);
			thread->calls = calls;
			thread->call_room = room;
		}
	}
	return call_at(thread, thread->call_next++);
}

/*
 * The times in front of the calls since the last one with a stack. @after is the next one with a
 * stack, NULL if there is none near; @lost: because it was left out.
 */
static void settle(struct gpumon_budget *budget, struct gpumon_budget_thread *thread,
		   struct gpumon_node *after, bool lost)
{
	struct segment segment = { .thread = thread, .spent = GPUMON_SPENT_BETWEEN };
	struct gpumon_budget_row *row = &thread->row;

	segment.node = between_node(budget, thread, thread->stacked, after);
	segment.unsampled = thread->lost || lost;
	for (uint64_t i = thread->settled; i < thread->call_next; i++) {
		struct gpumon_budget_call *call = call_at(thread, i);
		uint64_t done_ns = row->wall_ns - row->spent_ns[GPUMON_SPENT_UNRECORDED], ns;

		if (!i)
			continue;
		call->between = segment.node;
		call->unsampled = segment.unsampled;
		segment.after_ns = call_at(thread, i - 1)->end_ns;
		segment.before_ns = call->start_ns;
		give_outside(budget, &segment, segment.after_ns, segment.before_ns);
		ns = row->wall_ns - row->spent_ns[GPUMON_SPENT_UNRECORDED] - done_ns;
		row->gaps += ns != 0;
		if (ns > row->gap_longest_ns)
			row->gap_longest_ns = ns;
	}
	thread->settled = thread->call_next;
	thread->stacked = after;
	thread->lost = lost;
}

struct call {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t tid;
	uint32_t correlation;
	uint32_t context;
	uint32_t stack;
	uint32_t function;
	enum gpumon_spent spent;
	bool unsampled;
};

/* Ids of the calls of one API rise, but for those that wrapped around. */
static void see_order(struct gpumon_budget_thread *thread, const struct gpumon_budget_call *call)
{
	const struct gpumon_budget_call *before;

	if (thread->call_next < 2)
		return;
	before = call_at(thread, thread->call_next - 2);
	if (before->api != call->api || (int32_t)(call->correlation - before->correlation) < 0)
		thread->unordered = true;
}

static void add_call(struct gpumon_budget *budget, struct gpumon_budget_thread *thread,
		     const struct call *of)
{
	const struct gpumon_tree_where where = {
		.process = thread->row.process,
		.tid = of->tid,
		.stack = of->stack,
		.function = of->function,
		.time_ns = of->start_ns,
		.reason = of->unsampled && !of->stack ?
				  gpumon_match_reason(GPUMON_MATCH_UNSAMPLED) :
				  NULL,
	};
	struct segment segment = { .thread = thread, .spent = of->spent };
	struct gpumon_budget_call *call;
	uint64_t done_ns = thread->call_next ? call_at(thread, thread->call_next - 1)->end_ns :
					       budget->processes[thread->row.process].first_ns;

	if (!of->start_ns)
		return;
	call = new_call(budget, thread);
	/* A call that was left without a return has no end. */
	call->start_ns = of->start_ns > done_ns ? of->start_ns : done_ns;
	call->end_ns = of->end_ns > call->start_ns ? of->end_ns : call->start_ns;
	call->correlation = of->correlation;
	call->api = GPUMON_API_OF(of->context);
	call->unsampled = false;
	call->between = NULL;
	call->node = gpumon_tree_path(budget->tree, &where);
	see_order(thread, call);
	if (thread->call_next == 1) {
		segment.spent = GPUMON_SPENT_BEFORE;
		segment.node = home_node(budget, thread);
		segment.before_ns = call->start_ns;
		give_outside(budget, &segment, done_ns, call->start_ns);
		segment.spent = of->spent;
	}
	segment.node = call->node;
	give_call(budget, &segment, call->start_ns, call->end_ns);
	if (of->stack)
		settle(budget, thread, call->node, false);
	else if (of->unsampled)
		settle(budget, thread, NULL, true);
	else if (thread->call_next - thread->settled >= UNSTACKED_MAX)
		settle(budget, thread, NULL, false);
}

void gpumon_budget_add(struct gpumon_budget *budget, uint32_t number,
		       const struct gpumon_record *record)
{
	struct gpumon_budget_thread *thread;
	struct gpumon_record_launch launch;
	struct gpumon_record_call call;
	struct gpumon_record_hit hit;
	struct gpumon_budget_row *row;
	struct call of;

	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		gpumon_record_copy(&launch, sizeof(launch), record);
		of = (struct call){
			.start_ns = launch.start_ns,
			.end_ns = launch.end_ns,
			.tid = launch.tid,
			.correlation = launch.correlation,
			.context = launch.context,
			.stack = launch.stack,
			.function = launch.function,
			.spent = launch.head.flags & GPUMON_LAUNCH_WAITS ? GPUMON_SPENT_GPU_WAIT :
									   GPUMON_SPENT_LAUNCH,
			.unsampled = launch.head.flags & GPUMON_LAUNCH_UNSAMPLED,
		};
		break;
	case GPUMON_RECORD_CALL:
		gpumon_record_copy(&call, sizeof(call), record);
		of = (struct call){
			.start_ns = call.start_ns,
			.end_ns = call.end_ns,
			.tid = call.tid,
			.correlation = call.correlation,
			.context = call.context,
			.stack = call.stack,
			.function = call.function,
			.spent = call.head.flags & GPUMON_CALL_BLOCKING ? GPUMON_SPENT_GPU_WAIT :
									  GPUMON_SPENT_CALL,
		};
		break;
	case GPUMON_RECORD_HIT:
		gpumon_record_copy(&hit, sizeof(hit), record);
		of = (struct call){
			.start_ns = hit.time_ns,
			.end_ns = gpumon_add_saturated(hit.time_ns, hit.duration_ns),
			.tid = hit.tid,
			.stack = hit.stack,
			.function = hit.function,
			.spent = hit.head.flags & GPUMON_HIT_BLOCKING ? GPUMON_SPENT_GPU_WAIT :
									GPUMON_SPENT_LAUNCH,
		};
		break;
	default:
		return;
	}
	thread = gpumon_budget_thread(budget, number, of.tid);
	row = &thread->row;
	if (gpumon_time_within(budget->from_ns, budget->until_ns, of.start_ns)) {
		/* A launch that waits is both. */
		row->launches += record->type == GPUMON_RECORD_LAUNCH ||
				 of.spent == GPUMON_SPENT_LAUNCH;
		row->gpu_waits += of.spent == GPUMON_SPENT_GPU_WAIT;
		row->calls += of.spent == GPUMON_SPENT_CALL;
		row->untimed |= record->type == GPUMON_RECORD_HIT &&
				of.spent == GPUMON_SPENT_LAUNCH;
	}
	add_call(budget, thread, &of);
}

/* --- idle times */

static struct gpumon_idle_row *idle_row(struct gpumon_budget *budget, uint32_t gpu)
{
	while (budget->idle_used <= gpu) {
		struct gpumon_idle_row *row =
			GPUMON_ARRAY_ADD(budget->idle, budget->idle_used, budget->idle_room);

		row->gpu = budget->idle_used - 1;
	}
	return &budget->idle[gpu];
}

/* CUPTI may give all calls of a thread one id, see find_launch() in correlate.c. */
static bool has_own_id(const struct gpumon_budget_thread *thread, uint64_t number)
{
	const struct gpumon_budget_call *call = call_at(thread, number), *other;

	for (uint64_t i = number ? number - 1 : 1; i <= number + 1; i += 2) {
		if (i < thread->call_first || i >= thread->call_next)
			continue;
		other = call_at(thread, i);
		if (other->correlation == call->correlation && other->api == call->api)
			return false;
	}
	return true;
}

/* The kept call of a thread by its id; false also where others have it, too. */
static bool find_call(struct gpumon_budget_thread *thread, uint8_t api, uint32_t correlation,
		      uint64_t *number)
{
	uint64_t low = thread->call_first, high = thread->call_next;

	if (!thread->unordered && low < high &&
	    (int32_t)(call_at(thread, high - 1)->correlation - correlation) < 0)
		return false;
	/* Mostly it is the next one, or that of another thread: ids rise, so none is between two calls. */
	for (uint64_t i = thread->found; i < high && i >= low && i < thread->found + 2; i++) {
		const struct gpumon_budget_call *call = call_at(thread, i);
		int32_t before = (int32_t)(call->correlation - correlation);

		if (!before && call->api == api) {
			*number = thread->found = i;
			return has_own_id(thread, i);
		}
		if (!thread->unordered && before > 0 && i > thread->found)
			return false;
		if (before > 0)
			break;
	}
	if (thread->unordered && high - low > UNORDERED_MAX)
		low = high - UNORDERED_MAX;
	while (low < high) {
		uint64_t middle = thread->unordered ? high - 1 : low + (high - low) / 2;
		const struct gpumon_budget_call *call = call_at(thread, middle);
		int32_t before = (int32_t)(call->correlation - correlation);

		if (!before && call->api == api) {
			*number = thread->found = middle;
			return has_own_id(thread, middle);
		}
		if (!thread->unordered && before < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static struct gpumon_budget_thread *find_launch(struct gpumon_budget *budget, uint64_t origin,
						uint64_t *number)
{
	struct gpumon_budget_process *process;
	struct gpumon_budget_thread **link, *thread;

	/* No operation, or 0, which is no id. */
	if (!(uint32_t)origin)
		return NULL;
	process = gpumon_budget_process(budget, gpumon_origin_process(origin));
	for (link = &process->threads; (thread = *link); link = &thread->next) {
		if (!find_call(thread, (uint8_t)(origin >> 32), (uint32_t)origin, number))
			continue;
		/* The one that launched last is likely to launch next. */
		*link = thread->next;
		thread->next = process->threads;
		process->threads = thread;
		return thread;
	}
	return NULL;
}

/* Whether a launch that is not found may be one that is no longer kept, or not looked at. */
static bool is_forgotten(struct gpumon_budget *budget, uint64_t origin)
{
	const struct gpumon_budget_thread *thread;

	if (!(uint32_t)origin)
		return false;
	thread = gpumon_budget_process(budget, gpumon_origin_process(origin))->threads;
	for (; thread; thread = thread->next) {
		uint64_t kept = thread->call_next - thread->call_first;

		if (thread->unordered && kept > UNORDERED_MAX)
			return true;
		if (thread->call_first &&
		    (thread->unordered ||
		     (int32_t)(call_at(thread, thread->call_first)->correlation -
			       (uint32_t)origin) > 0))
			return true;
	}
	return false;
}

/* What a thread did in an idle time until the end of a call. */
static void give_idle(struct gpumon_budget *budget, struct gpumon_budget_thread *thread,
		      uint64_t number, const struct gpumon_budget_gap *gap)
{
	struct segment segment = { .thread = thread, .idle = idle_row(budget, gap->gpu) };
	uint64_t until_ns = gap->end_ns, from_ns;

	for (uint64_t i = number;; i--) {
		const struct gpumon_budget_call *call = call_at(thread, i), *before;

		from_ns = call->start_ns > gap->start_ns ? call->start_ns : gap->start_ns;
		segment.node = call->node;
		segment.spent = GPUMON_SPENT_LAUNCH;
		if (call->end_ns < until_ns)
			until_ns = call->end_ns;
		if (until_ns > from_ns)
			give_call(budget, &segment, from_ns, until_ns);
		if (call->start_ns <= gap->start_ns)
			return;
		until_ns = call->start_ns < gap->end_ns ? call->start_ns : gap->end_ns;
		if (i == thread->call_first)
			break;
		before = call_at(thread, i - 1);
		from_ns = before->end_ns > gap->start_ns ? before->end_ns : gap->start_ns;
		segment.spent = GPUMON_SPENT_BETWEEN;
		if (until_ns > from_ns) {
			segment.node = call->between ? call->between : home_node(budget, thread);
			segment.after_ns = before->end_ns;
			segment.before_ns = call->start_ns;
			give_outside(budget, &segment, from_ns, until_ns);
		}
		if (before->end_ns <= gap->start_ns)
			return;
	}
	segment.node = home_node(budget, thread);
	if (!thread->call_first) {
		segment.spent = GPUMON_SPENT_BEFORE;
		segment.after_ns = 0;
		segment.before_ns = call_at(thread, 0)->start_ns;
		give_outside(budget, &segment, gap->start_ns, until_ns);
		return;
	}
	segment.idle->unknown_ns += until_ns - gap->start_ns;
	segment.idle->forgotten++;
	segment.state = GPUMON_STATE_UNKNOWN_LAUNCH;
	give(budget, &segment, gap->start_ns, until_ns);
}

static void divide_gap(struct gpumon_budget *budget, const struct gpumon_budget_gap *gap)
{
	struct gpumon_idle_row *row = idle_row(budget, gap->gpu);
	struct gpumon_budget_thread *thread, nobody = { 0 };
	struct segment segment = { .thread = &nobody, .idle = row };
	const struct gpumon_budget_call *call;
	uint64_t ns = gap->end_ns - gap->start_ns, number, from_ns;

	row->between_ns += ns;
	row->gaps++;
	if (ns > row->longest_ns)
		row->longest_ns = ns;
	thread = find_launch(budget, gap->origin, &number);
	if (!thread) {
		row->unknown_ns += ns;
		row->forgotten += is_forgotten(budget, gap->origin);
		segment.node = budget->tree->root;
		segment.state = GPUMON_STATE_UNKNOWN_LAUNCH;
		give(budget, &segment, gap->start_ns, gap->end_ns);
		return;
	}
	call = call_at(thread, number);
	if (call->end_ns > gap->start_ns)
		give_idle(budget, thread, number, gap);
	from_ns = call->end_ns > gap->start_ns ? call->end_ns : gap->start_ns;
	if (from_ns >= gap->end_ns)
		return;
	row->queued_ns += gap->end_ns - from_ns;
	segment.thread = thread;
	segment.node = call->node;
	segment.state = GPUMON_STATE_QUEUED;
	give(budget, &segment, from_ns, gap->end_ns);
}

void gpumon_budget_gap(struct gpumon_budget *budget, uint32_t gpu, uint64_t start_ns,
		       uint64_t end_ns, uint64_t origin)
{
	struct gpumon_budget_gap *gap;

	if (!clip(budget, &start_ns, &end_ns))
		return;
	GPUMON_QUEUE_ROOM(budget->gaps, budget->gap_first, budget->gap_used, budget->gap_room);
	gap = &budget->gaps[budget->gap_first + budget->gap_used++];
	*gap = (struct gpumon_budget_gap){ start_ns, end_ns, origin, gpu };
	if (budget->gap_used <= GAPS_WAITING)
		return;
	divide_gap(budget, &budget->gaps[budget->gap_first++]);
	budget->gap_used--;
}

void gpumon_budget_idle_outside(struct gpumon_budget *budget, uint32_t gpu, uint64_t start_ns,
				uint64_t end_ns, bool after)
{
	struct gpumon_idle_row *row = idle_row(budget, gpu);
	struct gpumon_node *node;

	if (!clip(budget, &start_ns, &end_ns))
		return;
	*(after ? &row->after_ns : &row->before_ns) += end_ns - start_ns;
	node = state_node(budget, budget->tree->root,
			  after ? GPUMON_STATE_AFTER_OPERATIONS : GPUMON_STATE_BEFORE_OPERATIONS);
	add_idle(node, end_ns - start_ns);
}

/* --- the end */

static void end_thread(struct gpumon_budget *budget, struct gpumon_budget_thread *thread)
{
	const struct gpumon_budget_process *process = &budget->processes[thread->row.process];
	const struct gpumon_tables_process *tables =
		&budget->tree->tables->processes[thread->row.process];
	const char *name = gpumon_tables_string(tables, (uint32_t)gpumon_map_get(&tables->threads,
										 thread->row.tid));
	struct segment segment = { .thread = thread, .spent = GPUMON_SPENT_AFTER };

	segment.node = home_node(budget, thread);
	segment.after_ns = call_at(thread, thread->call_next - 1)->end_ns;
	segment.before_ns = UINT64_MAX;
	give_outside(budget, &segment, segment.after_ns, process->last_ns);
	thread->row.name = name ? name : "";
	if (thread->looks_ns)
		thread->row.looks_hz = (double)thread->row.looks * 1e9 / thread->looks_ns;
}

static int by_launches(const void *a, const void *b)
{
	const struct gpumon_budget_row *x = a, *y = b;

	if (x->launches != y->launches)
		return x->launches > y->launches ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/*
 * Time next to calls whose stack was left out is given to where the thread was between calls otherwise,
 * in proportion.
 */
static void scale_known(struct gpumon_budget *budget)
{
	for (uint32_t i = 0; i < budget->known_keys.used; i++) {
		const struct gpumon_budget_known *known = &budget->known[i];
		struct gpumon_budget_thread *thread = known->thread;
		uint64_t whole = thread->row.unsampled_ns, before = thread->scaled_ns;

		if (!thread->known_ns)
			continue;
		if (known->unsampled) {
			known->node->wall_ns -= known->ns;
			continue;
		}
		/* Shares of all of it have the whole as their sum. */
		thread->scaled_ns += known->ns;
		known->node->wall_left_ns +=
			(uint64_t)((__uint128_t)whole * thread->scaled_ns / thread->known_ns) -
			(uint64_t)((__uint128_t)whole * before / thread->known_ns);
	}
}

void gpumon_budget_end(struct gpumon_budget *budget)
{
	for (uint32_t i = 0; i < budget->thread_keys.used; i++)
		settle(budget, budget->threads[i], NULL, false);
	while (budget->gap_used) {
		divide_gap(budget, &budget->gaps[budget->gap_first++]);
		budget->gap_used--;
	}
	budget->rows = gpumon_calloc((size_t)budget->thread_keys.used + 1, sizeof(*budget->rows));
	for (uint32_t i = 0; i < budget->thread_keys.used; i++) {
		struct gpumon_budget_thread *thread = budget->threads[i];

		if (!thread->call_next)
			continue;
		end_thread(budget, thread);
		if (thread->row.wall_ns)
			budget->rows[budget->row_count++] = thread->row;
	}
	qsort(budget->rows, budget->row_count, sizeof(*budget->rows), by_launches);
	scale_known(budget);
}

void gpumon_budget_free_calls(struct gpumon_budget *budget)
{
	for (uint32_t i = 0; i < budget->thread_keys.used; i++) {
		/* Rows have those of threads that have one. */
		if (!budget->rows || !budget->threads[i]->row.wall_ns)
			free(budget->threads[i]->row.bins.busy_ns);
		free(budget->threads[i]->waits);
		free(budget->threads[i]->calls);
		free(budget->threads[i]);
	}
	for (uint32_t i = 0; i < budget->process_used; i++) {
		free(budget->processes[i].overheads);
		gpumon_windows_clear(&budget->processes[i].windows);
	}
	free(budget->threads);
	free(budget->processes);
	free(budget->states);
	free(budget->betweens);
	free(budget->known);
	free(budget->gaps);
	gpumon_keys_clear(&budget->thread_keys);
	gpumon_keys_clear(&budget->state_keys);
	gpumon_keys_clear(&budget->between_keys);
	gpumon_keys_clear(&budget->known_keys);
	budget->threads = NULL;
	budget->processes = NULL;
	budget->process_used = 0;
	budget->states = NULL;
	budget->betweens = NULL;
	budget->known = NULL;
	budget->gaps = NULL;
	budget->gap_used = 0;
}

void gpumon_budget_clear(struct gpumon_budget *budget)
{
	gpumon_budget_free_calls(budget);
	for (uint32_t i = 0; i < budget->row_count; i++)
		free(budget->rows[i].bins.busy_ns);
	free(budget->rows);
	free(budget->idle);
	budget->rows = NULL;
	budget->idle = NULL;
}
