// SPDX-License-Identifier: GPL-2.0-only
/* The process table: learning of processes, ageing out those that are gone. */
#include <linux/cgroup.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "attach/probe.h"
#include "core/key.h"
#include "core/memory.h"
#include "core/period.h"
#include "process.h"

static_assert(GPUMON_PROCESS_WORDS <=
	      BITS_PER_BYTE * sizeof_field(struct gpumon_probe, process_words));

/*
 * Places of a key. With 8 places, one of 600 processes found none in one of twelve runs, although
 * there was room for 1,024; with 32, none of 1,024 processes in 400 of 401 runs.
 */
#define PROCESS_WAYS 32

struct gpumon_table gpumon_process_table;
struct gpumon_process *gpumon_processes;
struct gpumon_counters gpumon_process_counters = {
	.sums = GPUMON_PROCESS_COUNTED,
	.wide = GPUMON_PROCESS_COUNTED - GPUMON_PROCESS_OWN_WORDS,
	.shared_always = GPUMON_PROCESS_COUNTED > GPUMON_PROCESS_OWN_WORDS,
	.anchor = GPUMON_ANCHOR(processes),
};

/*
 * Changes when a process leaves the table or a period ends, so that a dump in parts notices. Never
 * 0.
 */
atomic_t gpumon_process_generation = ATOMIC_INIT(1);

static atomic64_t process_ids = ATOMIC64_INIT(0);

/* How many processes may be in the table, and how many are. */
unsigned int gpumon_process_max = 1024;
static atomic_t process_count;

/* Sums of aged-out processes: since load, at the last reset, in the period before that reset. */
static struct gpumon_process_totals process_total, process_base, process_closed;

/**
 * gpumon_process_init - allocate the process table, for gpumon_process_max processes
 *
 * The table is twice as large, so that a key is likely to find one of its places free until there are
 * gpumon_process_max.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_process_exit() frees what was allocated.
 */
int gpumon_process_init(void)
{
	u32 slots;
	int ret;

	atomic_set(&process_count, 0);
	ret = gpumon_table_init(&gpumon_process_table, 2 * gpumon_process_max + PROCESS_WAYS - 1,
				PROCESS_WAYS);
	if (ret)
		return ret;
	slots = gpumon_process_table.slots;
	gpumon_processes = gpumon_memory_zalloc(slots, sizeof(*gpumon_processes), NUMA_NO_NODE);
	if (!gpumon_processes)
		return -ENOMEM;
	/* The last object counts events of no process in the table. */
	return gpumon_counters_init(&gpumon_process_counters, slots + 1, 0);
}

static void process_forget(struct gpumon_process *process)
{
	if (process->task)
		put_task_struct(process->task);
	process->task = NULL;
	kfree(process->cgroup);
	process->cgroup = NULL;
}

/**
 * gpumon_process_exit - free the process table
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_process_exit(void)
{
	u32 slot;

	for (slot = 0; gpumon_processes && slot < gpumon_process_table.slots; slot++)
		process_forget(&gpumon_processes[slot]);
	gpumon_counters_free(&gpumon_process_counters);
	kvfree(gpumon_processes);
	gpumon_processes = NULL;
	gpumon_table_free(&gpumon_process_table);
}

/**
 * gpumon_process_bytes - memory of the process table
 *
 * Return: bytes.
 */
size_t gpumon_process_bytes(void)
{
	return gpumon_table_bytes(&gpumon_process_table) +
	       gpumon_memory_held(gpumon_processes,
				  gpumon_process_table.slots * sizeof(*gpumon_processes)) +
	       gpumon_counters_bytes(&gpumon_process_counters);
}

/* The process's cgroup in the unified hierarchy; its id is the inode of its directory. */
static u64 current_cgroup_id(void)
{
	u64 id = 0;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	id = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();
#endif
	return id;
}

/* A reused pid has another start time; the pid tells processes apart that start at once. */
static u64 process_key(u64 start_ns, u32 pid)
{
	return gpumon_key_mix(start_ns, pid);
}

/* Gives the process of a slot its id, whichever of its threads comes first. Returns the id. */
noinline u64 gpumon_process_number(u32 slot)
{
	u64 *id = &gpumon_processes[slot].id;

	gpumon_cmpxchg64(id, 0, atomic64_inc_return(&process_ids));
	return gpumon_read_once64(*id);
}

