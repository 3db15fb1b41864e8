// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks of the module: its files, its interface, and the state of its probes. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "driver/module_stats.h"
#include "lib/memory.h"
#include "lib/version.h"

#define OK   GPUMON_DOCTOR_OK
#define WARN GPUMON_DOCTOR_WARN
#define FAIL GPUMON_DOCTOR_FAIL

/* How to get a module that is not installed: there is no dkms on NixOS. */
static const char *how_to_install(const struct gpumon_doctor *doctor)
{
	if (gpumon_doctor_exists(doctor, "/etc/NIXOS"))
		return "make modules KERNELDIR=…/lib/modules/RELEASE/build of the kernel's dev output, then insmod gpumon.ko, as root";
	if (gpumon_doctor_exists(doctor, "/var/lib/dkms/gpumon/" GPUMON_VERSION))
		return "dkms install gpumon/" GPUMON_VERSION ", then modprobe gpumon, as root";
	return "make dkms-install in its source, then modprobe gpumon, as root";
}

static void check_unloaded(struct gpumon_doctor *doctor)
{
	const char *never = gpumon_doctor_no_modules(doctor);
	char release[128] = "", path[256];

	gpumon_doctor_read(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release));
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	if (never)
		gpumon_doctor_add(doctor, FAIL, "module",
				  "gpumon-user stat --source=bpf does without the module",
				  "not loaded, and %s", never);
	else if (gpumon_doctor_contains(doctor, path, "/gpumon.ko") > 0)
		gpumon_doctor_add(doctor, FAIL, "module", "modprobe gpumon",
				  "installed for %s, not loaded", release);
	else
		gpumon_doctor_add(doctor, FAIL, "module", how_to_install(doctor),
				  "not installed for %s, not loaded", release);
}

/* What `make modules` was told to leave out, in one line, with what is not there for that. */
static void check_left_out(struct gpumon_doctor *doctor)
{
	static const struct {
		const char *name, *meaning;
	} parts[] = {
		{ "netlink", "netlink (NETLINK=no: no stat, top, trace, metrics and set)" },
		{ "events", "events (EVENTS=no: no trace)" },
		{ "alerts",
		  "alerts (ALERTS=no: none by the module, no limits for jobs that hang)" },
	};
	char *words = gpumon_module_left_out(doctor->root), *text, *save;
	const char *before = "";
	bool any_group = false;
	size_t size, i;
	FILE *stream;

	if (!words || !*words) {
		free(words);
		return;
	}
	stream = gpumon_memstream_open(&text, &size);
	for (char *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			if (!strcmp(word, parts[i].name))
				break;
		if (i < sizeof(parts) / sizeof(parts[0]))
			fprintf(stream, "%s%s", before, parts[i].meaning);
		else
			fprintf(stream, "%s%s%s", before,
				any_group ? "" : "groups that are not in DRIVERS: ", word);
		any_group |= i == sizeof(parts) / sizeof(parts[0]);
		before = ", ";
	}
	gpumon_memstream_close(stream);
	gpumon_doctor_add(doctor, WARN, "left-out",
			  "\"make modules\" without these variables has all",
			  "the module was built without %s", text);
	free(text);
	free(words);
}

void gpumon_doctor_module(struct gpumon_doctor *doctor)
{
	char version[64];

	if (!gpumon_doctor_exists(doctor, "/sys/module/gpumon")) {
		check_unloaded(doctor);
		return;
	}
	if (gpumon_doctor_read(doctor, "/sys/module/gpumon/version", version, sizeof(version)))
		gpumon_doctor_add(doctor, WARN, "module", NULL, "loaded, its version is unknown");
	else if (strcmp(version, GPUMON_VERSION))
		gpumon_doctor_add(doctor, WARN, "module", "install the same version of both",
				  "loaded, version %s, this program is " GPUMON_VERSION, version);
	else
		gpumon_doctor_add(doctor, OK, "module", NULL, "loaded, version %s", version);
	check_left_out(doctor);
}

