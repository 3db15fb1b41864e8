// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attach engine: prototypes and fields of the groups, which are looked up when their
 * module comes.
 */
#include <linux/string.h>

#include "btf/btf.h"
#include "core/field.h"
#include "engine.h"

static bool is_checked(const struct gpumon_probe *probe, const char *module)
{
	return (probe->prototype || probe->returns) && gpumon_same_module(probe->module, module);
}

static bool is_asked(const char *module)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	const struct gpumon_field *field;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe)
			if (is_checked(probe, module))
				return true;
		for_each_field(group, field)
			if (gpumon_same_module(field->module, module))
				return true;
	}
	return false;
}

static void probe_check(struct gpumon_btf_module *read, struct gpumon_probe *probe)
{
	const struct gpumon_btf_wanted wanted = {
		.name = probe->name,
		.tracepoint = probe->kind == GPUMON_PROBE_KIND_TRACEPOINT,
		.in_module = !gpumon_followed(probe->module)->built_in,
		.arguments = probe->prototype,
		.returns = probe->returns,
	};

	probe->check = gpumon_btf_check_prototype(read, &wanted, probe->check_reason,
						  sizeof(probe->check_reason));
}

/*
 * Checks the prototypes and finds the fields of a module; @name: NULL for the kernel itself. The
 * caller calls gpumon_btf_done() after any number of modules. Returns a negative error if there is
 * BTF and it could not be read now.
 */
int gpumon_check_module_came(const char *module)
{
	struct gpumon_btf_module read;
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	struct gpumon_field *field;
	unsigned int g;

	if (!is_asked(module))
		return 0;
	/* The types of a driver that is built in are among the kernel's. */
	gpumon_btf_read(gpumon_followed(module)->built_in ? NULL : module, &read);
	for_each_group(group, g) {
		for_each_probe(group, probe)
			if (is_checked(probe, module))
				probe_check(&read, probe);
		for_each_field(group, field)
			if (gpumon_same_module(field->module, module))
				gpumon_btf_resolve_field(&read, field);
	}
	gpumon_btf_release(&read);
	return read.error;
}

/* Forgets what was found about a module; no probe of it runs. */
void gpumon_check_module_gone(const char *module)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	struct gpumon_field *field;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (!is_checked(probe, module))
				continue;
			probe->check = -ENODATA;
			strscpy(probe->check_reason, GPUMON_BTF_NOT_CHECKED,
				sizeof(probe->check_reason));
		}
		for_each_field(group, field)
			if (gpumon_same_module(field->module, module))
				gpumon_btf_forget_field(field);
	}
}

/* Has BTF confirmed the offsets of the members that the group reads where the headers have them? */
bool gpumon_check_layout_known(const struct gpumon_group *group)
{
	const struct gpumon_field *field;

	for_each_field(group, field)
		if (field->built && !gpumon_field_known(field) &&
		    !gpumon_followed(field->module)->built_in)
			return false;
	return true;
}

/* Must a probe not be attached? @reason: set to why not, for a reader. */
bool gpumon_probe_mismatches(const struct gpumon_group *group, const struct gpumon_probe *probe,
		       char *reason, size_t size)
{
	const struct gpumon_field *field;

	if (READ_ONCE(group->refused)) {
		snprintf(reason, size,
			 "%s is not where gpumon was built for, and no BTF says where: load the kernel's own %s, or build gpumon with the headers of this one",
			 group->refused, gpumon_probe_module_name(probe));
		return true;
	}
	/* If one member lies elsewhere, no probe of the group can be trusted. */
	for_each_field(group, field) {
		if (!field->differs)
			continue;
		snprintf(reason, size, "%s.%s: %s", field->type, field->member, field->reason);
		return true;
	}
	if (probe->check != -EBADMSG)
		return false;
	strscpy(reason, probe->check_reason, size);
	return true;
}

static int want_path(const char *path)
{
	size_t length;
	int ret;

	for (;; path += length + 1) {
		length = strcspn(path, ".");
		ret = gpumon_btf_want(path, length, false);
		if (ret || !path[length])
			return ret;
	}
}

/*
 * Called before anything is known or attached. The caller calls gpumon_btf_stop(), also after
 * -ENOMEM.
 */
int gpumon_check_init(void)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	struct gpumon_field *field;
	unsigned int g;
	int ret = 0;

	for_each_group(group, g) {
		for_each_probe(group, probe)
			if (is_checked(probe, probe->module))
				ret = ret ?: gpumon_btf_want(
						     probe->name, strlen(probe->name),
						     probe->kind ==
							     GPUMON_PROBE_KIND_TRACEPOINT);
		for_each_field(group, field) {
			gpumon_btf_forget_field(field);
			ret = ret ?: want_path(field->type) ?: want_path(field->member);
		}
	}
	return ret;
}
