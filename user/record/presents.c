// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "presents.h"
#include "report/frames.h"

/**
 * struct chain - presents of a thread by a function
 * @row: what is counted of this interval
 * @begin_ns: begin of the frame that has not ended; 0: there is none
 * @seen: it presented in this interval
 * @over: its process has ended, or nothing came for long
 * @lengths: of the frames of this interval
 */
struct chain {
	struct gpumon_presents_row row;
	uint64_t begin_ns;
	bool seen;
	bool over;
	uint64_t *lengths;
	uint32_t used;
	uint32_t room;
};

/* @number: of its last present */
struct thread {
	uint32_t process;
	uint32_t tid;
	uint64_t number;
};

struct gpumon_presents {
	struct chain *chains;
	uint32_t chain_count;
	uint32_t chain_room;
	struct thread *threads;
	uint32_t thread_count;
	uint32_t thread_room;
	struct gpumon_presents_row *rows;
	uint64_t left_out;
};

struct gpumon_presents *gpumon_presents_new(void)
{
	return gpumon_calloc(1, sizeof(struct gpumon_presents));
}

void gpumon_presents_free(struct gpumon_presents *presents)
{
	if (!presents)
		return;
	for (uint32_t i = 0; i < presents->chain_count; i++)
		free(presents->chains[i].lengths);
	free(presents->chains);
	free(presents->threads);
	free(presents->rows);
	free(presents);
}

static struct thread *thread_of(struct gpumon_presents *presents,
				const struct gpumon_present *present)
{
	struct thread *thread;

	for (uint32_t i = 0; i < presents->thread_count; i++) {
		thread = &presents->threads[i];
		if (thread->tid == present->tid && thread->process == present->process)
			return thread;
	}
	if (presents->thread_count >= GPUMON_PRESENTS_ROWS_MAX)
		return NULL;
	thread = GPUMON_ARRAY_ADD(presents->threads, presents->thread_count, presents->thread_room);
	thread->process = present->process;
	thread->tid = present->tid;
	return thread;
}

static struct chain *chain_of(struct gpumon_presents *presents,
			      const struct gpumon_present *present)
{
	struct chain *chain;

	for (uint32_t i = 0; i < presents->chain_count; i++) {
		chain = &presents->chains[i];
		if (chain->row.tid == present->tid && chain->row.process == present->process &&
		    !strncmp(chain->row.function, present->function, GPUMON_PRESENTS_NAME - 1))
			return chain;
	}
	if (presents->chain_count >= GPUMON_PRESENTS_ROWS_MAX)
		return NULL;
	chain = GPUMON_ARRAY_ADD(presents->chains, presents->chain_count, presents->chain_room);
	chain->row.process = present->process;
	chain->row.tid = present->tid;
	snprintf(chain->row.function, sizeof(chain->row.function), "%s", present->function);
	return chain;
}

static bool is_of_thread(const struct chain *chain, const struct thread *thread)
{
	return chain->row.tid == thread->tid && chain->row.process == thread->process;
}

/* Any function of the thread may have been called there. */
static void break_thread(struct gpumon_presents *presents, const struct thread *thread)
{
	for (uint32_t i = 0; i < presents->chain_count; i++)
		if (is_of_thread(&presents->chains[i], thread))
			presents->chains[i].begin_ns = 0;
}

static void add_frame(struct chain *chain, uint64_t ns)
{
	if (chain->used >= GPUMON_PRESENTS_FRAMES_MAX)
		chain->row.left_out++;
	else
		*(uint64_t *)GPUMON_ARRAY_ADD(chain->lengths, chain->used, chain->room) = ns;
}

void gpumon_presents_add(struct gpumon_presents *presents, const struct gpumon_present *present)
{
	struct thread *thread = thread_of(presents, present);
	struct chain *chain = thread ? chain_of(presents, present) : NULL;

	if (!chain) {
		presents->left_out++;
		return;
	}
	if (thread->number && present->number > thread->number + 1)
		chain->row.lost += present->number - thread->number - 1;
	if (thread->number && present->number != thread->number + 1)
		break_thread(presents, thread);
	thread->number = present->number;
	if (chain->begin_ns && present->time_ns > chain->begin_ns)
		add_frame(chain, present->time_ns - chain->begin_ns);
	chain->begin_ns = present->time_ns;
	chain->seen = true;
}