/* New slot for the current process, GPUMON_NONE if the table is full. */
static u32 process_learn(u64 key)
{
	struct task_struct *leader = current->group_leader;
	struct gpumon_process *process;
	bool created;
	u32 slot;

	/* Counted before the slot is claimed, so that there are never too many. */
	if (atomic_inc_return(&process_count) > gpumon_process_max) {
		atomic_dec(&process_count);
		return GPUMON_NONE;
	}
	slot = gpumon_table_claim(&gpumon_process_table, key, &created);
	if (!created) {
		atomic_dec(&process_count);
		return slot;
	}
	process = &gpumon_processes[slot];
	gpumon_process_id(slot);
	process->pid = current->tgid;
	process->start_ns = leader->start_time;
	process->task = get_task_struct(leader);
	/* A name that changes while it is copied is still terminated. */
	memcpy(process->comm, leader->comm, TASK_COMM_LEN);
	process->comm[TASK_COMM_LEN - 1] = '\0';
	process->cgroup_id = current_cgroup_id();
	/* Pairs with gpumon_process_ready(). */
	smp_store_release(&process->ready, true);
	return slot;
}

/* gpumon_process_slot() of a process that is not the last one that this CPU looked up. */
noinline u32 gpumon_process_find(struct gpumon_cpu *cpu)
{
	u64 key = process_key(current->group_leader->start_time, current->tgid);
	u32 slot;

	/* The idle task is no process. */
	if (unlikely(!current->tgid))
		return GPUMON_NONE;
	slot = gpumon_table_find(&gpumon_process_table,
				 gpumon_table_home(&gpumon_process_table, key), key, PROCESS_WAYS);

	if (slot == GPUMON_NONE)
		slot = process_learn(key);
	if (slot == GPUMON_NONE)
		return slot;
	/*
	 * A probe in an interrupt may come in between and writes the same, because its task is the
	 * same. The slot of another task must never be found with this task.
	 */
	WRITE_ONCE(cpu->task, NULL);
	barrier();
	cpu->task_process = slot;
	cpu->task_start_ns = current->start_time;
	barrier();
	WRITE_ONCE(cpu->task, current);
	return slot;
}

/*
 * Updates the path of a process's cgroup in the unified hierarchy; the task may be dead, and the
 * cgroup removed.
 */
static void process_cgroup_refresh(struct gpumon_process *process, struct task_struct *task)
{
#ifdef CONFIG_CGROUPS
	/* gpumon_period_lock protects it. */
	static char path[1024];
	struct cgroup *cgroup;
	char *copy;
	int length;

	rcu_read_lock();
	cgroup = task_dfl_cgroup(task);
	process->cgroup_id = cgroup_id(cgroup);
	length = cgroup_path(cgroup, path, sizeof(path));
	rcu_read_unlock();
	if (length <= 0 || (process->cgroup && !strcmp(process->cgroup, path)))
		return;
	copy = kstrdup(path, GFP_KERNEL);
	if (!copy)
		return;
	kfree(process->cgroup);
	process->cgroup = copy;
#endif
}

/**
 * gpumon_process_refresh - take over the present name and cgroup of a process, or its last ones
 * @slot: slot with a ready process
 *
 * The task is held until its end was noticed here, so that neither is lost: programs change their
 * names after their first job, containers are removed with their last process.
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: whether the process exists.
 */
bool gpumon_process_refresh(u32 slot)
{
	struct gpumon_process *process = &gpumon_processes[slot];
	struct task_struct *task, *held = process->task;
	bool alive;

	rcu_read_lock();
	task = pid_task(find_pid_ns(process->pid, &init_pid_ns), PIDTYPE_TGID);
	alive = task && task->start_time == process->start_ns;
	/* A thread that executes another program becomes the first one. */
	if (alive && held && task != held)
		process->task = get_task_struct(task);
	rcu_read_unlock();
	if (!held)
		return alive;
	task = process->task;
	if (task != held)
		put_task_struct(held);
	/* A name that changes while it is copied is still terminated. */
	memcpy(process->comm, task->comm, TASK_COMM_LEN);
	process->comm[TASK_COMM_LEN - 1] = '\0';
	process_cgroup_refresh(process, task);
	if (!alive) {
		process->task = NULL;
		put_task_struct(task);
	}
	return alive;
}

/**
 * gpumon_process_refresh_all - gpumon_process_refresh() for all processes
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false if none of them may still live.
 */
