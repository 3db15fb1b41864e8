// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture_internal.h"
#include "captures.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "stored_names.h"

/* A capture has a file for each process. */
#define PROCESSES_MAX (1u << 20)

/* --- definitions */

static struct gpumon_tables_process *find_process(struct gpumon_tables *tables, uint32_t number)
{
	while (tables->used <= number)
		(void)GPUMON_ARRAY_ADD(tables->processes, tables->used, tables->room);
	return &tables->processes[number];
}

static struct gpumon_map *find_driver_strings(struct gpumon_tables *tables, uint32_t number)
{
	while (tables->driver_used <= ~number)
		(void)GPUMON_ARRAY_ADD(tables->driver_strings, tables->driver_used,
				       tables->driver_room);
	return &tables->driver_strings[~number];
}

static void add_string(struct gpumon_tables *tables, struct gpumon_map *strings,
		       const struct gpumon_record_string *string)
{
	if (string->head.size < sizeof(*string) ||
	    string->length > string->head.size - sizeof(*string))
		return;
	gpumon_map_set(strings, string->id,
		       (uintptr_t)gpumon_pool_part(tables->pool, string->text, string->length));
}

static void add_stack(struct gpumon_tables_process *process,
		      const struct gpumon_record_stack *stack)
{
	size_t need;

	if (stack->head.size < sizeof(*stack) ||
	    stack->count > (stack->head.size - sizeof(*stack)) / sizeof(stack->frames[0]) ||
	    gpumon_map_get(&process->stacks, stack->id))
		return;
	need = process->stack_used + 1 + stack->count;
	if (need > process->stack_room) {
		size_t room = process->stack_room ? process->stack_room * 2 : 4096;

		while (room < need)
			room *= 2;
		process->stack = gpumon_reallocarray(process->stack, room, sizeof(*process->stack));
		process->stack_room = room;
	}
	gpumon_map_set(&process->stacks, stack->id, process->stack_used + 1);
	process->stack[process->stack_used] = (uint64_t)stack->head.flags << 32 | stack->count;
	memcpy(process->stack + process->stack_used + 1, stack->frames,
	       stack->count * sizeof(stack->frames[0]));
	process->stack_used = need;
}

#define COPY(to) gpumon_record_copy(to, sizeof(*(to)), record)

static void add_frame(struct gpumon_tables_process *process, const struct gpumon_record *record)
{
	struct gpumon_record_frame *frame =
		GPUMON_ARRAY_ADD(process->frame, process->frame_used, process->frame_room);

	COPY(frame);
	gpumon_map_set(&process->frames, frame->id, process->frame_used);
}

static void add_device(struct gpumon_tables_process *process, const struct gpumon_record *record)
{
	struct gpumon_record_device *device =
		GPUMON_ARRAY_ADD(process->device, process->device_used, process->device_room);

	COPY(device);
	gpumon_map_set(&process->devices, device->id, process->device_used);
}

static void add_loss(struct gpumon_tables *tables, struct gpumon_tables_process *process,
		     const struct gpumon_record *record)
{
	struct gpumon_record_loss loss;

	COPY(&loss);
	if (loss.cause < GPUMON_LOSS_CAUSES)
		tables->losses[loss.cause] += loss.count;
	if (process)
		process->lacks_records |= loss.cause == GPUMON_LOSS_RECORDER ||
					  loss.cause == GPUMON_LOSS_MAX_SIZE ||
					  loss.cause == GPUMON_LOSS_CHANNEL_FULL;
}

/* The driver defines only strings, and counts losses. */
static void define_driver(struct gpumon_tables *tables, uint32_t number,
			  const struct gpumon_record *record)
{
	if (record->type == GPUMON_RECORD_LOSS)
		add_loss(tables, NULL, record);
	else if (record->type == GPUMON_RECORD_STRING)
		add_string(tables, find_driver_strings(tables, number), (const void *)record);
}

