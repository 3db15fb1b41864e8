// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks of the module: its files, the way to it, and what it says of its probes. */
#include <string.h>

#include "doctor.h"
#include "version.h"

#define OK   GPUMON_DOCTOR_OK
#define WARN GPUMON_DOCTOR_WARN
#define FAIL GPUMON_DOCTOR_FAIL

void gpumon_doctor_module(struct gpumon_doctor *doctor)
{
	char release[128] = "", path[256], version[64];

	gpumon_doctor_read(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release));
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);

	if (!gpumon_doctor_exists(doctor, "/sys/module/gpumon")) {
		if (gpumon_doctor_contains(doctor, path, "/gpumon.ko") > 0)
			gpumon_doctor_add(doctor, FAIL, "module", "modprobe gpumon",
					  "installed for %s, not loaded", release);
		else
			gpumon_doctor_add(doctor, FAIL, "module",
					  "dkms install gpumon/" GPUMON_VERSION
					  ", then modprobe gpumon",
					  "not installed for %s, not loaded", release);
		return;
	}
	if (gpumon_doctor_read(doctor, "/sys/module/gpumon/version", version, sizeof(version)))
		gpumon_doctor_add(doctor, WARN, "module", NULL, "loaded, its version is unknown");
	else if (strcmp(version, GPUMON_VERSION))
		gpumon_doctor_add(doctor, WARN, "module", "install the same version of both",
				  "loaded, version %s, this program is " GPUMON_VERSION, version);
	else
		gpumon_doctor_add(doctor, OK, "module", NULL, "loaded, version %s", version);
}

void gpumon_doctor_netlink(struct gpumon_doctor *doctor, const struct gpumon_error *err)
{
	if (!err)
		gpumon_doctor_add(doctor, OK, "netlink", NULL, "family gpumon answers, schema %d",
				  GPUMON_SCHEMA);
	else
		gpumon_doctor_add(doctor, FAIL, "netlink", NULL, "%s", err->message);
}

/* In a group that works, a missing probe is one of another kernel's generation of names. */
static enum gpumon_doctor_level level_of(struct gpumon_value state, bool group_attached)
{
	if (!state.known)
		return WARN;
	switch (state.v) {
	case GPUMON_ATTACH_STATE_ATTACHED:
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
		      const char *reason, const char *advice)
{
	char label[128];

	snprintf(label, sizeof(label), "%s %s", what, name ? name : "?");
	gpumon_doctor_add(doctor, level, label, advice, "%s%s%s", gpumon_attach_state_name(state),
			  reason && *reason ? ", " : "", reason ? reason : "");
}

static void check_group(struct gpumon_doctor *doctor, const struct gpumon_group *group)
{
	bool attached = group->state.known && group->state.v == GPUMON_ATTACH_STATE_ATTACHED;
	bool off = group->state.known && group->state.v == GPUMON_ATTACH_STATE_OFF;
	char advice[128] = "";

	if (off)
		snprintf(advice, sizeof(advice), "gpumon-user set %s on",
			 group->name ? group->name : "GROUP");
	add_state(doctor, level_of(group->state, attached), "group", group->name, group->state,
		  group->reason, off ? advice : NULL);

	for (size_t i = 0; i < group->n_probes; i++) {
		const struct gpumon_probe *probe = &group->probes[i];

		add_state(doctor, level_of(probe->state, attached), "probe", probe->name,
			  probe->state, probe->reason, NULL);
	}
}

static void check_losses(struct gpumon_doctor *doctor, const struct gpumon_model *model)
{
	uint64_t full = 0, recursion = 0;

	for (size_t g = 0; g < model->n_groups; g++) {
		for (size_t i = 0; i < model->groups[g].n_probes; i++) {
			full += model->groups[g].probes[i].dropped.table_full.v;
			recursion += model->groups[g].probes[i].dropped.recursion.v;
		}
	}
	if (full)
		gpumon_doctor_add(
			doctor, WARN, "losses",
			"load the module with larger max_rings, max_processes or max_jobs",
			"%llu events found a full table", (unsigned long long)full);
	else if (recursion)
		gpumon_doctor_add(doctor, WARN, "losses", NULL, "%llu events inside of a probe",
				  (unsigned long long)recursion);
	else
		gpumon_doctor_add(doctor, OK, "losses", NULL, "no event was lost in this period");
}

void gpumon_doctor_model(struct gpumon_doctor *doctor, const struct gpumon_model *model)
{
	if (!model->n_groups)
		gpumon_doctor_add(doctor, WARN, "groups", NULL, "the module has none");
	for (size_t i = 0; i < model->n_groups; i++)
		check_group(doctor, &model->groups[i]);
	check_losses(doctor, model);
}
