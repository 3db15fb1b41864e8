/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs of the DRM scheduler in flight: from being queued until they are done.
 *
 * Not a gpumon_table: only the probes of one job write its entry, one after the other, so that key
 * and payload can share a cache line.
 */
#ifndef GPUMON_JOB_H
#define GPUMON_JOB_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/dma-fence.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "compat/once64.h"
#include "core/gpumon.h"

/* Bits of gpumon_job.state: the job has been run, not only queued; it is done, and its error to come. */
#define GPUMON_JOB_RUNNING BIT(31)
#define GPUMON_JOB_DONE	   BIT(30)

/*
 * Place of a job: its ring in the low half; in the high half the slot of its scheduler in
 * gpumon_ring_schedulers, or GPUMON_PLACE_NO_SCHEDULER.
 */
#define GPUMON_PLACE_NO_SCHEDULER 0xffffU

static __always_inline u32 gpumon_place(u32 ring, u32 scheduler)
{
	return scheduler << 16 | ring;
}

static __always_inline u32 gpumon_place_ring(u32 place)
{
	return (u16)place;
}

/* Entries that a job may be in. With a table half full, all of them are taken once in 65536. */
#define GPUMON_JOB_WAYS 16

/**
 * struct gpumon_job - a job in flight
 * @key: what names it, 0 if the entry is free
 * @since: when it got into its state, gpumon_clock()
 * @state: its row in gpumon_usage_statistics; GPUMON_JOB_RUNNING, GPUMON_JOB_DONE
 * @place: its ring and scheduler, gpumon_place(); of a free entry, GPUMON_NONE
 * @state_and_place: both, written at once when a job is queued
 * @tid: thread that queued it
 * @pid: its pid
 * @thread: both of them, as gpumon_job_thread() has them
 */
struct gpumon_job {
	u64 key;
	u64 since;
	union {
		struct {
			u32 state;
			u32 place;
		};
		u64 state_and_place;
	};
	union {
		struct {
			u32 tid;
			u32 pid;
		};
		u64 thread;
	};
};

/*
 * The current task's tid and pid. They are not read as one word: a kernel may have the fields of a
 * task in any order (CONFIG_RANDSTRUCT).
 */
static __always_inline u64 gpumon_job_thread(void)
{
	const struct gpumon_job job = { .tid = current->pid, .pid = current->tgid };

	return job.thread;
}

static __always_inline u32 gpumon_job_ring(const struct gpumon_job *job)
{
	return gpumon_place_ring(job->place);
}

static __always_inline bool gpumon_job_running(const struct gpumon_job *job)
{
	return job->state & GPUMON_JOB_RUNNING;
}

/* Row of its process and ring in gpumon_usage_statistics. */
static __always_inline u32 gpumon_job_usage(const struct gpumon_job *job)
{
	return READ_ONCE(job->state) & ~(GPUMON_JOB_RUNNING | GPUMON_JOB_DONE);
}

/* Module parameter. */
extern unsigned int gpumon_job_max;
extern struct gpumon_job *gpumon_jobs;
extern u32 gpumon_job_mask;

int gpumon_job_init(void);
void gpumon_job_exit(void);
void gpumon_job_clear(void);
size_t gpumon_job_bytes(void);

/*
 * Key of a job, not 0. Fence contexts are never given twice, and the scheduler counts the fences of
 * a context with 32 bits: no other job has ever had the same key, so that an entry left behind
 * cannot be taken for another job.
 */
static __always_inline u64 gpumon_job_key(const struct dma_fence *finished)
{
	return finished->context << 32 ^ finished->seqno;
}

/*
 * The jobs of an entity have rising numbers. They get consecutive entries, from the hash of their
 * context on, and do not collide. If they collide with those of another entity, they all skip them
 * by the same distance, which differs by entity.
 */
static __always_inline struct gpumon_job *gpumon_job_entry(const struct dma_fence *finished,
							   u32 way)
{
	u32 hash = (u32)finished->context * GOLDEN_RATIO_32;

	if (way)
		hash += way * (hash >> 8 | 1);
	return &gpumon_jobs[(hash + (u32)finished->seqno) & gpumon_job_mask];
}

/* Is this the entry of the job with this finished fence? */
static __always_inline bool gpumon_job_is(const struct gpumon_job *job,
					  const struct dma_fence *finished)
{
	return gpumon_read_once64(job->key) == gpumon_job_key(finished);
}

/* Takes an entry for a job, if it is free. Of the entry only the key is set. */
static __always_inline bool gpumon_job_take(struct gpumon_job *job,
					    const struct dma_fence *finished)
{
	u64 nobody = 0;

	return gpumon_try_cmpxchg64(&job->key, &nobody, gpumon_job_key(finished));
}

void gpumon_job_mark_usage(unsigned long *rows, u32 count);
void gpumon_job_abandon(u32 scheduler, void (*leave)(const struct gpumon_job *job));
struct gpumon_job *gpumon_job_find(const struct dma_fence *finished);
struct gpumon_job *gpumon_job_insert(const struct dma_fence *finished);

/* Frees the entry of a job that is over. */
static __always_inline void gpumon_job_release(struct gpumon_job *job)
{
	/*
	 * The next owner takes the entry before it writes the place: until then
	 * gpumon_job_abandon() must not take it.
	 */
	WRITE_ONCE(job->place, GPUMON_NONE);
	/* The next owner of the entry must write it after the last reads here. */
	gpumon_store_release64(&job->key, 0);
}

#endif /* GPUMON_JOB_H */
