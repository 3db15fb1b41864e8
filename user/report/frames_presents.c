// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The first pass: presents, from which all frame times are known, and which frames are compared. */
#include <stdlib.h>
#include <string.h>

#include "frames_internal.h"
#include "lib/memory.h"

static bool is_of_job(const struct gpumon_event *event)
{
	return event->event == GPUMON_EVENT_RUN || event->event == GPUMON_EVENT_DONE;
}

static void add_ring_user(struct reading *reading, uint32_t number,
			  const struct gpumon_record *record)
{
	struct gpumon_event event;
	struct gpumon_key key;
	uint32_t row;
	bool added;

	if (record->type != GPUMON_RECORD_DRIVER_EVENT ||
	    !gpumon_captures_event(record, &event, &row) || !is_of_job(&event) || !event.pid)
		return;
	key = ring_key(number, event.ring, event.pid);
	(void)gpumon_keys_number(&reading->ring_users, &key, &added);
}

void gpumon_frames_on_definition(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct reading *reading = data;
	struct gpumon_time_range *range = &reading->frames->range;
	struct gpumon_record_swapchain swapchain;
	struct gpumon_record_shown shown;
	struct gpumon_record_present of;
	struct present *present;
	struct gpumon_key key;
	uint64_t start_ns, end_ns;

	if (gpumon_captures_is_driver(number)) {
		add_ring_user(reading, number, record);
		return;
	}
	if (gpumon_activity_times(record, &start_ns, &end_ns))
		gpumon_time_include(&range->began_ns, &range->ended_ns, start_ns, end_ns);
	if (record->type == GPUMON_RECORD_SWAPCHAIN) {
		gpumon_record_copy(&swapchain, sizeof(swapchain), record);
		key = (struct gpumon_key){ { number, swapchain.id } };
		*(uint32_t *)GPUMON_KEYS_VALUE(&reading->old_keys, &key, reading->olds,
					       reading->olds_room, NULL) = swapchain.old;
	} else if (record->type == GPUMON_RECORD_SHOWN) {
		gpumon_record_copy(&shown, sizeof(shown), record);
		if (reading->shown_used == GPUMON_FRAMES_PRESENTS_MAX)
			return;
		*(struct shown *)GPUMON_ARRAY_ADD(reading->shown, reading->shown_used,
						  reading->shown_room) =
			(struct shown){ shown.shown_ns, shown.number ? shown.number : shown.present,
					number,		shown.swapchain,
					!shown.number,	shown.head.flags & GPUMON_SHOWN_LATEST };
	} else if (record->type == GPUMON_RECORD_PRESENT) {
		gpumon_record_copy(&of, sizeof(of), record);
		if (reading->present_used == GPUMON_FRAMES_PRESENTS_MAX) {
			reading->frames->dropped++;
			return;
		}
		present = GPUMON_ARRAY_ADD(reading->presents, reading->present_used,
					   reading->present_room);
		*present = (struct present){ .start_ns = of.start_ns,
					     .process = number,
					     .swapchain = of.swapchain,
					     .number = of.number,
					     .tid = of.tid,
					     .failed = of.head.flags & GPUMON_PRESENT_FAILED,
					     .id = of.present };
	}
}

/* A damaged capture may have a circle. */
static uint32_t root_of(struct reading *reading, uint32_t process, uint32_t id)
{
	for (uint32_t i = 0; i <= reading->old_keys.used; i++) {
		const struct gpumon_key key = { { process, id } };
		uint32_t at = gpumon_keys_number(&reading->old_keys, &key, NULL);

		if (at == GPUMON_KEY_NONE || !reading->olds[at])
			break;
		id = reading->olds[at];
	}
	return id;
}

