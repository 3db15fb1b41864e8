// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Turns the kernel's events into capture records. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/memory.h"
#include "lib/wait.h"
#include "lib/process_info.h"
#include "uprobe_internal.h"
#include "uprobe_rule.h"
#include "uprobe_waits.h"

/* Longer strings are cut: paths and arguments of a process. */
#define STRING_MAX 4096

void gpumon_uprobes_give(struct gpumon_uprobes *uprobes, uint32_t tid, uint16_t type, void *record,
			 size_t size)
{
	struct gpumon_record *head = record;

	head->type = type;
	head->size = (uint32_t)size;
	if (!uprobes->tap)
		return;
	uprobes->given++;
	uprobes->tap(uprobes->tap_data, tid, head);
}

static size_t string_length(const char *text)
{
	size_t length = strlen(text);

	return length < STRING_MAX ? length : STRING_MAX;
}

static uint32_t intern_string(struct gpumon_uprobes *uprobes, const char *text, bool *is_new)
{
	size_t length = string_length(text);
	uint32_t id;

	*is_new = false;
	if (!length)
		return 0;
	id = gpumon_intern_bytes(&uprobes->strings, text, (uint32_t)length, is_new);
	return id;
}

static void give_string(struct gpumon_uprobes *uprobes, uint32_t id, const char *text)
{
	size_t length = string_length(text);
	size_t size = (sizeof(struct gpumon_record_string) + length + 7) & ~(size_t)7;
	struct gpumon_record_string *record = gpumon_calloc(1, size);

	record->id = id;
	record->length = (uint32_t)length;
	memcpy(record->text, text, length);
	gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_STRING, record, size);
	free(record);
}

/* 0 for an empty text. */
static uint32_t string_id(struct gpumon_uprobes *uprobes, const char *text)
{
	bool is_new;
	uint32_t id = intern_string(uprobes, text, &is_new);

	if (is_new)
		give_string(uprobes, id, text);
	return id;
}

/* --- the process */

void gpumon_uprobes_begin(struct gpumon_uprobes *uprobes)
{
	struct gpumon_record_process record = { 0 };
	struct gpumon_process_info *info = gpumon_calloc(1, sizeof(*info));
	char host[65] = "";
	bool is_new[4];

	uprobes->began = true;
	gpumon_process_info_read(info, uprobes->root, uprobes->pid);
	gethostname(host, sizeof(host) - 1);
	record.pid = (uint32_t)uprobes->pid_there;
	record.parent =
		(uint32_t)gpumon_process_inner_parent(uprobes->root, uprobes->pid, info->parent);
	record.host_pid = (uint32_t)uprobes->pid;
	record.rank = info->rank;
	record.start_ns = info->start_ns;
	record.pid_namespace = info->pid_namespace;
	gpumon_boot_id_read(record.boot_id, uprobes->root);
	record.host = intern_string(uprobes, host, &is_new[0]);
	record.executable = intern_string(uprobes, info->executable, &is_new[1]);
	record.command = intern_string(uprobes, info->command, &is_new[2]);
	record.cgroup = intern_string(uprobes, info->cgroup, &is_new[3]);
	/* This record comes first, even before its strings. */
	gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_PROCESS, &record, sizeof(record));
	if (is_new[0])
		give_string(uprobes, record.host, host);
	if (is_new[1])
		give_string(uprobes, record.executable, info->executable);
	if (is_new[2])
		give_string(uprobes, record.command, info->command);
	if (is_new[3])
		give_string(uprobes, record.cgroup, info->cgroup);
	free(info);
}

void gpumon_uprobes_note(struct gpumon_uprobes *uprobes, const char *format, ...)
{
	struct gpumon_record_note record = { .time_ns = gpumon_monotonic_ns() };
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	record.text = string_id(uprobes, text);
	gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_NOTE, &record, sizeof(record));
}

void gpumon_uprobes_give_map(struct gpumon_uprobes *uprobes, const struct gpumon_uprobe_map *map,
			     uint64_t time_ns)
{
	struct gpumon_record_mapping record = {
		.time_ns = time_ns,
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.inode = map->file->inode,
		.device = map->file->device,
		.path = string_id(uprobes, map->file->path),
		.build_id_size = map->file->build_id_size,
	};

	memcpy(record.build_id, map->file->build_id, sizeof(record.build_id));
	gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_MAPPING, &record, sizeof(record));
}

