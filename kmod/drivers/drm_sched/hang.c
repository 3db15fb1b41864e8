// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that are on the hardware, or wait in their queue, for longer than a limit; and the scheduler's
 * own timeout.
 *
 * Nothing of this is in the probes of a job. Housekeeping looks once a second, while a limit is set,
 * at the depths and counts of the rings. Only if a ring has work, and no job of it went on since the
 * last look, it reads the table of jobs in flight, which the probes go on writing. So an entry counts
 * only if its key is the same before and after its other fields were read. A probe that gives the
 * entry to another job writes the key first. A job is therefore looked at again after a grace period
 * of RCU, in which that probe has ended.
 *
 * Of each entry of the table it is kept which job was last said. Keys are never used again, so what
 * is kept of a job that has ended says nothing of the next one.
 */
#include <linux/dma-fence.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <drm/gpu_scheduler.h>

#include "common/alert.h"
#include "common/process.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/nofault.h"
#include "core/period.h"
#include "drivers/groups.h"
#include "hang.h"
#include "job.h"
#include "ring.h"
#include "usage.h"

/* What a job may do for too long. */
enum hang_step {
	HANG_QUEUED,
	HANG_RUNNING,
	HANG_STEPS
};

/* Marks of an entry of the table of jobs, for each step: it is overdue, it was said. */
#define HANG_FOUND(_step) BIT(_step)
#define HANG_SAID(_step)  BIT(HANG_STEPS + (_step))
#define HANG_FOUND_ANY	  (BIT(HANG_STEPS) - 1)

static const struct {
	const char *kind;
	const char *what;
	u8 depth;
	u8 completions;
} steps[HANG_STEPS] = {
	[HANG_QUEUED] = { "starved", "job in its queue", GPUMON_RING_QUEUE_DEPTH, GPUMON_RING_RUN },
	[HANG_RUNNING] = { "hang", "job on the hardware", GPUMON_RING_HW_DEPTH, GPUMON_RING_DONE },
};

/**
 * struct hang_ring - a ring at the last look, all zeroes before the first one
 * @completed: by step: jobs that had left it since the ring came, plus 1; 0 if it had no jobs there
 * @stalled: bits of the steps in which it had jobs, and none had left since the look before
 */
struct hang_ring {
	u64 completed[HANG_STEPS];
	u8 stalled;
};

/*
 * What is asked for, and what was found. Protected by gpumon_period_lock.
 * @limit_ms: by step, 0 for none
 * @wake: lets housekeeping look soon; NULL if it does not look any more
 * @rings: by row; this and the others are there while a limit is set
 * @keys: by entry of the table of jobs: the job that @marks is of
 * @marks: HANG_FOUND(), HANG_SAID()
 */
static struct {
	u32 limit_ms[HANG_STEPS];
	void (*wake)(void);
	struct hang_ring *rings;
	u64 *keys;
	u8 *marks;
} hang;

static u32 hang_entries(void)
{
	return gpumon_job_mask + 1;
}

/* Rows that the table of rings has when it has memory: those of rings, and one for all others. */
static u32 hang_rows(void)
{
	return gpumon_ring_max + 1;
}

static void hang_free(void)
{
	kvfree(hang.rings);
	kvfree(hang.keys);
	kvfree(hang.marks);
	hang.rings = NULL;
	hang.keys = NULL;
	hang.marks = NULL;
}

static int hang_allocate(void)
{
	if (hang.rings)
		return 0;
	hang.rings = gpumon_memory_zalloc(hang_rows(), sizeof(*hang.rings), NUMA_NO_NODE);
	hang.keys = gpumon_memory_zalloc(hang_entries(), sizeof(*hang.keys), NUMA_NO_NODE);
	hang.marks = gpumon_memory_zalloc(hang_entries(), sizeof(*hang.marks), NUMA_NO_NODE);
	if (hang.rings && hang.keys && hang.marks)
		return 0;
	hang_free();
	return -ENOMEM;
}

/**
 * gpumon_hang_start - from now on limits can be set
 * @wake: lets housekeeping call gpumon_hang_look() soon, called with gpumon_period_lock held
 */
void gpumon_hang_start(void (*wake)(void))
{
	mutex_lock(&gpumon_period_lock);
	hang.wake = wake;
	mutex_unlock(&gpumon_period_lock);
}

/**
 * gpumon_hang_stop - forget the limits, and free what they needed
 *
 * No alert is raised and housekeeping is not woken from here when this returns.
 *
 * Context: may sleep.
 */