void gpumon_presents_end(struct gpumon_presents *presents, uint32_t process)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < presents->chain_count; i++) {
		if (presents->chains[i].row.process != process)
			continue;
		presents->chains[i].begin_ns = 0;
		presents->chains[i].over = true;
	}
	for (uint32_t i = 0; i < presents->thread_count; i++)
		if (presents->threads[i].process != process)
			presents->threads[left++] = presents->threads[i];
	presents->thread_count = left;
}

static void finish_row(struct chain *chain, uint64_t now_ns)
{
	struct gpumon_presents_row *row = &chain->row;

	row->frames = chain->used;
	if (chain->used)
		qsort(chain->lengths, chain->used, sizeof(*chain->lengths), gpumon_by_value);
	row->median_ns = gpumon_frames_quantile(chain->lengths, chain->used, 0.5);
	row->p95_ns = gpumon_frames_quantile(chain->lengths, chain->used, 0.95);
	row->p99_ns = gpumon_frames_quantile(chain->lengths, chain->used, 0.99);
	row->longest_ns = gpumon_frames_quantile(chain->lengths, chain->used, 1);
	row->late_ns = chain->used ? gpumon_frames_late_from(row->median_ns) : 0;
	for (uint32_t i = 0; i < chain->used; i++) {
		row->total_ns += chain->lengths[i];
		row->late += chain->lengths[i] > row->late_ns;
	}
	if (chain->begin_ns && now_ns > chain->begin_ns)
		row->unfinished_ns = now_ns - chain->begin_ns;
	chain->over |= !chain->seen && row->unfinished_ns > GPUMON_PRESENTS_IDLE_NS;
}

static int by_trouble(const void *a, const void *b)
{
	const struct gpumon_presents_row *x = a, *y = b;

	if (x->late != y->late)
		return x->late > y->late ? -1 : 1;
	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool has_chain(const struct gpumon_presents *presents, const struct thread *thread)
{
	for (uint32_t i = 0; i < presents->chain_count; i++)
		if (is_of_thread(&presents->chains[i], thread))
			return true;
	return false;
}

/* Resets the numbers of all chains. A chain that is over goes: its last row was given out. */
static void begin_interval(struct gpumon_presents *presents)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < presents->chain_count; i++) {
		struct chain *chain = &presents->chains[i];
		struct gpumon_presents_row *row = &chain->row;

		row->frames = row->late = row->left_out = row->lost = row->total_ns = 0;
		row->unfinished_ns = 0;
		chain->used = 0;
		chain->seen = false;
		if (chain->over)
			free(chain->lengths);
		else
			presents->chains[left++] = *chain;
	}
	presents->chain_count = left;
	left = 0;
	for (uint32_t i = 0; i < presents->thread_count; i++)
		if (has_chain(presents, &presents->threads[i]))
			presents->threads[left++] = presents->threads[i];
	presents->thread_count = left;
	presents->left_out = 0;
}

uint32_t gpumon_presents_close(struct gpumon_presents *presents, uint64_t now_ns,
			       const struct gpumon_presents_row **rows, uint64_t *left_out)
{
	uint32_t count = 0;

	free(presents->rows);
	presents->rows = gpumon_calloc(presents->chain_count + 1, sizeof(*presents->rows));
	for (uint32_t i = 0; i < presents->chain_count; i++) {
		finish_row(&presents->chains[i], now_ns);
		if (presents->chains[i].seen || presents->chains[i].begin_ns)
			presents->rows[count++] = presents->chains[i].row;
	}
	qsort(presents->rows, count, sizeof(*presents->rows), by_trouble);
	*rows = presents->rows;
	*left_out = presents->left_out;
	begin_interval(presents);
	return count;
}
