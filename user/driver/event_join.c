// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Joins the events of a job, with a chained hash table over a fixed pool and two lists in order of
 * age, one of unfinished and one of finished jobs.
 *
 * Finished jobs stay until their room is needed, since an error may be reported after the end.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "event_join.h"

/* Index 0 of the pool is not a job: it ends chains and lists. */
#define NONE 0U

struct job {
	uint64_t context;
	uint64_t seqno;
	uint64_t queue_ns;
	uint64_t run_ns;
	uint32_t pid;
	uint32_t tid;
	char comm[GPUMON_COMM_LEN + 1];
	bool queue_seen;
	bool run_seen;
	bool submitter_known;
	bool finished;
	uint32_t chain;
	uint32_t older;
	uint32_t newer;
};

struct list {
	uint32_t oldest;
	uint32_t newest;
};

struct gpumon_event_join {
	struct gpumon_event_join_stats stats;
	struct job *jobs;
	uint32_t capacity;
	uint32_t n_used;
	uint32_t *buckets;
	uint32_t mask;
	struct list unfinished;
	struct list finished;
};

struct gpumon_event_join *gpumon_event_join_new(size_t capacity)
{
	struct gpumon_event_join *join = gpumon_calloc(1, sizeof(*join));
	uint32_t n = 1;

	if (!capacity)
		capacity = 1;
	if (capacity > (1U << 24))
		capacity = 1U << 24;
	while (n < capacity)
		n *= 2;

	join->capacity = (uint32_t)capacity;
	join->mask = n - 1;
	join->jobs = gpumon_calloc(capacity + 1, sizeof(*join->jobs));
	join->buckets = gpumon_calloc(n, sizeof(*join->buckets));
	return join;
}

void gpumon_event_join_free(struct gpumon_event_join *join)
{
	if (!join)
		return;
	free(join->jobs);
	free(join->buckets);
	free(join);
}

static uint32_t *join_bucket(struct gpumon_event_join *join, uint64_t context, uint64_t seqno)
{
	/* Both numbers count up by one. Multiplying by an odd constant spreads them. */
	uint64_t hash = (context * 0x9e3779b97f4a7c15ULL + seqno) * 0xd6e8feb86659fd93ULL;

	return &join->buckets[(hash >> 32) & join->mask];
}

static struct list *join_list(struct gpumon_event_join *join, const struct job *job)
{
	return job->finished ? &join->finished : &join->unfinished;
}

static void list_append(struct gpumon_event_join *join, struct list *list, uint32_t index)
{
	join->jobs[index].older = list->newest;
	join->jobs[index].newer = NONE;
	if (list->newest)
		join->jobs[list->newest].newer = index;
	else
		list->oldest = index;
	list->newest = index;
}

static void list_remove(struct gpumon_event_join *join, struct list *list, uint32_t index)
{
	const struct job *job = &join->jobs[index];

	if (job->older)
		join->jobs[job->older].newer = job->newer;
	else
		list->oldest = job->newer;
	if (job->newer)
		join->jobs[job->newer].older = job->older;
	else
		list->newest = job->older;
}

static struct job *join_find(struct gpumon_event_join *join, uint64_t context, uint64_t seqno)
{
	uint32_t index = *join_bucket(join, context, seqno);

	for (; index; index = join->jobs[index].chain) {
		struct job *job = &join->jobs[index];

		if (job->context == context && job->seqno == seqno)
			return job;
	}
	return NULL;
}

/* Make room. Removing a finished job loses nothing. */
static uint32_t join_evict(struct gpumon_event_join *join)
{
	struct list *list = join->finished.oldest ? &join->finished : &join->unfinished;
	uint32_t index = list->oldest;
	struct job *job = &join->jobs[index];
	uint32_t *link = join_bucket(join, job->context, job->seqno);

	while (*link != index)
		link = &join->jobs[*link].chain;
	*link = job->chain;

	list_remove(join, list, index);
	join->stats.evicted += !job->finished;
	return index;
}

static struct job *join_create(struct gpumon_event_join *join, uint64_t context, uint64_t seqno)
{
	uint32_t index = join->n_used < join->capacity ? ++join->n_used : join_evict(join);
	uint32_t *bucket = join_bucket(join, context, seqno);
	struct job *job = &join->jobs[index];

	*job = (struct job){ .context = context, .seqno = seqno, .chain = *bucket };
	*bucket = index;
	list_append(join, &join->unfinished, index);
	return job;
}

