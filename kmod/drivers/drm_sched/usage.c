// SPDX-License-Identifier: GPL-2.0-only
/* The table of what processes use of rings. */
#include <linux/bitmap.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "common/process.h"
#include "core/key.h"
#include "core/memory.h"
#include "core/period.h"
#include "job.h"
#include "ring.h"
#include "usage.h"

static const struct gpumon_column usage_columns[GPUMON_USAGE_COLUMNS] = {
	[GPUMON_USAGE_JOBS] = GPUMON_COUNTER("jobs"),
	[GPUMON_USAGE_GPU_NS] = GPUMON_COUNTER("gpu_ns"),
	[GPUMON_USAGE_QUEUE_NS] = GPUMON_COUNTER("queue_ns"),
	[GPUMON_USAGE_ERRORS] = GPUMON_COUNTER("errors", .roles = BIT(SCHED_ROLE_RESULT)),
};

struct gpumon_statistics gpumon_usage_statistics = {
	.name = "usage",
	.labels = { "device", "ring", "process", "client", "cgroup" },
	.numbers = BIT(2) | BIT(3) | BIT(4),
	GPUMON_COLUMNS(usage_columns),
	.counters = { .anchor = GPUMON_ANCHOR(usage) },
};

/**
 * struct usage_owner - what a row is counted for
 * @ring: key of its ring
 * @process: slot of the process plus 1, 0 for none
 */
struct usage_owner {
	u64 ring;
	u32 process;
};

/* By row; and the rows that jobs in flight count for, while rows are looked for that can be freed. */
static struct usage_owner *owners;
static unsigned long *rows_in_use;
static u32 rows_most;

/* The row of all that found no place. */
static u32 other_row;

/* A row found no place, and none was looked for since. It is cleared once a second. */
static bool usage_full;

/**
 * gpumon_usage_init - size the table by the processes that there may be
 *
 * Context: may sleep; the table is laid out and has no memory yet.
 * Return: 0 or -ENOMEM, then gpumon_usage_exit() frees what was allocated.
 */
int gpumon_usage_init(void)
{
	/* With its last ways the table has a power of two of rows: whole pages for each CPU. */
	rows_most = roundup_pow_of_two(max(gpumon_process_max, 128U));
	gpumon_usage_statistics.capacity = rows_most - GPUMON_TABLE_WAYS + 1;
	owners = gpumon_memory_zalloc(rows_most, sizeof(*owners), NUMA_NO_NODE);
	rows_in_use = gpumon_memory_zalloc(BITS_TO_LONGS(rows_most), sizeof(*rows_in_use),
					   NUMA_NO_NODE);
	return owners && rows_in_use ? 0 : -ENOMEM;
}

/**
 * gpumon_usage_exit - free what belongs to the table
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_usage_exit(void)
{
	kvfree(rows_in_use);
	kvfree(owners);
	rows_in_use = NULL;
	owners = NULL;
}

/**
 * gpumon_usage_bytes - memory beside the table
 *
 * Return: bytes.
 */
size_t gpumon_usage_bytes(void)
{
	return gpumon_memory_held(owners, rows_most * sizeof(*owners)) +
	       gpumon_memory_held(rows_in_use, BITS_TO_LONGS(rows_most) * sizeof(*rows_in_use));
}

/* The row of all that found no place. It shows from then on. */
static u32 usage_other(void)
{
	static const char *const label[GPUMON_LABELS] = { GPUMON_DEVICE_UNKNOWN, "other", "0", "0", "0" };

	return gpumon_row_learn_labels(&gpumon_usage_statistics, GPUMON_ROW_OTHER, label);
}

/* Row for a key, with these labels; that of all others if there is no room. */
static u32 usage_learn(u64 key, const char *device, const char *ring, u64 process, u64 client,
		       u64 cgroup)
{
	char text[3][24];
	const char *const label[GPUMON_LABELS] = { device, ring, text[0], text[1], text[2] };
	u32 row;

	snprintf(text[0], sizeof(text[0]), "%llu", process);
	snprintf(text[1], sizeof(text[1]), "%llu", client);
	snprintf(text[2], sizeof(text[2]), "%llu", cgroup);
	row = gpumon_row_learn_labels(&gpumon_usage_statistics, key, label);
	return row == GPUMON_NONE ? usage_other() : row;
}

/**
 * gpumon_usage_find - row of a process on a ring
 * @process: slot of the process, GPUMON_NONE for none
 * @ring: row of the ring
 * @client: DRM client, 0 if it is unknown
 *
 * Context: any, preemption off, takes no lock.
 * Return: the row, that of all others if there is no room for it.
 */
