// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "timeline_rows.h"

/* Above all pids of Linux, and below the numbers that formats use for other things. */
#define PID_OTHER 50000000u

/* Devices of one API, for the numbers of their rows. */
#define API_NUMBERS 1000u

static uint64_t key_of_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* Index of a key. A new key gets the next index. */
static size_t place_of(struct gpumon_map *map, uint64_t key, size_t next)
{
	uint64_t place = gpumon_map_get(map, key);

	if (!place)
		gpumon_map_set(map, key, next + 1);
	return place ? (size_t)place - 1 : next;
}

static struct gpumon_track *new_track(struct gpumon_track_rows *rows, enum gpumon_track_kind kind,
				      const struct gpumon_track *parent, uint32_t number,
				      const char *name)
{
	struct gpumon_track *track = gpumon_calloc(1, sizeof(*track));

	*(struct gpumon_track **)GPUMON_GROW(rows->tracks, rows->track_count) = track;
	track->name = gpumon_strdup(name);
	track->id = (uint32_t)rows->track_count;
	track->kind = kind;
	track->parent = parent;
	track->number = number;
	rows->sink->track(rows->sink->data, track);
	return track;
}

/* Creates it if no record described it. */
static struct gpumon_track_process *find_process(struct gpumon_track_rows *rows, uint32_t number)
{
	size_t place = place_of(&rows->process_map, number, rows->process_count);

	if (place == rows->process_count) {
		(void)GPUMON_GROW(rows->processes, rows->process_count);
		rows->processes[place].number = number;
	}
	return &rows->processes[place];
}

void gpumon_rows_define_process(struct gpumon_track_rows *rows, uint32_t number)
{
	(void)find_process(rows, number);
}

void gpumon_rows_define_device(struct gpumon_track_rows *rows, uint32_t process,
			       const struct gpumon_record_device *record)
{
	size_t place =
		place_of(&rows->device_map, key_of_pair(process, record->id), rows->device_count);

	if (place == rows->device_count)
		(void)GPUMON_GROW(rows->devices, rows->device_count);
	rows->devices[place].process = process;
	rows->devices[place].record = *record;
}

/* The text of a string, "" of an unknown one. */
static const char *text_of(const struct gpumon_track_rows *rows, uint32_t process, uint32_t string)
{
	const char *text = gpumon_tables_text(rows->tables, process, string);

	return text ? text : "";
}

/* What a process says of itself, zeroes if it said nothing. */
static const struct gpumon_record_process *record_of(const struct gpumon_track_rows *rows,
						     uint32_t number)
{
	static const struct gpumon_record_process none;

	return number < rows->tables->used ? &rows->tables->processes[number].record : &none;
}

static const char *host_of(const struct gpumon_track_rows *rows, uint32_t number)
{
	return text_of(rows, number, record_of(rows, number)->host);
}

const struct gpumon_track *gpumon_rows_of_process(struct gpumon_track_rows *rows, uint32_t number)
{
	struct gpumon_track_process *process = find_process(rows, number);
	const struct gpumon_record_process *record = record_of(rows, number);
	const char *command, *executable, *base, *host;
	uint32_t number_shown;
	char name[512];

	if (process->track)
		return process->track;
	command = text_of(rows, number, record->command);
	executable = text_of(rows, number, record->executable);
	base = strrchr(executable, '/');
	base = base ? base + 1 : executable;
	host = rows->several_hosts ? host_of(rows, number) : "";
	snprintf(name, sizeof(name), "%s%s%s",
		 *command ? command :
		 *base	  ? base :
			    "process",
		 *host ? " on " : "", host);
	/* A process of another host or container may have the same pid. Keep them apart. */
	number_shown = gpumon_record_pid(record);
	for (size_t i = 0; i < rows->process_count; i++) {
		if (rows->processes[i].track && rows->processes[i].track->number == number_shown)
			number_shown = PID_OTHER + number;
	}
	process->track = new_track(rows, GPUMON_TRACK_PROCESS, NULL, number_shown, name);
	return process->track;
}

struct gpumon_track_thread *gpumon_rows_thread(struct gpumon_track_rows *rows, uint32_t process,
					       uint32_t tid)
{
	size_t place = place_of(&rows->thread_map, key_of_pair(process, tid), rows->thread_count);
	const struct gpumon_track *parent;
	struct gpumon_track_thread *thread;
	const char *text = NULL;
	char name[32];

	if (place < rows->thread_count)
		return &rows->threads[place];
	parent = gpumon_rows_of_process(rows, process);
	thread = GPUMON_GROW(rows->threads, rows->thread_count);
	snprintf(name, sizeof(name), "thread %u", tid);
	if (process < rows->tables->used)
		text = gpumon_tables_text(
			rows->tables, process,
			(uint32_t)gpumon_map_get(&rows->tables->processes[process].threads, tid));
	thread->track = new_track(rows, GPUMON_TRACK_THREAD, parent, tid, text ? text : name);
	return thread;
}

