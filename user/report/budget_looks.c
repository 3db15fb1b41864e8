// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The first pass of a budget: times of processes, looks at threads, overheads of the API. */
#include <stdlib.h>

#include "budget_engine.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "lib/text.h"

void gpumon_budget_time(struct gpumon_budget *budget, uint32_t number, uint64_t start_ns,
			uint64_t end_ns)
{
	struct gpumon_budget_process *process = gpumon_budget_process(budget, number);

	if (start_ns && (!process->first_ns || start_ns < process->first_ns))
		process->first_ns = start_ns;
	/* What is left without an end has begun. */
	end_ns = end_ns > start_ns ? end_ns : start_ns;
	if (end_ns > process->last_ns)
		process->last_ns = end_ns;
}

static void look_wait(struct gpumon_budget *budget, uint32_t number,
		      const struct gpumon_record *record)
{
	struct gpumon_budget_thread *thread;
	struct gpumon_budget_wait *wait;
	struct gpumon_record_wait of;
	uint64_t half_ns;

	gpumon_record_copy(&of, sizeof(of), record);
	if (!of.start_ns || of.end_ns < of.start_ns)
		return;
	thread = gpumon_budget_thread(budget, number, of.tid);
	wait = GPUMON_ARRAY_ADD(thread->waits, thread->wait_used, thread->wait_room);
	half_ns = of.period_ns / 2 < of.start_ns ? of.period_ns / 2 : 0;
	wait->start_ns = of.start_ns - half_ns;
	wait->end_ns = gpumon_add_saturated(of.end_ns, half_ns);
	wait->first_ns = of.start_ns;
	wait->last_ns = of.end_ns;
	wait->stack = of.stack;
	wait->kind = of.kind < GPUMON_WAIT_KINDS ? of.kind : GPUMON_WAIT_UNKNOWN;
	wait->file = of.file < GPUMON_FILE_KINDS ? of.file : GPUMON_FILE_UNKNOWN;
	thread->row.looks += of.looks;
	thread->looks_ns += (double)of.period_ns * of.looks;
}

static void look_overhead(struct gpumon_budget *budget, uint32_t number,
			  const struct gpumon_record *record)
{
	struct gpumon_budget_process *process = gpumon_budget_process(budget, number);
	struct gpumon_record_overhead of;
	struct gpumon_budget_overhead *overhead;

	gpumon_record_copy(&of, sizeof(of), record);
	if (!of.start_ns || of.end_ns <= of.start_ns)
		return;
	overhead = GPUMON_ARRAY_ADD(process->overheads, process->overhead_used,
				    process->overhead_room);
	overhead->start_ns = of.start_ns;
	overhead->end_ns = of.end_ns;
	overhead->tid = of.tid;
	overhead->kind = of.kind < GPUMON_OVERHEAD_KINDS ? of.kind : GPUMON_OVERHEAD_OTHER;
}

/* Windows of operations do not count: calls are recorded outside of them as well. */
static void look_window(struct gpumon_budget *budget, uint32_t number,
			const struct gpumon_record *record)
{
	struct gpumon_record_window of;

	gpumon_record_copy(&of, sizeof(of), record);
	if (!(of.head.flags & GPUMON_WINDOW_OPERATIONS))
		gpumon_windows_add(&gpumon_budget_process(budget, number)->windows, &of);
}

void gpumon_budget_look(struct gpumon_budget *budget, uint32_t number,
			const struct gpumon_record *record)
{
	if (record->type == GPUMON_RECORD_WAIT)
		look_wait(budget, number, record);
	else if (record->type == GPUMON_RECORD_OVERHEAD)
		look_overhead(budget, number, record);
	else if (record->type == GPUMON_RECORD_WINDOW)
		look_window(budget, number, record);
}

#define ORDER(a, b)                                \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

static int by_wait(const void *a, const void *b)
{
	const struct gpumon_budget_wait *x = a, *y = b;

	ORDER(x->start_ns, y->start_ns);
	ORDER(x->end_ns, y->end_ns);
	ORDER(x->kind, y->kind);
	ORDER(x->stack, y->stack);
	ORDER(x->file, y->file);
	ORDER(x->first_ns, y->first_ns);
	ORDER(x->last_ns, y->last_ns);
	return 0;
}

/* One around others comes first. */
static int by_overhead(const void *a, const void *b)
{
	const struct gpumon_budget_overhead *x = a, *y = b;

	ORDER(x->tid, y->tid);
	ORDER(x->start_ns, y->start_ns);
	ORDER(y->end_ns, x->end_ns);
	ORDER(x->kind, y->kind);
	return 0;
}
#undef ORDER

/* Overheads of one thread under way: where they overlap, the one that began last counts. */
struct nesting {
	struct gpumon_budget_overhead *open;
	uint32_t open_used;
	struct gpumon_budget_overhead *flat;
	uint32_t flat_used;
	uint32_t flat_room;
	uint64_t done_ns;
};

/* What is under way counts up to then. */
static void nest_until(struct nesting *nesting, uint64_t time_ns)
{
	while (nesting->open_used) {
		struct gpumon_budget_overhead part = nesting->open[nesting->open_used - 1];
		bool ends = part.end_ns <= time_ns;

		part.start_ns = nesting->done_ns;
		part.end_ns = ends ? part.end_ns : time_ns;
		if (part.end_ns > part.start_ns) {
			*(struct gpumon_budget_overhead *)GPUMON_ARRAY_ADD(
				nesting->flat, nesting->flat_used, nesting->flat_room) = part;
			nesting->done_ns = part.end_ns;
		}
		if (!ends)
			return;
		nesting->open_used--;
	}
}

static void turn_overheads(struct gpumon_budget_process *process)
{
	struct gpumon_budget_overhead *all = process->overheads;
	struct nesting nesting = { 0 };

	if (!process->overhead_used)
		return;
	qsort(all, process->overhead_used, sizeof(*all), by_overhead);
	nesting.open = gpumon_calloc(process->overhead_used, sizeof(*nesting.open));
	for (uint32_t i = 0; i < process->overhead_used; i++) {
		nest_until(&nesting,
			   i && all[i - 1].tid != all[i].tid ? UINT64_MAX : all[i].start_ns);
		nesting.open[nesting.open_used++] = all[i];
		nesting.done_ns = all[i].start_ns;
	}
	nest_until(&nesting, UINT64_MAX);
	free(nesting.open);
	free(all);
	process->overheads = nesting.flat;
	process->overhead_used = nesting.flat_used;
	process->overhead_room = nesting.flat_room;
}

void gpumon_budget_turn(struct gpumon_budget *budget)
{
	for (uint32_t i = 0; i < budget->thread_keys.used; i++) {
		struct gpumon_budget_thread *thread = budget->threads[i];

		if (thread->wait_used)
			qsort(thread->waits, thread->wait_used, sizeof(*thread->waits), by_wait);
		/* Each begins no earlier than the one before it ends. */
		for (uint32_t k = 1; k < thread->wait_used; k++) {
			if (thread->waits[k - 1].end_ns > thread->waits[k].start_ns)
				thread->waits[k - 1].end_ns = thread->waits[k].start_ns;
		}
	}
	for (uint32_t i = 0; i < budget->process_used; i++) {
		turn_overheads(&budget->processes[i]);
		gpumon_windows_end(&budget->processes[i].windows);
	}
}