static int by_chain(const void *a, const void *b)
{
	const struct present *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* --- when images were on the screen */

static int by_swapchain(const void *a, const void *b)
{
	const struct present *x = *(const struct present *const *)a;
	const struct present *y = *(const struct present *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->swapchain != y->swapchain)
		return x->swapchain < y->swapchain ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_present(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->is_id != y->is_id)
		return x->is_id - y->is_id;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->swapchain != y->swapchain)
		return x->swapchain < y->swapchain ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* -1: the present is before the one that was shown. An id grows from present to present of a swapchain; some have none. */
static int compare_shown(const struct present *present, const struct shown *shown)
{
	uint64_t value = shown->is_id ? present->id : present->number;

	if (present->process != shown->process)
		return present->process < shown->process ? -1 : 1;
	if (present->swapchain != shown->swapchain)
		return present->swapchain < shown->swapchain ? -1 : 1;
	return value < shown->value ? -1 : value > shown->value;
}

/* What the driver says is better than what a call that waits saw, and of these the earliest is. */
static void set_shown(struct present *present, const struct shown *shown)
{
	if (shown->shown_ns < present->start_ns)
		return;
	if (present->shown_ns &&
	    (present->shown_latest ? shown->latest && shown->shown_ns >= present->shown_ns : true))
		return;
	present->shown_ns = shown->shown_ns;
	present->shown_latest = shown->latest;
}

static void join_shown(struct reading *reading)
{
	struct present **sorted;
	uint32_t at = 0;

	if (!reading->shown_used || !reading->present_used)
		return;
	sorted = gpumon_calloc(reading->present_used, sizeof(*sorted));
	for (uint32_t i = 0; i < reading->present_used; i++)
		sorted[i] = &reading->presents[i];
	qsort(sorted, reading->present_used, sizeof(struct present *), by_swapchain);
	qsort(reading->shown, reading->shown_used, sizeof(*reading->shown), by_present);
	for (uint32_t i = 0; i < reading->shown_used; i++) {
		const struct shown *shown = &reading->shown[i];

		if (i && shown->is_id != shown[-1].is_id)
			at = 0;
		while (at < reading->present_used && compare_shown(sorted[at], shown) < 0)
			at++;
		if (at < reading->present_used && !compare_shown(sorted[at], shown))
			set_shown(sorted[at], shown);
	}
	free(sorted);
}

/* How long after the image before it the one that ends a frame came to the screen; 0: that is not known. */
static uint64_t gap_of(const struct present *begin, const struct present *end)
{
	return begin->shown_ns && end->shown_ns > begin->shown_ns ?
		       end->shown_ns - begin->shown_ns :
		       0;
}

/* --- frames */

/* @lengths: of its frames, to be sorted */
static void set_quantiles(struct gpumon_frames_chain *chain, uint64_t *lengths)
{
	qsort(lengths, chain->frames, sizeof(*lengths), gpumon_by_value);
	chain->median_ns = gpumon_frames_quantile(lengths, chain->frames, 0.5);
	chain->p95_ns = gpumon_frames_quantile(lengths, chain->frames, 0.95);
	chain->p99_ns = gpumon_frames_quantile(lengths, chain->frames, 0.99);
	chain->p999_ns = gpumon_frames_quantile(lengths, chain->frames, 0.999);
	chain->longest_ns = gpumon_frames_quantile(lengths, chain->frames, 1);
}

/*
 * The frames of a chain: @starts[i] is the present that begins one and @ends[i] the one that ends it, the program's
 * present number @numbers[i].
 */
struct spans {
	const struct present **starts;
	const struct present **ends;
	uint64_t *lengths;
	uint64_t *numbers;
	uint64_t count;
};

/* All frames. Presents that were lost, or failed, are counted in a part of the time. */
static void find_spans(struct gpumon_frames_chain *chain, const struct present *presents,
		       uint32_t count, const struct gpumon_time_range *range, struct spans *spans)
{
	const struct present *begin = NULL, *last = NULL;
	uint64_t before = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct present *at = &presents[i];
		uint32_t expected = last && last->swapchain == at->swapchain ? last->number + 1 : 1;
		bool within = gpumon_time_within(range->from_ns, range->until_ns, at->start_ns);

		/* The first one that is recorded need not be the first one of the swapchain. */
		if (last && at->number > expected) {
			chain->lost += within ? at->number - expected : 0;
			begin = NULL;
		}
		if (last && last->swapchain != at->swapchain)
			before += last->number;
		last = at;
		chain->failed += within && at->failed;
		if (at->failed)
			continue;
		if (begin && at->start_ns > begin->start_ns) {
			spans->starts[spans->count] = begin;
			spans->ends[spans->count] = at;
			spans->numbers[spans->count] = before + at->number;
			spans->lengths[spans->count++] = at->start_ns - begin->start_ns;
		}
		begin = at;
	}
}

