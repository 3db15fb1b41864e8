// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "profile_ranges.h"
#include "time_range.h"

/* Maximum number of changes of a thread that are kept for operations in flight. */
#define CHANGES_MAX (1u << 18)

/* Ranges are read this many records ahead of the operations in them. */
#define AHEAD_RECORDS (1u << 17)

/* NULL if nothing is known of it. */
static struct gpumon_range_thread *find_thread(struct gpumon_ranges *ranges, uint32_t process,
					       uint32_t tid)
{
	const struct gpumon_key key = { { process, tid } };
	uint32_t number = gpumon_keys_number(&ranges->thread_keys, &key, NULL);

	return number == GPUMON_KEY_NONE ? NULL : ranges->threads[number];
}

static struct gpumon_range_thread *make_thread(struct gpumon_ranges *ranges, uint32_t process,
					       uint32_t tid)
{
	const struct gpumon_key key = { { process, tid } };
	struct gpumon_range_thread **slot = GPUMON_KEYS_VALUE(
		&ranges->thread_keys, &key, ranges->threads, ranges->threads_room, NULL);

	if (!*slot)
		*slot = gpumon_calloc(1, sizeof(**slot));
	return *slot;
}

static uint32_t find_row(struct gpumon_ranges *ranges, const char *domain, const char *text)
{
	const struct gpumon_key key = { { (uintptr_t)domain, (uintptr_t)text } };
	struct gpumon_range_row *row =
		GPUMON_KEYS_VALUE(&ranges->row_keys, &key, ranges->rows, ranges->rows_room, NULL);

	row->domain = domain;
	row->text = text;
	return (uint32_t)(row - ranges->rows);
}

/* The path of a parent and one more range. */
static uint32_t find_path(struct gpumon_ranges *ranges, uint32_t parent, uint32_t row)
{
	const struct gpumon_key key = { { parent, row } };
	struct gpumon_range_path *path;
	uint32_t number;
	bool added;

	path = GPUMON_KEYS_VALUE(&ranges->path_keys, &key, ranges->paths, ranges->paths_room,
				 &added);
	number = (uint32_t)(path - ranges->paths) + 1;
	if (!added)
		return number;
	path->parent = parent;
	path->row = row;
	for (uint32_t above = parent; above && !path->again;
	     above = ranges->paths[above - 1].parent)
		path->again = ranges->paths[above - 1].row == row;
	return number;
}

/* From now on, other ranges are open on the thread. */
static void change_open_range(struct gpumon_ranges *ranges, struct gpumon_range_thread *thread,
			      uint64_t time_ns)
{
	struct gpumon_range_change *at;
	uint32_t path = 0;

	if (!ranges->timeline)
		return;
	for (uint32_t i = 0; i < thread->depth; i++)
		path = find_path(ranges, path, thread->open[i].row);
	if (thread->used >= CHANGES_MAX) {
		thread->first += CHANGES_MAX / 4;
		thread->used -= CHANGES_MAX / 4;
	}
	GPUMON_QUEUE_ROOM(thread->changes, thread->first, thread->used, thread->room);
	at = &thread->changes[thread->first + thread->used++];
	at->time_ns = time_ns;
	at->path = path;
	at->innermost = thread->depth ? thread->open[thread->depth - 1].number : 0;
	/* Ranges are written in order. A clock that went back would hide earlier ones. */
	if (thread->used > 1 && at[-1].time_ns > time_ns)
		at->time_ns = at[-1].time_ns;
}

/* The innermost range on the stack of a domain; NULL: there is none. */
static struct gpumon_range_open *find_pushed(const struct gpumon_ranges *ranges,
					     struct gpumon_range_thread *thread, const char *domain)
{
	for (uint32_t i = thread->depth; i-- > 0;) {
		if (thread->open[i].pushed && ranges->rows[thread->open[i].row].domain == domain)
			return &thread->open[i];
	}
	return NULL;
}

static void tell_ended(struct gpumon_ranges *ranges, uint32_t process, uint32_t tid,
		       const struct gpumon_range_open *open, uint64_t end_ns)
{
	const struct gpumon_range_ended ended = {
		.process = process,
		.tid = tid,
		.open = open,
		.row = &ranges->rows[open->row],
		.end_ns = end_ns,
	};

	if (ranges->ended)
		ranges->ended(ranges->data, &ended);
}

