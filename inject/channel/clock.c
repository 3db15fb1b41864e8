// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "clock.h"

/* The kernel changes the speed of its clocks by 500 ppm at most. */
#define SLEW 2000u

static const struct {
	uint32_t source;
	clockid_t id;
} clocks[] = {
	/* Where several are possible, the first one is taken. */
	{ GPUMON_CLOCK_MONOTONIC, CLOCK_MONOTONIC },
	{ GPUMON_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW },
	{ GPUMON_CLOCK_BOOTTIME, CLOCK_BOOTTIME },
	{ GPUMON_CLOCK_REALTIME, CLOCK_REALTIME },
};

#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

/**
 * struct sample - a clock of the system, at the last look
 * @offset: CLOCK_MONOTONIC minus it
 * @error: of @offset
 */
struct sample {
	int64_t offset;
	uint64_t error;
};

static struct sample samples[CLOCKS];
static uint64_t sample_ns;

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

void inject_clock_sample(void)
{
	uint64_t before, after, moved;
	struct timespec time;
	int64_t offset;
	size_t i;

	for (i = 1; i < CLOCKS; i++) {
		before = inject_now();
		inject_clock(clocks[i].id, &time);
		after = inject_now();
		offset = (int64_t)(before + (after - before) / 2) -
			 ((int64_t)time.tv_sec * 1000000000 + time.tv_nsec);
		/* Operations since the last look have times from between the two samples. */
		moved = sample_ns ? distance(offset, samples[i].offset) : 0;
		samples[i].offset = offset;
		samples[i].error = (after - before) / 2 + 1 + moved;
	}
	sample_ns = inject_now();
}

static void choose_clock(struct inject_clock *clock)
{
	const struct sample *chosen = NULL;
	uint64_t apart;
	size_t i;

	for (i = 0; i < CLOCKS; i++) {
		if (clock->excluded & 1u << clocks[i].source)
			continue;
		if (!chosen) {
			chosen = &samples[i];
			clock->source = clocks[i].source;
			clock->offset = chosen->offset;
			clock->error = chosen->error;
			continue;
		}
		/* The device's clock may also be this one of the system's: the error covers that. */
		apart = distance(chosen->offset, samples[i].offset) + samples[i].error;
		if (apart > clock->error)
			clock->error = apart;
	}
	if (chosen)
		return;
	clock->source = GPUMON_CLOCK_UNKNOWN;
	clock->offset = clock->low + (clock->high - clock->low) / 2;
	clock->error = (uint64_t)(clock->high - clock->low) / 2 + 1;
}

static void move_bounds(struct inject_clock *clock, uint64_t begin_ns, int64_t low, int64_t high)
{
	int64_t slack;

	if (clock->has_bounds && begin_ns > clock->bounds_ns) {
		slack = (int64_t)((begin_ns - clock->bounds_ns) / INJECT_CLOCK_DRIFT);
		clock->low -= slack;
		clock->high += slack;
		/* So that short times add up. */
		if (slack)
			clock->bounds_ns = begin_ns;
	}
	if (!clock->has_bounds || low > clock->high || high < clock->low) {
		clock->low = low;
		clock->high = high;
		clock->bounds_ns = begin_ns;
		clock->has_bounds = true;
		return;
	}
	if (low > clock->low)
		clock->low = low;
	if (high < clock->high)
		clock->high = high;
}

void inject_clock_bound(struct inject_clock *clock, uint64_t begin_ns, int64_t low, int64_t high)
{
	uint64_t age = sample_ns > begin_ns ? sample_ns - begin_ns : 0, error;
	size_t i;

	for (i = 0; i < CLOCKS; i++) {
		error = i ? samples[i].error + age / SLEW : 0;
		if (samples[i].offset + (int64_t)error < low ||
		    samples[i].offset - (int64_t)error > high)
			clock->excluded |= 1u << clocks[i].source;
	}
	move_bounds(clock, begin_ns, low, high);
	choose_clock(clock);
}

void inject_clock_learn(struct inject_clock *clock, uint64_t begin_ns, uint64_t end_ns,
			uint64_t queued)
{
	if (queued && end_ns >= begin_ns)
		inject_clock_bound(clock, begin_ns, (int64_t)(begin_ns - queued),
				   (int64_t)(end_ns - queued));
}

void inject_clock_name(struct inject_clock *clock, uint32_t source)
{
	size_t i;

	for (i = 0; i < CLOCKS; i++)
		if (clocks[i].source == source) {
			clock->has_bounds = true;
			clock->source = source;
			clock->offset = samples[i].offset;
			clock->error = samples[i].error;
		}
}

void inject_clock_set(struct inject_clock *clock, int64_t offset, uint64_t error)
{
	clock->has_bounds = true;
	clock->source = GPUMON_CLOCK_UNKNOWN;
	clock->offset = offset;
	clock->error = error;
}

void inject_clock_write(struct inject_thread *thread, struct inject_clock *clock, uint32_t device)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	const struct gpumon_record_clock record = {
		.head = { .type = GPUMON_RECORD_CLOCK, .size = sizeof(record) },
		.time_ns = inject_now(),
		.offset_ns = clock->offset,
		.error_ns = clock->error,
		.device = device,
		.source = clock->source,
	};

	if (!clock->has_bounds ||
	    (clock->generation == generation && clock->written.source == clock->source &&
	     clock->error > clock->written.error / 2 &&
	     distance(clock->offset, clock->written.offset) <= clock->written.error))
		return;
	clock->generation = generation;
	clock->written.source = clock->source;
	clock->written.offset = clock->offset;
	clock->written.error = clock->error;
	inject_append(thread, &record);
}
