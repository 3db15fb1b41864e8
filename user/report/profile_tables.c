// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "profile_tables.h"

/* Processes are numbered from 0 on, so a capture with higher numbers is broken. */
#define PROCESSES_MAX (1u << 20)

struct gpumon_tables_process *gpumon_tables_process(struct gpumon_tables *tables, uint32_t number)
{
	if (number >= PROCESSES_MAX)
		return NULL;
	while (tables->used <= number) {
		if (!GPUMON_ARRAY_ADD(tables->processes, tables->used, tables->room))
			return NULL;
	}
	return &tables->processes[number];
}

static int add_string(struct gpumon_tables *tables, struct gpumon_tables_process *process,
		      const struct gpumon_record_string *string)
{
	const char *text;

	if (string->head.size < sizeof(*string) ||
	    string->length > string->head.size - sizeof(*string))
		return 0;
	text = gpumon_pool_part(tables->pool, string->text, string->length);
	return text ? gpumon_map_set(&process->strings, string->id, (uintptr_t)text) : -1;
}

static int add_stack(struct gpumon_tables_process *process, const struct gpumon_record_stack *stack)
{
	size_t need;

	if (stack->head.size < sizeof(*stack) ||
	    stack->count > (stack->head.size - sizeof(*stack)) / sizeof(stack->frames[0]) ||
	    gpumon_map_get(&process->stacks, stack->id))
		return 0;
	need = process->stack_used + 1 + stack->count;
	if (need > process->stack_room) {
		size_t room = process->stack_room ? process->stack_room * 2 : 4096;
		uint64_t *grown;

		while (room < need)
			room *= 2;
		grown = reallocarray(process->stack, room, sizeof(*grown));
		if (!grown)
			return -1;
		process->stack = grown;
		process->stack_room = room;
	}
	if (gpumon_map_set(&process->stacks, stack->id, process->stack_used + 1))
		return -1;
	process->stack[process->stack_used] = (uint64_t)stack->head.flags << 32 | stack->count;
	memcpy(process->stack + process->stack_used + 1, stack->frames,
	       stack->count * sizeof(stack->frames[0]));
	process->stack_used = need;
	return 0;
}

#define COPY(to) gpumon_record_copy(to, sizeof(*(to)), record)

static int add_frame(struct gpumon_tables_process *process, const struct gpumon_record *record)
{
	struct gpumon_record_frame *frame =
		GPUMON_ARRAY_ADD(process->frame, process->frame_used, process->frame_room);

	if (!frame)
		return -1;
	COPY(frame);
	return gpumon_map_set(&process->frames, frame->id, process->frame_used);
}

static int add_device(struct gpumon_tables_process *process, const struct gpumon_record *record)
{
	struct gpumon_record_device *device =
		GPUMON_ARRAY_ADD(process->device, process->device_used, process->device_room);

	if (!device)
		return -1;
	COPY(device);
	return gpumon_map_set(&process->devices, device->id, process->device_used);
}

static int add_mapping(struct gpumon_tables_process *process, const struct gpumon_record *record)
{
	struct gpumon_record_mapping *mapping =
		GPUMON_ARRAY_ADD(process->mapping, process->mapping_used, process->mapping_room);

	if (!mapping)
		return -1;
	COPY(mapping);
	return 0;
}

static int add_unmapping(struct gpumon_tables_process *process, const struct gpumon_record *record)
{
	struct gpumon_record_unmapping *unmapping = GPUMON_ARRAY_ADD(
		process->unmapping, process->unmapping_used, process->unmapping_room);

	if (!unmapping)
		return -1;
	COPY(unmapping);
	return 0;
}