static void define(struct gpumon_tables *tables, uint32_t number,
		   const struct gpumon_record *record)
{
	struct gpumon_tables_process *process = find_process(tables, number);

	process->known = true;
	switch (record->type) {
	case GPUMON_RECORD_LOSS:
		add_loss(tables, process, record);
		break;
	case GPUMON_RECORD_PROCESS:
		COPY(&process->record);
		process->has_record = true;
		break;
	case GPUMON_RECORD_THREAD: {
		struct gpumon_record_thread thread;

		COPY(&thread);
		if (thread.name)
			gpumon_map_set(&process->threads, thread.tid, thread.name);
		break;
	}
	case GPUMON_RECORD_CONTEXT: {
		struct gpumon_record_context context;

		COPY(&context);
		gpumon_map_set(&process->contexts, context.id, (uint64_t)context.device + 1);
		break;
	}
	case GPUMON_RECORD_STRING:
		add_string(tables, &process->strings, (const void *)record);
		break;
	case GPUMON_RECORD_FRAME:
		add_frame(process, record);
		break;
	case GPUMON_RECORD_STACK:
		process->has_cut_stacks |= (record->flags & GPUMON_STACK_TRUNCATED) != 0;
		add_stack(process, (const void *)record);
		break;
	case GPUMON_RECORD_DEVICE:
		add_device(process, record);
		break;
	case GPUMON_RECORD_MAPPING: {
		struct gpumon_record_mapping *mapping = GPUMON_ARRAY_ADD(
			process->mapping, process->mapping_used, process->mapping_room);

		COPY(mapping);
		break;
	}
	case GPUMON_RECORD_UNMAPPING: {
		struct gpumon_record_unmapping *unmapping = GPUMON_ARRAY_ADD(
			process->unmapping, process->unmapping_used, process->unmapping_room);

		COPY(unmapping);
		break;
	}
	case GPUMON_RECORD_LAUNCH:
		process->has_launches = true;
		process->has_unsampled |= record->flags & GPUMON_LAUNCH_UNSAMPLED;
		break;
	case GPUMON_RECORD_GRAPH_NODE:
		process->has_nodes = true;
		break;
	case GPUMON_RECORD_PRESENT:
		process->has_presents = true;
		break;
	case GPUMON_RECORD_RANGE:
		process->has_ranges = true;
		break;
	case GPUMON_RECORD_WINDOW: {
		struct gpumon_record_window window;

		COPY(&window);
		process->is_cut |= window.head.flags & GPUMON_WINDOW_CUT;
		gpumon_windows_add(&process->windows, &window);
		break;
	}
	default:
		break;
	}
}

/*
 * The name that the recorder uses, with the process's file name, or with its pid, for maps that a
 * user copied.
 */
static void find_perf_map(const struct gpumon_tables_process *process, const char *path, char *map,
			  size_t room)
{
	size_t length = strlen(GPUMON_CAPTURE_PROCESS);

	if (process->name && !strncmp(process->name, GPUMON_CAPTURE_PROCESS, length)) {
		snprintf(map, room, "%s/" GPUMON_CAPTURE_MAP, path, process->name + length);
		if (!access(map, R_OK))
			return;
	}
	snprintf(map, room, "%s/perf-%u.map", path, process->record.pid);
}

/* Strings may come after the mappings that refer to them. */
static void find_symbols(struct gpumon_tables_process *process, const char *symbol_root,
			 const char *path)
{
	char perf_map[4096];

	find_perf_map(process, path, perf_map, sizeof(perf_map));
	if (process->name) {
		char stored[4096];

		snprintf(stored, sizeof(stored), "%s/%s" GPUMON_STORED_NAMES_SUFFIX, path,
			 process->name);
		process->stored = gpumon_stored_names_read(stored);
	}
	if (process->root)
		symbol_root = process->root;
	process->symbols = gpumon_symbols_new(symbol_root ? symbol_root : "",
					      access(perf_map, R_OK) ? NULL : perf_map);
	if (!process->symbols)
		gpumon_memory_failed(sizeof(process->symbols));
	for (uint32_t i = 0; i < process->mapping_used; i++) {
		const char *file = gpumon_tables_string(process, process->mapping[i].path);

		if (gpumon_symbols_map(process->symbols, &process->mapping[i], file ? file : ""))
			gpumon_memory_failed(sizeof(process->mapping[i]));
	}
	for (uint32_t i = 0; i < process->unmapping_used; i++) {
		*(uint64_t *)GPUMON_ARRAY_ADD(process->unmapped, process->unmapped_used,
					      process->unmapped_room) =
			process->unmapping[i].time_ns;
		gpumon_symbols_unmap(process->symbols, &process->unmapping[i]);
	}
	if (process->unmapped_used)
		qsort(process->unmapped, process->unmapped_used, sizeof(uint64_t), gpumon_by_value);
	free(process->mapping);
	process->mapping = NULL;
	process->mapping_used = process->mapping_room = 0;
	free(process->unmapping);
	process->unmapping = NULL;
	process->unmapping_used = process->unmapping_room = 0;
}

void gpumon_captures_find_symbols(struct gpumon_captures *captures)
{
	struct gpumon_tables *tables = &captures->tables;

	for (uint32_t i = 0; i < tables->used; i++) {
		gpumon_windows_end(&tables->processes[i].windows);
		find_symbols(&tables->processes[i], tables->symbol_root,
			     captures->paths[tables->processes[i].capture]);
	}
}

