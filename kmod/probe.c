// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attach engine: who is there, what is attached, and why not.
 *
 * A probe whose prototype in the running kernel's BTF is not the one expected
 * is refused in probe_attach(), before it is registered; btf.c looks it up when
 * the module comes.
 *
 * Modules are followed in two ways. Those with tracepoints through the tracepoints'
 * notifier, which also names what is loaded already; but it leaves out modules
 * without tracepoints, and those of a foreign licence. All of them through the
 * modules' notifier, and at load through sysfs. Whichever comes first does the work.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "clock.h"
#include "fault.h"
#include "period.h"
#include "probe_engine.h"
#include "statistics.h"

DEFINE_MUTEX(gpumon_probe_lock);
struct gpumon_counters gpumon_probe_counters;

static bool probes_running;

/* What was loaded before is looked at in one go, with the kernel's BTF kept in between. */
static bool probes_starting;

static bool probe_is_with(const struct gpumon_probe *probe, const char *module)
{
	return (probe->module && !strcmp(probe->module, module)) ||
	       (probe->with && !strcmp(probe->with, module));
}

/* The module that a probe waits for, NULL if it need not wait. */
static const struct gpumon_followed *probe_waits_for(const struct gpumon_probe *probe)
{
	if (probe->module && !gpumon_followed(probe->module)->loaded)
		return gpumon_followed(probe->module);
	if (probe->with && !gpumon_followed(probe->with)->loaded)
		return gpumon_followed(probe->with);
	return NULL;
}

static void probe_missing(struct gpumon_group *group, struct gpumon_probe *probe)
{
	const struct gpumon_probe *other = gpumon_probe_other_name(group, probe);
	bool tracepoint = probe->kind == GPUMON_PROBE_KIND_TRACEPOINT;
	const char *what = "not in this kernel";

	if (other) {
		gpumon_probe_say(probe, GPUMON_ATTACH_STATE_MISSING,
				 other->fallback ? "%s is used instead" : "this kernel calls it %s",
				 other->name);
		return;
	}
	if (!tracepoint)
		what = "not in this kernel, or inlined";
	else if (probe->module && !gpumon_followed(probe->module)->tracepoints)
		what = "the module has no tracepoints, or a licence that hides them";
	gpumon_probe_say(probe, GPUMON_ATTACH_STATE_MISSING, "%s%s%s", what,
			 probe->without ? ": " : "", probe->without ?: "");
}

static void probe_attach(struct gpumon_group *group, struct gpumon_probe *probe)
{
	int ret;

	if (probe->state == GPUMON_ATTACH_STATE_ATTACHED)
		return;
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT && !probe->tp) {
		probe_missing(group, probe);
		return;
	}
	if (probe->check == -EBADMSG) {
		gpumon_probe_say(probe, GPUMON_ATTACH_STATE_MISMATCH, "%s", probe->check_reason);
		return;
	}
	if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT) {
		if (gpumon_kprobe_attach(probe) == -ENOENT)
			probe_missing(group, probe);
		return;
	}
	ret = GPUMON_REGISTER("tracepoint_probe_register", probe->name,
			      tracepoint_probe_register(probe->tp, probe->body,
							gpumon_probe_data(probe)));
	if (ret)
		gpumon_probe_say_failed(probe, ret);
	else
		gpumon_probe_say(probe, GPUMON_ATTACH_STATE_ATTACHED, "%s", probe->check_reason);
}

static void probe_detach(struct gpumon_probe *probe)
{
	if (probe->state != GPUMON_ATTACH_STATE_ATTACHED)
		return;
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT) {
		gpumon_kprobe_detached();
		tracepoint_probe_unregister(probe->tp, probe->body, gpumon_probe_data(probe));
	} else {
		gpumon_kprobe_detach(probe);
	}
	gpumon_probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
}

static bool group_attached(const struct gpumon_group *group)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe->state == GPUMON_ATTACH_STATE_ATTACHED)
			return true;
	return false;
}

static bool group_module_there(const struct gpumon_group *group)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (!probe_waits_for(probe))
			return true;
	return false;
}

/*
 * Attach what can be attached now. Later probes of the table go first: whoever
 * sees the end of a job is there before who sees its beginning.
 */
static void group_attach(struct gpumon_group *group)
{
	const struct gpumon_followed *missing;
	const struct gpumon_probe *other;
	struct gpumon_probe *probe;

	if (!group->enabled || !probes_running)
		return;
	if (group_module_there(group) && gpumon_group_allocate(group)) {
		for_each_probe(group, probe)
			gpumon_probe_say(
				probe, GPUMON_ATTACH_STATE_FAILED,
				"no memory for its statistics, switch the group off and on to try again");
		return;
	}
	if (!group_attached(group)) {
		gpumon_group_forget(group);
		if (group->start)
			group->start();
	}
	for (probe = group->probes + group->count; probe-- > group->probes;) {
		missing = probe_waits_for(probe);
		other = gpumon_probe_other_name(group, probe);
		if (missing)
			gpumon_follow_say(probe, missing);
		else if (!other || !(probe->fallback || other->fallback))
			probe_attach(group, probe);
		else if (probe->fallback && probe->state != GPUMON_ATTACH_STATE_ATTACHED)
			gpumon_probe_say(probe, GPUMON_ATTACH_STATE_OFF, "not needed, %s is used",
					 other->name);
	}
	/* Only now is it known which of several names the kernel has. */
	for_each_probe(group, probe)
		if (probe->state == GPUMON_ATTACH_STATE_MISSING &&
		    gpumon_probe_other_name(group, probe))
			probe_missing(group, probe);
}