const struct gpumon_track *gpumon_rows_states(struct gpumon_track_rows *rows, uint32_t process,
					      uint32_t tid)
{
	struct gpumon_track_thread *thread = gpumon_rows_thread(rows, process, tid);
	char name[160];

	if (thread->states)
		return thread->states;
	snprintf(name, sizeof(name), "%.100s outside of calls", thread->track->name);
	thread->states = new_track(rows, GPUMON_TRACK_ROW, thread->track->parent,
				   (uint32_t)rows->track_count, name);
	return thread->states;
}

static struct gpumon_gpu identity_of(const struct gpumon_track_rows *rows,
				     const struct gpumon_track_device *device)
{
	return gpumon_gpu_of(device->record.id, &device->record,
			     record_of(rows, device->process)->boot_id,
			     host_of(rows, device->process));
}

/*
 * The row that the device has as another process's; NULL if none has. @uuid: the beginning of its UUID, if
 * another GPU has its number.
 */
static struct gpumon_track *find_gpu(struct gpumon_track_rows *rows,
				     const struct gpumon_track_device *device, char uuid[16])
{
	struct gpumon_gpu identity = identity_of(rows, device);

	for (size_t i = 0; i < rows->device_count; i++) {
		const struct gpumon_track_device *other = &rows->devices[i];
		struct gpumon_gpu of = identity_of(rows, other);

		if (gpumon_gpu_same(&identity, &of)) {
			if (other->track)
				return other->track;
		} else if (identity.id == of.id && identity.type == of.type &&
			   memcmp(identity.uuid, of.uuid, sizeof(of.uuid)) != 0) {
			snprintf(uuid, 16, " %02x%02x%02x%02x", identity.uuid[0], identity.uuid[1],
				 identity.uuid[2], identity.uuid[3]);
		}
	}
	return NULL;
}

/* A GPU that several processes use is one row. */
static const struct gpumon_track *gpu_of(struct gpumon_track_rows *rows, uint32_t process,
					 uint32_t id)
{
	static const uint8_t none[16];
	struct gpumon_track_device *device;
	const char *name, *host;
	size_t place;
	char text[256], number[GPUMON_DEVICE_TEXT], uuid[16] = "";
	bool instance;

	if (!gpumon_map_get(&rows->device_map, key_of_pair(process, id))) {
		struct gpumon_record_device unknown = { .id = id };

		gpumon_rows_define_device(rows, process, &unknown);
	}
	place = (size_t)gpumon_map_get(&rows->device_map, key_of_pair(process, id));
	device = &rows->devices[place - 1];
	if (!device->track)
		device->track = find_gpu(rows, device, uuid);
	if (device->track)
		return device->track;
	instance = memcmp(device->record.mig_uuid, none, sizeof(none)) != 0;
	name = text_of(rows, process, device->record.name);
	host = rows->several_hosts ? host_of(rows, process) : "";
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s",
		 gpumon_device_text(number, id, device->record.type), uuid, *name ? " " : "", name,
		 instance ? " (MIG)" : "", *host ? " on " : "", host);
	device->track = new_track(rows, GPUMON_TRACK_GPU, NULL,
				  GPUMON_API_OF(id) * API_NUMBERS + GPUMON_NUMBER_OF(id), text);
	return device->track;
}

const struct gpumon_track *gpumon_rows_counter(struct gpumon_track_rows *rows, uint32_t process,
					       uint32_t device, const char *name)
{
	(void)find_process(rows, process);
	return new_track(rows, GPUMON_TRACK_METRIC, gpu_of(rows, process, device),
			 (uint32_t)rows->track_count, name);
}

const struct gpumon_track *gpumon_rows_frames(struct gpumon_track_rows *rows, uint32_t process,
					      uint32_t swapchain)
{
	char name[48];

	snprintf(name, sizeof(name), "frames of swapchain %u", GPUMON_NUMBER_OF(swapchain));
	return new_track(rows, GPUMON_TRACK_ROW, gpumon_rows_of_process(rows, process),
			 (uint32_t)rows->track_count, name);
}

