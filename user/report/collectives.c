// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collectives.h"
#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"

/* Ends of one collective on two GPUs, and the clocks of these, differ by less. */
#define APART_NS 50000u
/* ... or by less than this part of the shorter kernel: data still move while the first one ends. */
#define APART_PART 4

/* Kernels that decide whether two streams belong to one communicator. */
#define SAMPLE 4096
/* Kernels, and shifts, that are tried to find out by how much two clocks differ. */
#define CLOCK_SAMPLE  256
#define CLOCK_MIN     4
#define CLOCK_SHIFTS  8192
#define CLOCK_FITS_NS 5000u /* spreads that differ by less say the same */

/**
 * struct lane - the collectives of a stream: a communicator of a rank
 * @first: its first kernel
 * @count: number of kernels
 * @rank: number of its rank in the rows
 * @group: number of its communicator
 * @next: while matching: the first kernel that is not done
 */
struct lane {
	struct gpumon_collective *first;
	uint32_t count;
	uint32_t rank;
	uint32_t group;
	uint32_t next;
};

/* How long the others had waited when a rank began last, of each collective. */
struct delays {
	uint64_t *ns;
	uint32_t used;
	uint32_t room;
};

struct matching {
	struct gpumon_collectives *collectives;
	const struct gpumon_collectives_job *job;
	struct lane *lanes;
	uint32_t lane_count;
	uint32_t lane_room;
	uint32_t group_count;
	struct delays *delays;
};

/* Behind what kernels of these libraries begin with; NULL: it is none. */
static const char *skip_beginning(const char *name)
{
	static const char *const beginnings[] = { "ncclDevKernel",    "ncclKernel",
						  "ncclSymDevKernel", "ncclSymkDevKernel",
						  "ncclSym",	      "msccl" };

	if (!strncmp(name, "void ", 5))
		name += 5;
	/* A mangled name that could not be read. */
	if (!strncmp(name, "_Z", 2))
		name += 2 + strspn(name + 2, "0123456789");
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return name + strlen(beginnings[i]);
	}
	return NULL;
}

bool gpumon_collective_is(const char *name)
{
	return skip_beginning(name) != NULL;
}

static enum gpumon_collective_kind kind_of(const char *text)
{
	/* Of two with one beginning the longer one comes first. */
	static const struct {
		const char *text;
		enum gpumon_collective_kind kind;
	} kinds[] = {
		{ "AllReduce", GPUMON_COLLECTIVE_ALL },
		{ "AllGather", GPUMON_COLLECTIVE_ALL },
		{ "AllToAll", GPUMON_COLLECTIVE_ALL },
		{ "ReduceScatter", GPUMON_COLLECTIVE_ALL },
		{ "Reduce", GPUMON_COLLECTIVE_REDUCE },
		{ "Broadcast", GPUMON_COLLECTIVE_BROADCAST },
		{ "Bcast", GPUMON_COLLECTIVE_BROADCAST },
		{ "Gather", GPUMON_COLLECTIVE_GATHER },
		{ "Scatter", GPUMON_COLLECTIVE_SCATTER },
		{ "Send", GPUMON_COLLECTIVE_SEND },
		{ "Recv", GPUMON_COLLECTIVE_SEND },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strncasecmp(text, kinds[i].text, strlen(kinds[i].text)))
			return kinds[i].kind;
	}
	return GPUMON_COLLECTIVE_UNKNOWN;
}

enum gpumon_collective_kind gpumon_collective_of_kernel(const char *name)
{
	const char *rest = skip_beginning(name);

	return rest && *rest == '_' ? kind_of(rest + 1) : GPUMON_COLLECTIVE_UNKNOWN;
}

enum gpumon_collective_kind gpumon_collective_of_range(const char *text)
{
	return strncmp(text, "nccl", 4) != 0 ? GPUMON_COLLECTIVE_UNKNOWN : kind_of(text + 4);
}

bool gpumon_collective_is_apart(enum gpumon_collective_kind kind)
{
	return kind >= GPUMON_COLLECTIVE_BROADCAST;
}

void gpumon_collectives_add(struct gpumon_collectives *collectives,
			    const struct gpumon_collective *kernel)
{
	struct gpumon_collective *to;

	if (collectives->used == GPUMON_COLLECTIVES_MAX) {
		collectives->more++;
		return;
	}
	to = GPUMON_ARRAY_ADD(collectives->at, collectives->used, collectives->room);
	*to = *kernel;
}

