// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>

#include "abi/channel.h"
#include "watch.h"

#define SECOND_NS 1000000000ull

/* How much of a wait is written at once, and how many looks at least: a capture that is cut has all but the last. */
#define WRITE_NS    SECOND_NS
#define WRITE_LOOKS 5

/* What looks may take of a processor by default: more is asked for by a higher rate. */
#define COST_SHARE    100
#define PERIOD_MAX_NS SECOND_NS

static void write_wait(struct gpumon_watch *watch, struct gpumon_watched *one)
{
	if (one->record.looks)
		watch->append(watch->data, &one->record);
	one->record.looks = 0;
}

static void forget(struct gpumon_watch *watch, struct gpumon_watched *one)
{
	write_wait(watch, one);
	gpumon_look_close(&one->files);
	one->tid = 0;
}

static struct gpumon_watched *find_watched(struct gpumon_watch *watch, uint32_t tid)
{
	uint16_t *hint = &watch->hints[tid % GPUMON_WATCH_HINTS];

	if (watch->watched[*hint].tid == tid)
		return &watch->watched[*hint];
	for (unsigned int i = 0; i < watch->count; i++) {
		if (watch->watched[i].tid != tid)
			continue;
		*hint = (uint16_t)i;
		return &watch->watched[i];
	}
	return NULL;
}

static struct gpumon_watched *find_room(struct gpumon_watch *watch)
{
	struct gpumon_watched *oldest = NULL;

	for (unsigned int i = 0; i < watch->count; i++) {
		if (!watch->watched[i].tid)
			return &watch->watched[i];
		if (!oldest || watch->watched[i].looked_ns < oldest->looked_ns)
			oldest = &watch->watched[i];
	}
	if (watch->count < GPUMON_WATCHED_MAX)
		return &watch->watched[watch->count++];
	forget(watch, oldest);
	return oldest;
}

static int begin_watching(struct gpumon_watch *watch, struct gpumon_watched *one, uint32_t tid)
{
	int error = gpumon_look_open(&one->files, watch->folder, tid);

	/* It may just have ended. */
	if (error)
		return error;
	one->tid = tid;
	one->record.looks = 0;
	one->record.period_ns = 0;
	one->look.is_blocked = false;
	return 0;
}

bool gpumon_watch_is_still(const struct gpumon_watched *one, const struct gpumon_look *look)
{
	struct gpumon_look again;

	return !gpumon_look(&one->files, &again) && again.is_blocked &&
	       gpumon_look_is_same(look, &again);
}

static void begin_record(struct gpumon_watch *watch, struct gpumon_watched *one,
			 uint32_t recorded_tid, const struct gpumon_look *look, uint64_t now,
			 uint64_t period_ns)
{
	one->record = (struct gpumon_record_wait){
		.head = { .type = GPUMON_RECORD_WAIT, .size = sizeof(one->record) },
		/* It may have begun to wait since @now. @stack finds out whether it still does. */
		.start_ns = look->is_blocked ? watch->now() : now,
		.period_ns = period_ns,
		.tid = recorded_tid,
		.kind = gpumon_look_kind(look),
		.call = look->call,
	};
	if (!look->is_blocked)
		return;
	one->record.file = gpumon_look_file(watch->folder, one->tid, look);
	one->record.stack = watch->stack(watch->data, one, look);
}

/* Does the thread still do what it did at the last look? */
static bool goes_on(const struct gpumon_watched *one, const struct gpumon_look *look)
{
	if (look->is_blocked != one->look.is_blocked)
		return false;
	return !look->is_blocked || gpumon_look_is_same(look, &one->look);
}

static void note_look(struct gpumon_watch *watch, struct gpumon_watched *one, uint32_t recorded_tid,
		      const struct gpumon_look *look, uint64_t now, uint64_t period_ns)
{
	bool is_same = one->record.period_ns == period_ns && goes_on(one, look);
	bool is_due = one->record.looks >= WRITE_LOOKS && now - one->record.start_ns >= WRITE_NS;

	/* The same wait may go on in another record. */
	if (!is_same || is_due)
		write_wait(watch, one);
	if (!is_same)
		begin_record(watch, one, recorded_tid, look, now, period_ns);
	else if (!one->record.looks)
		one->record.start_ns = now;
	one->record.end_ns = is_same ? now : one->record.start_ns;
	one->record.looks++;
	one->look = *look;
}

/* What follows is not the same wait. */
static void interrupt(struct gpumon_watch *watch, struct gpumon_watched *one)
{
	write_wait(watch, one);
	one->record.period_ns = 0;
}