bool gpumon_process_refresh_all(void)
{
	bool held = false;
	u32 slot;

	lockdep_assert_held(&gpumon_period_lock);
	for (slot = 0; slot < gpumon_process_table.slots; slot++) {
		if (gpumon_process_ready(slot) && gpumon_processes[slot].task)
			held |= gpumon_process_refresh(slot);
		cond_resched();
	}
	return held;
}

static void process_level_reset(u32 slot, enum gpumon_process_level which)
{
	struct gpumon_process *process = &gpumon_processes[slot];

	atomic64_set(&process->level[which], 0);
	WRITE_ONCE(process->begun[which], false);
}

/*
 * Folds a process into the sum, and frees its slot. What it has created and what still lives is in no
 * level from now on.
 */
static void process_fold(u32 slot)
{
	u32 word, which;

	process_total.exited++;
	for (word = 0; word < GPUMON_PROCESS_COUNTED; word++) {
		process_total.words[word] +=
			gpumon_counters_one(&gpumon_process_counters, slot, false, word);
		process_closed.words[word] +=
			gpumon_counters_one(&gpumon_process_counters, slot, true, word);
	}
	atomic_add(2, &gpumon_process_generation);
	gpumon_counters_zero(&gpumon_process_counters, slot);
	process_forget(&gpumon_processes[slot]);
	gpumon_processes[slot].opens_before = 0;
	gpumon_processes[slot].closes_before = 0;
	for (which = 0; which < GPUMON_PROCESS_LEVELS; which++)
		process_level_reset(slot, which);
	WRITE_ONCE(gpumon_processes[slot].ready, false);
	gpumon_table_release(&gpumon_process_table, slot);
	atomic_dec(&process_count);
}

/**
 * gpumon_process_age - make room: fold exited processes into their sum
 * @user: what else counts for them, NULL for nothing
 *
 * Nothing happens while there is room, so that a short-lived process is still in the table when it
 * is read. No probe counts for a process that is gone, but for the end of what it had begun: the close
 * of a file, the end of a buffer. So they are hidden first, by their key, for closes; those that can go
 * then lose their id, for levels; and they are folded when no probe can still have found one. One that
 * stays keeps its id all the time, so that its levels miss nothing.
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false while there is room.
 */
bool gpumon_process_age(const struct gpumon_process_user *user)
{
	struct gpumon_table *table = &gpumon_process_table;
	bool hidden = false, leaves = false;
	u32 slot;

	lockdep_assert_held(&gpumon_period_lock);
	if (atomic_read(&process_count) < gpumon_process_max - gpumon_process_max / 4)
		return false;
	for (slot = 0; slot < table->slots; slot++) {
		cond_resched();
		if (!gpumon_process_ready(slot) || gpumon_process_refresh(slot))
			continue;
		gpumon_write_once64(table->keys[slot], GPUMON_TABLE_RECYCLING);
		hidden = true;
	}
	if (!hidden)
		return true;
	synchronize_rcu();
	if (user)
		user->look();
	for (slot = 0; slot < table->slots; slot++) {
		cond_resched();
		if (gpumon_read_once64(table->keys[slot]) != GPUMON_TABLE_RECYCLING)
			continue;
		if (!user || user->leave(slot)) {
			gpumon_write_once64(gpumon_processes[slot].id, 0);
			leaves = true;
		} else {
			gpumon_write_once64(table->keys[slot],
					    process_key(gpumon_processes[slot].start_ns,
							gpumon_processes[slot].pid));
		}
	}
	if (!leaves)
		return true;
	synchronize_rcu();
	for (slot = 0; slot < table->slots; slot++) {
		cond_resched();
		if (gpumon_read_once64(table->keys[slot]) == GPUMON_TABLE_RECYCLING)
			process_fold(slot);
	}
	return true;
}

/**
 * gpumon_process_read - the counts of a process in one period
 * @slot: slot with a ready process
 * @closed: the period that the last reset closed, else the one that runs
 * @words: filled in; 0 is what no driver that there is counts
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_process_read(u32 slot, bool closed, u64 words[GPUMON_PROCESS_WORDS])
{
	memset(words, 0, GPUMON_PROCESS_WORDS * sizeof(*words));
	gpumon_counters_read(&gpumon_process_counters, slot, closed, words);
}

/**
 * gpumon_process_open_handles - how many devices a process has open, over all periods
 * @slot: slot with a ready process
 * @handles: filled in
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false if it was not seen to open one since levels started over: then it is not known.
 */