static void join_finish(struct gpumon_event_join *join, struct job *job)
{
	uint32_t index = (uint32_t)(job - join->jobs);

	if (job->finished)
		return;
	list_remove(join, join_list(join, job), index);
	job->finished = true;
	list_append(join, join_list(join, job), index);
}

/* A job with the same key starts again. */
static void join_restart(struct gpumon_event_join *join, struct job *job)
{
	uint32_t index = (uint32_t)(job - join->jobs);

	list_remove(join, join_list(join, job), index);
	job->finished = false;
	job->queue_seen = false;
	job->run_seen = false;
	job->submitter_known = false;
	list_append(join, join_list(join, job), index);
}

static void join_latency(struct gpumon_event_join *join, struct gpumon_event_joined *joined,
			 bool begin_seen, uint64_t begin_ns)
{
	const struct gpumon_event *event = &joined->event;

	if (event->flags & GPUMON_EVENT_F_LATENCY) {
		joined->latency_known = true;
		joined->latency_ns = event->arg;
	} else if (begin_seen) {
		joined->latency_known = true;
		joined->latency_ns = event->time_ns > begin_ns ? event->time_ns - begin_ns : 0;
	}
	if (joined->latency_known)
		join->stats.matched++;
	else
		join->stats.unmatched++;
}

static void join_submitter(struct job *job, struct gpumon_event_joined *joined)
{
	const struct gpumon_event *event = &joined->event;

	/* The submitter itself records the queue event. */
	if (event->pid &&
	    (event->event == GPUMON_EVENT_QUEUE || (event->flags & GPUMON_EVENT_F_SUBMITTER))) {
		joined->submitter_known = true;
		joined->pid = event->pid;
		joined->tid = event->tid;
		memcpy(joined->comm, event->comm, GPUMON_COMM_LEN);
		joined->comm[GPUMON_COMM_LEN] = '\0';
	}
	if (!job)
		return;

	/* The module's process table may have been too full to hold the name. */
	if (joined->submitter_known && !joined->comm[0] && job->submitter_known &&
	    job->pid == joined->pid)
		memcpy(joined->comm, job->comm, sizeof(joined->comm));
	if (joined->submitter_known) {
		job->submitter_known = true;
		job->pid = joined->pid;
		job->tid = joined->tid;
		memcpy(job->comm, joined->comm, sizeof(job->comm));
	} else if (job->submitter_known) {
		joined->submitter_known = true;
		joined->pid = job->pid;
		joined->tid = job->tid;
		memcpy(joined->comm, job->comm, sizeof(joined->comm));
	}
}

void gpumon_event_join_add(struct gpumon_event_join *join, const struct gpumon_event *event,
			   struct gpumon_event_joined *joined)
{
	struct job *job;

	memset(joined, 0, sizeof(*joined));
	joined->event = *event;
	if (event->event == GPUMON_EVENT_LOST || event->event >= __GPUMON_EVENT_TYPE_MAX)
		return;
	/* Only events of the scheduler belong to a job. The words of others mean something else. */
	if (event->event > GPUMON_EVENT_ERROR) {
		joined->submitter_known = event->flags & GPUMON_EVENT_F_SUBMITTER;
		joined->pid = event->pid;
		joined->tid = event->tid;
		memcpy(joined->comm, event->comm, GPUMON_COMM_LEN);
		return;
	}

	job = join_find(join, event->context, event->seqno);
	switch (event->event) {
	case GPUMON_EVENT_QUEUE:
		if (job)
			join_restart(join, job);
		else
			job = join_create(join, event->context, event->seqno);
		job->queue_seen = true;
		job->queue_ns = event->time_ns;
		break;
	case GPUMON_EVENT_RUN:
		join_latency(join, joined, job && job->queue_seen, job ? job->queue_ns : 0);
		/* Keep the time for the later end event, even if the queue event is missing. */
		if (!job)
			job = join_create(join, event->context, event->seqno);
		job->run_seen = true;
		job->run_ns = event->time_ns;
		break;
	case GPUMON_EVENT_DONE:
		join_latency(join, joined, job && job->run_seen, job ? job->run_ns : 0);
		break;
	case GPUMON_EVENT_KILLED:
		join_latency(join, joined, job && job->queue_seen, job ? job->queue_ns : 0);
		break;
	}

	join_submitter(job, joined);
	if (job && (event->event == GPUMON_EVENT_DONE || event->event == GPUMON_EVENT_KILLED))
		join_finish(join, job);
}

void gpumon_event_join_get_stats(const struct gpumon_event_join *join,
				 struct gpumon_event_join_stats *stats)
{
	*stats = join->stats;
}