int gpumon_tables_record(struct gpumon_tables *tables, uint32_t number,
			 const struct gpumon_record *record)
{
	struct gpumon_tables_process *process = NULL;

	if (number != GPUMON_PROCESS_DRIVER) {
		process = gpumon_tables_process(tables, number);
		if (!process)
			return -1;
		process->known = true;
	}
	if (record->type == GPUMON_RECORD_LOSS) {
		struct gpumon_record_loss loss;

		COPY(&loss);
		if (loss.cause < GPUMON_LOSS_CAUSES)
			tables->losses[loss.cause] += loss.count;
		if (process)
			process->lacks_records |= loss.cause == GPUMON_LOSS_RECORDER ||
						  loss.cause == GPUMON_LOSS_MAX_SIZE ||
						  loss.cause == GPUMON_LOSS_CHANNEL_FULL;
		return 0;
	}
	if (!process)
		return 0;
	switch (record->type) {
	case GPUMON_RECORD_PROCESS:
		COPY(&process->record);
		process->has_record = true;
		return 0;
	case GPUMON_RECORD_THREAD: {
		struct gpumon_record_thread thread;

		COPY(&thread);
		return thread.name ? gpumon_map_set(&process->threads, thread.tid, thread.name) : 0;
	}
	case GPUMON_RECORD_CONTEXT: {
		struct gpumon_record_context context;

		COPY(&context);
		return gpumon_map_set(&process->contexts, context.id, (uint64_t)context.device + 1);
	}
	case GPUMON_RECORD_STRING:
		return add_string(tables, process, (const void *)record);
	case GPUMON_RECORD_FRAME:
		return add_frame(process, record);
	case GPUMON_RECORD_STACK:
		process->has_cut_stacks |= (record->flags & GPUMON_STACK_TRUNCATED) != 0;
		return add_stack(process, (const void *)record);
	case GPUMON_RECORD_DEVICE:
		return add_device(process, record);
	case GPUMON_RECORD_MAPPING:
		return add_mapping(process, record);
	case GPUMON_RECORD_UNMAPPING:
		return add_unmapping(process, record);
	case GPUMON_RECORD_LAUNCH:
		process->has_launches = true;
		process->has_unsampled |= record->flags & GPUMON_LAUNCH_UNSAMPLED;
		return 0;
	case GPUMON_RECORD_GRAPH_NODE:
		process->has_nodes = true;
		return 0;
	case GPUMON_RECORD_RANGE:
		process->has_ranges = true;
		return 0;
	case GPUMON_RECORD_WINDOW: {
		struct gpumon_record_window window;

		COPY(&window);
		process->is_cut |= window.head.flags & GPUMON_WINDOW_CUT;
		return gpumon_windows_add(&process->windows, &window);
	}
	default:
		return 0;
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
static int end_process(struct gpumon_tables_process *process, const char *symbol_root,
		       const char *path)
{
	char perf_map[4096];

	find_perf_map(process, path, perf_map, sizeof(perf_map));
	if (process->name) {
		char kept[4096];

		snprintf(kept, sizeof(kept), "%s/%s" GPUMON_STORED_NAMES_SUFFIX, path,
			 process->name);
		process->kept = gpumon_stored_names_read(kept);
	}
	if (process->root)
		symbol_root = process->root;
	process->symbols = gpumon_symbols_new(symbol_root ? symbol_root : "",
					      access(perf_map, R_OK) ? NULL : perf_map);
	if (!process->symbols)
		return -1;
	for (uint32_t i = 0; i < process->mapping_used; i++) {
		const char *file = gpumon_tables_string(process, process->mapping[i].path);

		if (gpumon_symbols_map(process->symbols, &process->mapping[i], file ? file : ""))
			return -1;
	}
	for (uint32_t i = 0; i < process->unmapping_used; i++) {
		uint64_t *time = GPUMON_ARRAY_ADD(process->unmapped, process->unmapped_used,
						  process->unmapped_room);

		if (!time)
			return -1;
		*time = process->unmapping[i].time_ns;
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
	return 0;
}

int gpumon_tables_capture(struct gpumon_tables *tables, uint32_t number, uint32_t first,
			  const struct gpumon_capture *capture)
{
	uint32_t count = gpumon_capture_processes(capture);

	if (count && !gpumon_tables_process(tables, first + count - 1))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = gpumon_capture_name(capture, i);

		tables->processes[first + i].capture = number;
		tables->processes[first + i].name = name ? gpumon_pool_text(tables->pool, name) :
							   NULL;
		if (name && !tables->processes[first + i].name)
			return -1;
	}
	return 0;
}

void gpumon_tables_expect(const struct gpumon_tables *tables, struct gpumon_correlate *correlate)
{
	for (uint32_t i = 0; i < tables->used; i++) {
		if (tables->processes[i].known)
			gpumon_correlate_expect_nodes(correlate, i, tables->processes[i].has_nodes);
	}
}

int gpumon_tables_end(struct gpumon_tables *tables, const char *const *paths)
{
	for (uint32_t i = 0; i < tables->used; i++) {
		gpumon_windows_end(&tables->processes[i].windows);
		if (end_process(&tables->processes[i], tables->symbol_root,
				paths[tables->processes[i].capture]))
			return -1;
	}
	return 0;
}

void gpumon_tables_clear(struct gpumon_tables *tables)
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
		gpumon_stored_names_free(process->kept);
		free(process->root);
		gpumon_windows_clear(&process->windows);
	}
	free(tables->processes);
	memset(tables, 0, sizeof(*tables));
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
