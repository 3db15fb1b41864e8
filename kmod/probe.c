// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attach engine.
 *
 * A probe whose prototype in the running kernel's BTF is not the one expected
 * is refused in probe_attach(), before it is registered: that is where the
 * check belongs, once the companion hands the prototypes over.
 */
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "period.h"
#include "probe.h"

DEFINE_MUTEX(gpumon_probe_lock);
struct gpumon_counters gpumon_probe_counters;

static bool probes_running;

#define for_each_group(group, g) \
	for ((g) = 0; (g) < gpumon_group_count && ((group) = gpumon_groups[g], true); (g)++)

#define for_each_probe(group, probe) \
	for ((probe) = (group)->probes; (probe) < (group)->probes + (group)->count; (probe)++)

__printf(3, 4) static void probe_say(struct gpumon_probe *probe, enum gpumon_attach_state state,
				     const char *format, ...)
{
	va_list args;

	probe->state = state;
	va_start(args, format);
	vscnprintf(probe->reason, sizeof(probe->reason), format, args);
	va_end(args);
}

/* The name that another kernel generation has for the same event. */
static const struct gpumon_probe *probe_other_name(const struct gpumon_group *group,
						   const struct gpumon_probe *probe)
{
	const struct gpumon_probe *other;

	for_each_probe(group, other)
		if (other != probe && other->role == probe->role &&
		    other->state == GPUMON_ATTACH_STATE_ATTACHED)
			return other;
	return NULL;
}

/* The module that a probe comes and goes with. */
static const char *probe_follows(const struct gpumon_probe *probe)
{
	return probe->module ?: probe->with;
}

static bool probe_is_with(const struct gpumon_probe *probe, const char *module)
{
	const char *follows = probe_follows(probe);

	return follows && !strcmp(follows, module);
}

static void probe_missing(struct gpumon_group *group, struct gpumon_probe *probe)
{
	const struct gpumon_probe *other = probe_other_name(group, probe);

	if (other)
		probe_say(probe, GPUMON_ATTACH_STATE_MISSING, "this kernel calls it %s",
			  other->name);
	else
		probe_say(probe, GPUMON_ATTACH_STATE_MISSING, "not in this kernel%s%s",
			  probe->without ? ": " : "", probe->without ?: "");
}

static int kprobe_attach(struct gpumon_probe *probe)
{
	/* What is left of an earlier registration would be refused. */
	memset(&probe->kprobe, 0, sizeof(probe->kprobe));
	probe->kprobe.symbol_name = probe->name;
	probe->kprobe.pre_handler = probe->body;
	return register_kprobe(&probe->kprobe);
}

static void probe_attach(struct gpumon_group *group, struct gpumon_probe *probe)
{
	int ret;

	if (probe->state == GPUMON_ATTACH_STATE_ATTACHED)
		return;
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT) {
		if (!probe->tp) {
			probe_missing(group, probe);
			return;
		}
		ret = tracepoint_probe_register(probe->tp, probe->body, gpumon_probe_data(probe));
	} else {
		ret = kprobe_attach(probe);
	}
	if (!ret)
		probe_say(probe, GPUMON_ATTACH_STATE_ATTACHED, "%s", "");
	else if (ret == -ENOENT)
		probe_missing(group, probe);
	else if (ret == -EOPNOTSUPP)
		probe_say(probe, GPUMON_ATTACH_STATE_FAILED,
			  "kernel without kprobes, rebuild it with CONFIG_KPROBES");
	else
		probe_say(probe, GPUMON_ATTACH_STATE_FAILED, "registration failed with error %d",
			  ret);
}

static void probe_detach(struct gpumon_probe *probe)
{
	if (probe->state != GPUMON_ATTACH_STATE_ATTACHED)
		return;
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT)
		tracepoint_probe_unregister(probe->tp, probe->body, gpumon_probe_data(probe));
	else
		unregister_kprobe(&probe->kprobe);
	probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
}

static bool group_attached(const struct gpumon_group *group)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe->state == GPUMON_ATTACH_STATE_ATTACHED)
			return true;
	return false;
}

