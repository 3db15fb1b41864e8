/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by all parts of the module: the per-CPU anchor that probes start from, the limits, and the
 * entry and exit of a probe.
 */
#ifndef GPUMON_H
#define GPUMON_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>
#include <asm/local64.h>

#include "uapi/gpumon_version.h"

/* Table slots are numbered from 0, this is "no slot". */
#define GPUMON_NONE (~0U)
/* Not a slot either: it is unknown because an argument cannot be read. */
#define GPUMON_UNREADABLE (GPUMON_NONE - 1)

/**
 * enum gpumon_drop - why an event did not get into the statistics
 * @GPUMON_DROP_TABLE_FULL: a table had no place for it
 * @GPUMON_DROP_RECURSION: it came while a probe ran in the same context
 * @GPUMON_DROP_UNREADABLE: its arguments could not be read, nothing of it could be recorded
 * @GPUMON_DROP_MISSED: the kernel did not call the kprobe's body; only the engine counts it
 * @GPUMON_DROP_NO_MEMORY: it came on a CPU for which there was no memory when that came online
 * @GPUMON_DROPS: number of causes
 */
enum gpumon_drop {
	GPUMON_DROP_TABLE_FULL,
	GPUMON_DROP_RECURSION,
	GPUMON_DROP_UNREADABLE,
	GPUMON_DROP_MISSED,
	GPUMON_DROP_NO_MEMORY,
	GPUMON_DROPS
};

/*
 * Counters of one probe. What it has seen is their sum: a counter of its own could be read a moment
 * before or after them.
 */
enum {
	GPUMON_PROBE_RECORDED,
	GPUMON_PROBE_DROPPED,
	GPUMON_PROBE_WORDS = GPUMON_PROBE_DROPPED + GPUMON_DROPS,
	/* A power of two, so that a probe finds its counters with a shift. */
	GPUMON_PROBE_STRIDE = 8
};

/*
 * Applications use two or three rings in turns: for graphics, computing and copies; and one CPU may
 * serve two applications.
 */
#define GPUMON_CPU_QUEUES 4

/**
 * struct gpumon_cpu_queue - a task that queues jobs to a scheduler, as a CPU remembers it
 * @scheduler: the scheduler's address
 * @task: the task
 * @task_start_ns: when it started, distinguishes two users of a task_struct
 * @client: DRM client of its last job, 0 before Linux 6.17
 * @words: this CPU's counters of the ring
 * @generation: gpumon_scheduler_generation when the scheduler was looked up
 * @process: this CPU's counters of the task's process, see common/process.h
 * @usage: row for the jobs of this process on this ring, see drivers/drm_sched/usage.h
 * @place: ring and slot of the scheduler, see drivers/drm_sched/job.h
 * @usage_and_place: both, as gpumon_job.state_and_place has them
 */
struct gpumon_cpu_queue {
	const void *scheduler;
	const struct task_struct *task;
	u64 task_start_ns;
	u64 client;
	local64_t *words;
	local64_t *process;
	int generation;
	union {
		struct {
			u32 usage;
			u32 place;
		};
		u64 usage_and_place;
	};
};

/**
 * struct gpumon_cpu - where a probe finds this CPU's memory
 * @active: context level of the innermost probe that runs, 0 if none does: an
 *          interrupt on top of a probe is another event, only the same level
 *          again is recursion; GPUMON_CPU_TURNED_AWAY if it lacks some of its memory;
 *          GPUMON_CPU_ASLEEP if none has run since gpumon_cpus_sleep()
 * @probes: counters of the probes, GPUMON_PROBE_STRIDE each
 * @rings: counters of the rings, see drivers/drm_sched/ring.h
 * @processes: counters of the processes, see common/process.h
 * @usage: counters of processes on rings, see drivers/drm_sched/usage.h
 * @task: the task that asked last for its process's slot
 * @task_start_ns: when it started, distinguishes two users of a task_struct
 * @task_process: slot of the process of @task
 * @queues: tasks and schedulers that they queued their last jobs to
 * @queues_next: which of them gives way to another one
 */
struct gpumon_cpu {
	unsigned long active;
	local64_t *probes;
	local64_t *rings;
	local64_t *processes;
	local64_t *usage;

	const struct task_struct *task;
	u64 task_start_ns;
	u32 task_process;