/* --- events of drivers */

bool gpumon_captures_event(const struct gpumon_record *record, struct gpumon_event *event,
			   uint32_t *row)
{
	struct gpumon_record_driver_event head;
	size_t size = record->size - sizeof(head);

	memset(event, 0, sizeof(*event));
	if (record->size < sizeof(head))
		return false;
	gpumon_record_copy(&head, sizeof(head), record);
	size = size < head.event_size ? size : head.event_size;
	memcpy(event, (const uint8_t *)record + sizeof(head),
	       size < sizeof(*event) ? size : sizeof(*event));
	event->comm[GPUMON_COMM_LEN - 1] = '\0';
	*row = head.row;
	return event->event < __GPUMON_EVENT_TYPE_MAX && event->time_ns;
}

/* --- passes */

int gpumon_captures_open(struct gpumon_captures *captures, const char *const *paths,
			 unsigned int count, struct gpumon_pool *pool)
{
	captures->paths = paths;
	captures->count = count;
	captures->tables.pool = pool;
	captures->at = gpumon_calloc(count, sizeof(*captures->at));
	captures->first = gpumon_calloc((size_t)count + 1, sizeof(*captures->first));
	captures->damages = gpumon_calloc(count, sizeof(*captures->damages));
	captures->shifts = gpumon_capture_shifts(paths, count);
	for (unsigned int i = 0; i < count; i++) {
		if (gpumon_capture_open(paths[i], &captures->at[i]))
			return -1;
		gpumon_capture_shift(captures->at[i], captures->shifts[i]);
	}
	return 0;
}

static void read_capture(struct gpumon_captures *captures, unsigned int capture, bool first,
			 const struct gpumon_captures_pass *pass)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;

	while ((record = gpumon_capture_next(captures->at[capture], &cursor))) {
		uint32_t number = gpumon_captures_number(captures, capture, &cursor);

		if (first && gpumon_captures_is_driver(number))
			define_driver(&captures->tables, number, record);
		else if (first)
			define(&captures->tables, number, record);
		if (pass)
			pass->record(pass->data, number, record);
	}
}

/* Also covers processes that have no records (yet). */
static void name_processes(struct gpumon_captures *captures, unsigned int capture)
{
	const struct gpumon_capture *from = captures->at[capture];
	struct gpumon_tables *tables = &captures->tables;

	for (uint32_t i = 0; i < gpumon_capture_processes(from); i++) {
		struct gpumon_tables_process *process =
			find_process(tables, captures->first[capture] + i);
		const char *name = gpumon_capture_name(from, i);

		process->capture = capture;
		process->name = name ? gpumon_pool_text(tables->pool, name) : NULL;
	}
}

int gpumon_captures_define(struct gpumon_captures *captures,
			   const struct gpumon_captures_pass *pass)
{
	for (unsigned int i = 0; i < captures->count; i++) {
		struct gpumon_capture *from = captures->at[i];

		if (pass && pass->begin && pass->begin(pass->data, i))
			return -1;
		read_capture(captures, i, true, pass);
		gpumon_capture_stop_here(from);
		captures->damages[i] = *gpumon_capture_damage(from);
		captures->first[i + 1] = captures->first[i] + gpumon_capture_processes(from);
		if (captures->first[i + 1] > PROCESSES_MAX)
			return gpumon_capture_fail(-E2BIG, GPUMON_ERROR_MEMORY,
						   "%s: more than %u processes", captures->paths[i],
						   PROCESSES_MAX);
		name_processes(captures, i);
		if (pass && pass->end)
			pass->end(pass->data, i);
	}
	return 0;
}

int gpumon_captures_read(struct gpumon_captures *captures, const struct gpumon_captures_pass *pass)
{
	for (unsigned int i = 0; i < captures->count; i++) {
		if (pass->begin && pass->begin(pass->data, i))
			return -1;
		gpumon_capture_rewind(captures->at[i]);
		read_capture(captures, i, false, pass);
		if (pass->end)
			pass->end(pass->data, i);
	}
	return 0;
}

void gpumon_captures_expect(const struct gpumon_captures *captures,
			    struct gpumon_correlate *correlate)
{
	const struct gpumon_tables *tables = &captures->tables;

	for (uint32_t i = 0; i < tables->used; i++) {
		if (tables->processes[i].known)
			gpumon_correlate_expect_nodes(correlate, i, tables->processes[i].has_nodes);
	}
}

