// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Replaces program.c in builds without clang or bpftool. Loading reports that, and the other
 * functions are never called.
 */
#include <string.h>

#include "uprobe_program.h"

#ifndef GPUMON_BPF

#pragma GCC diagnostic ignored "-Wunused-parameter"

struct gpumon_uprobe_program *gpumon_uprobe_program_load(const struct gpumon_uprobe_setup *setup,
							 void (*event)(void *data, void *event,
								       size_t size),
							 void *data, struct gpumon_error *err)
{
	gpumon_uprobe_program_possible("", err);
	return NULL;
}

void gpumon_uprobe_program_probe(struct gpumon_uprobe_program *program,
				 enum gpumon_uprobe_hook hook, pid_t tid, int fd,
				 struct gpumon_uprobe_point *points, unsigned int count)
{
}

bool gpumon_uprobe_program_one_by_one(const struct gpumon_uprobe_program *program)
{
	return true;
}

void gpumon_uprobe_program_run(struct gpumon_uprobe_program *program, bool run)
{
}

void gpumon_uprobe_program_unprobe(struct gpumon_uprobe_program *program)
{
}

int gpumon_uprobe_program_fd(const struct gpumon_uprobe_program *program)
{
	return -1;
}

int gpumon_uprobe_program_consume(struct gpumon_uprobe_program *program)
{
	return 0;
}

bool gpumon_uprobe_program_ranges(struct gpumon_uprobe_program *program,
				  const struct uprobe_range *ranges, unsigned int count)
{
	return true;
}

const struct uprobe_ranges *
gpumon_uprobe_program_get_ranges(const struct gpumon_uprobe_program *program)
{
	return NULL;
}

void gpumon_uprobe_program_rule(struct gpumon_uprobe_program *program, uint64_t pc,
				const struct uprobe_rule *rule)
{
}

void gpumon_uprobe_program_copy_seen(struct gpumon_uprobe_program *program)
{
}

void gpumon_uprobe_program_new_generation(struct gpumon_uprobe_program *program)
{
}

uint64_t gpumon_uprobe_program_changes(const struct gpumon_uprobe_program *program)
{
	return 0;
}

uint64_t gpumon_uprobe_program_devices(const struct gpumon_uprobe_program *program)
{
	return 0;
}

bool gpumon_uprobe_program_unsettled(const struct gpumon_uprobe_program *program)
{
	return false;
}

void gpumon_uprobe_program_settle(struct gpumon_uprobe_program *program, uint64_t changes)
{
}

void gpumon_uprobe_program_counters(const struct gpumon_uprobe_program *program,
				    uint64_t counters[UPROBE_COUNTERS])
{
	memset(counters, 0, UPROBE_COUNTERS * sizeof(*counters));
}

bool gpumon_uprobe_program_runs(const struct gpumon_uprobe_program *program)
{
	return false;
}

bool gpumon_uprobe_program_in_call(const struct gpumon_uprobe_program *program, uint32_t host_tid)
{
	return false;
}

void gpumon_uprobe_program_each_pending(struct gpumon_uprobe_program *program,
					void (*each)(void *data, const struct uprobe_hit *hit),
					void *data)
{
}

void gpumon_uprobe_program_free(struct gpumon_uprobe_program *program)
{
}

#endif /* !GPUMON_BPF */
