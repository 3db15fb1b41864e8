// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Matches uprobe hits with launches that have no stack.
 *
 * A hit comes before the record of its call, and a thread makes one call at a time. So the first
 * launch between the hits n and n + 1 of a thread belongs to n, if it is of the same function. In
 * other cases nothing is guessed:
 *
 * - A number is missing: the launch could belong to the lost hit, if the record of n's call was
 *   lost too. Launches before the next hit are ambiguous.
 * - Several launches of that function between two hits: some of them have no uprobe. They are
 *   ambiguous.
 * - The last hit of a thread: no number shows whether there was another one. It counts unless hits
 *   of the process are known to be lost.
 *
 * A hit between the beginning and the end of a call's record is a nested call (cuLaunchKernel in
 * cudaLaunchKernel of a static cudart). Its stack is valid whatever was lost.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "engine.h"

/* How far a thread's hits may be out of order before a missing number counts as lost. */
#define REORDER_MAX 64

/* Hits and launches further out of order are not joined. No real program produces them. */
#define DISORDER_MAX 1024

enum until {
	WAIT,  /* for records that may still come */
	ROOM,  /* for lack of room */
	KNOWN, /* everything has arrived; the last hits of threads still wait */
	END,   /* everything has arrived */
};

static struct hit_thread *thread_of(struct hits *hits, uint32_t tid)
{
	uint64_t place = gpumon_map_get(&hits->by_tid, tid);
	struct hit_thread *thread;

	if (place)
		return &hits->threads[place - 1];
	thread = GPUMON_ARRAY_ADD(hits->threads, hits->used, hits->room);
	if (!thread)
		return NULL;
	if (gpumon_map_set(&hits->by_tid, tid, hits->used)) {
		hits->used--;
		return NULL;
	}
	thread->tid = tid;
	return thread;
}

/* --- functions */

/* The text of a string id. Hits and launches are compared by text. */
int gpumon_hits_string(struct gpumon_correlate *correlate, struct process *process,
		       const struct gpumon_record_string *string)
{
	size_t room = string->head.size - sizeof(*string);
	int64_t number;

	if (string->length > room)
		return 0;
	number = gpumon_functions_number(&correlate->functions, string->text, string->length);
	if (number < 0)
		return -1;
	/* Skip texts that cannot be function names. */
	if (!number && string->length >= GPUMON_FUNCTION_MAX)
		return 0;
	return gpumon_map_set(&process->hits.text, string->id, number + 1);
}

static bool function_known(const struct process *process, uint32_t function)
{
	return !function || gpumon_map_get(&process->hits.text, function);
}

static bool same_function(const struct process *process, uint32_t a, uint32_t b)
{
	uint64_t one, other;

	if (!a || !b)
		return false;
	if (a == b)
		return true;
	one = gpumon_map_get(&process->hits.text, a);
	other = gpumon_map_get(&process->hits.text, b);
	return one > 1 && one == other;
}

/* --- joining */

static void done_with_hit(struct gpumon_correlate *correlate, struct process *process,
			  const struct gpumon_record_hit *hit, bool matched, bool ambiguous)
{
	const struct gpumon_unmatched_hit unmatched = { process->number, hit };

	if (matched) {
		correlate->counts.hits_matched++;
		return;
	}
	correlate->counts.hits_ambiguous += ambiguous;
	if (correlate->output.hit)
		correlate->output.hit(correlate->output.data, &unmatched);
}

static void pop_call(struct gpumon_correlate *correlate, struct process *process,
		     struct hit_thread *thread, const struct gpumon_record_hit *hit, bool unsure)
{
	struct call *call = &thread->calls.at[thread->calls.first];

	if (hit) {
		thread->call_start = call->start_ns;
		thread->call_end = call->end_ns;
	}
	thread->calls.first++;
	thread->calls.used--;
	process->hits.calls--;
	if (!call->has_stack)
		gpumon_join_resolve(correlate, process, call->serial, hit ? hit->stack : 0, unsure);
}

/* A hit of a function that the call itself made. */
static bool hit_within(const struct gpumon_record_hit *hit, uint64_t start_ns, uint64_t end_ns)
{
	return hit->time_ns > start_ns && hit->time_ns <= end_ns;
}