/*
 * Beginnings stop first, ends of jobs that were seen to begin still count.
 * tracepoint_synchronize_unregister() has to follow.
 */
static void group_detach(struct gpumon_group *group)
{
	struct gpumon_probe *probe;

	for_each_probe(group, probe)
		probe_detach(probe);
	gpumon_kprobe_detached();
}

static bool group_is_with(const struct gpumon_group *group, const char *module)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe_is_with(probe, module))
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
		gpumon_follow_read_btf(module);
		if (!probes_starting)
			gpumon_btf_done();
	}
	for_each_group(group, g)
		if (group_is_with(group, name))
			group_attach(group);
}

/*
 * A group whose module goes is detached as a whole, and what is left of it
 * begins anew: its levels hang on things whose end nobody will see.
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
		if (!group_is_with(group, name) || !group_attached(group))
			continue;
		group_detach(group);
		attached = true;
	}
	if (attached)
		tracepoint_synchronize_unregister();
	for_each_group(group, g) {
		if (!group_is_with(group, name))
			continue;
		for_each_probe(group, probe)
			if (probe->module && !strcmp(probe->module, name))
				probe->tp = NULL;
		gpumon_group_forget(group);
		if (group->module_gone)
			group->module_gone();
		group_attach(group);
	}
	gpumon_btf_module_gone(name);
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
			if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT || !probe->module ||
			    strcmp(probe->module, module->name))
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
 * Called at COMING before the module's own code runs, at GOING after it; also
 * for what is loaded when the notifier is registered and unregistered.
 */
static int tracepoints_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = ((struct tp_module *)data)->mod;

	mutex_lock(&gpumon_probe_lock);
	/* One that is on its way out and shown all the same says GOING next. */
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

/* LIVE is for one that was on its way in when the notifier was registered. */
static int module_comes_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;

	if (event != MODULE_STATE_COMING && event != MODULE_STATE_LIVE)
		return NOTIFY_OK;
	mutex_lock(&gpumon_probe_lock);
	module_came(module->name);
	mutex_unlock(&gpumon_probe_lock);
	return NOTIFY_OK;
}

static int module_goes_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_OK;
	mutex_lock(&gpumon_probe_lock);
	module_gone(module->name);
	mutex_unlock(&gpumon_probe_lock);
	return NOTIFY_OK;
}

/*
 * When a module comes, everybody else has to know it first: BTF, tracepoints
 * and kprobes. When it goes, we are gone before they take it apart.
 */
static struct notifier_block module_comes_notifier = {
	.notifier_call = module_comes_event,
	.priority = INT_MIN,
};

static struct notifier_block module_goes_notifier = {
	.notifier_call = module_goes_event,
	.priority = INT_MAX,
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
	ret = GPUMON_REGISTER("register_module_notifier", "module_comes",
			      register_module_notifier(&module_comes_notifier));
	if (ret)
		goto err_tracepoints;
	ret = GPUMON_REGISTER("register_module_notifier", "module_goes",
			      register_module_notifier(&module_goes_notifier));
	if (ret)
		goto err_comes;
	return 0;

err_comes:
	unregister_module_notifier(&module_comes_notifier);
err_tracepoints:
	unregister_tracepoint_module_notifier(&tracepoints_notifier);
	pr_err("cannot follow modules, register_module_notifier() failed with error %d, load gpumon again\n",
	       ret);
	return ret;
}

static void kernel_tracepoint(struct tracepoint *tp, void *unused)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	unsigned int g;

	for_each_group(group, g)
		for_each_probe(group, probe)
			if (!probe->module && probe->kind == GPUMON_PROBE_KIND_TRACEPOINT &&
			    !strcmp(tp->name, probe->name))
				probe->tp = tp;
}

/**
 * gpumon_probe_init - number the probes and allocate their counters
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_probe_exit() frees what was allocated.
 */
int gpumon_probe_init(void)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	unsigned int g;
	u32 number = 0;
	int ret, cpu;

	for_each_group(group, g) {
		group->enabled = !group->off_by_default;
		for_each_probe(group, probe) {
			probe->number = number++;
			gpumon_probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
		}
	}
	gpumon_btf_init();
	ret = gpumon_follow_init()		 ?:
		      gpumon_kprobe_init(number) ?:
		      gpumon_counters_init(&gpumon_probe_counters, number, GPUMON_PROBE_WORDS, 0,
					   GPUMON_PROBE_STRIDE);
	if (ret)
		return ret;
	for_each_possible_cpu(cpu)
		per_cpu(gpumon_cpu, cpu).probes = gpumon_probe_counters.cpu[cpu];
	return 0;
}

