/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that submit, in a bounded table that survives reuse of a pid. */
#ifndef GPUMON_PROCESS_H
#define GPUMON_PROCESS_H

#include <linux/sched.h>

#include "counters.h"
#include "table.h"

/**
 * struct gpumon_process - who a slot belongs to
 * @pid: process id (thread group) in the initial pid namespace
 * @ready: set when the other fields are
 * @start_ns: when it started, CLOCK_MONOTONIC, tells two users of a pid apart
 * @comm: its name when it was first seen
 */
struct gpumon_process {
	u32 pid;
	bool ready;
	u64 start_ns;
	char comm[TASK_COMM_LEN];
};

/**
 * struct gpumon_process_totals - what is known beyond the table
 * @exited: processes that were aged out
 * @jobs_exited: their jobs
 */
struct gpumon_process_totals {
	u64 exited;
	u64 jobs_exited;
};

extern struct gpumon_table gpumon_process_table;
extern struct gpumon_process *gpumon_processes;
extern struct gpumon_counters gpumon_process_counters;
extern atomic_t gpumon_process_generation;

int gpumon_process_init(u32 max_processes);
void gpumon_process_exit(void);
void gpumon_process_close(void);
void gpumon_process_age(void);
void gpumon_process_totals(bool closed, struct gpumon_process_totals *totals);
bool gpumon_process_alive(u32 slot, char comm[TASK_COMM_LEN]);
size_t gpumon_process_bytes(void);
u32 gpumon_process_learn(u64 key);

/**
 * gpumon_process_ready - is a process in this slot
 * @slot: slot
 *
 * Return: whether its fields can be read.
 */
static inline bool gpumon_process_ready(u32 slot)
{
	/* Pairs with the release in gpumon_process_learn(): the fields are there. */
	return smp_load_acquire(&gpumon_processes[slot].ready);
}

/**
 * gpumon_process_count_job - count a job to the process that submits it
 * @cpu: this CPU's memory
 *
 * Context: task context of the submitter, preemption off.
 * Return: slot of the process, GPUMON_NONE if the table is full.
 */
static __always_inline u32 gpumon_process_count_job(struct gpumon_cpu *cpu)
{
	const struct task_struct *leader = current->group_leader;
	/* Start times differ even where pids come again; the pid parts those born at once. */
	u64 key = leader->start_time ^ ((u64)current->tgid << 42);
	u32 slot = gpumon_table_find(&gpumon_process_table,
				     gpumon_table_home(&gpumon_process_table, key), key,
				     GPUMON_TABLE_WAYS);

	if (unlikely(slot == GPUMON_NONE)) {
		slot = gpumon_process_learn(key);
		if (slot == GPUMON_NONE)
			return slot;
	}
	local64_inc(&cpu->processes[slot]);
	return slot;
}

#endif /* GPUMON_PROCESS_H */
