/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that submit work, in a bounded table that survives reuse of a pid. */
#ifndef GPUMON_PROCESS_H
#define GPUMON_PROCESS_H

#include <linux/sched.h>

#include "core/counters.h"
#include "core/table.h"

/**
 * enum gpumon_process_word - counts of a process, by any group
 * @GPUMON_PROCESS_JOBS: jobs queued to the DRM scheduler
 * @GPUMON_PROCESS_SUBMISSIONS: submissions to a driver's own interface
 * @GPUMON_PROCESS_ALLOCATED_BYTES: bytes of the buffers it allocated
 * @GPUMON_PROCESS_MAPPED_BYTES: bytes it mapped
 * @GPUMON_PROCESS_IOCTLS: ioctls on a driver's devices
 * @GPUMON_PROCESS_FAULTS: page faults on mappings of a driver's devices
 * @GPUMON_PROCESS_OPENS: devices opened
 * @GPUMON_PROCESS_CLOSES: devices closed, of those that it was seen to open
 * @GPUMON_PROCESS_WORDS: number of these
 * @GPUMON_PROCESS_OWN_WORDS: so many of the first ones each CPU counts for itself, a power of two: the
 *                            others are rarer, and shared by all CPUs. Only amdgpu and i915 count submissions
 * @GPUMON_PROCESS_COUNTED: so many of the first ones are counted by the drivers that there are
 */
enum gpumon_process_word {
	GPUMON_PROCESS_JOBS,
	GPUMON_PROCESS_SUBMISSIONS,
	GPUMON_PROCESS_ALLOCATED_BYTES,
	GPUMON_PROCESS_MAPPED_BYTES,
	GPUMON_PROCESS_IOCTLS,
	GPUMON_PROCESS_FAULTS,
	GPUMON_PROCESS_OPENS,
	GPUMON_PROCESS_CLOSES,
	GPUMON_PROCESS_WORDS,
	GPUMON_PROCESS_OWN_WORDS = GPUMON_HAS_amdgpu || GPUMON_HAS_i915 ?
					   GPUMON_PROCESS_SUBMISSIONS + 1 : GPUMON_PROCESS_JOBS + 1,
	GPUMON_PROCESS_COUNTED = GPUMON_HAS_amdgpu || GPUMON_HAS_i915 || GPUMON_HAS_nvidia ?
					 GPUMON_PROCESS_WORDS : GPUMON_PROCESS_OWN_WORDS
};

/**
 * enum gpumon_process_level - what a process has now, of what was seen to begin since its group started
 * @GPUMON_PROCESS_VRAM_BYTES: bytes of the buffers of amdgpu that it created and that are in VRAM
 * @GPUMON_PROCESS_LIVE_OBJECT_BYTES: bytes of the objects of i915 that it created and that live
 * @GPUMON_PROCESS_LEVELS: number of these
 */
enum gpumon_process_level {
	GPUMON_PROCESS_VRAM_BYTES,
	GPUMON_PROCESS_LIVE_OBJECT_BYTES,
	GPUMON_PROCESS_LEVELS
};

/**
 * struct gpumon_process - the process of a slot
 * @id: number that no other process has had, 0 while the slot is free, see gpumon_process_id()
 * @pid: process id (thread group) in the initial pid namespace
 * @ready: set when the other fields are
 * @begun: by level: something was seen to begin, else the level is unknown
 * @start_ns: when it started, CLOCK_MONOTONIC, distinguishes two users of a pid
 * @task: its first thread, also after its end, until that was noticed; NULL then
 * @cgroup_id: id of its cgroup (version 2), 0 if there is none
 * @cgroup: path of its cgroup; NULL until gpumon_process_refresh() was called, or without memory
 * @opens_before: its count of opens when levels last started over
 * @closes_before: its count of closes at that time
 * @level: its levels, by enum gpumon_process_level
 * @comm: its name
 *
 * Name and cgroup are those at the last gpumon_process_refresh(); before it those at the first event;
 * after the end of the process its last ones.
 */
struct gpumon_process {
	u64 id;
	u32 pid;
	bool ready;
	bool begun[GPUMON_PROCESS_LEVELS];
	u64 start_ns;
	struct task_struct *task;
	u64 cgroup_id;
	char *cgroup;
	u64 opens_before;
	u64 closes_before;
	atomic64_t level[GPUMON_PROCESS_LEVELS];
	char comm[TASK_COMM_LEN];
};

/**
 * struct gpumon_process_totals - sums of processes that are not in the table any more
 * @exited: processes that were aged out
 * @words: sums of their counts
 */
struct gpumon_process_totals {
	u64 exited;
	u64 words[GPUMON_PROCESS_WORDS];
};

/**
 * struct gpumon_process_user - what else counts by slots of processes
 * @look: called once before @leave
 * @leave: called for each process that is gone, before its slot is freed; returns false if the slot is
 *         still needed
 */
struct gpumon_process_user {
	void (*look)(void);
	bool (*leave)(u32 slot);
};