	u32 queues_next;
	struct gpumon_cpu_queue queues[GPUMON_CPU_QUEUES];
};

/* Above all context levels. */
#define GPUMON_CPU_TURNED_AWAY (~0UL)
#define GPUMON_CPU_ASLEEP      (~1UL)

DECLARE_PER_CPU(struct gpumon_cpu, gpumon_cpu);

/**
 * struct gpumon_event_context - what one run of a probe carries around
 * @cpu: this CPU's memory
 * @probe: the counters of the probe that runs
 * @outer: context level of the probe that this one interrupted, 0 if none
 */
struct gpumon_event_context {
	struct gpumon_cpu *cpu;
	local64_t *probe;
	unsigned long outer;
};

bool gpumon_probe_awakes(struct gpumon_event_context *ctx);
void gpumon_cpus_sleep(void);
bool gpumon_cpus_slept(void);

/* Level of task, softirq, hard interrupt or NMI, in few instructions. */
static __always_inline unsigned long gpumon_context_level(void)
{
	return (preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)) | 1;
}

/*
 * preempt_count() of the probed code, also from a kprobe that is not built on ftrace: its trap looks
 * like an NMI. GPU drivers do not run in real ones.
 */
static __always_inline unsigned long gpumon_probed_count(void)
{
	unsigned long count = preempt_count();

	if (unlikely(count & NMI_MASK))
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return count;
}