static void open_range(struct gpumon_ranges *ranges, struct gpumon_range_thread *thread,
		       uint32_t process, const struct gpumon_record_range *range, uint32_t row,
		       bool pushed)
{
	const struct gpumon_range_open open = {
		.time_ns = range->time_ns,
		.id = range->id,
		.number = ++ranges->count,
		.around = thread->depth ? thread->open[thread->depth - 1].number : 0,
		.row = row,
		.pushed = pushed,
	};
	struct gpumon_range_open *around;

	ranges->rows[row].count +=
		gpumon_time_within(ranges->from_ns, ranges->until_ns, range->time_ns);
	if (thread->depth == GPUMON_RANGES_OPEN) {
		tell_ended(ranges, process, range->tid, &open, 0);
		/* Its pop must not close the range around it. */
		around = pushed ? find_pushed(ranges, thread, ranges->rows[row].domain) : NULL;
		if (around)
			around->not_kept++;
		return;
	}
	thread->open[thread->depth++] = open;
	change_open_range(ranges, thread, range->time_ns);
}

static void close_range(struct gpumon_ranges *ranges, struct gpumon_range_thread *thread,
			uint32_t process, uint32_t tid, uint32_t place, uint64_t time_ns)
{
	struct gpumon_range_open closed = thread->open[place];
	struct gpumon_range_row *row = &ranges->rows[closed.row];
	uint64_t start_ns, end_ns;

	tell_ended(ranges, process, tid, &closed, time_ns);
	start_ns = closed.time_ns;
	end_ns = time_ns;
	if (gpumon_time_clip(ranges->from_ns, ranges->until_ns, &start_ns, &end_ns))
		row->cpu_ns += end_ns - start_ns;
	memmove(&thread->open[place], &thread->open[place + 1],
		(thread->depth - place - 1) * sizeof(closed));
	thread->depth--;
	change_open_range(ranges, thread, time_ns);
}

/* Position of an open range with that id on a thread, or its depth if there is none. */
static uint32_t find_started(const struct gpumon_range_thread *thread, uint64_t id)
{
	for (uint32_t i = thread->depth; i-- > 0;) {
		if (!thread->open[i].pushed && thread->open[i].id == id)
			return i;
	}
	return thread->depth;
}

/* A range may end on another thread than it started on. */
static void end_range(struct gpumon_ranges *ranges, uint32_t process,
		      const struct gpumon_record_range *range)
{
	struct gpumon_range_thread *own = find_thread(ranges, process, range->tid);
	uint32_t place;

	if (own) {
		place = find_started(own, range->id);
		if (place < own->depth) {
			close_range(ranges, own, process, range->tid, place, range->time_ns);
			return;
		}
	}
	for (uint32_t i = 0; i < ranges->thread_keys.used; i++) {
		const struct gpumon_key *key = &ranges->thread_keys.keys[i];

		if (key->part[0] != process)
			continue;
		place = find_started(ranges->threads[i], range->id);
		if (place < ranges->threads[i]->depth) {
			close_range(ranges, ranges->threads[i], process, (uint32_t)key->part[1],
				    place, range->time_ns);
			return;
		}
	}
}

void gpumon_ranges_record(struct gpumon_ranges *ranges, uint32_t number,
			  const struct gpumon_tables_process *process,
			  const struct gpumon_record *record)
{
	struct gpumon_range_thread *thread;
	struct gpumon_range_open *open;
	struct gpumon_record_range range;
	const char *domain, *text;
	uint32_t row;

	gpumon_record_copy(&range, sizeof(range), record);
	if (range.kind == GPUMON_RANGE_END) {
		end_range(ranges, number, &range);
		return;
	}
	thread = make_thread(ranges, number, range.tid);
	domain = gpumon_tables_string(process, range.domain);
	domain = domain ? domain : gpumon_pool_text(ranges->pool, "");
	if (range.kind == GPUMON_RANGE_POP) {
		/* Each domain has its own stack. */
		open = find_pushed(ranges, thread, domain);
		if (open && open->not_kept)
			open->not_kept--;
		else if (open)
			close_range(ranges, thread, number, range.tid,
				    (uint32_t)(open - thread->open), range.time_ns);
		return;
	}
	if (range.kind != GPUMON_RANGE_PUSH && range.kind != GPUMON_RANGE_START)
		return;
	text = gpumon_tables_string(process, range.text);
	text = text ? text : gpumon_pool_text(ranges->pool, "[unnamed]");
	row = find_row(ranges, domain, text);
	open_range(ranges, thread, number, &range, row, range.kind == GPUMON_RANGE_PUSH);
}