static bool is_shown_late(const struct gpumon_frames_chain *chain, const struct spans *spans,
			  uint64_t at)
{
	return spans->lengths[at] <= chain->late_ns && chain->shown_late_ns &&
	       gap_of(spans->starts[at], spans->ends[at]) > chain->shown_late_ns;
}

static void keep(struct reading *reading, const struct spans *spans, uint64_t at, bool late)
{
	struct frame *frame =
		GPUMON_ARRAY_ADD(reading->kept, reading->kept_used, reading->kept_room);

	frame->late = late;
	frame->process = spans->ends[at]->process;
	frame->tid = spans->ends[at]->tid;
	frame->end_ns = spans->ends[at]->start_ns;
	frame->row.chain = reading->frames->chain_count - 1;
	frame->row.number = spans->numbers[at];
	frame->row.start_ns = spans->starts[at]->start_ns;
	frame->row.frame_ns = frame->end_ns - frame->row.start_ns;
	if (spans->ends[at]->shown_ns)
		frame->row.part[GPUMON_FRAME_SHOWN] = spans->ends[at]->shown_ns - frame->end_ns;
	if (late && is_shown_late(&reading->frames->chains[frame->row.chain], spans, at)) {
		frame->row.reason = GPUMON_LATE_SHOWN;
		frame->row.seen_by_wait = spans->ends[at]->shown_latest;
	}
}

static bool is_in_part(const struct reading *reading, const struct spans *spans, uint64_t at)
{
	const struct gpumon_time_range *range = &reading->frames->range;

	return gpumon_time_within(range->from_ns, range->until_ns, spans->starts[at]->start_ns);
}

/* The longest late ones of the part, and some on time of all. @lengths: of the part, sorted */
static void keep_frames(struct reading *reading, const struct gpumon_frames_chain *chain,
			const struct spans *spans, const uint64_t *lengths, uint64_t on_time)
{
	uint64_t step = on_time / GPUMON_FRAMES_USUAL + 1, usual = 0;
	/* Of those that are as long as the shortest one that is kept, only some may be. */
	uint64_t least = chain->late_ns, as_long = GPUMON_FRAMES_LATE_MAX;
	uint32_t shown_late = 0;

	if (chain->late > GPUMON_FRAMES_LATE_MAX) {
		least = lengths[chain->frames - GPUMON_FRAMES_LATE_MAX];
		for (uint64_t i = chain->frames; as_long && lengths[i - 1] > least; i--)
			as_long--;
	}
	for (uint64_t i = 0; i < spans->count; i++) {
		uint64_t length = spans->lengths[i];

		if (is_shown_late(chain, spans, i)) {
			if (is_in_part(reading, spans, i) && shown_late++ < GPUMON_FRAMES_LATE_MAX)
				keep(reading, spans, i, true);
		} else if (length <= chain->late_ns) {
			if (usual++ % step == 0)
				keep(reading, spans, i, false);
		} else if (is_in_part(reading, spans, i) &&
			   (length > least || (length == least && as_long && as_long--))) {
			keep(reading, spans, i, true);
		}
	}
}

