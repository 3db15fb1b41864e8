/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The table of jobs in flight, and the state by which a program informs its twin. */
#ifndef GPUMON_BPF_SOURCE_JOB_BPF_H
#define GPUMON_BPF_SOURCE_JOB_BPF_H

#include "source.bpf.h"

/* A task can be preempted between the two programs of an event, but hardly for this long. */
#define TWIN_LATE_NS 1000000000LL

struct source_job jobs[SOURCE_JOBS];

/* Keys of jobs for which the first of two twins just found no room. */
#define NO_ROOM 1024
volatile __u64 no_room[NO_ROOM];

/* The jobs of an entity have consecutive numbers, so they get adjacent slots. */
INLINE __u32 job_place(__u64 key, __u32 way)
{
	__u32 hash = (__u32)(key >> 32) * 0x61c88647;

	return (hash + (__u32)key + way * (hash >> 8 | 1)) & (SOURCE_JOBS - 1);
}

INLINE struct source_job *job_find(__u64 key)
{
	for (__u32 way = 0; way < SOURCE_WAYS; way++) {
		struct source_job *job = &jobs[job_place(key, way)];

		if (*(volatile __u64 *)&job->key == key)
			return job;
	}
	return NULL;
}

/*
 * Slot for a job whose event just happened, SOURCE_NONE if there is none. Not static, so that the
 * verifier does not follow its caller from each place.
 */
__noinline __u32 job_claim(__u64 key, __u64 now)
{
	for (__u32 way = 0; way < SOURCE_WAYS; way++) {
		__u32 place = job_place(key, way);
		struct source_job *job = &jobs[place];

		if (!*(volatile __u64 *)&job->key &&
		    !__sync_val_compare_and_swap(&job->key, 0, key)) {
			job->time_ns = now;
			return place;
		}
	}
	/*
	 * Slots of finished jobs whose twin was skipped, or whose error nobody told, are reused; a
	 * late twin still needs its slot.
	 */
	for (__u32 way = 0; way < SOURCE_WAYS; way++) {
		__u32 place = job_place(key, way);
		struct source_job *job = &jobs[place];
		__u64 old = *(volatile __u64 *)&job->key;
		__u32 state = *(volatile __u32 *)&job->state;

		if (state < SOURCE_JOB_UNTRACKED ||
		    (__s64)(now - *(volatile __u64 *)&job->time_ns) < TWIN_LATE_NS ||
		    __sync_val_compare_and_swap(&job->state, state, SOURCE_JOB_QUEUED) != state)
			continue;
		if (__sync_val_compare_and_swap(&job->key, old, key) == old) {
			job->time_ns = now;
			return place;
		}
	}
	return SOURCE_NONE;
}

INLINE struct source_job *job_insert(__u64 key, __u64 now)
{
	__u32 place = job_claim(key, now);
	struct source_job *job = NULL;

	if (place < SOURCE_JOBS) {
		TESTED(place);
		job = &jobs[place];
	}
	/*
	 * The code below tests the pointer and not the place again: the verifier does not relate
	 * the two.
	 */
	barrier_var(job);
	return job;
}

INLINE void job_release(struct source_job *job, __u64 key)
{
	job->state = SOURCE_JOB_QUEUED;
	/* The slot has no scheduler until its next job sets one, see job_abandon(). */
	job->scheduler = 0;
	/* The next owner of the slot must write it after the last read here. */
	__sync_val_compare_and_swap(&job->key, key, 0);
}

/*
 * A message from a program to its twin, instead of an entry. In between, another CPU or an
 * interrupt may do the same for many other jobs. These use other slots, so the twin finds its own.
 * A message that no twin took back is overwritten.
 */
__noinline int no_room_for(__u64 key, int twin)
{
	__u32 place = job_place(key, 0);

	for (__u32 way = 0; way < SOURCE_WAYS; way++) {
		volatile __u64 *mark = &no_room[(place + way) & (NO_ROOM - 1)];
		__u64 from = twin ? key : 0, to = twin ? 0 : key;

		if (*mark == from && __sync_val_compare_and_swap(mark, from, to) == from)
			return twin;
	}
	if (!twin)
		no_room[place & (NO_ROOM - 1)] = key;
	return false;
}

#endif