static bool module_loaded(const struct gpumon_group *group, const char *module)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe->module && !strcmp(probe->module, module) && probe->tp)
			return true;
	return false;
}

/*
 * Attach what can be attached now. Later probes of the table go first: whoever
 * sees the end of a job is there before who sees its beginning.
 */
static void group_attach(struct gpumon_group *group)
{
	struct gpumon_probe *probe;

	if (!group->enabled || !probes_running)
		return;
	if (group->start && !group_attached(group))
		group->start();
	for (probe = group->probes + group->count; probe-- > group->probes;) {
		if (probe_follows(probe) && !module_loaded(group, probe_follows(probe)))
			probe_say(probe, GPUMON_ATTACH_STATE_WAITING, "module %s is not loaded",
				  probe_follows(probe));
		else
			probe_attach(group, probe);
	}
	/* Only now is it known which of several names the kernel has. */
	for_each_probe(group, probe)
		if (probe->state == GPUMON_ATTACH_STATE_MISSING)
			probe_missing(group, probe);
}

/* Beginnings stop first, ends of jobs that were seen to begin still count. */
static void group_detach(struct gpumon_group *group, const char *module)
{
	struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (!module || probe_is_with(probe, module))
			probe_detach(probe);
	tracepoint_synchronize_unregister();
}

static void module_tracepoints(struct module *module, bool coming)
{
	tracepoint_ptr_t *end = module->tracepoints_ptrs + module->num_tracepoints;
	tracepoint_ptr_t *at;
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	struct tracepoint *tp;
	unsigned int g;
	bool ours;

	for_each_group(group, g) {
		ours = false;
		for_each_probe(group, probe) {
			if (!probe->module || strcmp(probe->module, module->name))
				continue;
			ours = true;
			if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT || !coming)
				continue;
			for (at = module->tracepoints_ptrs; at < end; at++) {
				tp = tracepoint_ptr_deref(at);
				if (!strcmp(tp->name, probe->name))
					probe->tp = tp;
			}
		}
		if (!ours)
			continue;
		if (coming) {
			group_attach(group);
			continue;
		}
		group_detach(group, module->name);
		for_each_probe(group, probe) {
			if (!probe_is_with(probe, module->name))
				continue;
			if (probe->module)
				probe->tp = NULL;
			if (group->enabled)
				probe_say(probe, GPUMON_ATTACH_STATE_WAITING,
					  "module %s is not loaded", module->name);
		}
		if (group->module_gone)
			group->module_gone();
	}
}

/*
 * Called at COMING before the module's own code runs, at GOING after it; also
 * for what is loaded when the notifier is registered and unregistered.
 */
static int module_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct tp_module *tp_module = data;

	if (event != MODULE_STATE_COMING && event != MODULE_STATE_GOING)
		return NOTIFY_OK;
	mutex_lock(&gpumon_probe_lock);
	module_tracepoints(tp_module->mod, event == MODULE_STATE_COMING);
	mutex_unlock(&gpumon_probe_lock);
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = {
	.notifier_call = module_event,
};

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
		for_each_probe(group, probe) {
			probe->number = number++;
			probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
		}
	}
	ret = gpumon_counters_init(&gpumon_probe_counters, number, GPUMON_PROBE_WORDS, 0,
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
	for_each_group(group, g)
		group_attach(group);
	mutex_unlock(&gpumon_probe_lock);

	ret = register_tracepoint_module_notifier(&module_notifier);
	if (ret) {
		pr_err("cannot follow modules, register_tracepoint_module_notifier() failed with error %d\n",
		       ret);
		mutex_lock(&gpumon_probe_lock);
		probes_running = false;
		for_each_group(group, g)
			group_detach(group, NULL);
		mutex_unlock(&gpumon_probe_lock);
	}
	return ret;
}

/**
 * gpumon_probe_stop - detach everything and wait until no probe runs
 *
 * Context: may sleep, gpumon_probe_lock not held.
 */
