// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert_message.h"
#include "job_watch.h"
#include "lib/memory.h"

#define NS_PER_MS 1000000ULL

/* What a job may do for too long. */
enum step {
	STEP_QUEUED,
	STEP_RUNNING,
	STEPS,
};

/* Marks of an entry, for each step: it is overdue, it was told. */
#define FOUND(step) (1U << (step))
#define TOLD(step)  (1U << (STEPS + (step)))
#define FOUND_ANY   (FOUND(STEPS) - 1)

static const struct {
	const char *kind;
	const char *what;
} steps[STEPS] = {
	[STEP_QUEUED] = { "starved", "job in its queue" },
	[STEP_RUNNING] = { "hang", "job on the hardware" },
};

/**
 * struct watched_ring - a ring at the last look
 * @completed: by step: how many jobs had left the step so far, plus 1; 0 if no job was in it, or the
 *	       number could not be read
 * @stalled: FOUND() of the steps in which there were jobs, none of which had left since the look before
 * @alerts: by step: how many alerts there were
 */
struct watched_ring {
	uint64_t completed[STEPS];
	unsigned int stalled;
	uint64_t alerts[STEPS];
};

/**
 * struct gpumon_job_watch - the watch
 * @limit_ns: by step, 0: none
 * @keys: by entry: the job that @marks is of. Keys are never used again, so that what is kept of a job
 *	that has ended says nothing of the next one.
 */
struct gpumon_job_watch {
	uint64_t limit_ns[STEPS];
	struct watched_ring rings[SOURCE_RINGS + 1];
	uint64_t keys[SOURCE_JOBS];
	unsigned char marks[SOURCE_JOBS];
};

struct gpumon_job_watch *gpumon_job_watch_new(struct gpumon_job_limits limits)
{
	struct gpumon_job_watch *watch = gpumon_calloc(1, sizeof(*watch));

	watch->limit_ns[STEP_QUEUED] = limits.starved_ns;
	watch->limit_ns[STEP_RUNNING] = limits.hang_ns;
	return watch;
}

void gpumon_job_watch_free(struct gpumon_job_watch *watch)
{
	free(watch);
}

static void look_at_ring(struct gpumon_job_watch *watch, const struct gpumon_job_tables *tables,
			 unsigned int slot)
{
	const struct source_ring *ring = &tables->rings[slot];
	struct watched_ring *watched = &watch->rings[slot];
	const bool has[STEPS] = {
		[STEP_QUEUED] = watch->limit_ns[STEP_QUEUED] &&
				(int32_t)__atomic_load_n(&ring->queued, __ATOMIC_RELAXED) > 0,
		[STEP_RUNNING] = watch->limit_ns[STEP_RUNNING] &&
				 (int32_t)__atomic_load_n(&ring->running, __ATOMIC_RELAXED) > 0,
	};
	uint64_t completed[STEPS] = { 0 };
	bool known;

	watched->stalled = 0;
	known = ring->ready && (has[STEP_QUEUED] || has[STEP_RUNNING]) &&
		!tables->completed(tables->data, slot, &completed[STEP_QUEUED],
				   &completed[STEP_RUNNING]);
	for (unsigned int step = 0; step < STEPS; step++) {
		uint64_t now = known && has[step] ? completed[step] + 1 : 0;

		if (now && watched->completed[step] == now)
			watched->stalled |= FOUND(step);
		watched->completed[step] = now;
	}
}

/*
 * Copies an entry. The key is read before and after the rest: in between, a program may give the
 * entry to another job.
 */
static bool copy_job(const struct source_job *job, struct source_job *copy)
{
	uint64_t key = __atomic_load_n(&job->key, __ATOMIC_ACQUIRE);

	if (!key)
		return false;
	copy->time_ns = __atomic_load_n(&job->time_ns, __ATOMIC_RELAXED);
	copy->pid = __atomic_load_n(&job->pid, __ATOMIC_RELAXED);
	copy->ring = __atomic_load_n(&job->ring, __ATOMIC_RELAXED);
	copy->state = __atomic_load_n(&job->state, __ATOMIC_RELAXED);
	copy->key = key;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&job->key, __ATOMIC_RELAXED) == key;
}