extern struct gpumon_table gpumon_process_table;
extern struct gpumon_process *gpumon_processes;
extern struct gpumon_counters gpumon_process_counters;
extern atomic_t gpumon_process_generation;
/* Module parameter. */
extern unsigned int gpumon_process_max;

int gpumon_process_init(void);
void gpumon_process_exit(void);
int gpumon_process_keep(void);
void gpumon_process_close(void);
bool gpumon_process_age(const struct gpumon_process_user *user);
void gpumon_process_totals(bool closed, struct gpumon_process_totals *totals);
u64 gpumon_process_unattributed(bool closed, enum gpumon_process_word word);
bool gpumon_process_refresh(u32 slot);
bool gpumon_process_refresh_all(void);
bool gpumon_process_open_handles(u32 slot, u64 *handles);
void gpumon_process_forget_handles(void);
bool gpumon_process_level(u32 slot, enum gpumon_process_level which, u64 *value);
void gpumon_process_forget_level(enum gpumon_process_level which);
size_t gpumon_process_bytes(void);
void gpumon_process_read(u32 slot, bool closed, u64 words[GPUMON_PROCESS_WORDS]);
u32 gpumon_process_find(struct gpumon_cpu *cpu);
u64 gpumon_process_number(u32 slot);

/* Is a process in this slot, and can its fields be read? */
static inline bool gpumon_process_ready(u32 slot)
{
	/* Pairs with the release in process_learn(): the fields are there. */
	return smp_load_acquire(&gpumon_processes[slot].ready);
}

/*
 * Is the current process the one that this CPU looked up last? It mostly is. While a task lives its
 * process is not aged out, so the slot is still its own.
 */
static __always_inline bool gpumon_process_remembered(const struct gpumon_cpu *cpu)
{
	return likely(cpu->task == current && cpu->task_start_ns == current->start_time);
}

/*
 * Slot of the current process, GPUMON_NONE if the table is full or the task is the idle one. Task
 * context, preemption off.
 */
static __always_inline u32 gpumon_process_slot(struct gpumon_cpu *cpu)
{
	return gpumon_process_remembered(cpu) ? cpu->task_process : gpumon_process_find(cpu);
}

/* Where a process is counted, with GPUMON_NONE for gpumon_process_unattributed(). */
static __always_inline u32 gpumon_process_row(u32 slot)
{
	return likely(slot != GPUMON_NONE) ? slot : gpumon_process_table.slots;
}

/* This CPU's counters of a row, by enum gpumon_process_word. */
static __always_inline local64_t *gpumon_process_words(struct gpumon_cpu *cpu, u32 row)
{
	return cpu->processes + row * GPUMON_PROCESS_OWN_WORDS;
}

/*
 * Count something for the process of @slot, which must still be there; with GPUMON_NONE for
 * gpumon_process_unattributed().
 */
static __always_inline void gpumon_process_add(struct gpumon_cpu *cpu, u32 slot,
					       enum gpumon_process_word word, u64 n)
{
	const u32 row = gpumon_process_row(slot);

	if (word < GPUMON_PROCESS_OWN_WORDS)
		local64_add(n, gpumon_process_words(cpu, row) + word);
	else
		atomic64_add(n, &gpumon_process_counters.shared[row][word - GPUMON_PROCESS_OWN_WORDS]);
}

/* Count something for the current process, in an interrupt for none. Preemption off. */
static __always_inline void gpumon_process_count(struct gpumon_cpu *cpu,
						 enum gpumon_process_word word, u64 n)
{
	gpumon_process_add(cpu, likely(in_task()) ? gpumon_process_slot(cpu) : GPUMON_NONE, word, n);
}

/*
 * The id of the current process, whose slot is @slot. Another thread of it may have claimed the slot
 * just now and not have given it an id yet.
 */
static __always_inline u64 gpumon_process_id(u32 slot)
{
	u64 id = gpumon_read_once64(gpumon_processes[slot].id);

	return likely(id) ? id : gpumon_process_number(slot);
}

/*
 * Something begins of the current process, whose slot is @slot, that adds to a level. Its end, or a
 * change, goes to gpumon_process_change().
 */
static __always_inline void gpumon_process_begin(u32 slot, enum gpumon_process_level which,
						 u64 value)
{
	struct gpumon_process *process = &gpumon_processes[slot];

	if (unlikely(!READ_ONCE(process->begun[which])))
		WRITE_ONCE(process->begun[which], true);
	atomic64_add(value, &process->level[which]);
}

/*
 * Changes a level of the process that had @slot and @id when something began. The slot may be another
 * process's by now, or free: then nothing happens. Preemption off: the slot is given away only when
 * no probe can still have found this id, see gpumon_process_age().
 */
static __always_inline void gpumon_process_change(u32 slot, u64 id, enum gpumon_process_level which,
						  s64 change)
{
	struct gpumon_process *process = &gpumon_processes[slot];

	if (likely(gpumon_read_once64(process->id) == id))
		atomic64_add(change, &process->level[which]);
}

#endif /* GPUMON_PROCESS_H */
