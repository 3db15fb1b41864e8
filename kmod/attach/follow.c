// SPDX-License-Identifier: GPL-2.0-only
/*
 * The modules that the attach engine follows, and what is known of them.
 *
 * BTF that could not be read when a module came, because memory was short, is read again when a
 * group is switched on. Until then the reasons say so.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "btf/btf.h"
#include "btf/read_file.h"
#include "core/fault.h"
#include "engine.h"

static struct gpumon_followed *followed;
static unsigned int followed_count;

/*
 * Entry of a module, whose name is NULL for the kernel; returns NULL if no probe or field names it.
 */
struct gpumon_followed *gpumon_followed(const char *name)
{
	unsigned int i;

	for (i = 0; i < followed_count; i++)
		if (gpumon_same_module(followed[i].name, name))
			return &followed[i];
	return NULL;
}

/* The module with a number, counted from 0; NULL behind the last. */
struct gpumon_followed *gpumon_followed_at(unsigned int i)
{
	return i < followed_count ? &followed[i] : NULL;
}

static void module_follow(const char *name)
{
	if (!gpumon_followed(name))
		followed[followed_count++].name = name;
}

/*
 * Lists the modules that probes and fields name. The caller calls gpumon_follow_exit(), also after
 * -ENOMEM.
 */
int gpumon_follow_init(void)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	const struct gpumon_field *field;
	unsigned int g, most = 1;

	for_each_group(group, g)
		most += 2 * group->count + group->field_count;
	followed_count = 0;
	followed = kcalloc(most, sizeof(*followed), GFP_KERNEL);
	if (!followed)
		return -ENOMEM;
	followed[followed_count++] = (struct gpumon_followed){ .built_in = true, .loaded = true };
	for_each_group(group, g) {
		for_each_probe(group, probe) {
			module_follow(probe->module);
			module_follow(probe->with);
		}
		for_each_field(group, field)
			module_follow(field->module);
	}
	return 0;
}

void gpumon_follow_exit(void)
{
	followed_count = 0;
	kfree(followed);
	followed = NULL;
}

/*
 * Is a module loaded? The kernel exports no function that says so, sysfs does. A module on its way
 * out is reported by the notifier. If sysfs cannot be read, the error is kept in @module. Drivers
 * that are built in have no such file.
 */
bool gpumon_follow_look(struct gpumon_followed *module)
{
	char path[sizeof("/sys/module//initstate") + MODULE_NAME_LEN];
	char state[8] = {};
	ssize_t bytes;

	if (module->built_in)
		return true;
	snprintf(path, sizeof(path), "/sys/module/%s/initstate", module->name);
	bytes = GPUMON_REGISTER("gpumon_read_file", path,
				gpumon_read_file(path, state, sizeof(state)));
	/* If the file or all of sysfs is missing, the module is not loaded. */
	module->look_error = bytes < 0 && bytes != -ENOENT && bytes != -ENOTDIR ? bytes : 0;
	if (bytes < 0)
		return false;
	return !strncmp(state, "live", 4) || !strncmp(state, "coming", 6);
}

/* Sets the state of a probe whose module is not loaded, or may not be. */
void gpumon_probe_set_waiting(struct gpumon_probe *probe, const struct gpumon_followed *module)
{
	if (module->look_error)
		gpumon_probe_set_state(
			probe, GPUMON_ATTACH_STATE_FAILED,
			"cannot tell whether module %s is loaded, error %d" GPUMON_TRY_AGAIN,
			module->name, module->look_error);
	else
		gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_WAITING, "module %s is not loaded",
				 module->name);
}

/* Reads BTF that could not be read when its module came. Returns false if there was none. */
bool gpumon_follow_read_again(void)
{
	struct gpumon_followed *module;
	bool again = false;

	for (module = followed; module < followed + followed_count; module++) {
		if (!module->loaded || !module->btf_error)
			continue;
		module->btf_error = gpumon_check_module_came(module->name);
		again = true;
	}
	gpumon_btf_done();
	return again;
}