void gpumon_hang_stop(void)
{
	mutex_lock(&gpumon_period_lock);
	hang.wake = NULL;
	memset(hang.limit_ms, 0, sizeof(hang.limit_ms));
	hang_free();
	mutex_unlock(&gpumon_period_lock);
}

/**
 * gpumon_hang_limits - the limits that are set
 * @limits: filled in
 *
 * Context: gpumon_period_lock held.
 */
void gpumon_hang_limits(struct gpumon_hang_limits *limits)
{
	lockdep_assert_held(&gpumon_period_lock);
	limits->hang_ms = hang.limit_ms[HANG_RUNNING];
	limits->starved_ms = hang.limit_ms[HANG_QUEUED];
}

/**
 * gpumon_hang_limits_set - change the limits
 * @hang_ms: how long a job may be on the hardware, 0 for as long as it wants; NULL for no change
 * @starved_ms: how long a job may wait in its queue
 * @extack: gets the words of a refusal
 *
 * A job that was said is said again only if no limit was set in between.
 *
 * Context: may sleep.
 * Return: 0 or a negative error, nothing was changed then.
 */
int gpumon_hang_limits_set(const u32 *hang_ms, const u32 *starved_ms,
			   struct netlink_ext_ack *extack)
{
	u32 hang_limit, starved_limit;
	int ret = 0;

	mutex_lock(&gpumon_period_lock);
	hang_limit = hang_ms ? *hang_ms : hang.limit_ms[HANG_RUNNING];
	starved_limit = starved_ms ? *starved_ms : hang.limit_ms[HANG_QUEUED];
	if (!hang.wake) {
		NL_SET_ERR_MSG(extack, "gpumon is being unloaded");
		ret = -ENODEV;
	} else if (!hang_limit && !starved_limit) {
		hang_free();
	} else {
		ret = hang_allocate();
		if (ret)
			NL_SET_ERR_MSG(
				extack,
				"no memory to remember the jobs that were said: set it again, or load gpumon with a smaller max_jobs");
	}
	if (!ret) {
		hang.limit_ms[HANG_RUNNING] = hang_limit;
		hang.limit_ms[HANG_QUEUED] = starved_limit;
		if (hang.rings)
			hang.wake();
	}
	mutex_unlock(&gpumon_period_lock);
	return ret;
}

/**
 * gpumon_hang_bytes - memory that is held while a limit is set
 *
 * Context: gpumon_period_lock held.
 * Return: bytes.
 */
size_t gpumon_hang_bytes(void)
{
	if (!hang.rings)
		return 0;
	return gpumon_memory_held(hang.rings, hang_rows() * sizeof(*hang.rings)) +
	       gpumon_memory_held(hang.keys, hang_entries() * sizeof(*hang.keys)) +
	       gpumon_memory_held(hang.marks, hang_entries() * sizeof(*hang.marks));
}

/* Name of the process that queued a job; "-" if it is not in the table, or not any more. */
static void hang_process(char comm[TASK_COMM_LEN], const struct gpumon_job *job)
{
	u32 usage = gpumon_job_usage(job), slot = GPUMON_NONE;

	/* The job may have ended meanwhile, so that its row is any. */
	if (usage < gpumon_usage_statistics.table.slots)
		slot = gpumon_usage_process(usage);
	if (slot < gpumon_process_table.slots && gpumon_process_ready(slot) &&
	    READ_ONCE(gpumon_processes[slot].pid) == job->pid)
		strscpy(comm, gpumon_processes[slot].comm, TASK_COMM_LEN);
	else
		strscpy(comm, "-", TASK_COMM_LEN);
}

/**
 * gpumon_hang_tell - raise an alert for a job
 * @now: time
 * @ring: row of its ring, which stays meanwhile
 * @kind: kind of the alert, lives as long as the module
 * @what: what has lasted too long
 * @age_ns: how long
 * @job: a copy of its entry, NULL if the job is not known: then @age_ns is not, either
 *
 * gpumon-user takes the process from the end of the message.
 *
 * Context: any, preemption off.
 */
noinline void gpumon_hang_tell(u64 now, u32 ring, const char *kind, const char *what, u64 age_ns,
			       const struct gpumon_job *job)
{
	const char *device = gpumon_row_label(&gpumon_ring_statistics, ring, 0);
	const char *name = gpumon_row_label(&gpumon_ring_statistics, ring, 1);
	char message[GPUMON_ALERT_MESSAGE_LEN], comm[TASK_COMM_LEN];
	int length;

	length = scnprintf(message, sizeof(message), "%s: %s", name, what);
	if (job)
		length += scnprintf(message + length, sizeof(message) - length, " for %llu ms",
				    div_u64(age_ns, NSEC_PER_MSEC));
	/* A job that an interrupt queued has none. */
	if (job && job->pid) {
		hang_process(comm, job);
		scnprintf(message + length, sizeof(message) - length, ", in %s [%u]", comm,
			  job->pid);
	}
	gpumon_alert_raise(now, gpumon_drm_sched.name, kind, device, ring, message);
}