/*
 * Decide the launches from @hit to @next, and finish the hit. Without @next, @proven says whether
 * it is known that there is none.
 */
static void decide_interval(struct gpumon_correlate *correlate, struct process *process,
			    struct hit_thread *thread, const struct gpumon_record_hit *hit,
			    const struct gpumon_record_hit *next, bool proven)
{
	const struct call *calls = thread->calls.used ? thread->calls.at + thread->calls.first :
							NULL;
	bool matched = hit_within(hit, thread->call_start, thread->call_end);
	bool gap = next ? next->number != hit->number + 1 : !proven;
	uint32_t count = 0;
	uint32_t same = 0;
	bool first;

	while (count < thread->calls.used && (!next || calls[count].start_ns < next->time_ns))
		same += same_function(process, calls[count++].function, hit->function);
	first = count && same == 1 && same_function(process, calls[0].function, hit->function);

	for (uint32_t i = 0; i < count; i++) {
		const struct call *call = thread->calls.at + thread->calls.first;
		const struct gpumon_record_hit *inner =
			next && hit_within(next, call->start_ns, call->end_ns) ? next : NULL;
		bool is_same = same_function(process, call->function, hit->function);

		if (first && !i && !gap && !matched) {
			matched = true;
			pop_call(correlate, process, thread, hit, false);
		} else {
			pop_call(correlate, process, thread, inner, !inner && (gap || is_same));
		}
	}
	done_with_hit(correlate, process, hit, matched, !matched && count && (gap || same));
	thread->any = true;
	thread->last_number = hit->number;
	if (next)
		thread->done_until = next->time_ns;
	else if (count)
		thread->done_until = thread->newest_start + 1;
}

/* Decide the launches that began before the first waiting hit. */
static void decide_before(struct gpumon_correlate *correlate, struct process *process,
			  struct hit_thread *thread, const struct gpumon_record_hit *hit)
{
	while (thread->calls.used) {
		const struct call *call = thread->calls.at + thread->calls.first;

		if (hit && call->start_ns >= hit->time_ns)
			break;
		pop_call(correlate, process, thread,
			 hit && hit_within(hit, call->start_ns, call->end_ns) ? hit : NULL,
			 thread->any && call->start_ns < thread->done_until);
	}
}

static bool functions_known(const struct process *process, const struct hit_thread *thread,
			    const struct gpumon_record_hit *hit,
			    const struct gpumon_record_hit *next)
{
	const struct call *call = thread->calls.at + thread->calls.first;

	if (!function_known(process, hit->function))
		return false;
	for (uint32_t i = 0; i < thread->calls.used && call[i].start_ns < next->time_ns; i++) {
		if (!function_known(process, call[i].function))
			return false;
	}
	return true;
}

static void decide_thread(struct gpumon_correlate *correlate, struct process *process,
			  struct hit_thread *thread, enum until until)
{
	struct hit_queue *hits = &thread->hits;

	while (hits->used) {
		const struct gpumon_record_hit *hit = &hits->at[hits->first];
		const struct gpumon_record_hit *next = hits->used > 1 ? hit + 1 : NULL;
		bool follows = hit->number == (thread->any ? thread->last_number + 1 : 1);

		if (until == WAIT && !follows && hits->used <= REORDER_MAX)
			return;
		if (!follows)
			process->hits.lost = true;
		decide_before(correlate, process, thread, hit);
		if (!next && (until == WAIT || until == KNOWN))
			return;
		if (!next && until == ROOM && !thread->calls.used)
			return;
		if (until == WAIT) {
			if (next->number != hit->number + 1 && hits->used <= REORDER_MAX)
				return;
			if (thread->newest_start < next->time_ns ||
			    !functions_known(process, thread, hit, next))
				return;
		}
		decide_interval(correlate, process, thread, hit, next,
				until == END && !process->hits.lost);
		hits->first++;
		hits->used--;
		process->hits.queued--;
		correlate->counts.in_flight--;
		/* Room for one is enough. */
		if (until == ROOM)
			until = WAIT;
	}
	if (until == END || until == ROOM)
		decide_before(correlate, process, thread, NULL);
}

