/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The table of processes, for programs that count by process. */
#ifndef GPUMON_BPF_SOURCE_PROCESS_BPF_H
#define GPUMON_BPF_SOURCE_PROCESS_BPF_H

#include "source.bpf.h"

struct task_struct {
	struct task_struct *group_leader;
	__u64 start_time;
	__u64 start_boottime;
	char comm[GPUMON_COMM_LEN];
} KERNEL_TYPE;

struct source_process processes[SOURCE_PROCESSES];

/*
 * Slot of the current task's process, SOURCE_NONE if the task is the idle one, or there is no room.
 */
__noinline __u32 process_of_current(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 start = BPF_CORE_READ(leader, start_time);
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	/* A reused pid has another start time. The pid tells processes of one start time apart. */
	__u64 key = mix(start, pid) | 1;
	struct source_process *process;
	bool created;
	__u32 slot;

	if (!pid)
		return SOURCE_NONE;
	slot = CLAIM(processes, SOURCE_PROCESSES, key, &created);
	if (slot >= SOURCE_PROCESSES)
		return slot;
	process = &processes[slot];
	/* Name and cgroup of a process may change. */
	process->cgroup_id = bpf_get_current_cgroup_id();
	BPF_CORE_READ_STR_INTO(&process->comm, leader, comm);
	if (!created)
		return slot;
	process->pid = pid;
	process->start_ns = start;
	process->start_boottime_ns = BPF_CORE_READ(leader, start_boottime);
	__sync_fetch_and_or(&process->ready, 1);
	return slot;
}

INLINE void process_add(__u32 slot, enum source_process_word word, __u64 n)
{
	if (slot >= SOURCE_PROCESSES)
		return;
	TESTED(slot);
	add(&processes[slot].words[word], n);
}

#endif /* GPUMON_BPF_SOURCE_PROCESS_BPF_H */
