// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The available sources, and whether live processes can be probed. */
#include <string.h>

#include "doctor.h"

static const char *const of_module[] = { "module",	   "netlink",	 "permission",
					 "CONFIG_MODULES", "CONFIG_NET", "CONFIG_RING_BUFFER" };

static void soften_module_failures(struct gpumon_doctor *doctor)
{
	for (size_t i = 0; i < doctor->n_checks; i++) {
		struct gpumon_doctor_check *check = &doctor->checks[i];

		for (size_t k = 0; k < sizeof(of_module) / sizeof(*of_module); k++) {
			if (!strcmp(check->name, of_module[k]) &&
			    check->level == GPUMON_DOCTOR_FAIL)
				check->level = GPUMON_DOCTOR_WARN;
		}
	}
}

/* Reason that prevents the module from being loaded; "" if there is none. */
static const char *in_the_way(const struct gpumon_doctor *doctor)
{
	char text[128];

	if (gpumon_doctor_no_modules(doctor))
		return gpumon_doctor_no_modules(doctor);
	if (!gpumon_doctor_read(doctor, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    !strstr(text, "[none]"))
		return "the kernel is locked down: it would have to be signed";
	if (!gpumon_doctor_read(doctor, "/sys/module/module/parameters/sig_enforce", text,
				sizeof(text)) &&
	    text[0] == 'Y')
		return "modules have to be signed here";
	return "";
}

void gpumon_doctor_source(struct gpumon_doctor *doctor, const struct gpumon_error *module,
			  const struct gpumon_error *bpf)
{
	const char *hindrance = in_the_way(doctor);
	const char *joined = *hindrance ? ", and " : "";

	if (!module && !bpf) {
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "source", NULL,
				  "module, it answers; --source=bpf would do, too");
	} else if (!module) {
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "source", NULL,
				  "module, it answers; not bpf: %s", bpf->message);
	} else if (!bpf) {
		soften_module_failures(doctor);
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_OK, "source", NULL,
			"bpf, from when a command begins: CAP_BPF, CAP_PERFMON and BTF are there; the module does not answer (%s)%s%s",
			gpumon_error_word(module->code), joined, hindrance);
	} else {
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_FAIL, "source",
			gpumon_doctor_no_modules(doctor) ?
				"fix what keeps BPF from working" :
			module->code == GPUMON_ERROR_NOT_BUILT ?
				"build the module with netlink, or fix what keeps BPF from working" :
				"load the module, or fix what keeps BPF from working",
			"neither the module (%s)%s%s nor bpf: %s", gpumon_error_word(module->code),
			joined, hindrance, bpf->message);
	}
}

void gpumon_doctor_uprobes(struct gpumon_doctor *doctor, const struct gpumon_error *err)
{
	if (!err)
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "uprobes", NULL,
				  "live processes can be probed (record -p)");
	else
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_WARN, "uprobes", NULL,
				  "\"record -p\" has no uprobes: %s", err->message);
}