/* --- ranks and streams */

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_lane(const void *a, const void *b)
{
	const struct gpumon_collective *x = a, *y = b;

	if (x->process != y->process)
		return by_number(x->process, y->process);
	if (x->device != y->device)
		return by_number(x->device, y->device);
	if (x->context != y->context)
		return by_number(x->context, y->context);
	if (x->stream != y->stream)
		return by_number(x->stream, y->stream);
	return by_number(x->start_ns, y->start_ns);
}

static bool is_same_rank(const struct gpumon_collective *a, const struct gpumon_collective *b)
{
	return a->process == b->process && a->device == b->device;
}

static struct gpumon_rank_row *add_rank(struct matching *matching,
					const struct gpumon_collective *kernel)
{
	struct gpumon_collectives *to = matching->collectives;
	struct gpumon_rank_row *row = GPUMON_ARRAY_ADD(to->rows, to->row_count, to->row_room);

	row->process = kernel->process;
	row->device = kernel->device;
	row->rank = matching->job->rank(matching->job->data, kernel->process);
	return row;
}

/* The launcher's numbers are used only if they tell all ranks apart. */
static void number_ranks(struct gpumon_collectives *collectives)
{
	bool known = true;

	for (uint32_t i = 0; i < collectives->row_count; i++) {
		known &= collectives->rows[i].rank != ~0u;
		for (uint32_t k = 0; k < i; k++)
			known &= collectives->rows[i].rank != collectives->rows[k].rank;
	}
	for (uint32_t i = 0; i < collectives->row_count; i++) {
		collectives->rows[i].known = known;
		if (!known)
			collectives->rows[i].rank = i;
	}
}

static bool is_same_lane(const struct gpumon_collective *a, const struct gpumon_collective *b)
{
	return is_same_rank(a, b) && a->context == b->context && a->stream == b->stream;
}

/* Ranks, and the lanes of kernels that can be matched. The others are counted and taken out. */
static void find_lanes(struct matching *matching)
{
	struct gpumon_collectives *collectives = matching->collectives;
	struct lane *lane = NULL;
	uint32_t used = 0;

	qsort(collectives->at, collectives->used, sizeof(*collectives->at), by_lane);
	for (uint32_t i = 0; i < collectives->used; i++) {
		struct gpumon_collective kernel = collectives->at[i];
		struct gpumon_rank_row *row = &collectives->rows[collectives->row_count - 1];

		if (!collectives->row_count || row->process != kernel.process ||
		    row->device != kernel.device)
			row = add_rank(matching, &kernel);
		if (gpumon_collective_is_apart(kernel.kind)) {
			row->not_split[kernel.kind]++;
			matching->job->kernel(matching->job->data, &kernel, GPUMON_NOT_SPLIT);
			continue;
		}
		if (!lane || !is_same_lane(&kernel, lane->first)) {
			lane = GPUMON_ARRAY_ADD(matching->lanes, matching->lane_count,
						matching->lane_room);
			lane->first = &collectives->at[used];
			lane->rank = collectives->row_count - 1;
		}
		collectives->at[used++] = kernel;
		lane->count++;
	}
	collectives->used = used;
	number_ranks(collectives);
}

/* --- which belong together */

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t length_of(const struct gpumon_collective *kernel)
{
	return kernel->end_ns - kernel->start_ns;
}

/* Ranges may have been recorded of one rank only. */
static bool is_same_kind(const struct gpumon_collective *a, const struct gpumon_collective *b)
{
	return a->kind == b->kind || a->kind == GPUMON_COLLECTIVE_UNKNOWN ||
	       b->kind == GPUMON_COLLECTIVE_UNKNOWN;
}

static bool is_together(const struct gpumon_collective *a, const struct gpumon_collective *b)
{
	uint64_t shorter = length_of(a) < length_of(b) ? length_of(a) : length_of(b);

	return a->kernel == b->kernel && is_same_kind(a, b) &&
	       a->start_ns <= b->end_ns + APART_NS && b->start_ns <= a->end_ns + APART_NS &&
	       apart(a->end_ns, b->end_ns) <= APART_NS + shorter / APART_PART;
}

/*
 * How far the ends of two lanes are apart, the median; ~0 if they are not of one communicator. Only the
 * time in which both have kernels counts.
 */
