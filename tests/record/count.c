// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * count DIR: prints the contents of a capture as JSON for the tests: a line for each process, one
 * for the driver's file, and one for the whole capture.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

#define PROCESSES_MAX 4096

struct process {
	uint32_t pid;
	uint32_t host_pid;
	uint32_t rank;
	uint32_t cgroup;
	uint64_t records;
	uint64_t descriptions;
	uint64_t first_type;
	uint64_t launches;
	uint32_t first_launch; /* correlation ids */
	uint32_t last_launch;
	uint64_t kernels;
	uint64_t kernel_ns;
	uint64_t lost;
	uint64_t totals;
	uint64_t total_launches;
	uint64_t notes;
	uint64_t hits;
	int cgroup_known;
};

static struct process processes[PROCESSES_MAX + 1];

static void take(struct process *process, const struct gpumon_record *record)
{
	union {
		struct gpumon_record_process process;
		struct gpumon_record_launch launch;
		struct gpumon_record_kernel kernel;
		struct gpumon_record_loss loss;
		struct gpumon_record_totals totals;
	} copy;

	if (!process->records++)
		process->first_type = record->type;
	switch (record->type) {
	case GPUMON_RECORD_PROCESS:
		gpumon_record_copy(&copy.process, sizeof(copy.process), record);
		process->pid = copy.process.pid;
		process->host_pid = copy.process.host_pid;
		process->rank = copy.process.rank;
		process->cgroup = copy.process.cgroup;
		process->descriptions++;
		break;
	case GPUMON_RECORD_STRING:
		if (process->cgroup &&
		    ((const struct gpumon_record_string *)record)->id == process->cgroup)
			process->cgroup_known = 1;
		break;
	case GPUMON_RECORD_LAUNCH:
		gpumon_record_copy(&copy.launch, sizeof(copy.launch), record);
		if (!process->launches++ || copy.launch.correlation < process->first_launch)
			process->first_launch = copy.launch.correlation;
		if (copy.launch.correlation > process->last_launch)
			process->last_launch = copy.launch.correlation;
		break;
	case GPUMON_RECORD_KERNEL:
		gpumon_record_copy(&copy.kernel, sizeof(copy.kernel), record);
		process->kernels++;
		process->kernel_ns += copy.kernel.end_ns - copy.kernel.start_ns;
		break;
	case GPUMON_RECORD_LOSS:
		gpumon_record_copy(&copy.loss, sizeof(copy.loss), record);
		process->lost += copy.loss.count;
		break;
	case GPUMON_RECORD_TOTALS:
		gpumon_record_copy(&copy.totals, sizeof(copy.totals), record);
		process->totals++;
		process->total_launches = copy.totals.launches;
		break;
	case GPUMON_RECORD_HIT:
		process->hits++;
		break;
	case GPUMON_RECORD_NOTE:
		process->notes++;
		break;
	}
}

static void print(const struct process *process, const char *kind)
{
	printf("{\"kind\":\"%s\",\"pid\":%u,\"host_pid\":%u,\"rank\":%d,\"cgroup\":%d,\"records\":%" PRIu64
	       ",\"descriptions\":%" PRIu64 ",\"first_type\":%" PRIu64 ",\"launches\":%" PRIu64
	       ",\"first_launch\":%u,\"last_launch\":%u,\"kernels\":%" PRIu64
	       ",\"kernel_ns\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"totals\":%" PRIu64
	       ",\"total_launches\":%" PRIu64 ",\"notes\":%" PRIu64 ",\"hits\":%" PRIu64 "}\n",
	       kind, process->pid, process->host_pid, (int)process->rank, process->cgroup_known,
	       process->records, process->descriptions, process->first_type, process->launches,
	       process->first_launch, process->last_launch, process->kernels, process->kernel_ns,
	       process->lost, process->totals, process->total_launches, process->notes,
	       process->hits);
}

int main(int argc, char **argv)
{
	const struct gpumon_capture_damage *damage;
	const struct gpumon_record *record;
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;

	if (argc != 2)
		return 2;
	if (gpumon_capture_open(argv[1], &capture)) {
		fprintf(stderr, "count: %s\n", gpumon_capture_error()->message);
		return 1;
	}
	while ((record = gpumon_capture_next(capture, &cursor)))
		take(&processes[cursor.process < PROCESSES_MAX ? cursor.process : PROCESSES_MAX],
		     record);
	for (uint32_t i = 0; i < gpumon_capture_processes(capture) && i < PROCESSES_MAX; i++)
		print(&processes[i], "process");
	print(&processes[PROCESSES_MAX], "driver");
	damage = gpumon_capture_damage(capture);
	printf("{\"kind\":\"capture\",\"ended\":%s,\"truncated\":%" PRIu64 ",\"broken\":%" PRIu64
	       ",\"missing\":%" PRIu64 "}\n",
	       gpumon_capture_info(capture)->ended ? "true" : "false", damage->truncated_bytes,
	       damage->broken_chunks + damage->broken_records, damage->missing_chunks);
	gpumon_capture_free(capture);
	return 0;
}
