// SPDX-License-Identifier: GPL-2.0-only
/* The event ring: how records are taken out of it, without losing one. */
#include <linux/cpu.h>
#include <linux/minmax.h>
#include <linux/ring_buffer.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "event_ring_priv.h"

/*
 * Most records that are taken in one interrupt of the CPU that wrote them: some microseconds of
 * copying.
 */
#define TAKE_RECORDS 32
/* After so many interrupts that found a CPU writing, the reader goes on with the others. */
#define TAKE_TRIES 16

/* A request to one CPU, and its answer. */
struct event_request {
	/* The first member, because a test reads it at this offset. */
	int cpu;
	struct trace_buffer *buffer;
	/* Room for at least 2 records. */
	unsigned int room;
	struct gpumon_event *records;
	unsigned int taken;
	u64 events;
	bool busy;
};

/* Takes the next records of one CPU, and records of losses. A test checks on which CPU it runs. */
static noinline void event_take_cpu(struct event_request *request)
{
	struct gpumon_event *record = request->records;
	struct ring_buffer_event *event;
	unsigned long lost;
	u64 time;

	/* The kernel returns a loss together with the event after it. */
	while (request->taken + 2 <= request->room) {
		event = ring_buffer_consume(request->buffer, request->cpu, &time, &lost);
		if (!event)
			break;
		memcpy(record, ring_buffer_event_data(event), sizeof(*record));
		if (lost) {
			record[1] = record[0];
			memset(record, 0, sizeof(*record));
			record->time_ns = record[1].time_ns;
			record->event = GPUMON_EVENT_LOST;
			record->cpu = request->cpu;
			record->arg = lost;
			record->queue_depth = GPUMON_DEPTH_UNKNOWN;
			record->hw_depth = GPUMON_DEPTH_UNKNOWN;
			record++;
			request->taken++;
		}
		record++;
		request->taken++;
		request->events++;
	}
}

/*
 * Runs on the CPU whose records are taken. If the CPU was interrupted while it wrote one, the
 * kernel's reader could wait for that writer without end.
 */
static void event_take_here(void *data)
{
	struct event_request *request = data;

	request->busy = gpumon_event_ring_writing();
	if (request->busy)
		return;
	request->room = min_t(unsigned int, request->room, TAKE_RECORDS);
	event_take_cpu(request);
}

/*
 * Takes the records of a CPU that is offline; it cannot come online meanwhile. Returns false if it
 * is online.
 */
static bool event_take_off(struct event_request *request)
{
	bool off;

	cpus_read_lock();
	off = !cpu_online(request->cpu);
	if (off)
		event_take_cpu(request);
	cpus_read_unlock();
	return off;
}

/*
 * Takes the next records of a CPU.
 *
 * The kernel's reader first looks whether its page was read to the end, then whether the writer has
 * left the page. A record that is committed between the two looks, by a writer that then leaves the
 * page, goes with the page: it is never read, in no count of losses, and pending for ever. So
 * records are taken while their writer cannot go on, in an interrupt of its own CPU. A CPU that is
 * offline writes nothing.
 */
static void event_ask_cpu(struct event_request *request)
{
	int tries;

	for (tries = 0; tries < TAKE_TRIES; tries++) {
		if (smp_call_function_single(request->cpu, event_take_here, request, true)) {
			if (event_take_off(request))
				break;
		} else if (!request->busy) {
			break;
		}
	}
}

/*
 * Takes records out of the ring, those of one CPU in order, and counts the events among them; the
 * other records report losses. There is room for 2 at least. Each call begins with another CPU, so
 * that a CPU that writes faster than it is read does not starve the others. Callers are serialised.
 */
unsigned int gpumon_event_take(struct trace_buffer *buffer, struct gpumon_event *records,
			       unsigned int room, u64 *events)
{
	static int next_cpu;
	unsigned int n = 0;
	int cpu, i;

	*events = 0;
	next_cpu = (next_cpu + 1) % nr_cpu_ids;
	for (i = 0; i < nr_cpu_ids && n + 2 <= room; i++) {
		struct event_request request;

		cpu = (next_cpu + i) % nr_cpu_ids;
		/* CPUs without events are not interrupted. */
		if (!cpu_possible(cpu) || ring_buffer_empty_cpu(buffer, cpu))
			continue;
		do {
			request = (struct event_request){
				.cpu = cpu,
				.buffer = buffer,
				.records = records + n,
				.room = room - n,
			};
			event_ask_cpu(&request);
			n += request.taken;
			*events += request.events;
			/* If one interrupt took as many records as it may, there may be more. */
		} while (request.taken + 2 > TAKE_RECORDS && n + 2 <= room);
	}
	return n;
}
