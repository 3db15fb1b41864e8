/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attach engine: groups of probes, each named by (module, name), bound
 * when the module that holds the probe point comes and unbound when it goes.
 *
 * A new driver is a file with a struct gpumon_group and its probe bodies, and a
 * line in gpumon_groups[].
 */
#ifndef GPUMON_PROBE_H
#define GPUMON_PROBE_H

#include <linux/kprobes.h>
#include <linux/mutex.h>

#include "counters.h"
#include "gpumon.h"
#include "uapi/gpumon_netlink.h"

struct module;
struct tracepoint;

#define GPUMON_REASON_LEN 96

/**
 * struct gpumon_probe - one probe point
 * @module: module that holds it as in /proc/modules, NULL for the kernel itself
 * @with: for one in the kernel itself, the module that it is attached with
 * @name: name of the tracepoint or function
 * @kind: tracepoint or kprobe
 * @role: what it is for, probes of one role are names that different kernels
 *        have for the same event
 * @body: tracepoint probe, its first argument is gpumon_probe_data(),
 *        for gpumon_probe_enter(); or a kprobe_pre_handler_t
 * @optional: the group is attached without it
 * @without: what is wrong or missing while it is not attached
 * @number: slot of its counters, given at load
 * @state: what became of it
 * @reason: why, for a reader
 * @tp: the tracepoint while its module is loaded
 * @kprobe: the kprobe while registered
 */
struct gpumon_probe {
	const char *module;
	const char *with;
	const char *name;
	enum gpumon_probe_kind kind;
	u8 role;
	void *body;
	bool optional;
	const char *without;

	u32 number;
	enum gpumon_attach_state state;
	char reason[GPUMON_REASON_LEN];
	struct tracepoint *tp;
	struct kprobe kprobe;
};

/**
 * struct gpumon_group - probes that make one set of statistics
 * @name: name of the group
 * @probes: its probes, in the order in which they are attached
 * @count: number of probes
 * @enabled: switched on
 * @start: called before the first probe is attached, while none runs
 * @module_gone: called when a module of the group is gone and no probe of it runs
 */
struct gpumon_group {
	const char *name;
	struct gpumon_probe *probes;
	unsigned int count;
	bool enabled;
	void (*start)(void);
	void (*module_gone)(void);
};

/**
 * struct gpumon_probe_view - counters of a probe in one period
 * @words: by GPUMON_PROBE_SEEN and so on
 */
struct gpumon_probe_view {
	u64 words[GPUMON_PROBE_WORDS];
};

extern struct gpumon_group *const gpumon_groups[];
extern const unsigned int gpumon_group_count;
extern struct gpumon_counters gpumon_probe_counters;
/* Held by who attaches, detaches or reads states. Taken before gpumon_period_lock. */
extern struct mutex gpumon_probe_lock;

/**
 * gpumon_probe_data - what a probe's body gets as its first argument
 * @probe: probe
 *
 * Return: for gpumon_probe_enter(), where the probe's counters are.
 */
static inline void *gpumon_probe_data(const struct gpumon_probe *probe)
{
	return (void *)((unsigned long)probe->number * GPUMON_PROBE_STRIDE);
}

int gpumon_probe_init(void);
int gpumon_probe_start(void);
void gpumon_probe_stop(void);
void gpumon_probe_exit(void);
int gpumon_group_set(struct gpumon_group *group, bool enabled);
struct gpumon_group *gpumon_group_find(const char *name);
enum gpumon_attach_state gpumon_group_state(const struct gpumon_group *group, const char **reason);
void gpumon_probe_read(const struct gpumon_probe *probe, bool closed,
		       struct gpumon_probe_view *view);
const char *gpumon_attach_state_name(enum gpumon_attach_state state);
const char *gpumon_probe_kind_name(enum gpumon_probe_kind kind);
const char *gpumon_probe_module_name(const struct gpumon_probe *probe);

#endif /* GPUMON_PROBE_H */