/* Does a task run the probed code, as in_task() has it? */
static __always_inline bool gpumon_probed_in_task(void)
{
	return !(gpumon_probed_count() & (HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/**
 * gpumon_probe_enter - begin of every probe body
 * @ctx: filled in
 * @data: the pointer that the probe was registered with, its number
 *
 * Kernels from 7.x on call tracepoint probes with preemption on, so that it is
 * switched off here on all of them.
 *
 * Context: any.
 * Return: false if the event must not be recorded, it is counted then and the
 * probe returns at once; true with preemption off, and gpumon_probe_leave() must follow.
 */
static __always_inline bool gpumon_probe_enter(struct gpumon_event_context *ctx, void *data)
{
	unsigned long level;

	preempt_disable_notrace();
	level = gpumon_context_level();
	ctx->cpu = this_cpu_ptr(&gpumon_cpu);
	ctx->probe = ctx->cpu->probes + (unsigned long)data;

	/*
	 * An interrupt restores what it found: a plain word is enough. A probe that this one has
	 * interrupted runs at a lower level.
	 */
	ctx->outer = READ_ONCE(ctx->cpu->active);
	if (unlikely(ctx->outer >= level) && !gpumon_probe_awakes(ctx)) {
		preempt_enable_notrace();
		return false;
	}
	WRITE_ONCE(ctx->cpu->active, level);
	barrier();
	return true;
}

/* End of every probe body that gpumon_probe_enter() let in. */
static __always_inline void gpumon_probe_leave(struct gpumon_event_context *ctx)
{
	barrier();
	WRITE_ONCE(ctx->cpu->active, ctx->outer);
	preempt_enable_notrace();
}

/**
 * gpumon_leaf_enter - begin of the short way through a tracepoint's body
 *
 * For a body that calls nothing at all, so that no probe can come on top of it in the same context,
 * and no guard is needed. If a case is not the usual one, the body leaves again before it counts
 * anything, and goes the long way through gpumon_probe_enter().
 *
 * Context: any. Preemption is off afterwards; gpumon_leaf_leave() must follow.
 * Return: this CPU's memory. For one or two words of it raw_cpu_read() is shorter.
 */
static __always_inline struct gpumon_cpu *gpumon_leaf_enter(void)
{
#ifndef GPUMON_HAVE_TRACEPOINTS_NOT_PREEMPTED
	preempt_disable_notrace();
#endif
	return this_cpu_ptr(&gpumon_cpu);
}

/**
 * gpumon_leaf_leave - end of what gpumon_leaf_enter() began
 *
 * Context: the same CPU and context level as gpumon_leaf_enter().
 */
static __always_inline void gpumon_leaf_leave(void)
{
#ifndef GPUMON_HAVE_TRACEPOINTS_NOT_PREEMPTED
	preempt_enable_notrace();
#endif
}

/**
 * gpumon_leaf_recorded - an event was seen and is in the statistics
 * @data: the pointer that the probe was registered with, its number
 *
 * Context: between gpumon_leaf_enter() and gpumon_leaf_leave().
 */
static __always_inline void gpumon_leaf_recorded(void *data)
{
	local64_inc(raw_cpu_read(gpumon_cpu.probes) + (unsigned long)data + GPUMON_PROBE_RECORDED);
}

/* Pairs of a type and a name: the arguments of a tracepoint, to be declared or passed on. */
#define GPUMON_ARGUMENTS1(_one, _type, _name) _one(_type, _name)
#define GPUMON_ARGUMENTS2(_one, _type, _name, ...) \
	_one(_type, _name), GPUMON_ARGUMENTS1(_one, __VA_ARGS__)
#define GPUMON_ARGUMENTS3(_one, _type, _name, ...) \
	_one(_type, _name), GPUMON_ARGUMENTS2(_one, __VA_ARGS__)
#define GPUMON_ARGUMENTS4(_one, _type, _name, ...) \
	_one(_type, _name), GPUMON_ARGUMENTS3(_one, __VA_ARGS__)
#define GPUMON_ARGUMENT_DECLARED(_type, _name) _type _name
#define GPUMON_ARGUMENT_PASSED(_type, _name)   _name

/*
 * The body of a tracepoint's probe, which follows, with @ctx; it runs between gpumon_probe_enter()
 * and gpumon_probe_leave(). @_n: number of the arguments, which follow.
 */
#define GPUMON_TRACEPOINT_BODY(_n, _probe, ...)                                                  \
	void _probe(void *data, GPUMON_ARGUMENTS##_n(GPUMON_ARGUMENT_DECLARED, __VA_ARGS__));    \
	static __always_inline void _probe##_body(                                               \
		struct gpumon_event_context *ctx,                                                \
		GPUMON_ARGUMENTS##_n(GPUMON_ARGUMENT_DECLARED, __VA_ARGS__));                    \
	void _probe(void *data, GPUMON_ARGUMENTS##_n(GPUMON_ARGUMENT_DECLARED, __VA_ARGS__))     \
	{                                                                                        \
		struct gpumon_event_context ctx;                                                 \
												\
		if (gpumon_probe_enter(&ctx, data)) {                                            \
			_probe##_body(&ctx,                                                      \
				      GPUMON_ARGUMENTS##_n(GPUMON_ARGUMENT_PASSED, __VA_ARGS__)); \
			gpumon_probe_leave(&ctx);                                                \
		}                                                                                \
	}                                                                                        \
	static __always_inline void _probe##_body(                                               \
		struct gpumon_event_context *ctx,                                                \
		GPUMON_ARGUMENTS##_n(GPUMON_ARGUMENT_DECLARED, __VA_ARGS__))

static __always_inline void gpumon_probe_recorded(struct gpumon_event_context *ctx)
{
	local64_inc(&ctx->probe[GPUMON_PROBE_RECORDED]);
}

static __always_inline void gpumon_probe_dropped(struct gpumon_event_context *ctx,
						 enum gpumon_drop cause)
{
	local64_inc(&ctx->probe[GPUMON_PROBE_DROPPED + cause]);
}

/**
 * gpumon_probe_found - has an event a place in a table
 * @ctx: as filled in by gpumon_probe_enter()
 * @slot: slot or row, GPUMON_NONE or GPUMON_UNREADABLE
 *
 * Return: false if it has none, the event is counted as dropped then.
 */
static __always_inline bool gpumon_probe_found(struct gpumon_event_context *ctx, u32 slot)
{
	if (likely(slot < GPUMON_UNREADABLE))
		return true;
	gpumon_probe_dropped(ctx,
			     slot == GPUMON_NONE ? GPUMON_DROP_TABLE_FULL : GPUMON_DROP_UNREADABLE);
	return false;
}

/* Could the arguments of an event be read? If not it is counted as dropped. */
static __always_inline bool gpumon_probe_readable(struct gpumon_event_context *ctx, bool readable)
{
	if (unlikely(!readable))
		gpumon_probe_dropped(ctx, GPUMON_DROP_UNREADABLE);
	return readable;
}

#endif /* GPUMON_H */