void gpumon_uprobes_give_unmap(struct gpumon_uprobes *uprobes, const struct gpumon_uprobe_map *map,
			       uint64_t time_ns)
{
	struct gpumon_record_unmapping record = {
		.time_ns = time_ns,
		.start = map->start,
		.end = map->end,
	};

	gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_UNMAPPING, &record, sizeof(record));
}

/* --- losses */

static void give_loss(struct gpumon_uprobes *uprobes, uint32_t cause, uint64_t count)
{
	struct gpumon_record_loss record = {
		.time_ns = gpumon_monotonic_ns(),
		.count = count,
		.cause = cause,
	};

	if (count)
		gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_LOSS, &record, sizeof(record));
}

void gpumon_uprobes_losses(struct gpumon_uprobes *uprobes)
{
	uint64_t now[UPROBE_COUNTERS], hits, stacks, undecided;

	gpumon_uprobe_program_counters(uprobes->program, now);
	hits = now[UPROBE_LOST_RING] + now[UPROBE_LOST_THREAD] - uprobes->told[UPROBE_LOST_RING] -
	       uprobes->told[UPROBE_LOST_THREAD];
	stacks = now[UPROBE_LOST_STACK] + uprobes->lost_here - uprobes->told[UPROBE_LOST_STACK];
	undecided = now[UPROBE_LOST_UNDECIDED] + uprobes->undecided_here -
		    uprobes->told[UPROBE_LOST_UNDECIDED];
	give_loss(uprobes, GPUMON_LOSS_UPROBE_RING, hits);
	give_loss(uprobes, GPUMON_LOSS_UPROBE_STACK, stacks);
	give_loss(uprobes, GPUMON_LOSS_UPROBE_UNDECIDED, undecided);
	uprobes->told[UPROBE_LOST_RING] = now[UPROBE_LOST_RING];
	uprobes->told[UPROBE_LOST_THREAD] = now[UPROBE_LOST_THREAD];
	uprobes->told[UPROBE_LOST_STACK] = now[UPROBE_LOST_STACK] + uprobes->lost_here;
	uprobes->told[UPROBE_LOST_UNDECIDED] += undecided;
}

/* --- stacks */

/* Remembered in place of the id: the call is nested, or is a hit without a stack. */
#define STACK_NESTED	UINT32_MAX
#define STACK_NOT_TAKEN (UINT32_MAX - 1)

/* Remember the id of a kernel stack. Stacks of a single hit are only kept for a while. */
static void remember_kernel(struct gpumon_uprobes *uprobes, uint32_t kernel_id, bool once,
			    uint32_t id)
{
	uint32_t *ids = uprobes->stack_ids, room = uprobes->stack_ids_room;

	if (once) {
		uprobes->once[kernel_id & (GPUMON_UPROBE_ONCE - 1)] =
			(struct gpumon_uprobe_once){ kernel_id, id };
		return;
	}
	if (kernel_id >= room) {
		while (kernel_id >= room)
			room = room ? 2 * room : 1024;
		ids = gpumon_reallocarray(ids, room, sizeof(*ids));
		memset(ids + uprobes->stack_ids_room, 0,
		       (room - uprobes->stack_ids_room) * sizeof(*ids));
		uprobes->stack_ids = ids;
		uprobes->stack_ids_room = room;
	}
	ids[kernel_id] = id;
}

static uint32_t recall_kernel(const struct gpumon_uprobes *uprobes, uint32_t kernel_id)
{
	const struct gpumon_uprobe_once *once =
		&uprobes->once[kernel_id & (GPUMON_UPROBE_ONCE - 1)];

	if (once->kernel_id == kernel_id)
		return once->id;
	return kernel_id < uprobes->stack_ids_room ? uprobes->stack_ids[kernel_id] : 0;
}

/*
 * Cut the stack at a frame outside executable memory. Frame pointers led there in code that has
 * none, so everything above it is wrong.
 */
static void cut_off(struct gpumon_uprobes *uprobes, struct uprobe_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		uint64_t pc = stack->frames[i] - (i ? 1 : 0);

		if (gpumon_uprobe_process_map(&uprobes->process, pc))
			continue;
		/* The address may have been mapped just now. */
		gpumon_uprobes_rescan(uprobes, GPUMON_RESCAN_UNKNOWN);
		if (gpumon_uprobe_process_map(&uprobes->process, pc))
			continue;
		stack->count = i;
		stack->flags |= UPROBE_TRUNCATED;
	}
}