/* Of those of the part. @lengths: out, sorted. Returns how many of all are on time. */
static uint64_t count_frames(struct reading *reading, struct gpumon_frames_chain *chain,
			     const struct spans *spans, uint64_t *lengths)
{
	struct gpumon_frames *frames = reading->frames;
	uint64_t on_time = 0;

	chain->first = frames->all_count;
	for (uint64_t i = 0; i < spans->count; i++) {
		bool is_late = spans->lengths[i] > chain->late_ns;
		bool shown_late = is_shown_late(chain, spans, i);

		on_time += !is_late && !shown_late;
		if (!is_in_part(reading, spans, i))
			continue;
		lengths[chain->frames++] = spans->lengths[i];
		chain->total_ns += spans->lengths[i];
		chain->late += is_late;
		chain->shown += spans->ends[i]->shown_ns != 0;
		chain->shown_late += shown_late;
		*(struct gpumon_frame_time *)GPUMON_ARRAY_ADD(frames->all, frames->all_count,
							      frames->all_room) =
			(struct gpumon_frame_time){ spans->starts[i]->start_ns, spans->lengths[i],
						    spans->numbers[i], is_late || shown_late };
	}
	set_quantiles(chain, lengths);
	return on_time;
}

/* Longer than half as much again as the median, and by 1 ms. */
static uint64_t late_from(uint64_t *lengths, uint64_t count)
{
	qsort(lengths, count, sizeof(*lengths), gpumon_by_value);
	return gpumon_frames_late_from(gpumon_frames_quantile(lengths, count, 0.5));
}

/* @lengths: room for all */
static void find_limits(struct gpumon_frames_chain *chain, const struct spans *spans,
			uint64_t *lengths, uint64_t late_ns)
{
	uint64_t gaps = 0;

	memcpy(lengths, spans->lengths, spans->count * sizeof(*lengths));
	chain->late_ns = late_ns ? late_ns : late_from(lengths, spans->count);
	for (uint64_t i = 0; i < spans->count; i++) {
		lengths[gaps] = gap_of(spans->starts[i], spans->ends[i]);
		gaps += lengths[gaps] != 0;
	}
	if (gaps)
		chain->shown_late_ns = late_ns ? late_ns : late_from(lengths, gaps);
}

static void add_chain(struct reading *reading, const struct present *presents, uint32_t count,
		      uint64_t late_ns)
{
	struct gpumon_frames *frames = reading->frames;
	struct gpumon_frames_chain *chain =
		GPUMON_ARRAY_ADD(frames->chains, frames->chain_count, frames->chain_room);
	struct spans spans = { gpumon_calloc(count, sizeof(*spans.starts)),
			       gpumon_calloc(count, sizeof(*spans.ends)),
			       gpumon_calloc(count, sizeof(*spans.lengths)),
			       gpumon_calloc(count, sizeof(*spans.numbers)), 0 };
	uint64_t *lengths = gpumon_calloc(count, sizeof(*lengths)), on_time;

	chain->process = presents->process;
	chain->id = presents->root;
	find_spans(chain, presents, count, &frames->range, &spans);
	find_limits(chain, &spans, lengths, late_ns);
	on_time = count_frames(reading, chain, &spans, lengths);
	keep_frames(reading, chain, &spans, lengths, on_time);
	free(lengths);
	free(spans.starts);
	free(spans.ends);
	free(spans.lengths);
	free(spans.numbers);
}

static int by_begin(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return x->row.start_ns < y->row.start_ns ? -1 : x->row.start_ns > y->row.start_ns;
}

void gpumon_frames_find(struct reading *reading, uint64_t late_ns)
{
	struct present *presents = reading->presents;
	uint64_t latest_ns = 0;

	join_shown(reading);
	for (uint32_t i = 0; i < reading->present_used; i++)
		presents[i].root = root_of(reading, presents[i].process, presents[i].swapchain);
	if (reading->present_used)
		qsort(presents, reading->present_used, sizeof(*presents), by_chain);
	for (uint32_t i = 0, k; i < reading->present_used; i = k) {
		for (k = i + 1; k < reading->present_used &&
				presents[k].process == presents[i].process &&
				presents[k].root == presents[i].root;)
			k++;
		add_chain(reading, presents + i, k - i, late_ns);
	}
	if (reading->kept_used)
		qsort(reading->kept, reading->kept_used, sizeof(*reading->kept), by_begin);
	for (uint32_t i = 0; i < reading->kept_used; i++) {
		if (reading->kept[i].end_ns > latest_ns)
			latest_ns = reading->kept[i].end_ns;
		reading->kept[i].latest_ns = latest_ns;
	}
}
