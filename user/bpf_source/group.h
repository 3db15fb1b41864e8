/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the groups of the BPF source share. */
#ifndef GPUMON_BPF_SOURCE_GROUP_H
#define GPUMON_BPF_SOURCE_GROUP_H

#include <bpf/libbpf.h>

#include "fill.h"

#define GROUP_PROBES_MAX 10

/**
 * struct source_hook - a probe of a group
 * @name: tracepoint or function
 * @module: that has it
 * @kind: what it is
 * @counter: which of the object's struct source_probe counts its events, one that is not
 *           attached counts nothing
 * @optional: the group is attached without it
 * @without: what is not known then, NULL where another hook of the same counter has it
 * @program: what is attached
 * @twin: the same once more, for what the kernel leaves out of @program; NULL for none
 * @link: where it is
 * @twin_link: where the twin is
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
	struct bpf_program *program;
	struct bpf_program *twin;
	struct bpf_link *link;
	struct bpf_link *twin_link;
	enum gpumon_attach_state state;
	char reason[192];
};

struct source_group;

/**
 * struct source_group_type - what a group does differently
 * @name: as in the module
 * @module: that has to be there, or to be built in, its name in /sys/module
 * @hooks: its probes, as they begin
 * @n_hooks: their number
 * @there: is the driver there? NULL: is @module loaded?
 * @load: open and load the object, set the programs of the hooks and what follows; 0 or
 *        a negative errno
 * @unload: the opposite
 * @fill: statistics and processes into a model; -1 without memory
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
};

/**
 * struct source_group - a group as it is
 * @type: what it is
 * @built_in: its driver is part of the kernel
 * @hooks: its probes
 * @state: enum gpumon_attach_state
 * @reason: why it is not attached
 * @skeleton: of its object, NULL while that is not loaded
 * @probes: counters of its hooks, in the object's memory
 * @events: likewise
 * @with_events: events are wanted
 * @events_fd: the ring that they go to
 * @bytes: memory of its tables
 */
struct source_group {
	const struct source_group_type *type;
	bool built_in;
	struct source_hook hooks[GROUP_PROBES_MAX];
	enum gpumon_attach_state state;
	char reason[192];
	void *skeleton;
	const struct source_probe *probes;
	const struct source_events *events;
	bool with_events;
	int events_fd;
	uint64_t bytes;
};

extern const struct source_group_type gpumon_source_drm_sched;
extern const struct source_group_type gpumon_source_drm_vblank;
extern const struct source_group_type gpumon_source_nvidia;
/* Has no object: its files are counted by the programs of the one before. */
extern const struct source_group_type gpumon_source_nvidia_uvm;

/* Of the kernel's processors; a per-CPU value has one of each. */
int gpumon_source_processors(void);

/* Can the kernel take the processor away from a program of a tracepoint? */
bool gpumon_source_preempted(void);

/* Processes of an object's table, and whether they are there. */
int gpumon_source_processes(struct gpumon_model *model, const struct source_process *processes,
			    unsigned int known);

#endif /* GPUMON_BPF_SOURCE_GROUP_H */
