// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "completion.h"
#include "session/session.h"

/* A time of a driver may be later than now by this much, if its clock is not known well. */
#define FUTURE_NS 1000000u

/* In the program's threads, a clock that was measured so long ago is good enough. */
#define MEASURED_NS 200000000u

/* How long a thread that has waited waits for another one that reads times. */
#define WAITED_NS 1000000u

/* The lock protects the reading of blocks, and clocks. */
static struct inject_guard completing = INJECT_GUARD;

/* Command buffers of this capture that had not ended at the last look. */
static bool is_waiting;

/* --- clocks */

static uint64_t to_ns(const struct inject_vulkan_device *device, uint64_t ticks,
		      uint32_t valid_bits)
{
	unsigned int unused = 64 - valid_bits;
	/* Of fewer bits, the next or the last round of the counter. */
	int64_t distance = (int64_t)((ticks - device->ticks) << unused) >> unused;

	return device->ticks_ns + (uint64_t)(int64_t)((double)distance * device->period_ns);
}

/* The ns of a device begin anywhere: a double would not hold those of a clock that began in 1970. */
static void set_ticks(struct inject_vulkan_device *device, uint64_t ticks)
{
	device->ticks_ns = device->has_ticks ?
				   to_ns(device, ticks, device->bits) :
				   (uint64_t)((long double)ticks * (long double)device->period_ns);
	device->ticks = ticks;
	device->has_ticks = true;
}

/* By the extension. False: the driver does not say it. */
static bool measure_clock(struct inject_vulkan_device *device)
{
	const VkCalibratedTimestampInfoEXT infos[2] = {
		{ VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL,
		  VK_TIME_DOMAIN_DEVICE_EXT },
		{ VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL,
		  VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT },
	};
	uint64_t times[2] = { 0 }, error = 0, before = inject_now(), after, host;

	if (device->below.calibrate(device->handle, device->has_monotonic ? 2 : 1, infos, times,
				    &error) != VK_SUCCESS)
		return false;
	after = inject_now();
	host = times[1] + (uint64_t)atomic_load(&inject_clock_ns);
	/* The driver may ask a clock that a library of the program moves. */
	if (!device->has_monotonic || host + error < before || host > after + error) {
		host = before + (after - before) / 2;
		error += (after - before) / 2;
	}
	set_ticks(device, times[0]);
	inject_clock_set(&device->clock, (int64_t)(host - device->ticks_ns), error + 1);
	device->measured_ns = after;
	return true;
}

/* Without the extension: not before the call, and not later than now. */
static void bound_clock(struct inject_vulkan_device *device, uint64_t begin_ns, uint64_t start,
			uint64_t end)
{
	inject_clock_sample();
	inject_clock_bound(&device->clock, begin_ns, (int64_t)(begin_ns - start),
			   (int64_t)(inject_now() - end));
}

static void refresh_clock(struct inject_vulkan_device *device, uint64_t at_least_ns)
{
	if (device->below.calibrate &&
	    (!device->measured_ns || inject_now() - device->measured_ns >= at_least_ns) &&
	    !measure_clock(device))
		device->below.calibrate = NULL;
}

static uint64_t clock_error(const struct inject_vulkan_device *device)
{
	uint64_t error = device->clock.error;

	if (device->below.calibrate)
		error += (inject_now() - device->measured_ns) / INJECT_CLOCK_DRIFT;
	return error < UINT64_MAX / 4 ? error : UINT64_MAX / 4;
}

/* --- operations */

static void write_operation(struct inject_thread *thread, const struct inject_vulkan_queue *queue,
			    uint32_t correlation, uint32_t name, const struct inject_times *times,
			    struct inject_totals *totals)
{
	const struct inject_operation operation = {
		.correlation = correlation,
		.name = name,
		.device = queue->device->physical->id,
		.context = queue->device->context,
		.stream = queue->id,
		.record = GPUMON_RECORD_KERNEL,
	};

	inject_operation_write(thread, &operation, times, totals);
}