uint32_t gpumon_uprobes_intern_stack(struct gpumon_uprobes *uprobes, struct uprobe_stack *stack)
{
	_Alignas(uint64_t) char room[sizeof(struct gpumon_record_stack) +
				     (UPROBE_DEPTH + 1) * sizeof(uint64_t)] = { 0 };
	struct gpumon_record_stack *record = (void *)room;
	uint32_t size, id;
	bool is_new;

	cut_off(uprobes, stack);
	memcpy(record->frames, stack->frames, stack->count * sizeof(uint64_t));
	/* Complete and truncated stacks with the same frames have different ids. */
	record->frames[stack->count] = stack->flags & UPROBE_TRUNCATED;
	size = stack->count * (uint32_t)sizeof(uint64_t);
	id = gpumon_intern_bytes(&uprobes->stacks, record->frames,
				 size + (uint32_t)sizeof(uint64_t), &is_new);
	if (!is_new)
		return id;
	record->head.flags = stack->flags & UPROBE_TRUNCATED ? GPUMON_STACK_TRUNCATED : 0;
	record->id = id;
	record->count = stack->count;
	gpumon_uprobes_give(uprobes, 0, GPUMON_RECORD_STACK, record, sizeof(*record) + size);
	return id;
}

static void give_stack(struct gpumon_uprobes *uprobes, struct uprobe_stack *stack)
{
	uint32_t id = gpumon_uprobes_intern_stack(uprobes, stack);

	remember_kernel(uprobes, stack->id, stack->flags & UPROBE_ONCE, id);
}

/* Learn each rule only once. Replacing an entry in use could mix it up with another. */
static void rule_learnt(void *data, uint64_t pc, const struct uprobe_rule *rule)
{
	struct gpumon_uprobes *uprobes = data;
	bool is_new;

	(void)gpumon_intern_bytes(&uprobes->rules, &pc, sizeof(pc), &is_new);
	if (is_new)
		gpumon_uprobe_program_rule(uprobes->program, pc, rule);
}

/* Forget rules for addresses whose code is unmapped. The others stay. */
void gpumon_uprobes_forget(struct gpumon_uprobes *uprobes)
{
	const struct gpumon_uprobe_process *process = &uprobes->process;
	struct gpumon_intern old = uprobes->rules;
	bool is_new;

	uprobes->rules = (struct gpumon_intern){ 0 };
	for (uint32_t i = 0; i < old.n; i++) {
		bool gone = false;
		uint64_t pc;

		memcpy(&pc, old.texts[i], sizeof(pc));
		for (unsigned int j = 0; j < process->unmapped_count && !gone; j++)
			gone = pc - 1 >= process->unmapped[j].start &&
			       pc - 1 < process->unmapped[j].end;
		if (gone)
			gpumon_uprobe_program_rule(uprobes->program, pc, NULL);
		else
			(void)gpumon_intern_bytes(&uprobes->rules, &pc, sizeof(pc), &is_new);
	}
	gpumon_intern_clear(&old);
}

/* @event is in the kernel's read-only memory. */
static void on_copy(struct gpumon_uprobes *uprobes, const void *event, size_t size)
{
	struct uprobe_copy *copy = uprobes->copy;
	enum gpumon_uprobe_nesting nesting;

	memcpy(copy, event, size < sizeof(*copy) ? size : sizeof(*copy));
	gpumon_uprobe_program_copy_seen(uprobes->program);
	/* Rules describe mapped code, and the mappings may have changed just now. */
	if (gpumon_uprobe_program_unsettled(uprobes->program))
		gpumon_uprobes_rescan(uprobes, GPUMON_RESCAN_LINKER);
	nesting = gpumon_uprobe_unwind(&uprobes->process,
				       gpumon_uprobe_program_get_ranges(uprobes->program), copy,
				       uprobes->options.stack_depth, rule_learnt, uprobes);
	if (nesting == GPUMON_UPROBE_NESTED)
		remember_kernel(uprobes, copy->stack.id, true, STACK_NESTED);
	else if (nesting == GPUMON_UPROBE_UNDECIDED)
		remember_kernel(uprobes, copy->stack.id, true, 0);
	else if (uprobes->options.no_stacks)
		remember_kernel(uprobes, copy->stack.id, true, STACK_NOT_TAKEN);
	else
		give_stack(uprobes, &copy->stack);
}