static struct gpumon_lanes *new_lanes(struct gpumon_track_rows *rows,
				      const struct gpumon_track *parent, const char *name)
{
	struct gpumon_lanes *lanes = gpumon_calloc(1, sizeof(*lanes));

	*(struct gpumon_lanes **)GPUMON_GROW(rows->lanes, rows->lane_count) = lanes;
	lanes->parent = parent;
	lanes->name = gpumon_pool_text(rows->tables->pool, name);
	return lanes;
}

static void stream_text(struct gpumon_track_rows *rows, uint32_t process, uint32_t context,
			uint32_t stream, char *text, size_t room)
{
	const struct gpumon_stream_told *told =
		gpumon_streams_find(&rows->streams, process, context, stream);

	gpumon_stream_text(text, room, stream, told ? text_of(rows, process, told->string) : NULL,
			   told ? told->priority : 0);
}

struct gpumon_lanes *gpumon_rows_stream(struct gpumon_track_rows *rows, uint32_t process,
					uint32_t device, uint32_t context, uint32_t stream)
{
	uint32_t number = (uint32_t)place_of(&rows->context_map, key_of_pair(process, context),
					     rows->contexts);
	size_t place = place_of(&rows->stream_map, key_of_pair(number, stream), rows->lane_count);
	char name[224], known[160], process_text[24] = "", context_text[24] = "";

	(void)find_process(rows, process);
	if (number == rows->contexts)
		rows->contexts++;
	if (place < rows->lane_count)
		return rows->lanes[place];
	if (rows->process_count > 1)
		snprintf(process_text, sizeof(process_text), " of %u",
			 gpumon_record_pid(record_of(rows, process)));
	/* The first context of a process has number 1. */
	if (GPUMON_NUMBER_OF(context) > 1)
		snprintf(context_text, sizeof(context_text), " context %u",
			 GPUMON_NUMBER_OF(context));
	stream_text(rows, process, context, stream, known, sizeof(known));
	snprintf(name, sizeof(name), "%s%s%s", known, context_text, process_text);
	return new_lanes(rows, gpu_of(rows, process, device), name);
}

struct gpumon_lanes *gpumon_rows_other(struct gpumon_track_rows *rows, uint32_t process,
				       unsigned int kind)
{
	static const char *const names[] = { "ranges", "waits", "memory", "unified memory" };
	/* Context numbers start at 0 and never get here. */
	size_t place =
		place_of(&rows->stream_map, key_of_pair(~0u - kind, process), rows->lane_count);

	if (place < rows->lane_count)
		return rows->lanes[place];
	return new_lanes(rows, gpumon_rows_of_process(rows, process), names[kind]);
}

static const struct gpumon_track *driver_of(struct gpumon_track_rows *rows)
{
	if (!rows->driver)
		rows->driver = new_track(rows, GPUMON_TRACK_DRIVER, NULL, 0, "driver");
	return rows->driver;
}

const struct gpumon_track *gpumon_rows_driver(struct gpumon_track_rows *rows, const char *name)
{
	uint64_t key = (uintptr_t)gpumon_pool_text(rows->tables->pool, name);
	uint64_t place = gpumon_map_get(&rows->row_map, key);
	struct gpumon_track *track;

	if (place)
		return rows->tracks[place - 1];
	track = new_track(rows, GPUMON_TRACK_ROW, driver_of(rows), (uint32_t)rows->row_map.used,
			  name);
	gpumon_map_set(&rows->row_map, key, track->id);
	return track;
}

struct gpumon_lanes *gpumon_rows_jobs(struct gpumon_track_rows *rows, const char *name)
{
	uint64_t key = (uintptr_t)gpumon_pool_text(rows->tables->pool, name);
	size_t place = place_of(&rows->job_map, key, rows->lane_count);

	if (place < rows->lane_count)
		return rows->lanes[place];
	return new_lanes(rows, driver_of(rows), name);
}

bool gpumon_rows_has_lane(const struct gpumon_lanes *lanes, uint64_t start_ns)
{
	for (unsigned int lane = 0; lane < lanes->n; lane++) {
		if (lanes->ends[lane] <= start_ns)
			return true;
	}
	return lanes->n < GPUMON_LANES_MAX;
}

const struct gpumon_track *gpumon_rows_lane(struct gpumon_track_rows *rows,
					    struct gpumon_lanes *lanes, uint64_t start_ns,
					    uint64_t end_ns)
{
	const char *first = lanes->name;
	unsigned int lane;
	char name[160];

	for (lane = 0; lane < lanes->n && lanes->ends[lane] > start_ns; lane++)
		;
	if (lane == GPUMON_LANES_MAX)
		lane--;
	if (lane == lanes->n) {
		if (lane)
			snprintf(name, sizeof(name), "%s (%u)", first, lane + 1);
		else
			snprintf(name, sizeof(name), "%s", first);
		lanes->rows[lane] = new_track(rows, GPUMON_TRACK_ROW, lanes->parent,
					      (uint32_t)rows->track_count, name);
		lanes->n++;
	}
	if (end_ns > lanes->ends[lane])
		lanes->ends[lane] = end_ns;
	return lanes->rows[lane];
}

