/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the groups of the BPF source. */
#ifndef GPUMON_DRIVER_BPF_GROUP_H
#define GPUMON_DRIVER_BPF_GROUP_H

#include <bpf/libbpf.h>

#include "bpf_fill.h"
#include "job_watch.h"

#define GROUP_PROBES_MAX 10

/**
 * struct source_hook - a probe of a group
 * @name: tracepoint or function
 * @module: module of the tracepoint or function
 * @kind: kind of probe
 * @counter: index of the struct source_probe in the object that counts its events
 * @optional: the group can be attached without it
 * @without: what is unknown without it, NULL if another hook of the same counter provides it
 * @lacks: what is unknown though it is attached, and why; NULL: nothing
 * @program: attached program
 * @twin: a second copy, for calls of @program that the kernel skips; may be NULL
 * @at_return: program for the function's return; may be NULL
 * @link: link of the program
 * @twin_link: link of the twin
 * @return_link: link of @at_return
 * @state: enum gpumon_attach_state
 * @reason: why it is not attached
 */
struct source_hook {
	const char *name;
	const char *module;
	enum gpumon_probe_kind kind;
	unsigned int counter;
	bool optional;
	const char *without;
	const char *lacks;
	struct bpf_program *program;
	struct bpf_program *twin;
	struct bpf_program *at_return;
	struct bpf_link *link;
	struct bpf_link *twin_link;
	struct bpf_link *return_link;
	enum gpumon_attach_state state;
	char reason[192];
};

struct source_group;

/**
 * struct source_group_type - the specifics of a group
 * @name: name as in the module
 * @module: required module or built-in driver, its name in /sys/module
 * @hooks: initial state of its probes
 * @n_hooks: number of @hooks
 * @there: checks for the driver; NULL: check whether @module is loaded
 * @load: opens and loads the object and sets the programs of the hooks and the pointers of the
 *        group; 0 or a negative errno
 * @unload: undoes @load
 * @fill: adds statistics and processes to a model; -1 without memory
 * @age: called once a second to make room in its tables; may be NULL
 * @jobs: sets its tables of jobs in flight; NULL if it has none
 */
struct source_group_type {
	const char *name;
	const char *module;
	const struct source_hook *hooks;
	size_t n_hooks;
	bool (*there)(struct source_group *group);
	int (*load)(struct source_group *group);
	void (*unload)(struct source_group *group);
	int (*fill)(struct source_group *group, unsigned int parts, struct gpumon_model *model);
	void (*age)(struct source_group *group, uint64_t now_ns);
	void (*jobs)(struct source_group *group, struct gpumon_job_tables *tables);
};

/**
 * struct source_group - the state of a group
 * @type: its type
 * @left_out: nobody asked for it
 * @built_in: its driver is part of the kernel
 * @interrupt_bits: bits of the kernel's preempt_count() that are set in interrupts
 * @hooks: its probes
 * @state: enum gpumon_attach_state
 * @reason: why it is not attached
 * @skeleton: skeleton of its object, NULL while that is not loaded
 * @probes: counters of its hooks, in the object's memory
 * @events: event counters, likewise
 * @with_events: send events
 * @events_fd: ring for events
 * @bytes: memory of its tables
 * @aged_ns: when @type->age was called last
 * @retired: rows that have left its tables
 * @retired_unattributed: their jobs without a process
 */
struct source_group {
	const struct source_group_type *type;
	bool left_out;
	bool built_in;
	uint32_t interrupt_bits;
	struct source_hook hooks[GROUP_PROBES_MAX];
	enum gpumon_attach_state state;
	char reason[192];
	void *skeleton;
	const struct source_probe *probes;
	const struct source_events *events;
	bool with_events;
	int events_fd;
	uint64_t bytes;
	uint64_t aged_ns;
	uint64_t retired;
	uint64_t retired_unattributed;
};

extern const struct source_group_type gpumon_source_drm_sched;
extern const struct source_group_type gpumon_source_drm_vblank;
extern const struct source_group_type gpumon_source_nvidia;
/* Has no object of its own: the programs of the nvidia group count its files. */
extern const struct source_group_type gpumon_source_nvidia_uvm;

/* Number of possible CPUs: a per-CPU value has an entry for each. */
int gpumon_source_processors(void);

/* True if the kernel can preempt a tracepoint's program. */
bool gpumon_source_preempted(void);

/* Add the processes of an object's table, and whether they are alive. */
int gpumon_source_processes(struct gpumon_model *model, const struct source_process *processes,
			    unsigned int known);

#endif /* GPUMON_DRIVER_BPF_GROUP_H */