/* Copies an entry of the table of jobs. Returns false if it is free, or was just given away. */
static bool job_copy(const struct gpumon_job *job, struct gpumon_job *copy)
{
	/* The fields are not older than the key. */
	copy->key = gpumon_load_acquire64(&job->key);
	if (!copy->key)
		return false;
	copy->place = READ_ONCE(job->place);
	/* Probes write it meanwhile: the key tells. */
	copy->since = data_race(gpumon_read_once64(job->since));
	/* The same. */
	copy->state = data_race(READ_ONCE(job->state));
	/* The same. */
	copy->thread = data_race(gpumon_read_once64(job->thread));
	/* Nor are they newer. */
	smp_rmb();
	return gpumon_read_once64(job->key) == copy->key && copy->place != GPUMON_NONE &&
	       copy->since;
}

/* Is the job in an entry overdue, in a ring that is stalled? Fills in the rest if it is. */
static bool job_overdue(u32 slot, u64 now, struct gpumon_job *job, enum hang_step *step,
			u64 *age_ns)
{
	u32 ring;

	/* The entry of a job that is done may wait for its error. */
	if (!job_copy(&gpumon_jobs[slot], job) || job->state & GPUMON_JOB_DONE)
		return false;
	ring = gpumon_job_ring(job);
	*step = gpumon_job_running(job) ? HANG_RUNNING : HANG_QUEUED;
	return ring < hang_rows() && hang.rings[ring].stalled & BIT(*step) &&
	       gpumon_clock_elapsed(job->since, now, age_ns) &&
	       *age_ns >= hang.limit_ms[*step] * (u64)NSEC_PER_MSEC;
}

/* Marks the jobs that are overdue and were not said yet. Returns false if there is none. */
static bool jobs_mark(void)
{
	u64 now = gpumon_clock(), age_ns;
	enum hang_step step;
	struct gpumon_job job;
	bool found = false;
	u32 slot;

	for (slot = 0; slot < hang_entries(); slot++) {
		if (!(slot % 1024))
			cond_resched();
		if (!job_overdue(slot, now, &job, &step, &age_ns))
			continue;
		if (hang.keys[slot] != job.key) {
			hang.keys[slot] = job.key;
			hang.marks[slot] = 0;
		}
		if (hang.marks[slot] & HANG_SAID(step))
			continue;
		hang.marks[slot] |= HANG_FOUND(step);
		found = true;
	}
	return found;
}

/* Raises alerts for the jobs that were marked and still are what they were. */
static void jobs_tell(void)
{
	u64 now = gpumon_clock(), age_ns;
	enum hang_step step;
	struct gpumon_job job;
	u32 slot;
	u8 found;

	for (slot = 0; slot < hang_entries(); slot++) {
		if (!(slot % 1024))
			cond_resched();
		found = hang.marks[slot] & HANG_FOUND_ANY;
		hang.marks[slot] &= ~HANG_FOUND_ANY;
		if (!found || !job_overdue(slot, now, &job, &step, &age_ns) ||
		    hang.keys[slot] != job.key || !(found & HANG_FOUND(step)))
			continue;
		hang.marks[slot] |= HANG_SAID(step);
		preempt_disable();
		gpumon_hang_tell(ktime_get_mono_fast_ns(), gpumon_job_ring(&job), steps[step].kind,
				 steps[step].what, age_ns, &job);
		preempt_enable();
	}
}

/*
 * Looks at one ring. Returns whether it has jobs in a step that has a limit. A ring that had none at
 * the last look is not stalled yet.
 */
static bool ring_look(u32 row)
{
	struct hang_ring *ring = &hang.rings[row];
	enum hang_step step;
	bool works = false;
	u64 completed;

	ring->stalled = 0;
	for (step = 0; step < HANG_STEPS; step++) {
		if (!hang.limit_ms[step] ||
		    gpumon_row_level_now(&gpumon_ring_statistics, row, steps[step].depth) <= 0) {
			ring->completed[step] = 0;
			continue;
		}
		works = true;
		completed = 1 + gpumon_counters_total(&gpumon_ring_statistics.counters, row,
						      steps[step].completions);
		if (ring->completed[step] == completed)
			ring->stalled |= BIT(step);
		ring->completed[step] = completed;
	}
	return works;
}