static uint64_t distance_of(const struct lane *a, const struct lane *b)
{
	uint64_t *ends = gpumon_calloc(SAMPLE, sizeof(*ends)), distance = ~0ull;
	uint32_t i = 0, k = 0, matched = 0, passed = 0;

	while (i < a->count && a->first[i].end_ns + APART_NS < b->first->start_ns)
		i++;
	while (k < b->count && b->first[k].end_ns + APART_NS < a->first->start_ns)
		k++;
	while (i < a->count && k < b->count && matched < SAMPLE) {
		const struct gpumon_collective *x = &a->first[i], *y = &b->first[k];

		if (is_together(x, y)) {
			ends[matched++] = apart(x->end_ns, y->end_ns);
			i++;
			k++;
		} else if (x->end_ns < y->end_ns) {
			passed++;
			i++;
		} else {
			passed++;
			k++;
		}
	}
	if (matched && 2 * matched >= passed) {
		qsort(ends, matched, sizeof(*ends), gpumon_by_value);
		distance = ends[matched / 2];
	}
	free(ends);
	return distance;
}

/* A group has one lane of each rank. ~0 if the lane does not fit. */
static uint64_t distance_to_group(const struct matching *matching, uint32_t lane, uint32_t group)
{
	uint64_t distance = ~0ull;

	for (uint32_t i = 0; i < lane; i++) {
		uint64_t to;

		if (matching->lanes[i].group != group)
			continue;
		if (matching->lanes[i].rank == matching->lanes[lane].rank)
			return ~0ull;
		/* One that fits is enough: of the others, the time may be another. */
		to = distance == ~0ull ? distance_of(&matching->lanes[i], &matching->lanes[lane]) :
					 ~0ull;
		distance = to < distance ? to : distance;
	}
	return distance;
}

static void find_groups(struct matching *matching)
{
	for (uint32_t i = 0; i < matching->lane_count; i++) {
		uint64_t least = ~0ull;

		matching->lanes[i].group = matching->group_count;
		for (uint32_t group = 0; group < matching->group_count; group++) {
			uint64_t distance = distance_to_group(matching, i, group);

			if (distance < least) {
				least = distance;
				matching->lanes[i].group = group;
			}
		}
		if (least == ~0ull)
			matching->group_count++;
	}
}

/* --- clocks of several hosts */