noinline u32 gpumon_usage_find(u32 process, u32 ring, u64 client)
{
	const u64 of_ring = gpumon_read_once64(gpumon_ring_statistics.table.keys[ring]);
	u64 id = process == GPUMON_NONE ? 0 : gpumon_process_id(process), key;
	u32 row;

	if (of_ring == GPUMON_TABLE_RECYCLING)
		return usage_other();
	key = gpumon_key_mix(gpumon_key_mix(of_ring, id), client);
	row = gpumon_row_find(&gpumon_usage_statistics, key);
	if (likely(row != GPUMON_NONE))
		return row;
	if (READ_ONCE(usage_full))
		return usage_other();
	row = usage_learn(key, gpumon_row_label(&gpumon_ring_statistics, ring, 0),
			  gpumon_row_label(&gpumon_ring_statistics, ring, 1), id, client, 0);
	if (row == other_row) {
		WRITE_ONCE(usage_full, true);
		return row;
	}
	gpumon_write_once64(owners[row].ring, of_ring);
	WRITE_ONCE(owners[row].process, process == GPUMON_NONE ? 0 : process + 1);
	return row;
}

/* Slot of the process that a row is counted for, GPUMON_NONE for none. */
u32 gpumon_usage_process(u32 row)
{
	return READ_ONCE(owners[row].process) - 1;
}

/* Starts to count; no probe runs. */
void gpumon_usage_start(void)
{
	bool created;

	/* Without a module of the group there is no memory yet. */
	if (!gpumon_usage_statistics.table.keys)
		return;
	WARN_ON(gpumon_usage_statistics.table.slots > rows_most);
	if (!gpumon_table_used(&gpumon_usage_statistics.table))
		memset(owners, 0, rows_most * sizeof(*owners));
	/* There is room for it now. */
	other_row = gpumon_table_claim(&gpumon_usage_statistics.table, GPUMON_ROW_OTHER, &created);
}

/* A ring has got the name and the key of its class. */
void gpumon_usage_ring_renamed(u64 old, u64 key, u32 ring)
{
	u32 row;

	for (row = 0; row < gpumon_usage_statistics.table.slots; row++) {
		if (!READ_ONCE(gpumon_usage_statistics.ready[row]) ||
		    gpumon_read_once64(owners[row].ring) != old)
			continue;
		gpumon_write_once64(owners[row].ring, key);
		/* The new name is the begin of the old one. A reader sees one of them. */
		WRITE_ONCE(gpumon_row_label(&gpumon_usage_statistics, row, 1)
				   [strlen(gpumon_row_label(&gpumon_ring_statistics, ring, 1))],
			   '\0');
	}
	atomic_add(2, &gpumon_usage_statistics.generation);
}

/* Adds the counts of a row, whose process is gone, to those of all such processes of its cgroup. */
static bool usage_fold(u32 row, u64 cgroup)
{
	const u64 of_ring = owners[row].ring;
	u32 to;

	preempt_disable();
	to = usage_learn(gpumon_key_mix(gpumon_key_mix(of_ring, ~cgroup), 0),
			 gpumon_row_label(&gpumon_usage_statistics, row, 0),
			 gpumon_row_label(&gpumon_usage_statistics, row, 1), 0, 0, cgroup);
	preempt_enable();
	if (to != other_row)
		gpumon_write_once64(owners[to].ring, of_ring);
	if (gpumon_row_fold(&gpumon_usage_statistics, row, to))
		return false;
	memset(&owners[row], 0, sizeof(owners[row]));
	return true;
}

/*
 * Before rows of processes that are gone are freed: looks which of them jobs in flight still count
 * for. These processes queue no more jobs. gpumon_period_lock is held.
 */
static void usage_look(void)
{
	bitmap_zero(rows_in_use, rows_most);
	gpumon_job_mark_usage(rows_in_use, rows_most);
}

/* Frees the rows of a process that is gone. Returns false if one of them had to stay. */
static bool usage_leave(u32 process)
{
	bool left = true;
	u32 row;

	if (!gpumon_usage_statistics.table.keys)
		return true;
	for (row = 0; row < gpumon_usage_statistics.table.slots; row++)
		if (owners[row].process == process + 1)
			left &= !test_bit(row, rows_in_use) &&
				usage_fold(row, gpumon_processes[process].cgroup_id);
	return left;
}

const struct gpumon_process_user gpumon_usage_of_processes = {
	.look = usage_look,
	.leave = usage_leave,
};

/**
 * gpumon_usage_age - make room: sum up what processes have used that are gone
 *
 * Nothing happens while there is room, so that a table of which half is used finds a place for each.
 *
 * Context: may sleep, gpumon_period_lock held, gpumon_process_refresh_all() was called.
 * Return: false while there is room.
 */
bool gpumon_usage_age(void)
{
	const u32 capacity = gpumon_usage_statistics.capacity;
	u32 row, process;

	lockdep_assert_held(&gpumon_period_lock);
	WRITE_ONCE(usage_full, false);
	if (!gpumon_usage_statistics.table.keys ||
	    gpumon_table_used(&gpumon_usage_statistics.table) < capacity / 8 * 3)
		return false;
	usage_look();
	for (row = 0; row < gpumon_usage_statistics.table.slots; row++) {
		cond_resched();
		process = gpumon_usage_process(row);
		if (process != GPUMON_NONE && !gpumon_processes[process].task &&
		    !test_bit(row, rows_in_use))
			usage_fold(row, gpumon_processes[process].cgroup_id);
	}
	return true;
}
