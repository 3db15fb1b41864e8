/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface between the files of the attach engine. Its functions may sleep. They are called with
 * gpumon_probe_lock held if they do not say otherwise; init and exit before and after all others.
 */
#ifndef GPUMON_PROBE_ENGINE_H
#define GPUMON_PROBE_ENGINE_H

#include <linux/string.h>

#include "probe.h"

/**
 * struct gpumon_followed - the kernel itself, or a module that a probe or field names
 * @name: its name, NULL for the kernel
 * @built_in: it is part of the kernel, and so it is always there
 * @loaded: it is there
 * @tracepoints: it has tracepoints, and a licence with which they can be reached
 * @look_error: whether it is there could not be found out, negative error
 * @btf_error: its BTF is there and could not be read, negative error
 */
struct gpumon_followed {
	const char *name;
	bool built_in;
	bool loaded;
	bool tracepoints;
	int look_error;
	int btf_error;
};

/* Two names of modules, each NULL for the kernel. */
static inline bool gpumon_same_module(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

struct gpumon_followed *gpumon_followed(const char *name);
struct gpumon_followed *gpumon_followed_at(unsigned int i);
int gpumon_follow_init(void);
void gpumon_follow_exit(void);
bool gpumon_follow_look(struct gpumon_followed *module);
void gpumon_probe_set_waiting(struct gpumon_probe *probe, const struct gpumon_followed *module);
bool gpumon_follow_read_again(void);

__printf(3, 4) void gpumon_probe_set_state(struct gpumon_probe *probe, enum gpumon_attach_state state,
				     const char *format, ...);

void gpumon_probe_set_attached(struct gpumon_probe *probe);
void gpumon_probe_set_failed(struct gpumon_probe *probe, int error);

const struct gpumon_probe *gpumon_probe_other_name(const struct gpumon_group *group,
						   const struct gpumon_probe *probe);

int gpumon_group_allocate(struct gpumon_group *group);
void gpumon_group_release(struct gpumon_group *group);
bool gpumon_group_waits(const struct gpumon_group *group);
void gpumon_group_forget(const struct gpumon_group *group);
bool gpumon_group_attached(const struct gpumon_group *group);
void gpumon_group_attach(struct gpumon_group *group);
void gpumon_group_detach(struct gpumon_group *group);
void gpumon_groups_wait(void);

int gpumon_modules_follow(void);
void gpumon_modules_leave(void);
bool gpumon_modules_look(bool again);

int gpumon_kprobe_init(u32 probes);
void gpumon_kprobe_exit(void);
int gpumon_kprobe_attach(struct gpumon_probe *probe);
void gpumon_kprobe_detach(struct gpumon_probe *probe);
void gpumon_kprobe_detached(void);
void gpumon_kprobe_collect(const struct gpumon_probe *probe);
size_t gpumon_kprobe_bytes(const struct gpumon_probe *probe);

int gpumon_check_init(void);
bool gpumon_check_layout_known(const struct gpumon_group *group);
bool gpumon_probe_mismatches(const struct gpumon_group *group, const struct gpumon_probe *probe,
		       char *reason, size_t size);
int gpumon_check_module_came(const char *module);
void gpumon_check_module_gone(const char *module);

#endif /* GPUMON_PROBE_ENGINE_H */