static int by_signed(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

struct clock {
	int64_t offset_ns;
	uint64_t error_ns;
	bool found;
};

/*
 * What is to be added to the times of @b if its kernel @shift is the first one of @a, or the other way
 * round. The ends of a collective are the same everywhere, so the right shift is the one with which
 * ends differ by the same everywhere.
 */
static bool try_shift(const struct lane *a, const struct lane *b, int64_t shift,
		      struct clock *clock)
{
	int64_t differences[CLOCK_SAMPLE];
	uint32_t from_a = shift < 0 ? (uint32_t)-shift : 0,
		 from_b = shift > 0 ? (uint32_t)shift : 0;
	uint32_t both = a->count - from_a < b->count - from_b ? a->count - from_a :
								b->count - from_b;
	uint32_t step = both / CLOCK_SAMPLE + 1, used = 0, tried = 0;

	for (uint32_t i = 0; i < both && used < CLOCK_SAMPLE; i += step) {
		const struct gpumon_collective *x = &a->first[from_a + i];
		const struct gpumon_collective *y = &b->first[from_b + i];

		tried++;
		if (x->kernel == y->kernel)
			differences[used++] = (int64_t)(x->end_ns - y->end_ns);
	}
	if (used < CLOCK_MIN || used + used / 8 < tried)
		return false;
	qsort(differences, used, sizeof(*differences), by_signed);
	clock->offset_ns = differences[used / 2];
	for (uint32_t i = 0; i < used; i++)
		differences[i] = llabs(differences[i] - clock->offset_ns);
	qsort(differences, used, sizeof(*differences), by_signed);
	clock->error_ns = (uint64_t)differences[used / 2];
	clock->found = true;
	return true;
}

static bool is_better(const struct clock *a, const struct clock *b)
{
	if (!b->found)
		return true;
	/* The hosts' own clocks tell which of several that fit. */
	if (apart(a->error_ns, b->error_ns) <= CLOCK_FITS_NS)
		return llabs(a->offset_ns) < llabs(b->offset_ns);
	return a->error_ns < b->error_ns;
}

static void compare_clocks(const struct lane *a, const struct lane *b, struct clock *best)
{
	int64_t least = -(int64_t)(a->count < CLOCK_SHIFTS / 2 ? a->count : CLOCK_SHIFTS / 2);
	int64_t most = b->count < CLOCK_SHIFTS / 2 ? b->count : CLOCK_SHIFTS / 2;
	struct clock clock = { 0 };

	for (int64_t shift = least; shift < most; shift++) {
		if (try_shift(a, b, shift, &clock) && is_better(&clock, best))
			*best = clock;
	}
}

static uint32_t clock_of(const struct matching *matching, uint32_t rank)
{
	return matching->job->clock(matching->job->data, matching->collectives->rows[rank].process);
}

/* Lanes up to @lane have the clock of the first one, or were moved to it. */
static void move_clock(struct matching *matching, uint32_t lane)
{
	uint32_t number = clock_of(matching, matching->lanes[lane].rank);
	struct clock best = { 0 };

	for (uint32_t i = 0; i < lane; i++) {
		for (uint32_t k = lane; k < matching->lane_count; k++) {
			if (clock_of(matching, matching->lanes[k].rank) == number)
				compare_clocks(&matching->lanes[i], &matching->lanes[k], &best);
		}
	}
	for (uint32_t k = lane; k < matching->lane_count; k++) {
		struct gpumon_rank_row *row = &matching->collectives->rows[matching->lanes[k].rank];

		if (!best.found || clock_of(matching, matching->lanes[k].rank) != number)
			continue;
		for (uint32_t i = 0; i < matching->lanes[k].count; i++) {
			matching->lanes[k].first[i].start_ns += (uint64_t)best.offset_ns;
			matching->lanes[k].first[i].end_ns += (uint64_t)best.offset_ns;
		}
		row->clock_ns = best.offset_ns;
		row->clock_error_ns = best.error_ns;
		row->clock_moved = true;
	}
}

static void move_clocks(struct matching *matching)
{
	for (uint32_t i = 1; i < matching->lane_count; i++) {
		uint32_t number = clock_of(matching, matching->lanes[i].rank);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = clock_of(matching, matching->lanes[k].rank) == number;
		if (!seen)
			move_clock(matching, i);
	}
}

/* --- matching */

/* From the end of the collective before it; of the first one nothing is known. */
static bool approach_of(const struct matching *matching, const struct lane *lane,
			struct gpumon_approach *approach)
{
	const struct gpumon_collective *kernel = &lane->first[lane->next];
	uint64_t clock_ns = (uint64_t)matching->collectives->rows[lane->rank].clock_ns;

	if (!lane->next || kernel[-1].end_ns > kernel->start_ns)
		return false;
	approach->start_ns = kernel[-1].end_ns - clock_ns;
	approach->end_ns = kernel->start_ns - clock_ns;
	approach->process = kernel->process;
	approach->device = kernel->device;
	return true;
}

static void add_late(struct matching *matching, const struct lane *last, const struct lane *first)
{
	struct gpumon_collectives *to = matching->collectives;
	struct gpumon_rank_row *row = &to->rows[last->rank];
	struct delays *delays = &matching->delays[last->rank];
	uint64_t late_ns = last->first[last->next].start_ns - first->first[first->next].start_ns;
	struct gpumon_lateness late;

	if (late_ns < GPUMON_LATE_NS)
		return;
	row->last++;
	row->late_ns += late_ns;
	*(uint64_t *)GPUMON_ARRAY_ADD(delays->ns, delays->used, delays->room) = late_ns;
	late.stream = (uint64_t)last->first->context << 32 | last->first->stream;
	late.late_ns = late_ns;
	if (approach_of(matching, last, &late.last) && approach_of(matching, first, &late.first))
		*(struct gpumon_lateness *)GPUMON_ARRAY_ADD(to->late, to->late_used,
							    to->late_room) = late;
}

/* The next kernels of all @lanes are one collective. */
static void add_match(struct matching *matching, struct lane **lanes, uint32_t count)
{
	const struct lane *first = lanes[0], *last = lanes[0];
	uint64_t shortest = ~0ull;

	for (uint32_t i = 0; i < count; i++) {
		const struct gpumon_collective *kernel = &lanes[i]->first[lanes[i]->next];

		shortest = length_of(kernel) < shortest ? length_of(kernel) : shortest;
		if (kernel->start_ns < first->first[first->next].start_ns)
			first = lanes[i];
		if (kernel->start_ns > last->first[last->next].start_ns)
			last = lanes[i];
	}
	if (last->first[last->next].shown)
		add_late(matching, last, first);
	for (uint32_t i = 0; i < count; i++) {
		const struct gpumon_collective *kernel = &lanes[i]->first[lanes[i]->next];
		struct gpumon_rank_row *row = &matching->collectives->rows[lanes[i]->rank];

		if (!kernel->shown)
			continue;
		row->matched++;
		row->unnamed += kernel->kind == GPUMON_COLLECTIVE_UNKNOWN;
		row->communication_ns += shortest;
		row->waiting_ns += length_of(kernel) - shortest;
		matching->job->kernel(matching->job->data, kernel, length_of(kernel) - shortest);
	}
	for (uint32_t i = 0; i < count; i++)
		lanes[i]->next++;
}

static void count_unmatched(struct matching *matching, const struct lane *lane, bool alone)
{
	struct gpumon_rank_row *row = &matching->collectives->rows[lane->rank];

	if (!lane->first[lane->next].shown)
		return;
	row->unmatched++;
	row->alone += alone;
}

/*
 * The kernel that ends first has its siblings among the next ones of the other lanes, or it has not got
 * all of them.
 */
static void match_group(struct matching *matching, struct lane **lanes, uint32_t count)
{
	for (;;) {
		struct lane *first = NULL;
		bool all = count > 1;

		for (uint32_t i = 0; i < count; i++) {
			if (lanes[i]->next < lanes[i]->count &&
			    (!first || lanes[i]->first[lanes[i]->next].end_ns <
					       first->first[first->next].end_ns))
				first = lanes[i];
		}
		if (!first)
			return;
		for (uint32_t i = 0; i < count && all; i++)
			all = lanes[i]->next < lanes[i]->count &&
			      is_together(&first->first[first->next],
					  &lanes[i]->first[lanes[i]->next]);
		if (all) {
			add_match(matching, lanes, count);
		} else {
			count_unmatched(matching, first, count == 1);
			first->next++;
		}
	}
}

static void match_groups(struct matching *matching)
{
	struct lane **lanes = gpumon_calloc((size_t)matching->lane_count + 1, sizeof(*lanes));

	for (uint32_t group = 0; group < matching->group_count; group++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < matching->lane_count; i++) {
			if (matching->lanes[i].group == group)
				lanes[count++] = &matching->lanes[i];
		}
		match_group(matching, lanes, count);
	}
	free(lanes);
}