void inject_vulkan_completion_untimed(struct inject_thread *thread,
				      const struct inject_vulkan_queue *queue, uint32_t correlation,
				      uint32_t name, struct inject_totals *totals)
{
	const struct inject_times none = { .flags = GPUMON_WORK_UNTIMED };

	write_operation(thread, queue, correlation, name, &none, totals);
}

static void find_times(const struct inject_vulkan_queue *queue,
		       const struct inject_vulkan_slot *slot, const struct inject_vulkan_answer *answers,
		       struct inject_times *times)
{
	struct inject_vulkan_device *device = queue->device;
	uint32_t bits = device->family[queue->family].timestampValidBits;
	uint64_t start, end, error;

	if (!device->has_ticks)
		set_ticks(device, answers[0].value);
	start = to_ns(device, answers[0].value, bits);
	end = to_ns(device, answers[1].value, bits);
	if (!device->below.calibrate) {
		bound_clock(device, slot->begin_ns, start, end);
		/* Never half a round of the counter away, and not so often that rounding adds up. */
		if (end - device->ticks_ns > 1000000000 && end > device->ticks_ns)
			set_ticks(device, answers[1].value);
	}
	times->start = inject_clock_convert(&device->clock, start);
	times->end = inject_clock_convert(&device->clock, end);
	error = clock_error(device);
	if (end < start || !times->start || times->start + error + FUTURE_NS < slot->begin_ns ||
	    times->end > inject_now() + error + FUTURE_NS)
		*times = (struct inject_times){ .flags = GPUMON_WORK_BAD_TIMES };
}

static bool is_of_capture(const struct inject_thread *thread, const struct inject_vulkan_slot *slot)
{
	return thread && slot->generation == atomic_load_explicit(&inject_session.generation,
								  memory_order_relaxed);
}

/* What is inside of a command buffer takes its place. */
static void write_part(struct inject_thread *thread, const struct inject_vulkan_queue *queue,
		       const struct inject_vulkan_slot *slot, struct inject_vulkan_part *part,
		       uint32_t count, struct inject_totals *totals)
{
	struct inject_vulkan_answer answers[2 * INJECT_VULKAN_PASSES];
	struct inject_times times;
	uint32_t i;

	inject_vulkan_queries_read(queue->device, &part->queries, 0, 2 * count, answers);
	for (i = 0; i < count; i++) {
		times = (struct inject_times){ .flags = GPUMON_WORK_UNTIMED };
		if (answers[2 * i].is_there && answers[2 * i + 1].is_there) {
			times.flags = 0;
			find_times(queue, slot, &answers[2 * i], &times);
		}
		write_operation(thread, queue, slot->correlation,
				inject_string_again(thread, &part->pass[i].kept,
						    part->pass[i].text),
				&times, totals);
	}
}

static void write_passes(struct inject_thread *thread, const struct inject_vulkan_queue *queue,
			 const struct inject_vulkan_slot *slot, struct inject_totals *totals)
{
	uint32_t left = slot->commands->used, count;
	struct inject_vulkan_part *part;

	for (part = slot->commands->first; left; part = part->next, left -= count) {
		count = left < INJECT_VULKAN_PASSES ? left : INJECT_VULKAN_PASSES;
		write_part(thread, queue, slot, part, count, totals);
	}
}

static void write_slot(struct inject_thread *thread, const struct inject_vulkan_queue *queue,
		       const struct inject_vulkan_slot *slot, const struct inject_vulkan_answer *answers,
		       struct inject_totals *totals)
{
	struct inject_times times = { 0 };

	find_times(queue, slot, answers, &times);
	/* The error is that of these times: without the extension it is large at first. */
	inject_clock_write(thread, &queue->device->clock, queue->device->physical->id);
	if (slot->commands)
		write_passes(thread, queue, slot, totals);
	else
		write_operation(thread, queue, slot->correlation, slot->name, &times, totals);
}

