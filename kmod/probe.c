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
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "period.h"
#include "probe_engine.h"
#include "read_file.h"
#include "statistics.h"

DEFINE_MUTEX(gpumon_probe_lock);
struct gpumon_counters gpumon_probe_counters;

static bool probes_running;

/* What was loaded before is looked at in one go, with the kernel's BTF kept in between. */
static bool probes_starting;

/* The modules that a probe or field names. */
struct followed_module {
	const char *name;
	bool loaded;
	/* It has tracepoints, and a licence with which they can be reached. */
	bool tracepoints;
};

static struct followed_module *followed;
static unsigned int followed_count;

/**
 * gpumon_probe_say - what became of a probe
 * @probe: probe
 * @state: state
 * @format: why, for a reader, "" if there is nothing to say
 *
 * Context: gpumon_probe_lock held.
 */
void gpumon_probe_say(struct gpumon_probe *probe, enum gpumon_attach_state state,
		      const char *format, ...)
{
	va_list args;

	probe->state = state;
	va_start(args, format);
	vscnprintf(probe->reason, sizeof(probe->reason), format, args);
	va_end(args);
}

static struct followed_module *find_followed(const char *name)
{
	unsigned int i;

	for (i = 0; i < followed_count; i++)
		if (!strcmp(followed[i].name, name))
			return &followed[i];
	return NULL;
}

static void follow(const char *name)
{
	if (name && !find_followed(name))
		followed[followed_count++].name = name;
}

static int follow_all(void)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	const struct gpumon_field *field;
	unsigned int g, most = 0;

	for_each_group(group, g)
		most += 2 * group->count + group->field_count;
	followed_count = 0;
	followed = kcalloc(most, sizeof(*followed), GFP_KERNEL);
	if (!followed)
		return -ENOMEM;
	for_each_group(group, g) {
		for_each_probe(group, probe) {
			follow(probe->module);
			follow(probe->with);
		}
		for_each_field(group, field)
			follow(field->module);
	}
	return 0;
}

static bool probe_is_with(const struct gpumon_probe *probe, const char *module)
{
	return (probe->module && !strcmp(probe->module, module)) ||
	       (probe->with && !strcmp(probe->with, module));
}

/* The module that a probe waits for, NULL if it need not wait. */
static const char *probe_waits_for(const struct gpumon_probe *probe)
{
	if (probe->module && !find_followed(probe->module)->loaded)
		return probe->module;
	if (probe->with && !find_followed(probe->with)->loaded)
		return probe->with;
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
	else if (probe->module && !find_followed(probe->module)->tracepoints)
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
	ret = tracepoint_probe_register(probe->tp, probe->body, gpumon_probe_data(probe));
	if (ret)
		gpumon_probe_say(probe, GPUMON_ATTACH_STATE_FAILED,
				 "registration failed with error %d", ret);
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
	const struct gpumon_probe *other;
	struct gpumon_probe *probe;
	const char *missing;

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
			gpumon_probe_say(probe, GPUMON_ATTACH_STATE_WAITING,
					 "module %s is not loaded", missing);
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
	struct followed_module *module = find_followed(name);
	struct gpumon_group *group;
	unsigned int g;

	if (!module)
		return;
	if (!module->loaded) {
		module->loaded = true;
		gpumon_btf_module_came(name);
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
	struct followed_module *module = find_followed(name);
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	bool attached = false;
	unsigned int g;

	if (!module || !module->loaded)
		return;
	module->loaded = false;
	module->tracepoints = false;
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
	struct followed_module *known = find_followed(module->name);
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
	int ret = register_tracepoint_module_notifier(&tracepoints_notifier);

	if (ret) {
		pr_err("cannot follow modules, register_tracepoint_module_notifier() failed with error %d\n",
		       ret);
		return ret;
	}
	ret = register_module_notifier(&module_comes_notifier);
	if (ret)
		goto err_tracepoints;
	ret = register_module_notifier(&module_goes_notifier);
	if (ret)
		goto err_comes;
	return 0;

err_comes:
	unregister_module_notifier(&module_comes_notifier);
err_tracepoints:
	unregister_tracepoint_module_notifier(&tracepoints_notifier);
	pr_err("cannot follow modules, register_module_notifier() failed with error %d\n", ret);
	return ret;
}

/* No other way to ask is exported. One that is going says so to the notifier. */
static bool module_is_there(const char *name)
{
	char path[sizeof("/sys/module//initstate") + MODULE_NAME_LEN];
	char state[8] = {};

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", name);
	if (gpumon_read_file(path, state, sizeof(state)) < 0)
		return false;
	return !strncmp(state, "live", 4) || !strncmp(state, "coming", 6);
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
	ret = follow_all()			 ?:
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
	kfree(followed);
	followed = NULL;
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

/**
 * gpumon_probe_start - attach what is there, and from now on what comes
 *
 * Context: may sleep, gpumon_probe_lock not held: the notifier takes it.
 * Return: 0, or a negative error and nothing is attached.
 */
int gpumon_probe_start(void)
{
	struct gpumon_group *group;
	unsigned int g, i;
	int ret;

	for_each_kernel_tracepoint(kernel_tracepoint, NULL);
	mutex_lock(&gpumon_probe_lock);
	probes_running = true;
	probes_starting = true;
	gpumon_btf_module_came(NULL);
	mutex_unlock(&gpumon_probe_lock);

	ret = notifiers_register();

	mutex_lock(&gpumon_probe_lock);
	for (i = 0; !ret && i < followed_count; i++)
		if (!followed[i].loaded && module_is_there(followed[i].name))
			module_came(followed[i].name);
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
		group_attach(group);
		return 0;
	}
	group_detach(group);
	tracepoint_synchronize_unregister();
	for_each_probe(group, probe)
		gpumon_probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
	return 0;
}