/* Too many are waiting: decide half of the longest queue. */
static void make_room(struct gpumon_correlate *correlate, struct process *process)
{
	uint32_t share = gpumon_correlate_share(correlate, GPUMON_CORRELATE_HITS);
	struct hits *hits = &process->hits;
	struct hit_thread *longest = NULL;
	uint32_t length = 0;
	uint32_t before;

	if (hits->queued <= share && hits->calls <= share)
		return;
	for (uint32_t i = 0; i < hits->used; i++) {
		struct hit_thread *thread = &hits->threads[i];

		if (thread->hits.used + thread->calls.used > length) {
			length = thread->hits.used + thread->calls.used;
			longest = thread;
		}
	}
	if (!longest)
		return;
	do {
		before = longest->hits.used + longest->calls.used;
		decide_thread(correlate, process, longest, ROOM);
	} while (longest->hits.used + longest->calls.used > length / 2 &&
		 longest->hits.used + longest->calls.used < before);
}

int gpumon_hits_hit(struct gpumon_correlate *correlate, struct process *process,
		    const struct gpumon_record_hit *record)
{
	struct hit_thread *thread = thread_of(&process->hits, record->tid);
	struct hit_queue *queue = thread ? &thread->hits : NULL;
	struct gpumon_record_hit *at;
	uint32_t place;

	if (!queue || GPUMON_QUEUE_ROOM(queue->at, queue->first, queue->used, queue->room))
		return -1;
	correlate->counts.hits++;
	at = queue->at + queue->first;
	place = queue->used;
	while (place && at[place - 1].number > record->number)
		place--;
	/* Its number was already counted as lost, or is known. */
	if ((thread->any && record->number <= thread->last_number) ||
	    (place && at[place - 1].number == record->number) ||
	    queue->used - place > DISORDER_MAX) {
		done_with_hit(correlate, process, record, false, false);
		return 0;
	}
	memmove(at + place + 1, at + place, (queue->used - place) * sizeof(*at));
	at[place] = *record;
	queue->used++;
	process->hits.queued++;
	gpumon_correlate_wait(correlate);
	decide_thread(correlate, process, thread, WAIT);
	make_room(correlate, process);
	return 0;
}

int gpumon_hits_launch(struct gpumon_correlate *correlate, struct process *process,
		       const struct launch *launch)
{
	struct hit_thread *thread = thread_of(&process->hits, launch->tid);
	struct call_queue *queue = thread ? &thread->calls : NULL;
	struct call *at;
	uint32_t place;

	if (!queue || GPUMON_QUEUE_ROOM(queue->at, queue->first, queue->used, queue->room))
		return -1;
	at = queue->at + queue->first;
	place = queue->used;
	while (place && at[place - 1].start_ns > launch->start_ns)
		place--;
	if (queue->used - place > DISORDER_MAX) {
		if (!launch->stack)
			gpumon_join_resolve(correlate, process, launch->serial, 0, true);
		return 0;
	}
	memmove(at + place + 1, at + place, (queue->used - place) * sizeof(*at));
	at[place] = (struct call){
		.start_ns = launch->start_ns,
		.end_ns = launch->end_ns,
		.serial = launch->serial,
		.function = launch->function,
		.has_stack = launch->stack != 0,
	};
	queue->used++;
	process->hits.calls++;
	if (launch->start_ns > thread->newest_start)
		thread->newest_start = launch->start_ns;
	decide_thread(correlate, process, thread, WAIT);
	make_room(correlate, process);
	return 0;
}

void gpumon_hits_finish(struct gpumon_correlate *correlate, struct process *process)
{
	/* A loss on any thread affects the last hits of all threads. */
	for (uint32_t i = 0; i < process->hits.used; i++)
		decide_thread(correlate, process, &process->hits.threads[i], KNOWN);
	for (uint32_t i = 0; i < process->hits.used; i++)
		decide_thread(correlate, process, &process->hits.threads[i], END);
}

void gpumon_hits_clear(struct process *process)
{
	struct hits *hits = &process->hits;

	for (uint32_t i = 0; i < hits->used; i++) {
		free(hits->threads[i].hits.at);
		free(hits->threads[i].calls.at);
	}
	free(hits->threads);
	gpumon_map_clear(&hits->by_tid);
	gpumon_map_clear(&hits->text);
	memset(hits, 0, sizeof(*hits));
}