/* False: it has not ended. */
static bool end_slot(struct inject_thread *thread, struct inject_vulkan_queue *queue,
		     struct inject_vulkan_slot *slot, const struct inject_vulkan_answer *answers,
		     struct inject_totals *totals)
{
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	bool is_wanted = is_of_capture(thread, slot);

	if (state != INJECT_VULKAN_VOID) {
		if (state == INJECT_VULKAN_TAKEN || !answers[0].is_there || !answers[1].is_there) {
			is_waiting |= is_wanted;
			return false;
		}
		if (is_wanted)
			write_slot(thread, queue, slot, answers, totals);
	}
	inject_vulkan_passes_leave(slot);
	return true;
}

/* Whether queries of a block can be asked for: before they are reset, they answer with older times. */
static bool is_reset(const struct inject_vulkan_device *device, struct inject_vulkan_block *block)
{
	if (block->event && !block->is_reset)
		block->is_reset = device->below.vkGetEventStatus(device->handle, block->event) ==
				  VK_EVENT_SET;
	return !block->event || block->is_reset;
}

/* True: all slots of it were read. */
static bool look_at_block(struct inject_thread *thread, struct inject_vulkan_queue *queue,
			  struct inject_vulkan_block *block, struct inject_totals *totals)
{
	uint32_t used = atomic_load_explicit(&block->used, memory_order_acquire);
	uint32_t count = 2 * (used - block->read), at;
	struct inject_vulkan_device *device = queue->device;
	struct inject_vulkan_answer answers[INJECT_VULKAN_QUERIES];
	VkResult result = VK_NOT_READY;

	if (!count)
		return false;
	if (is_reset(device, block))
		result = inject_vulkan_queries_read(device, &block->queries, 2 * block->read, count,
						    answers);
	else
		memset(answers, 0, count * sizeof(*answers));
	if (result == VK_ERROR_DEVICE_LOST)
		atomic_store(&device->is_lost, true);
	for (at = 0; block->read < used; block->read++, at += 2)
		if (!end_slot(thread, queue, &block->slots[block->read], &answers[at], totals))
			return false;
	return used == INJECT_VULKAN_SLOTS;
}

static struct inject_vulkan_block *oldest_block(struct inject_vulkan_queue *queue)
{
	struct inject_vulkan_block *block;

	pthread_mutex_lock(&queue->adding);
	block = queue->first;
	pthread_mutex_unlock(&queue->adding);
	return block;
}

/* Under the lock. */
static void look_at_queue(struct inject_thread *thread, struct inject_vulkan_queue *queue)
{
	struct inject_totals totals = { 0 };
	struct inject_vulkan_block *block;

	while ((block = oldest_block(queue)) && look_at_block(thread, queue, block, &totals))
		inject_vulkan_slots_reuse(queue);
	if (thread)
		inject_totals_add(&totals);
}

static bool has_work(const struct inject_vulkan_device *device)
{
	struct inject_vulkan_queue *queue = atomic_load(&device->queues);
	struct inject_vulkan_block *block;

	for (; queue; queue = queue->next) {
		block = oldest_block(queue);
		if (block && (block->next || block->read < atomic_load(&block->used)))
			return true;
	}
	return false;
}

/* What has not ended never will, or nobody waits for it any longer. */
static void abandon_queue(struct inject_thread *thread, struct inject_vulkan_queue *queue,
			  uint16_t why)
{
	const struct inject_times none = { .flags = why };
	struct inject_totals totals = { 0 };
	struct inject_vulkan_block *block;
	struct inject_vulkan_slot *slot;
	uint32_t i;

	for (block = oldest_block(queue); block; block = block->next)
		for (i = block->read; i < atomic_load(&block->used); i++) {
			slot = &block->slots[i];
			if (atomic_load(&slot->state) != INJECT_VULKAN_SUBMITTED)
				continue;
			if (is_of_capture(thread, slot))
				write_operation(thread, queue, slot->correlation, slot->name, &none,
						&totals);
			slot->generation = 0;
		}
	if (thread)
		inject_totals_add(&totals);
}