void gpumon_doctor_netlink(struct gpumon_doctor *doctor, const struct gpumon_error *err)
{
	if (!err)
		gpumon_doctor_add(doctor, OK, "netlink", NULL, "family gpumon answers, schema %d",
				  GPUMON_SCHEMA);
	else if (err->code == GPUMON_ERROR_NOT_LOADED)
		gpumon_doctor_add(doctor, FAIL, "netlink", NULL,
				  "does not answer, because the module is not loaded");
	else
		gpumon_doctor_add(doctor, FAIL, "netlink", NULL, "%s", err->message);
}

/*
 * In a working group, a missing probe has a name of another kernel generation. A probe that is off
 * in a group that is on is not needed: another one counts the same event.
 */
static enum gpumon_doctor_level level_of(struct gpumon_value state, bool group_attached)
{
	if (!state.known)
		return WARN;
	switch (state.v) {
	case GPUMON_ATTACH_STATE_ATTACHED:
	case GPUMON_ATTACH_STATE_OFF:
		return OK;
	case GPUMON_ATTACH_STATE_MISSING:
		return group_attached ? OK : WARN;
	case GPUMON_ATTACH_STATE_MISMATCH:
	case GPUMON_ATTACH_STATE_FAILED:
		return FAIL;
	default:
		return WARN;
	}
}

static void add_state(struct gpumon_doctor *doctor, enum gpumon_doctor_level level,
		      const char *what, const char *name, struct gpumon_value state,
		      const char *reason)
{
	char label[128];

	snprintf(label, sizeof(label), "%s %s", what, name ? name : "?");
	gpumon_doctor_add(doctor, level, label, NULL, "%s%s%s", gpumon_attach_state_name(state),
			  reason && *reason ? ", " : "", reason ? reason : "");
}

static bool group_is(const struct gpumon_group *group, enum gpumon_attach_state state)
{
	return group->state.known && group->state.v == state;
}

/*
 * A driver that is not loaded, or a group that is off, is one line and not a failure, since few
 * machines have all drivers. If no group is attached at all, that is a failure.
 */
static void check_idle_group(struct gpumon_doctor *doctor, const struct gpumon_group *group,
			     bool others)
{
	bool off = group_is(group, GPUMON_ATTACH_STATE_OFF);
	char name[64], advice[128], label[128];

	gpumon_format_name(name, sizeof(name), group->name);
	snprintf(label, sizeof(label), "group %s", name);
	snprintf(advice, sizeof(advice), "gpumon-user set %s on", name);
	gpumon_doctor_add(doctor, others ? OK : WARN, label, off ? advice : NULL,
			  "%s%s%s (%zu probes)", gpumon_attach_state_name(group->state),
			  !off && group->reason && *group->reason ? ", " : "",
			  !off && group->reason ? group->reason : "", group->n_probes);
}

/* A kernel without kprobes has a line of its own, which says what is not seen. */
static bool is_kprobe_without_kprobes(const struct gpumon_doctor *doctor,
				      const struct gpumon_probe *probe)
{
	return probe->kind.known && probe->kind.v != GPUMON_PROBE_KIND_TRACEPOINT &&
	       probe->state.known && probe->state.v == GPUMON_ATTACH_STATE_FAILED &&
	       gpumon_doctor_has(doctor, "CONFIG_KPROBES");
}

static void check_group(struct gpumon_doctor *doctor, const struct gpumon_group *group, bool others)
{
	bool attached = group_is(group, GPUMON_ATTACH_STATE_ATTACHED);

	if (group_is(group, GPUMON_ATTACH_STATE_OFF) ||
	    group_is(group, GPUMON_ATTACH_STATE_WAITING)) {
		check_idle_group(doctor, group, others);
		return;
	}
	add_state(doctor, level_of(group->state, attached), "group", group->name, group->state,
		  group->reason);
	for (size_t i = 0; i < group->n_probes; i++) {
		const struct gpumon_probe *probe = &group->probes[i];

		if (!is_kprobe_without_kprobes(doctor, probe))
			add_state(doctor, level_of(probe->state, attached), "probe", probe->name,
				  probe->state, probe->reason);
	}
}

