/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of the module's probes, for kmod/btf/btf.c, in place of attach/engine.h and core/nofault.h. */
#ifndef GPUMON_FUZZ_SHIM_ENGINE_H
#define GPUMON_FUZZ_SHIM_ENGINE_H

#define GPUMON_PROBE_ENGINE_H
#define GPUMON_NOFAULT_H

#include <linux/types.h>

static inline bool gpumon_read_nofault(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return true;
}

#include "btf/btf.h"
#include "uapi/gpumon_netlink.h"

#define GPUMON_REASON_LEN  192
#define GPUMON_SYMBOL_LEN  128
#define GPUMON_NOT_CHECKED "prototype not checked"

struct gpumon_probe {
	const char *module;
	const char *name;
	enum gpumon_probe_kind kind;
	const char *prototype;
	const char *returns;
	int check;
	char check_reason[GPUMON_REASON_LEN];
};

struct gpumon_group {
	struct gpumon_probe *probes;
	unsigned int count;
	struct gpumon_field *fields;
	unsigned int field_count;
};

extern struct gpumon_group *const gpumon_groups[];
extern const unsigned int gpumon_group_count;

#define for_each_group(group, g) \
	for ((g) = 0; (g) < gpumon_group_count && ((group) = gpumon_groups[g], true); (g)++)
#define for_each_probe(group, probe) \
	for ((probe) = (group)->probes; (probe) < (group)->probes + (group)->count; (probe)++)
#define for_each_field(group, field) \
	for ((field) = (group)->fields; (field) < (group)->fields + (group)->field_count; (field)++)

static inline bool gpumon_group_shown(const struct gpumon_group *group)
{
	return group->count > 0;
}

void gpumon_btf_init(void);
int gpumon_btf_module_came(const char *module);
void gpumon_btf_module_gone(const char *module);
void gpumon_btf_done(void);

#endif /* GPUMON_FUZZ_SHIM_ENGINE_H */