/* Under the lock. @measured_ns: the clock may be so old. */
static void look_at_device(struct inject_thread *thread, struct inject_vulkan_device *device,
			   uint64_t measured_ns)
{
	struct inject_vulkan_queue *queue;

	if (!device->physical || device->is_inherited || !has_work(device))
		return;
	if (thread)
		refresh_clock(device, measured_ns);
	for (queue = atomic_load(&device->queues); queue; queue = queue->next) {
		if (!atomic_load(&device->is_lost))
			look_at_queue(thread, queue);
		if (atomic_load(&device->is_lost))
			abandon_queue(thread, queue, GPUMON_WORK_FAILED);
	}
}

static void look_at_all(struct inject_thread *thread)
{
	struct inject_vulkan_device *device;

	is_waiting = false;
	for (device = inject_vulkan_device_first(); device; device = device->next)
		look_at_device(thread, device, 0);
}

void inject_vulkan_completion_look(struct inject_thread *thread)
{
	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_all(thread);
	inject_guard_give(&completing);
}

void inject_vulkan_completion_end(struct inject_thread *thread, unsigned int settle_ms)
{
	uint64_t until = inject_now() + settle_ms * 1000000ull;
	struct inject_vulkan_device *device;
	struct inject_vulkan_queue *queue;

	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_all(thread);
	while (thread && is_waiting && inject_now() < until) {
		inject_sleep(10000000);
		look_at_all(thread);
	}
	for (device = inject_vulkan_device_first(); device; device = device->next)
		for (queue = atomic_load(&device->queues); queue; queue = queue->next)
			abandon_queue(thread, queue, GPUMON_WORK_UNFINISHED);
	inject_guard_give(&completing);
}

void inject_vulkan_completion_waited(struct inject_vulkan_device *device)
{
	struct inject_thread *thread;
	int kept = errno;

	if (!device->physical ||
	    !atomic_load_explicit(&inject_session.is_open, memory_order_acquire))
		return;
	thread = inject_thread_enter(true);
	if (thread && !thread->ours && inject_guard_take(&completing, WAITED_NS)) {
		look_at_device(thread, device, MEASURED_NS);
		inject_guard_give(&completing);
	}
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

/* Once in a capture. */
static void say_passes_lost(struct inject_thread *thread)
{
	static _Atomic uint32_t said_in;

	if (inject_first_in_capture(&said_in))
		inject_session_note(
			thread, 0,
			"some command buffers of Vulkan were used again before the times inside of them could be read: these are known as a whole");
}

void inject_vulkan_completion_read(struct inject_vulkan_device *device,
				   struct inject_vulkan_commands *commands)
{
	struct inject_thread *thread = inject_thread_enter(true);
	struct inject_vulkan_slot *slot;
	int kept = errno;

	inject_guard_take(&completing, INJECT_FOR_EVER);
	look_at_device(thread, device, MEASURED_NS);
	slot = atomic_load(&commands->slot);
	if (slot)
		inject_vulkan_passes_leave(slot);
	inject_guard_give(&completing);
	if (thread && slot)
		say_passes_lost(thread);
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}

void inject_vulkan_completion_destroy(struct inject_vulkan_device *device)
{
	struct inject_thread *thread = inject_thread_enter(true);
	struct inject_vulkan_queue *queue;
	bool is_idle;

	inject_guard_take(&completing, INJECT_FOR_EVER);
	if (!device->is_inherited) {
		look_at_device(thread, device, 0);
		is_idle = !has_work(device) || atomic_load(&device->is_lost);
		for (queue = atomic_load(&device->queues); queue; queue = queue->next) {
			if (device->physical)
				abandon_queue(thread, queue, GPUMON_WORK_UNFINISHED);
			inject_vulkan_slots_destroy(queue, is_idle);
		}
		inject_vulkan_passes_free_pool(device, VK_NULL_HANDLE);
	}
	inject_vulkan_device_remove(device);
	inject_guard_give(&completing);
	if (thread)
		inject_thread_leave(thread);
}

void inject_vulkan_completion_forked(void)
{
	inject_guard_forked(&completing);
}