static bool layout_wanted(const struct gpumon_model *model, const struct gpumon_layout *layout)
{
	for (size_t i = 0; i < model->n_groups; i++)
		if (model->groups[i].name && layout->group &&
		    !strcmp(model->groups[i].name, layout->group))
			return !group_is(&model->groups[i], GPUMON_ATTACH_STATE_OFF) &&
			       !group_is(&model->groups[i], GPUMON_ATTACH_STATE_WAITING);
	return false;
}

/* Is each field of the loaded drivers' private types found in BTF? */
static void check_layouts(struct gpumon_doctor *doctor, const struct gpumon_model *model)
{
	const struct gpumon_layout *first = NULL;
	size_t wanted = 0, found = 0;

	for (size_t i = 0; i < model->n_layouts; i++) {
		const struct gpumon_layout *layout = &model->layouts[i];

		if (!layout_wanted(model, layout))
			continue;
		wanted++;
		if (layout->offset.known)
			found++;
		else if (!first)
			first = layout;
	}
	if (!wanted)
		return;
	if (!first) {
		gpumon_doctor_add(doctor, OK, "layouts", NULL, "%zu of %zu fields found in BTF",
				  found, wanted);
		return;
	}
	/* A missing field in this driver is not a failure. Without any BTF, nothing is found. */
	gpumon_doctor_add(
		doctor, found ? OK : WARN, "layouts",
		found ? NULL :
			"sizes and names need CONFIG_DEBUG_INFO_BTF_MODULES; pahole -J adds BTF to a driver built without it",
		"%zu of %zu fields found in BTF; %s.%s: %s", found, wanted,
		first->type ? first->type : "?", first->member ? first->member : "?",
		first->reason && *first->reason ? first->reason : "not found");
}

static void check_losses(struct gpumon_doctor *doctor, const struct gpumon_model *model)
{
	uint64_t full = 0, recursion = 0, unreadable = 0, missed = 0, no_memory = 0;

	for (size_t g = 0; g < model->n_groups; g++) {
		for (size_t i = 0; i < model->groups[g].n_probes; i++) {
			const struct gpumon_drops *dropped = &model->groups[g].probes[i].dropped;

			full += dropped->table_full.v;
			recursion += dropped->recursion.v;
			unreadable += dropped->unreadable.v;
			missed += dropped->missed.v;
			no_memory += dropped->no_memory.v;
		}
	}
	if (full)
		gpumon_doctor_add(
			doctor, WARN, "losses",
			"load the module with larger max_rings, max_processes or max_jobs",
			"%llu events found a full table", (unsigned long long)full);
	if (missed)
		gpumon_doctor_add(doctor, WARN, "losses", NULL,
				  "%llu calls of probed functions were missed by the kernel",
				  (unsigned long long)missed);
	if (recursion)
		gpumon_doctor_add(doctor, WARN, "losses", NULL, "%llu events inside of a probe",
				  (unsigned long long)recursion);
	if (unreadable)
		gpumon_doctor_add(doctor, WARN, "losses", NULL,
				  "%llu events had arguments that could not be read",
				  (unsigned long long)unreadable);
	if (no_memory)
		gpumon_doctor_add(
			doctor, WARN, "losses",
			"switch the CPU off and on again when there is memory",
			"%llu events on a CPU that came online when there was no memory for it",
			(unsigned long long)no_memory);
	if (!full && !missed && !recursion && !unreadable && !no_memory)
		gpumon_doctor_add(doctor, OK, "losses", NULL, "no event was lost in this period");
}

void gpumon_doctor_model(struct gpumon_doctor *doctor, const struct gpumon_model *model)
{
	bool any = false;

	if (!model->n_groups)
		gpumon_doctor_add(doctor, WARN, "groups", NULL, "the module has none");
	for (size_t i = 0; i < model->n_groups; i++)
		any |= group_is(&model->groups[i], GPUMON_ATTACH_STATE_ATTACHED);
	for (size_t i = 0; i < model->n_groups; i++)
		check_group(doctor, &model->groups[i], any);
	check_layouts(doctor, model);
	check_losses(doctor, model);
}