bool gpumon_process_open_handles(u32 slot, u64 *handles)
{
	const struct gpumon_process *process = &gpumon_processes[slot];
	u64 opens, closes;

	opens = gpumon_counters_total(&gpumon_process_counters, slot, GPUMON_PROCESS_OPENS);
	closes = gpumon_counters_total(&gpumon_process_counters, slot, GPUMON_PROCESS_CLOSES);
	opens -= process->opens_before;
	closes -= process->closes_before;
	/* The two counts are read one after the other: the difference may be less than 0. */
	*handles = max_t(s64, opens - closes, 0);
	return opens;
}

/**
 * gpumon_process_forget_handles - the closes of what is open now will not be seen
 *
 * Context: may sleep, no probe of a group that counts opens or closes runs.
 */
void gpumon_process_forget_handles(void)
{
	struct gpumon_process *process;
	u32 slot;

	/* Slots are recycled under this lock. */
	mutex_lock(&gpumon_period_lock);
	for (slot = 0; slot < gpumon_process_table.slots; slot++) {
		process = &gpumon_processes[slot];
		process->opens_before = gpumon_counters_total(&gpumon_process_counters, slot,
							      GPUMON_PROCESS_OPENS);
		process->closes_before = gpumon_counters_total(&gpumon_process_counters, slot,
							       GPUMON_PROCESS_CLOSES);
	}
	mutex_unlock(&gpumon_period_lock);
}

/**
 * gpumon_process_level - a level of a process, over all periods
 * @slot: slot with a ready process
 * @which: the level
 * @value: filled in
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false if nothing of it was seen to begin since levels started over: then it is not known.
 */
bool gpumon_process_level(u32 slot, enum gpumon_process_level which, u64 *value)
{
	const struct gpumon_process *process = &gpumon_processes[slot];

	/* Less than 0 for a moment, where an end overtakes its beginning on another CPU. */
	*value = max_t(s64, atomic64_read(&process->level[which]), 0);
	return READ_ONCE(process->begun[which]);
}

/**
 * gpumon_process_forget_level - the ends of what has begun will not be seen
 * @which: the level
 *
 * Context: may sleep, no probe of the group that keeps the level runs.
 */
void gpumon_process_forget_level(enum gpumon_process_level which)
{
	u32 slot;

	/* Slots are recycled under this lock. */
	mutex_lock(&gpumon_period_lock);
	for (slot = 0; slot < gpumon_process_table.slots; slot++)
		process_level_reset(slot, which);
	mutex_unlock(&gpumon_period_lock);
}

static void process_since(struct gpumon_process_totals *totals)
{
	int word;

	totals->exited = process_total.exited - process_base.exited;
	for (word = 0; word < GPUMON_PROCESS_WORDS; word++)
		totals->words[word] = process_total.words[word] - process_base.words[word];
}

/**
 * gpumon_process_keep - get memory for the end of a period
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0 or -ENOMEM.
 */
int gpumon_process_keep(void)
{
	return gpumon_counters_keep(&gpumon_process_counters, gpumon_process_table.keys,
				    gpumon_process_table.slots);
}

/**
 * gpumon_process_close - end the period, gpumon_process_keep() was called
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_process_close(void)
{
	gpumon_counters_close(&gpumon_process_counters);
	process_since(&process_closed);
	process_base = process_total;
	atomic_add(2, &gpumon_process_generation);
}

/**
 * gpumon_process_unattributed - what was done by processes for which there was no room
 * @closed: the period that the last reset closed, else the one that runs
 * @word: what
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: how much.
 */
u64 gpumon_process_unattributed(bool closed, enum gpumon_process_word word)
{
	return word < GPUMON_PROCESS_COUNTED ?
		       gpumon_counters_one(&gpumon_process_counters, gpumon_process_table.slots,
					   closed, word) : 0;
}

/**
 * gpumon_process_totals - what aged-out processes came to in a period
 * @closed: the period that the last reset closed, else the one that runs
 * @totals: filled in
 *
 * Context: gpumon_period_lock held.
 */
void gpumon_process_totals(bool closed, struct gpumon_process_totals *totals)
{
	if (closed)
		*totals = process_closed;
	else
		process_since(totals);
}