const char *gpumon_track_category_name(enum gpumon_track_category category)
{
	static const char *const names[GPUMON_CATEGORIES] = {
		[GPUMON_CATEGORY_API] = "api",	     [GPUMON_CATEGORY_KERNEL] = "kernel",
		[GPUMON_CATEGORY_COPY] = "copy",     [GPUMON_CATEGORY_SET] = "set",
		[GPUMON_CATEGORY_RANGE] = "nvtx",    [GPUMON_CATEGORY_WAIT] = "wait",
		[GPUMON_CATEGORY_MEMORY] = "memory", [GPUMON_CATEGORY_DRIVER] = "driver",
		[GPUMON_CATEGORY_ALERT] = "alert",   [GPUMON_CATEGORY_RECORDING] = "recording",
		[GPUMON_CATEGORY_GRAPH] = "graph",   [GPUMON_CATEGORY_STATE] = "state",
		[GPUMON_CATEGORY_METRIC] = "metric", [GPUMON_CATEGORY_FRAME] = "frame",
		[GPUMON_CATEGORY_JOB] = "job",
	};

	return names[category];
}

/* --- pushed ranges */

void gpumon_rows_show_pushed(struct gpumon_track_rows *rows, struct gpumon_track_thread *thread)
{
	for (uint32_t i = 0; i < thread->depth; i++) {
		struct gpumon_track_pushed *pushed = &thread->pushed[i];
		struct gpumon_track_event event = {
			.track = thread->track,
			.type = GPUMON_TRACK_BEGIN,
			.category = GPUMON_CATEGORY_RANGE,
			.name = pushed->name,
			.start_ns = rows->from_ns,
		};

		if (!pushed->before)
			continue;
		pushed->before = false;
		pushed->shown = true;
		if (pushed->domain)
			event.arguments[event.argument_count++] =
				(struct gpumon_track_argument){ "domain", pushed->domain, 0 };
		rows->sink->event(rows->sink->data, &event);
	}
}

bool gpumon_rows_push(struct gpumon_track_rows *rows, struct gpumon_track_thread *thread,
		      const struct gpumon_track_event *event)
{
	struct gpumon_track_pushed *pushed;

	if (event->start_ns >= rows->from_ns)
		gpumon_rows_show_pushed(rows, thread);
	pushed = GPUMON_ARRAY_ADD(thread->pushed, thread->depth, thread->room);
	*pushed = (struct gpumon_track_pushed){
		.name = event->name ? event->name : "[unknown]",
		.domain = event->argument_count ? event->arguments[0].text : NULL,
		.before = event->start_ns < rows->from_ns,
		.shown = gpumon_time_within(rows->from_ns, rows->until_ns, event->start_ns),
	};
	return pushed->shown;
}

bool gpumon_rows_pop(struct gpumon_track_rows *rows, struct gpumon_track_thread *thread,
		     struct gpumon_track_event *event)
{
	/* The range began before the recording. */
	if (!thread->depth)
		return false;
	if (event->start_ns > rows->from_ns)
		gpumon_rows_show_pushed(rows, thread);
	if (rows->until_ns && event->start_ns > rows->until_ns)
		event->start_ns = rows->until_ns;
	return thread->pushed[--thread->depth].shown;
}

/* --- the end */

void gpumon_rows_clear(struct gpumon_track_rows *rows)
{
	for (size_t i = 0; i < rows->track_count; i++) {
		free(rows->tracks[i]->name);
		free(rows->tracks[i]);
	}
	for (size_t i = 0; i < rows->lane_count; i++)
		free(rows->lanes[i]);
	for (size_t i = 0; i < rows->thread_count; i++)
		free(rows->threads[i].pushed);
	free(rows->tracks);
	free(rows->lanes);
	free(rows->processes);
	free(rows->devices);
	free(rows->threads);
	gpumon_streams_clear(&rows->streams);
	gpumon_map_clear(&rows->process_map);
	gpumon_map_clear(&rows->device_map);
	gpumon_map_clear(&rows->thread_map);
	gpumon_map_clear(&rows->context_map);
	gpumon_map_clear(&rows->stream_map);
	gpumon_map_clear(&rows->row_map);
	gpumon_map_clear(&rows->job_map);
}