/* Is the job in an entry overdue, in a ring that is stalled? */
static bool is_overdue(const struct gpumon_job_watch *watch, const struct source_job *entry,
		       uint64_t now_ns, struct source_job *job, enum step *step)
{
	if (!copy_job(entry, job) || job->state > SOURCE_JOB_RUNNING ||
	    job->ring > SOURCE_RING_OTHER)
		return false;
	*step = job->state == SOURCE_JOB_RUNNING ? STEP_RUNNING : STEP_QUEUED;
	return watch->rings[job->ring].stalled & FOUND(*step) && now_ns > job->time_ns &&
	       now_ns - job->time_ns >= watch->limit_ns[*step];
}

bool gpumon_job_watch_look(struct gpumon_job_watch *watch, const struct gpumon_job_tables *tables,
			   uint64_t now_ns)
{
	bool stalled = false, found = false;
	struct source_job job;
	enum step step;

	for (unsigned int i = 0; i <= SOURCE_RING_OTHER; i++) {
		look_at_ring(watch, tables, i);
		stalled |= watch->rings[i].stalled != 0;
	}
	for (size_t i = 0; i < SOURCE_JOBS && stalled; i++) {
		if (!is_overdue(watch, &tables->jobs[i], now_ns, &job, &step))
			continue;
		if (watch->keys[i] != job.key) {
			watch->keys[i] = job.key;
			watch->marks[i] = 0;
		}
		if (watch->marks[i] & TOLD(step))
			continue;
		watch->marks[i] |= FOUND(step);
		found = true;
	}
	return found;
}

/* The name that a process had at its last job. Of two with this pid, the one that began later. */
static char *name_of(const struct gpumon_job_tables *tables, uint32_t pid)
{
	const struct source_process *found = NULL;

	for (size_t i = 0; i < SOURCE_PROCESSES; i++) {
		const struct source_process *process = &tables->processes[i];

		if (process->ready && process->pid == pid &&
		    (!found || process->start_ns > found->start_ns))
			found = process;
	}
	return found ? gpumon_strndup(found->comm, sizeof(found->comm)) : gpumon_strdup("-");
}

static void add_alert(struct gpumon_model *model, const struct gpumon_job_tables *tables,
		      const struct source_job *job, enum step step, uint64_t now_ns, uint64_t count)
{
	const struct source_ring *ring = &tables->rings[job->ring];
	struct gpumon_alert *alert = gpumon_model_add_alert(model);
	const uint64_t age_ms = (now_ns - job->time_ns) / NS_PER_MS;
	char *name = job->pid ? name_of(tables, job->pid) : NULL;
	char process[64] = "";

	if (name)
		snprintf(process, sizeof(process), ", in %s [%" PRIu32 "]", name, job->pid);
	alert->source = GPUMON_ALERT_SOURCE_BPF;
	alert->time_ns = gpumon_value_of(now_ns);
	alert->code = gpumon_value_of(job->ring);
	alert->count = gpumon_value_of(count);
	alert->lost = gpumon_value_of(0);
	alert->group = gpumon_strdup("drm_sched");
	alert->kind = gpumon_strdup(steps[step].kind);
	alert->device = gpumon_strndup(ring->device, sizeof(ring->device));
	alert->message = gpumon_asprintf("%.*s: %s for %" PRIu64 " ms%s", (int)sizeof(ring->name),
					 ring->name, steps[step].what, age_ms, process);
	free(name);
	gpumon_alert_complete(alert);
}

void gpumon_job_watch_tell(struct gpumon_job_watch *watch, const struct gpumon_job_tables *tables,
			   uint64_t now_ns, struct gpumon_model *model)
{
	struct source_job job;
	enum step step;

	for (size_t i = 0; i < SOURCE_JOBS; i++) {
		unsigned int found = watch->marks[i] & FOUND_ANY;

		watch->marks[i] &= (unsigned char)~FOUND_ANY;
		if (!found || !is_overdue(watch, &tables->jobs[i], now_ns, &job, &step) ||
		    job.key != watch->keys[i] || !(found & FOUND(step)))
			continue;
		watch->marks[i] |= TOLD(step);
		add_alert(model, tables, &job, step, now_ns, ++watch->rings[job.ring].alerts[step]);
	}
}