static void clear_tables(struct gpumon_tables *tables)
{
	for (uint32_t i = 0; i < tables->used; i++) {
		struct gpumon_tables_process *process = &tables->processes[i];

		gpumon_map_clear(&process->strings);
		gpumon_map_clear(&process->frames);
		gpumon_map_clear(&process->stacks);
		gpumon_map_clear(&process->threads);
		gpumon_map_clear(&process->contexts);
		gpumon_map_clear(&process->devices);
		free(process->frame);
		free(process->stack);
		free(process->device);
		free(process->unmapped);
		free(process->mapping);
		free(process->unmapping);
		if (process->symbols)
			gpumon_symbols_free(process->symbols);
		gpumon_stored_names_free(process->stored);
		free(process->root);
		gpumon_windows_clear(&process->windows);
	}
	for (uint32_t i = 0; i < tables->driver_used; i++)
		gpumon_map_clear(&tables->driver_strings[i]);
	free(tables->driver_strings);
	free(tables->processes);
	memset(tables, 0, sizeof(*tables));
}

bool gpumon_captures_left_out(const struct gpumon_captures *captures, uint32_t process,
			      const struct gpumon_record_launch *launch)
{
	const struct gpumon_windows *windows = &captures->tables.processes[process].windows;

	/* Nodes that were still queued when the window ended are lost to CUPTI. */
	return windows->sampled &&
	       ((launch->head.flags & GPUMON_LAUNCH_GRAPH) ||
		!gpumon_windows_cover(windows, launch->start_ns, launch->end_ns));
}

bool gpumon_captures_is_cut(const struct gpumon_captures *captures, uint32_t process)
{
	const struct gpumon_tables_process *of = &captures->tables.processes[process];

	/* Their work may be among what was lost on the way, which is counted there. */
	return of->is_cut && !of->lacks_records;
}

bool gpumon_captures_have_presents(const struct gpumon_captures *captures)
{
	for (uint32_t i = 0; i < captures->tables.used; i++) {
		if (captures->tables.processes[i].has_presents)
			return true;
	}
	return false;
}

void gpumon_captures_close(struct gpumon_captures *captures)
{
	clear_tables(&captures->tables);
	for (unsigned int i = 0; captures->at && i < captures->count; i++)
		gpumon_capture_free(captures->at[i]);
	free(captures->at);
	free(captures->first);
	free(captures->shifts);
	free(captures->damages);
	memset(captures, 0, sizeof(*captures));
}

/* --- asking */

const char *gpumon_tables_text(const struct gpumon_tables *tables, uint32_t number, uint32_t id)
{
	const struct gpumon_map *strings = NULL;

	if (!gpumon_captures_is_driver(number))
		strings = number < tables->used ? &tables->processes[number].strings : NULL;
	else if (~number < tables->driver_used)
		strings = &tables->driver_strings[~number];
	return id && strings ? (const char *)(uintptr_t)gpumon_map_get(strings, id) : NULL;
}

const char *gpumon_tables_string(const struct gpumon_tables_process *process, uint32_t id)
{
	return id ? (const char *)(uintptr_t)gpumon_map_get(&process->strings, id) : NULL;
}

const uint64_t *gpumon_tables_stack(const struct gpumon_tables_process *process, uint32_t id,
				    uint32_t *count, uint16_t *flags)
{
	uint64_t place = gpumon_map_get(&process->stacks, id);

	if (!place)
		return NULL;
	*count = (uint32_t)process->stack[place - 1];
	*flags = (uint16_t)(process->stack[place - 1] >> 32);
	return process->stack + place;
}

bool gpumon_tables_cut_stack(const struct gpumon_tables_process *process, uint32_t id)
{
	uint32_t count;
	uint16_t flags;

	return process->has_cut_stacks && id && gpumon_tables_stack(process, id, &count, &flags) &&
	       flags & GPUMON_STACK_TRUNCATED;
}

const struct gpumon_record_frame *gpumon_tables_frame(const struct gpumon_tables_process *process,
						      uint32_t id)
{
	uint64_t place = gpumon_map_get(&process->frames, id);

	return place ? &process->frame[place - 1] : NULL;
}

const struct gpumon_record_device *gpumon_tables_device(const struct gpumon_tables_process *process,
							uint32_t id)
{
	uint64_t place = gpumon_map_get(&process->devices, id);

	return place ? &process->device[place - 1] : NULL;
}

uint32_t gpumon_tables_epoch(const struct gpumon_tables_process *process, uint64_t time_ns)
{
	uint32_t low = 0, high = process->unmapped_used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (process->unmapped[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