/* The last change of a thread until a time; NULL: there is none. */
static const struct gpumon_range_change *find_change(struct gpumon_ranges *ranges, uint32_t number,
						     uint32_t tid, uint64_t time_ns)
{
	const struct gpumon_range_thread *thread;
	const struct gpumon_range_change *changes;
	uint32_t low = 0, high;

	thread = find_thread(ranges, number, tid);
	if (!thread || !thread->used)
		return NULL;
	changes = thread->changes + thread->first;
	high = thread->used;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (changes[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &changes[low - 1] : NULL;
}

uint32_t gpumon_ranges_path(struct gpumon_ranges *ranges, uint32_t number, uint32_t tid,
			    uint64_t time_ns)
{
	const struct gpumon_range_change *change = find_change(ranges, number, tid, time_ns);

	return change ? change->path : 0;
}

uint64_t gpumon_ranges_innermost(struct gpumon_ranges *ranges, uint32_t number, uint32_t tid,
				 uint64_t time_ns)
{
	const struct gpumon_range_change *change = find_change(ranges, number, tid, time_ns);

	return change ? change->innermost : 0;
}

void gpumon_ranges_finish(struct gpumon_ranges *ranges)
{
	for (uint32_t i = 0; i < ranges->thread_keys.used; i++) {
		const struct gpumon_key *key = &ranges->thread_keys.keys[i];

		for (uint32_t k = 0; k < ranges->threads[i]->depth; k++)
			tell_ended(ranges, (uint32_t)key->part[0], (uint32_t)key->part[1],
				   &ranges->threads[i]->open[k], 0);
	}
}

struct gpumon_range_row *gpumon_ranges_next(const struct gpumon_ranges *ranges, uint32_t *path)
{
	while (*path) {
		const struct gpumon_range_path *at = &ranges->paths[*path - 1];

		*path = at->parent;
		if (!at->again)
			return &ranges->rows[at->row];
	}
	return NULL;
}

void gpumon_ranges_work(struct gpumon_ranges *ranges, uint32_t number, uint32_t tid,
			uint64_t launch_ns, uint64_t gpu_ns)
{
	uint32_t path = gpumon_ranges_path(ranges, number, tid, launch_ns);
	struct gpumon_range_row *row;

	while ((row = gpumon_ranges_next(ranges, &path))) {
		row->works++;
		row->gpu_ns += gpu_ns;
	}
}

static bool has_ranges(const struct gpumon_captures *captures, unsigned int capture)
{
	for (uint32_t i = captures->first[capture]; i < captures->first[capture + 1]; i++) {
		if (captures->tables.processes[i].has_ranges)
			return true;
	}
	return false;
}

int gpumon_ranges_ahead_begin(struct gpumon_ranges_ahead *ahead, unsigned int capture)
{
	ahead->capture = capture;
	ahead->ahead = 0;
	ahead->read = 0;
	return has_ranges(ahead->captures, capture) ?
		       gpumon_capture_again(ahead->captures->at[capture], &ahead->reader) :
		       0;
}

static void read_ahead(struct gpumon_ranges_ahead *ahead, uint64_t until)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;

	for (; ahead->ahead < until; ahead->ahead++) {
		uint32_t number;

		record = gpumon_capture_next(ahead->reader, &cursor);
		if (!record)
			return;
		number = gpumon_captures_number(ahead->captures, ahead->capture, &cursor);
		if (record->type == GPUMON_RECORD_RANGE && !gpumon_captures_is_driver(number))
			gpumon_ranges_record(ahead->ranges, number,
					     &ahead->captures->tables.processes[number], record);
	}
}

void gpumon_ranges_ahead_read(struct gpumon_ranges_ahead *ahead)
{
	if (ahead->reader && ahead->read % 4096 == 0)
		read_ahead(ahead, ahead->read + AHEAD_RECORDS);
	ahead->read++;
}

void gpumon_ranges_ahead_end(struct gpumon_ranges_ahead *ahead)
{
	gpumon_capture_free(ahead->reader);
	ahead->reader = NULL;
}

void gpumon_ranges_clear(struct gpumon_ranges *ranges)
{
	for (uint32_t i = 0; i < ranges->thread_keys.used; i++) {
		if (ranges->threads[i])
			free(ranges->threads[i]->changes);
		free(ranges->threads[i]);
	}
	gpumon_keys_clear(&ranges->row_keys);
	gpumon_keys_clear(&ranges->path_keys);
	gpumon_keys_clear(&ranges->thread_keys);
	free(ranges->rows);
	free(ranges->paths);
	free(ranges->threads);
	memset(ranges, 0, sizeof(*ranges));
}
