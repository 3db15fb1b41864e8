// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules that come and go, and their tracepoints.
 *
 * There are two ways to follow modules, and each module is handled by the one that reports it
 * first. The tracepoints' notifier reports modules with tracepoints, also those that are loaded
 * already; it leaves out modules without tracepoints, and those of a foreign licence. The modules'
 * notifier reports all that come later; at load, sysfs shows which modules are there.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "btf/btf.h"
#include "core/fault.h"
#include "core/statistics.h"
#include "engine.h"

/* At load, all modules are checked in one go, and the kernel's BTF is kept in between. */
static bool modules_starting;

static bool group_is_with(const struct gpumon_group *group, const char *module)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (gpumon_same_module(probe->module, module) ||
		    gpumon_same_module(probe->with, module))
			return true;
	return false;
}

static void module_came(const char *name)
{
	struct gpumon_followed *module = gpumon_followed(name);
	struct gpumon_group *group;
	unsigned int g;

	if (!module)
		return;
	if (!module->loaded) {
		module->loaded = true;
		module->look_error = 0;
		module->btf_error = gpumon_check_module_came(name);
		if (!modules_starting)
			gpumon_btf_done();
	}
	for_each_group(group, g)
		if (group_is_with(group, name))
			gpumon_group_attach(group);
}

/*
 * A group whose module goes is detached as a whole and attached again without that module. Its
 * levels start over, because the objects of the module end unseen.
 */
static void module_gone(const char *name)
{
	struct gpumon_followed *module = gpumon_followed(name);
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	bool attached = false;
	unsigned int g;

	if (!module || !module->loaded)
		return;
	module->loaded = false;
	module->tracepoints = false;
	module->btf_error = 0;
	for_each_group(group, g) {
		if (!group_is_with(group, name) || !gpumon_group_attached(group))
			continue;
		gpumon_group_detach(group);
		attached = true;
	}
	if (attached)
		gpumon_groups_wait();
	for_each_group(group, g) {
		if (!group_is_with(group, name))
			continue;
		for_each_probe(group, probe)
			if (gpumon_same_module(probe->module, name))
				probe->tp = NULL;
		gpumon_group_forget(group);
		group->refused = NULL;
		if (group->module_gone)
			group->module_gone();
		if (gpumon_group_waits(group))
			gpumon_group_release(group);
		gpumon_group_attach(group);
	}
	gpumon_check_module_gone(name);
}

static void module_tracepoints(const struct module *module)
{
	tracepoint_ptr_t *end = module->tracepoints_ptrs + module->num_tracepoints;
	struct gpumon_followed *known = gpumon_followed(module->name);
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	tracepoint_ptr_t *at;
	struct tracepoint *tp;
	unsigned int g;

	if (!known)
		return;
	known->tracepoints = true;
	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT ||
			    !gpumon_same_module(probe->module, module->name))
				continue;
			for (at = module->tracepoints_ptrs; at < end; at++) {
				tp = tracepoint_ptr_deref(at);
				if (!strcmp(tp->name, probe->name))
					probe->tp = tp;
			}
		}
	}
}

/*
 * Notifier of tracepoints: called at COMING before the module's own code runs, at GOING after it;
 * also for all loaded modules when it is registered and unregistered.
 */
static int tracepoints_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = ((struct tp_module *)data)->mod;

	mutex_lock(&gpumon_probe_lock);
	/* A module on its way out is reported too; GOING follows. */
	if (event == MODULE_STATE_COMING && READ_ONCE(module->state) != MODULE_STATE_GOING) {
		module_tracepoints(module);
		module_came(module->name);
	} else if (event == MODULE_STATE_GOING) {
		module_gone(module->name);
	}
	mutex_unlock(&gpumon_probe_lock);
	return NOTIFY_OK;
}

static struct notifier_block tracepoints_notifier = {
	.notifier_call = tracepoints_event,
};

/* LIVE alone is seen of a module that was being loaded when the notifier was registered. */
static int module_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;

	mutex_lock(&gpumon_probe_lock);
	if (event == MODULE_STATE_COMING || event == MODULE_STATE_LIVE)
		module_came(module->name);
	else if (event == MODULE_STATE_GOING)
		module_gone(module->name);
	mutex_unlock(&gpumon_probe_lock);
	return NOTIFY_OK;
}

/*
 * Notifier of modules. The kernel's own ones run before it: when a module comes, those of BTF,
 * tracepoints and kprobes. When a module goes, that of kprobes takes off its kprobes. A kprobe that
 * is a jump and was unregistered right before would stay in the kernel's table for ever, and the
 * next one at its address would be refused.
 */
static struct notifier_block module_notifier = {
	.notifier_call = module_event,
	.priority = INT_MIN,
};

static int notifiers_register(void)
{
	int ret;

	ret = GPUMON_REGISTER("register_tracepoint_module_notifier", NULL,
			      register_tracepoint_module_notifier(&tracepoints_notifier));
	if (ret) {
		pr_err("cannot follow modules, register_tracepoint_module_notifier() failed with error %d, load gpumon again\n",
		       ret);
		return ret;
	}
	ret = GPUMON_REGISTER("register_module_notifier", NULL,
			      register_module_notifier(&module_notifier));
	if (ret) {
		unregister_tracepoint_module_notifier(&tracepoints_notifier);
		pr_err("cannot follow modules, register_module_notifier() failed with error %d, load gpumon again\n",
		       ret);
	}
	return ret;
}

/*
 * Finds drivers that are built in, by a tracepoint: built-in code need not have a folder in
 * /sys/module, and a module that is being loaded has one, too.
 */
static void kernel_tracepoint(struct tracepoint *tp, void *unused)
{
	struct gpumon_followed *module;
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT ||
			    strcmp(tp->name, probe->name))
				continue;
			probe->tp = tp;
			if (!probe->module)
				continue;
			module = gpumon_followed(probe->module);
			module->built_in = true;
			module->tracepoints = true;
		}
	}
}

/*
 * Finds out which modules are loaded; @again: only those for which that failed before. Returns
 * false if there was none.
 */
bool gpumon_modules_look(bool again)
{
	struct gpumon_followed *module;
	bool looked = false;
	unsigned int i;

	for (i = 0; (module = gpumon_followed_at(i)); i++) {
		if (module->loaded || (again && !module->look_error))
			continue;
		looked = true;
		if (gpumon_follow_look(module))
			module_came(module->name);
	}
	return looked;
}

/*
 * Handles the tracepoints of the kernel and the modules that are loaded, and from now on those that
 * come and go. The notifiers take gpumon_probe_lock. On an error nothing is followed.
 */
int gpumon_modules_follow(void)
{
	int ret;

	mutex_lock(&gpumon_probe_lock);
	for_each_kernel_tracepoint(kernel_tracepoint, NULL);
	modules_starting = true;
	gpumon_followed(NULL)->btf_error = gpumon_check_module_came(NULL);
	mutex_unlock(&gpumon_probe_lock);

	ret = notifiers_register();

	mutex_lock(&gpumon_probe_lock);
	if (!ret)
		gpumon_modules_look(false);
	gpumon_btf_done();
	modules_starting = false;
	mutex_unlock(&gpumon_probe_lock);
	return ret;
}

/* Nothing is attached, gpumon_probe_lock is not held. */
void gpumon_modules_leave(void)
{
	unregister_module_notifier(&module_notifier);
	/* Calls the notifier with GOING for every module that has tracepoints. */
	unregister_tracepoint_module_notifier(&tracepoints_notifier);
}
