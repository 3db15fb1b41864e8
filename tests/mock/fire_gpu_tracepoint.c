// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds tracepoints by module and name, calls them as trace_X() would, and counts the calls.
 *
 * Not linked against the other modules: they come and go while this one stays, and most of their
 * tracepoints are not exported.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fire_compat.h"
#include "fire_gpu.h"
#include "fire_trace.h"

#define FIRE_KERNEL "vmlinux"

struct fire_module {
	struct list_head node;
	struct module *module;
};

struct fire_search {
	const char *name;
	struct tracepoint *found;
};

/* Protects the list of modules with tracepoints, and the account. Also taken in the notifier. */
static DEFINE_MUTEX(fire_lock);
static LIST_HEAD(fire_modules);
static LIST_HEAD(fire_points);

static int fire_module_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct tp_module *tp_module = data;
	struct fire_module *entry, *next;

	mutex_lock(&fire_lock);
	if (action == MODULE_STATE_COMING) {
		entry = kzalloc(sizeof(*entry), GFP_KERNEL);
		if (entry) {
			entry->module = tp_module->mod;
			list_add(&entry->node, &fire_modules);
		} else {
			pr_warn("%s: no memory for %s\n", KBUILD_MODNAME, tp_module->mod->name);
		}
	} else if (action == MODULE_STATE_GOING) {
		list_for_each_entry_safe(entry, next, &fire_modules, node) {
			if (entry->module != tp_module->mod)
				continue;
			list_del(&entry->node);
			kfree(entry);
		}
	}
	mutex_unlock(&fire_lock);
	return NOTIFY_OK;
}

static struct notifier_block fire_module_nb = {
	.notifier_call = fire_module_notify,
};

static void fire_match(struct tracepoint *tp, void *data)
{
	struct fire_search *search = data;

	if (!strcmp(tp->name, search->name))
		search->found = tp;
}

/* Takes a reference on the module of a tracepoint, if it has one. */
static struct tracepoint *fire_find(const char *module, const char *name, struct module **owner)
{
	struct fire_search search = { .name = name };
	struct fire_module *entry;
	unsigned int i;

	lockdep_assert_held(&fire_lock);
	*owner = NULL;
	if (!strcmp(module, FIRE_KERNEL)) {
		for_each_kernel_tracepoint(fire_match, &search);
		return search.found ?: ERR_PTR(-ENOENT);
	}

	list_for_each_entry(entry, &fire_modules, node) {
		struct module *mod = entry->module;

		if (strcmp(mod->name, module))
			continue;
		for (i = 0; i < mod->num_tracepoints; i++)
			fire_match(tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]), &search);
		if (!search.found)
			return ERR_PTR(-ENOENT);
		if (!try_module_get(mod))
			return ERR_PTR(-ENODEV);
		*owner = mod;
		return search.found;
	}
	return ERR_PTR(-ENODEV);
}

static struct fire_point *fire_point_get(const char *module, const char *name)
{
	struct fire_point *point;

	lockdep_assert_held(&fire_lock);
	list_for_each_entry(point, &fire_points, node)
		if (!strcmp(point->module, module) && !strcmp(point->name, name))
			return point;

	point = kzalloc(sizeof(*point), GFP_KERNEL);
	if (!point)
		return NULL;
	strscpy(point->module, module, sizeof(point->module));
	strscpy(point->name, name, sizeof(point->name));
	list_add_tail(&point->node, &fire_points);
	return point;
}

/**
 * fire_tracepoint_get() - find a tracepoint and hold its module
 * @target: out
 * @module: as in /proc/modules, or "vmlinux"
 * @name: name of the tracepoint
 *
 * Return: 0; -ENODEV if the module is not loaded or is unloading, -ENOENT if it has no such
 * tracepoint, -EOPNOTSUPP if its probes may sleep, -ENOMEM, -ENAMETOOLONG.
 */
int fire_tracepoint_get(struct fire_target *target, const char *module, const char *name)
{
	int ret = -ENOMEM;

	if (strlen(module) >= MODULE_NAME_LEN || strlen(name) >= FIRE_NAME_LEN)
		return -ENAMETOOLONG;

	mutex_lock(&fire_lock);
	target->tp = fire_find(module, name, &target->owner);
	if (IS_ERR(target->tp)) {
		ret = PTR_ERR(target->tp);
		goto out;
	}
#ifdef MOCK_HAVE_FAULTABLE_TRACEPOINTS
	/* Tracepoints of system calls are protected in another way. */
	if (tracepoint_is_faultable(target->tp)) {
		ret = -EOPNOTSUPP;
		goto out_put;
	}
#endif
	target->point = fire_point_get(module, name);
	if (target->point) {
		mutex_unlock(&fire_lock);
		return 0;
	}
#ifdef MOCK_HAVE_FAULTABLE_TRACEPOINTS
out_put:
#endif
	module_put(target->owner);
out:
	mutex_unlock(&fire_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(fire_tracepoint_get);

/**
 * fire_tracepoint_put() - release the module of a tracepoint
 * @target: from fire_tracepoint_get()
 */
void fire_tracepoint_put(struct fire_target *target)
{
	module_put(target->owner);
}
EXPORT_SYMBOL_GPL(fire_tracepoint_put);

/**
 * fire_tracepoint_call() - call a tracepoint
 * @batch: the tracepoint, its arguments, and the counts so far
 * @calls: number of calls
 *
 * Context: any in which the probes of the tracepoint may run.
 */
void fire_tracepoint_call(struct fire_batch *batch, unsigned int calls)
{
	unsigned int i;

	while (calls--) {
		batch->probed += fire_trace(batch->tp, batch->args);
		if (!--batch->left) {
			batch->left = batch->run->count;
			for (i = 0; i < FIRE_MAX_ARGS; i++)
				batch->args[i] = batch->run->args[i].value;
			continue;
		}
		for (i = 0; i < FIRE_MAX_ARGS; i++)
			batch->args[i] += batch->run->args[i].step;
	}
}

/**
 * fire_account_show() - print the account, a row for each tracepoint
 * @m: output
 */
void fire_account_show(struct seq_file *m)
{
	struct fire_point *point;

	seq_puts(m, "module tracepoint fires probed\n");
	mutex_lock(&fire_lock);
	list_for_each_entry(point, &fire_points, node)
		seq_printf(m, "%s %s %lld %lld\n", point->module, point->name,
			   atomic64_read(&point->fires), atomic64_read(&point->probed));
	mutex_unlock(&fire_lock);
}

/**
 * fire_account_reset() - reset the account
 */
void fire_account_reset(void)
{
	struct fire_point *point;

	mutex_lock(&fire_lock);
	list_for_each_entry(point, &fire_points, node) {
		atomic64_set(&point->fires, 0);
		atomic64_set(&point->probed, 0);
	}
	mutex_unlock(&fire_lock);
}

/**
 * fire_tracepoint_init() - track loaded and new modules
 *
 * Return: 0 or a negative error.
 */
int fire_tracepoint_init(void)
{
	return register_tracepoint_module_notifier(&fire_module_nb);
}

/**
 * fire_tracepoint_exit() - stop tracking modules
 */
void fire_tracepoint_exit(void)
{
	struct fire_point *point, *next;

	/* The notifier is called with GOING for every module, which empties the list. */
	unregister_tracepoint_module_notifier(&fire_module_nb);
	list_for_each_entry_safe(point, next, &fire_points, node)
		kfree(point);
}