/* --- hits */

/* The map contains these numbers plus 1. */
static uint64_t added_numbers(const struct gpumon_uprobes *uprobes, uint32_t tid)
{
	uint64_t added = gpumon_map_get(&uprobes->added, tid);

	return added ? added - 1 : 0;
}

static void add_number(struct gpumon_uprobes *uprobes, uint32_t tid)
{
	gpumon_map_set(&uprobes->added, tid, added_numbers(uprobes, tid) + 2);
}

/*
 * A call that the kernel could not decide is nested, a hit, or lost if its copy did not decide, or
 * is too long ago. If it is not nested, it has a number after that of the hit before. Returns
 * whether it is a hit.
 */
static bool decide(struct gpumon_uprobes *uprobes, const struct uprobe_hit *hit, uint32_t stack)
{
	if (stack == STACK_NESTED) {
		uprobes->nested_here++;
		return false;
	}
	add_number(uprobes, hit->tid);
	if (!stack) {
		uprobes->undecided_here++;
		return false;
	}
	uprobes->unseen_here += hit->flags & UPROBE_BLOCKING && !hit->duration_ns;
	return true;
}

void gpumon_uprobes_give_hit(void *data, const struct uprobe_hit *hit)
{
	struct gpumon_uprobes *uprobes = data;
	uint32_t stack = hit->stack ? recall_kernel(uprobes, hit->stack) : 0;
	struct gpumon_record_hit record = {
		.time_ns = hit->time_ns,
		.duration_ns = hit->duration_ns,
		.tid = hit->tid,
	};

	if (hit->flags & UPROBE_UNDECIDED && !decide(uprobes, hit, stack))
		return;
	record.number = hit->number + added_numbers(uprobes, hit->tid);
	if (hit->flags & UPROBE_BLOCKING)
		record.head.flags |= GPUMON_HIT_BLOCKING;
	if (hit->function < uprobes->function_count)
		record.function = string_id(uprobes, uprobes->functions[hit->function]);
	if (hit->stack && !uprobes->options.no_stacks) {
		record.stack = stack;
		uprobes->lost_here += !record.stack;
	}
	gpumon_uprobes_give(uprobes, hit->tid, GPUMON_RECORD_HIT, &record, sizeof(record));
}

static void on_thread(struct gpumon_uprobes *uprobes, const struct uprobe_thread_event *event)
{
	struct gpumon_record_thread record = { .tid = event->tid };
	char name[UPROBE_COMM_SIZE + 1] = "";

	/* The id may have belonged to a thread that has ended. */
	if (added_numbers(uprobes, event->tid))
		gpumon_map_set(&uprobes->added, event->tid, 1);
	memcpy(name, event->comm, UPROBE_COMM_SIZE);
	record.name = string_id(uprobes, name);
	record.host_tid = event->host_tid;
	gpumon_uprobes_give(uprobes, event->tid, GPUMON_RECORD_THREAD, &record, sizeof(record));
	if (uprobes->waits)
		gpumon_uprobe_waits_caller(uprobes->waits, event->tid, event->host_tid);
}

void gpumon_uprobes_event(void *data, void *event, size_t size)
{
	struct gpumon_uprobes *uprobes = data;
	uint32_t type = *(uint32_t *)event;
	struct uprobe_stack *stack;

	switch (type) {
	case UPROBE_HIT:
		gpumon_uprobes_give_hit(uprobes, event);
		break;
	case UPROBE_STACK:
		/* The kernel sent only the frames that are used. */
		stack = &uprobes->copy->stack;
		memcpy(stack, event, size < sizeof(*stack) ? size : sizeof(*stack));
		give_stack(uprobes, stack);
		break;
	case UPROBE_COPY:
		on_copy(uprobes, event, size);
		break;
	case UPROBE_THREAD:
		on_thread(uprobes, event);
		break;
	case UPROBE_EXEC:
		uprobes->state = GPUMON_UPROBES_EXEC;
		break;
	default:
		break;
	}
}