int gpumon_watch_look(struct gpumon_watch *watch, uint32_t tid, uint32_t recorded_tid,
		      const void *caller, uint64_t period_ns)
{
	struct gpumon_watched *one = find_watched(watch, tid);
	uint64_t now = watch->now();
	struct gpumon_look look;
	int error;

	if (caller && watch->is_in_call(watch->data, caller)) {
		if (one) {
			interrupt(watch, one);
			one->looked_ns = now;
		}
		return 0;
	}
	if (!one) {
		one = find_room(watch);
		error = begin_watching(watch, one, tid);
		if (error)
			return error;
	}
	one->looked_ns = now;
	error = gpumon_look(&one->files, &look);
	if (error) {
		forget(watch, one);
		return error;
	}
	/* Only now is it certain that what it does is not within a call. */
	if (caller && watch->is_in_call(watch->data, caller)) {
		interrupt(watch, one);
		return 0;
	}
	watch->looks++;
	note_look(watch, one, recorded_tid, &look, now, period_ns);
	return 0;
}

void gpumon_watch_forget(struct gpumon_watch *watch, uint64_t before_ns)
{
	for (unsigned int i = 0; i < watch->count; i++)
		if (watch->watched[i].tid && watch->watched[i].looked_ns < before_ns)
			forget(watch, &watch->watched[i]);
	while (watch->count && !watch->watched[watch->count - 1].tid)
		watch->count--;
}

void gpumon_watch_write(struct gpumon_watch *watch)
{
	for (unsigned int i = 0; i < watch->count; i++)
		if (watch->watched[i].tid)
			interrupt(watch, &watch->watched[i]);
}

void gpumon_watch_end(struct gpumon_watch *watch, bool is_open)
{
	for (unsigned int i = 0; i < watch->count; i++) {
		if (is_open && watch->watched[i].tid)
			gpumon_look_close(&watch->watched[i].files);
		watch->watched[i].tid = 0;
	}
	watch->count = 0;
}

/* --- how often */

void gpumon_pace_begin(struct gpumon_pace *pace, uint32_t hz, uint64_t now, uint64_t cost_ns)
{
	pace->base_ns = SECOND_NS / (hz ? hz : GPUMON_WAIT_HZ_DEFAULT);
	pace->period_ns = pace->base_ns;
	pace->longest_ns = pace->base_ns;
	pace->second_ns = now;
	pace->cost_ns = cost_ns;
	pace->over = 0;
}

void gpumon_pace_bound(struct gpumon_pace *pace, uint64_t now, uint64_t cost_ns)
{
	uint64_t taken = cost_ns - pace->cost_ns, most = (now - pace->second_ns) / COST_SHARE;

	if (pace->base_ns < SECOND_NS / GPUMON_WAIT_HZ_DEFAULT)
		most = most * (SECOND_NS / GPUMON_WAIT_HZ_DEFAULT) / pace->base_ns;
	/* The first looks at all places in the code cost more than the later ones. */
	pace->over = taken > most ? pace->over + 1 : 0;
	if (pace->over > 1 && pace->period_ns < PERIOD_MAX_NS) {
		pace->period_ns *= 2;
		pace->over = 0;
	} else if (taken < most / 3 && pace->period_ns > pace->base_ns) {
		pace->period_ns /= 2;
	}
	if (pace->period_ns < pace->base_ns)
		pace->period_ns = pace->base_ns;
	if (pace->period_ns > pace->longest_ns)
		pace->longest_ns = pace->period_ns;
	pace->second_ns = now;
	pace->cost_ns = cost_ns;
}

bool gpumon_pace_note(const struct gpumon_pace *pace, char *text, size_t room)
{
	if (pace->longest_ns <= pace->base_ns)
		return false;
	snprintf(
		text, room,
		"waiting threads were looked at only %.3g times a second at the least, and not %.3g times, because that would have taken more than 1 %% of a processor",
		(double)SECOND_NS / (double)pace->longest_ns,
		(double)SECOND_NS / (double)pace->base_ns);
	return true;
}

uint64_t gpumon_pace_pause(const struct gpumon_pace *pace, uint64_t now, uint64_t *next_ns)
{
	*next_ns += pace->period_ns;
	/* Late, or the first: no looks are made up for. */
	if (*next_ns < now || *next_ns > now + pace->period_ns)
		*next_ns = now + pace->period_ns;
	return *next_ns - now;
}