/* --- the end */

static int by_rank(const void *a, const void *b)
{
	const struct gpumon_rank_row *x = a, *y = b;

	return by_number(x->rank, y->rank);
}

void gpumon_collectives_match(struct gpumon_collectives *collectives,
			      const struct gpumon_collectives_job *job)
{
	struct matching matching = { .collectives = collectives, .job = job };

	if (!collectives->used)
		return;
	find_lanes(&matching);
	matching.delays = gpumon_calloc(collectives->row_count, sizeof(*matching.delays));
	move_clocks(&matching);
	find_groups(&matching);
	match_groups(&matching);
	for (uint32_t i = 0; i < collectives->row_count; i++) {
		struct delays *delays = &matching.delays[i];

		if (delays->used) {
			qsort(delays->ns, delays->used, sizeof(*delays->ns), gpumon_by_value);
			collectives->rows[i].late_median_ns = delays->ns[delays->used / 2];
		}
		free(delays->ns);
	}
	qsort(collectives->rows, collectives->row_count, sizeof(*collectives->rows), by_rank);
	free(matching.delays);
	free(matching.lanes);
}

uint32_t gpumon_collectives_latest(const struct gpumon_rank_row *rows, uint32_t count)
{
	uint32_t latest = count;

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].late_ns && (latest == count || rows[i].late_ns > rows[latest].late_ns))
			latest = i;
	}
	return latest;
}

void gpumon_collectives_free_kernels(struct gpumon_collectives *collectives)
{
	free(collectives->at);
	free(collectives->late);
	collectives->at = NULL;
	collectives->late = NULL;
	collectives->used = collectives->room = 0;
	collectives->late_used = collectives->late_room = 0;
}

void gpumon_collectives_clear(struct gpumon_collectives *collectives)
{
	gpumon_collectives_free_kernels(collectives);
	free(collectives->rows);
	memset(collectives, 0, sizeof(*collectives));
}