void gpumon_probe_stop(void)
{
	struct gpumon_group *group;
	unsigned int g;

	/* Says GOING for every loaded module, which detaches its probes. */
	unregister_tracepoint_module_notifier(&module_notifier);
	mutex_lock(&gpumon_probe_lock);
	probes_running = false;
	for_each_group(group, g)
		group_detach(group, NULL);
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
		group_attach(group);
		return 0;
	}
	group_detach(group, NULL);
	for_each_probe(group, probe)
		probe_say(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
	return 0;
}

/**
 * gpumon_group_find - group of a name
 * @name: name
 *
 * Return: the group or NULL.
 */
struct gpumon_group *gpumon_group_find(const char *name)
{
	struct gpumon_group *group;
	unsigned int g;

	for_each_group(group, g)
		if (!strcmp(group->name, name))
			return group;
	return NULL;
}

/**
 * gpumon_group_state - state of a group as a whole
 * @group: group
 * @reason: set to why it is not attached, "" if it is
 *
 * A group is attached when each of its roles that is not optional is.
 *
 * Context: gpumon_probe_lock held.
 * Return: the state.
 */
enum gpumon_attach_state gpumon_group_state(const struct gpumon_group *group, const char **reason)
{
	const struct gpumon_probe *probe;

	if (!group->enabled) {
		*reason = "switched off, switch on with: gpumon-user set <group> on";
		return GPUMON_ATTACH_STATE_OFF;
	}
	for_each_probe(group, probe) {
		if (probe->state == GPUMON_ATTACH_STATE_ATTACHED || probe->optional ||
		    probe_other_name(group, probe))
			continue;
		*reason = probe->reason;
		return probe->state;
	}
	*reason = "";
	return GPUMON_ATTACH_STATE_ATTACHED;
}

/**
 * gpumon_probe_read - counters of a probe in one period
 * @probe: probe
 * @closed: the period that the last reset closed, else the one that runs
 * @view: filled in
 *
 * An event may be on its way between its counters on another CPU: seen is
 * read again until nothing moved, so that the counters agree.
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_probe_read(const struct gpumon_probe *probe, bool closed,
		       struct gpumon_probe_view *view)
{
	unsigned int tries, i;
	u64 sum;

	for (tries = 0; tries < 8; tries++) {
		gpumon_counters_read(&gpumon_probe_counters, probe->number, closed, view->words);
		sum = view->words[GPUMON_PROBE_RECORDED];
		for (i = 0; i < GPUMON_DROPS; i++)
			sum += view->words[GPUMON_PROBE_DROPPED + i];
		if (closed || sum == view->words[GPUMON_PROBE_SEEN])
			break;
	}
}

/**
 * gpumon_attach_state_name - a state in a word
 * @state: state
 *
 * Return: the word, as in the netlink specification.
 */
const char *gpumon_attach_state_name(enum gpumon_attach_state state)
{
	static const char *const names[] = {
		[GPUMON_ATTACH_STATE_OFF] = "off",
		[GPUMON_ATTACH_STATE_WAITING] = "waiting",
		[GPUMON_ATTACH_STATE_ATTACHED] = "attached",
		[GPUMON_ATTACH_STATE_MISSING] = "missing",
		[GPUMON_ATTACH_STATE_MISMATCH] = "mismatch",
		[GPUMON_ATTACH_STATE_FAILED] = "failed",
	};

	return names[state];
}

/**
 * gpumon_probe_kind_name - a kind of probe in a word
 * @kind: kind
 *
 * Return: the word, as in the netlink specification.
 */
const char *gpumon_probe_kind_name(enum gpumon_probe_kind kind)
{
	static const char *const names[] = {
		[GPUMON_PROBE_KIND_TRACEPOINT] = "tracepoint",
		[GPUMON_PROBE_KIND_KPROBE] = "kprobe",
		[GPUMON_PROBE_KIND_KRETPROBE] = "kretprobe",
	};

	return names[kind];
}

/**
 * gpumon_probe_module_name - module that holds a probe point
 * @probe: probe
 *
 * Return: its name, "vmlinux" for the kernel itself.
 */
const char *gpumon_probe_module_name(const struct gpumon_probe *probe)
{
	return probe->module ?: "vmlinux";
}
