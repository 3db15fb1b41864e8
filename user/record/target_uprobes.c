// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/process_info.h"
#include "target_perf_map.h"
#include "target.h"
#include "target_uprobes.h"
#include "uprobe.h"

#define ROOM 65536
/* Frames of a machine stack, which is sent whole. */
#define DEPTH_MAX 256
#define DEPTH_MIN 2

/**
 * struct gpumon_probed - a process recorded by uprobes
 * @uprobes: NULL once they are removed
 * @records: records of one thread, not yet written
 * @map: perf map of generated code
 * @problem: a failure that was not reported yet
 * @tid: thread of @records
 */
struct gpumon_probed {
	struct gpumon_capture_writer *writer;
	const char *root;
	pid_t pid;
	struct gpumon_uprobes_options options;
	struct gpumon_uprobes *uprobes;
	struct gpumon_capture_file *file;
	struct gpumon_probed_counts counts;
	struct gpumon_runtime_map map;
	char problem[256];
	uint32_t tid;
	size_t size;
	uint8_t records[ROOM];
};

static void write_records(struct gpumon_probed *probed)
{
	if (probed->size && !gpumon_capture_append_limited(probed->file, probed->tid,
							   probed->records, probed->size))
		probed->counts.bytes += probed->size;
	probed->size = 0;
}

static void on_record(void *data, uint32_t tid, const struct gpumon_record *record)
{
	struct gpumon_probed *probed = data;

	if (record->type == GPUMON_RECORD_HIT)
		probed->counts.hits++;
	if (record->type == GPUMON_RECORD_LOSS) {
		struct gpumon_record_loss loss;

		gpumon_record_copy(&loss, sizeof(loss), record);
		if (loss.cause < GPUMON_LOSS_CAUSES)
			probed->counts.lost[loss.cause] += loss.count;
	}
	if (probed->tid != tid || probed->size + record->size > ROOM)
		write_records(probed);
	probed->tid = tid;
	if (record->size > ROOM) {
		if (!gpumon_capture_append_limited(probed->file, tid, record, record->size))
			probed->counts.bytes += record->size;
		return;
	}
	memcpy(probed->records + probed->size, record, record->size);
	probed->size += record->size;
}

/* The file for the current program. After exec() it is another one. */
static int add_file(struct gpumon_probed *probed, struct gpumon_error *err)
{
	struct gpumon_process_info info;

	gpumon_process_info_read(&info, probed->root, probed->pid);
	return gpumon_target_add_file(probed->writer, (uint32_t)probed->pid, info.start_ticks,
				      &probed->file, err);
}

struct gpumon_probed *gpumon_probed_new(struct gpumon_capture_writer *writer, const char *root,
					pid_t pid, const struct gpumon_message_settings *settings,
					struct gpumon_error *err)
{
	struct gpumon_probed *probed = gpumon_calloc(1, sizeof(*probed));

	probed->writer = writer;
	probed->root = root;
	probed->pid = pid;
	probed->options.root = root;
	probed->options.no_stacks = !(settings->record & GPUMON_RECORD_STACKS);
	probed->options.no_blocking = !(settings->record & GPUMON_RECORD_BLOCKING);
	probed->options.wait_hz = settings->wait_hz;
	probed->options.stack_depth = settings->stack_depth;
	if (probed->options.stack_depth > DEPTH_MAX)
		probed->options.stack_depth = DEPTH_MAX;
	if (probed->options.stack_depth < DEPTH_MIN)
		probed->options.stack_depth = DEPTH_MIN;
	probed->uprobes = gpumon_uprobes_attach(pid, &probed->options, err);
	if (!probed->uprobes || add_file(probed, err)) {
		gpumon_uprobes_detach(probed->uprobes, NULL, NULL);
		free(probed);
		return NULL;
	}
	gpumon_runtime_map_begin(&probed->map, root, pid);
	return probed;
}

/* After exec() the process has another program, which may not use a GPU. */
static void attach_again(struct gpumon_probed *probed)
{
	struct gpumon_error err;

	gpumon_probed_end(probed);
	probed->uprobes = gpumon_uprobes_watch(probed->pid, &probed->options, &err);
	if (!probed->uprobes || add_file(probed, &err)) {
		gpumon_uprobes_detach(probed->uprobes, NULL, NULL);
		probed->uprobes = NULL;
	}
	gpumon_runtime_map_begin(&probed->map, probed->root, probed->pid);
}

void gpumon_probed_drain(struct gpumon_probed *probed)
{
	if (!probed->uprobes)
		return;
	(void)gpumon_uprobes_poll(probed->uprobes, 0, on_record, probed);
	write_records(probed);
	gpumon_runtime_map_look(&probed->map);
	switch (gpumon_uprobes_state(probed->uprobes)) {
	case GPUMON_UPROBES_RUNNING:
		break;
	case GPUMON_UPROBES_EXITED:
		gpumon_probed_end(probed);
		break;
	case GPUMON_UPROBES_EXEC:
		attach_again(probed);
		break;
	}
}

uint64_t gpumon_probed_due_ns(const struct gpumon_probed *probed)
{
	return probed->uprobes ? gpumon_uprobes_due_ns(probed->uprobes) : UINT64_MAX;
}

bool gpumon_probed_ended(const struct gpumon_probed *probed)
{
	return !probed->uprobes;
}

void gpumon_probed_get_counts(const struct gpumon_probed *probed,
			      struct gpumon_probed_counts *counts)
{
	*counts = probed->counts;
}

bool gpumon_probed_problem(struct gpumon_probed *probed, char *text, size_t room)
{
	if (!probed->problem[0])
		return false;
	snprintf(text, room, "%s", probed->problem);
	probed->problem[0] = '\0';
	return true;
}

void gpumon_probed_end(struct gpumon_probed *probed)
{
	struct gpumon_error err;

	if (!probed->uprobes)
		return;
	gpumon_uprobes_detach(probed->uprobes, on_record, probed);
	probed->uprobes = NULL;
	write_records(probed);
	if (gpumon_runtime_map_end(&probed->map, probed->file, probed->pid, &err))
		snprintf(probed->problem, sizeof(probed->problem), "%.255s", err.message);
	gpumon_capture_end_file(probed->file);
	probed->file = NULL;
}

void gpumon_probed_free(struct gpumon_probed *probed)
{
	if (!probed)
		return;
	gpumon_probed_end(probed);
	free(probed);
}