/**
 * gpumon_hang_look - raise alerts for jobs that are over their limit
 *
 * Context: may sleep, gpumon_period_lock not held.
 * Return: whether there may be more to find later, so that housekeeping has to go on.
 */
bool gpumon_hang_look(void)
{
	const struct gpumon_table *table = &gpumon_ring_statistics.table;
	bool works = false, stalled = false;
	u32 row;

	mutex_lock(&gpumon_period_lock);
	/* Without a module of the group there are no rows. While the group is off, none goes on. */
	if (hang.rings && table->keys && READ_ONCE(gpumon_drm_sched.enabled)) {
		for (row = 0; row < min(table->slots, hang_rows()); row++) {
			if (!READ_ONCE(gpumon_ring_statistics.ready[row]))
				continue;
			works |= ring_look(row);
			stalled |= hang.rings[row].stalled;
		}
	}
	if (stalled && jobs_mark()) {
		/* The probe that wrote the key of an entry has written its other fields, too. */
		synchronize_rcu();
		jobs_tell();
	}
	mutex_unlock(&gpumon_period_lock);
	return works;
}

/*
 * The scheduler's timeout: an alert when its handler starts. It has no tracepoint, and the function
 * is static. Its work item is in the scheduler; the first job of the scheduler's list is the one
 * that the driver will be asked about. These members are found in BTF.
 */
static const struct gpumon_field *timeout_field(unsigned int field)
{
	return &gpumon_drm_sched.fields[field];
}

/*
 * The first job that the scheduler waits for. Sets it to NULL if there is none: then the handler has
 * nothing to do. The job may be freed at any moment. Returns false if it cannot be read.
 */
static bool timeout_job(const struct drm_gpu_scheduler *sched, const struct drm_sched_job **job)
{
	const void *list = gpumon_field_address(timeout_field(GPUMON_TIMEOUT_PENDING), sched);
	const void *first;

	*job = NULL;
	if (!list || !gpumon_field_known(timeout_field(GPUMON_TIMEOUT_LIST)) ||
	    !gpumon_read_nofault(&first, &((const struct list_head *)list)->next, sizeof(first)))
		return false;
	if (first != list)
		*job = first - timeout_field(GPUMON_TIMEOUT_LIST)->offset;
	return true;
}

/* Copies the entry of a job. Returns false if its queueing was not seen, or it has just ended. */
static bool timeout_entry(const struct drm_sched_job *job, struct gpumon_job *copy)
{
	const struct drm_sched_fence *s_fence;
	const struct gpumon_job *entry;
	struct dma_fence finished;

	if (!gpumon_read_nofault(&s_fence, &job->s_fence, sizeof(s_fence)) ||
	    !gpumon_read_nofault(&finished.context, &s_fence->finished.context,
				 sizeof(finished.context)) ||
	    !gpumon_read_nofault(&finished.seqno, &s_fence->finished.seqno,
				 sizeof(finished.seqno)))
		return false;
	entry = gpumon_job_find(&finished);
	if (!entry)
		return false;
	/* The job may end meanwhile: the key tells. */
	*copy = data_race(*entry);
	return copy->key == gpumon_job_key(&finished) && gpumon_job_running(copy) &&
	       !(copy->state & GPUMON_JOB_DONE);
}

/* Kprobe on drm_sched_job_timedout(work) */
GPUMON_KPROBE_BODY(gpumon_sched_timeout)
{
	const s32 work = READ_ONCE(timeout_field(GPUMON_TIMEOUT_WORK)->offset);
	const struct drm_gpu_scheduler *sched;
	const struct drm_sched_job *job;
	struct gpumon_job entry;
	u64 age_ns = 0;
	bool known;
	u32 ring;

	sched = (const void *)gpumon_compat_kernel_argument(regs, 0) - work;
	if (!gpumon_probe_readable(ctx, work >= 0 && timeout_job(sched, &job)))
		return;
	gpumon_probe_recorded(ctx);
	if (!job)
		return;
	ring = gpumon_place_ring(gpumon_ring_find(sched));
	known = timeout_entry(job, &entry) &&
		gpumon_clock_elapsed(entry.since, gpumon_clock(), &age_ns);
	gpumon_hang_tell(ktime_get_mono_fast_ns(), ring, "timeout",
			 known ? "the scheduler's timeout has come, job on the hardware" :
				 "the scheduler's timeout has come",
			 age_ns, known ? &entry : NULL);
}