/**
 * gpumon_probe_exit - free what gpumon_probe_init() allocated
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_probe_exit(void)
{
	gpumon_counters_free(&gpumon_probe_counters);
	gpumon_kprobe_exit();
	gpumon_follow_exit();
}

static void detach_all(void)
{
	struct gpumon_group *group;
	unsigned int g;

	mutex_lock(&gpumon_probe_lock);
	probes_running = false;
	for_each_group(group, g)
		group_detach(group);
	tracepoint_synchronize_unregister();
	mutex_unlock(&gpumon_probe_lock);
}

/* What is loaded already, or only those of which it could not be found out before. */
static bool look_for_modules(bool again)
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

/* What is attached with a prototype that could not be checked, and now has been. */
static void check_again(void)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	bool detached = false;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (probe->state != GPUMON_ATTACH_STATE_ATTACHED)
				continue;
			if (probe->check == -EBADMSG) {
				probe_detach(probe);
				gpumon_probe_say(probe, GPUMON_ATTACH_STATE_MISMATCH, "%s",
						 probe->check_reason);
				detached = true;
			} else if (strstarts(probe->reason, GPUMON_NOT_CHECKED)) {
				gpumon_probe_say(probe, GPUMON_ATTACH_STATE_ATTACHED, "%s",
						 probe->check_reason);
			}
		}
	}
	if (detached) {
		gpumon_kprobe_detached();
		tracepoint_synchronize_unregister();
	}
}

/* What could not be read is read again, for all groups, and told of their probes. */
static void try_again(void)
{
	struct gpumon_group *group;
	unsigned int g;

	if (!probes_running)
		return;
	if (gpumon_follow_read_again())
		check_again();
	if (look_for_modules(true))
		for_each_group(group, g)
			group_attach(group);
}

/**
 * gpumon_probe_start - attach what is there, and from now on what comes
 *
 * Context: may sleep, gpumon_probe_lock not held: the notifier takes it.
 * Return: 0, or a negative error and nothing is attached.
 */
int gpumon_probe_start(void)
{
	struct gpumon_group *group;
	unsigned int g;
	int ret;

	for_each_kernel_tracepoint(kernel_tracepoint, NULL);
	mutex_lock(&gpumon_probe_lock);
	probes_running = true;
	probes_starting = true;
	gpumon_follow_read_btf(NULL);
	mutex_unlock(&gpumon_probe_lock);

	ret = notifiers_register();

	mutex_lock(&gpumon_probe_lock);
	if (!ret)
		look_for_modules(false);
	gpumon_btf_done();
	probes_starting = false;
	for_each_group(group, g)
		group_attach(group);
	mutex_unlock(&gpumon_probe_lock);
	if (ret)
		detach_all();
	return ret;
}

/**
 * gpumon_probe_stop - detach everything and wait until no probe runs
 *
 * Context: may sleep, gpumon_probe_lock not held.
 */
void gpumon_probe_stop(void)
{
	detach_all();
	unregister_module_notifier(&module_goes_notifier);
	unregister_module_notifier(&module_comes_notifier);
	/* Says GOING for every module that has tracepoints. */
	unregister_tracepoint_module_notifier(&tracepoints_notifier);
}

/**
 * gpumon_probe_change_clock - let the probes measure with another clock
 *
 * Everything is detached for a moment, and what is under way is forgotten: it
 * began by the clock that was.
 *
 * Context: may sleep, gpumon_probe_lock not held.
 */
void gpumon_probe_change_clock(void)
{
	struct gpumon_group *group;
	unsigned int g;

	mutex_lock(&gpumon_probe_lock);
	for_each_group(group, g)
		group_detach(group);
	tracepoint_synchronize_unregister();
	gpumon_clock_select();
	for_each_group(group, g)
		group_attach(group);
	mutex_unlock(&gpumon_probe_lock);
}

/**
 * gpumon_group_set - switch a group on or off
 * @group: group
 * @enabled: on
 *
 * An event that comes at that moment is counted whole or not at all.
 *
 * Context: may sleep, gpumon_probe_lock held.
 * Return: 0, also if nothing changes.
 */
int gpumon_group_set(struct gpumon_group *group, bool enabled)
{
	struct gpumon_probe *probe;

	lockdep_assert_held(&gpumon_probe_lock);
	if (group->enabled == enabled)
		return 0;
	group->enabled = enabled;
	if (enabled) {
		try_again();
		group_attach(group);
		return 0;
	}
	group_detach(group);
	tracepoint_synchronize_unregister();
	for_each_probe(group, probe)
		gpumon_probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
	return 0;
}
