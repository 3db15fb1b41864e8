// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "section.h"

enum targets {
	NONE,
	MAYBE,
	ONE,
	LIST
};

/* The first one that fits is taken. */
static const struct form {
	const char *name;
	enum gpumon_probe_point point;
	enum targets targets;
} forms[] = {
	{ "gpu/entry", GPUMON_PROBE_ENTRY, MAYBE },
	{ "gpu/exit", GPUMON_PROBE_EXIT, MAYBE },
	{ "gpu/memory", GPUMON_PROBE_MEMORY, MAYBE },
	{ "gpu/atomic", GPUMON_PROBE_ATOMIC, MAYBE },
	{ "gpu/barrier", GPUMON_PROBE_BARRIER, MAYBE },
	{ "gpu/function", GPUMON_PROBE_FUNCTION_ENTRY, ONE },
	{ "gpu/function_exit", GPUMON_PROBE_FUNCTION_EXIT, ONE },
	{ "gpu/run", GPUMON_PROBE_RUN, NONE },
	/* bpftime's */
	{ "kprobe/__memcapture", GPUMON_PROBE_MEMORY, NONE },
	{ "kprobe/__directly_run", GPUMON_PROBE_RUN, NONE },
	{ "kprobe", GPUMON_PROBE_ENTRY, LIST },
	{ "kretprobe", GPUMON_PROBE_EXIT, LIST },
};

bool gpumon_probe_section_is_gpu(const char *section, const char *function)
{
	return !strncmp(section, "gpu/", 4) || !strncmp(function, "cuda__", 6);
}

static int refuse(const char *section, const char *function, struct gpumon_error *err,
		  const char *reason)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"%.60s: section \"%.100s\": %s", function, section, reason);
}

/* Kernels may be given demangled, so each printable character can come up. */
static bool is_list(const char *text)
{
	bool empty = true;

	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || (*text == ',' && empty))
			return false;
		empty = *text == ',';
	}
	return !empty;
}

int gpumon_probe_section_read(const char *section, const char *function,
			      enum gpumon_probe_point *point, const char **targets,
			      struct gpumon_error *err)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t length = strlen(forms[i].name);
		const char *rest = section + length;

		if (strncmp(section, forms[i].name, length) != 0 || (*rest && *rest != '/'))
			continue;
		if (*rest && forms[i].targets == NONE)
			return refuse(section, function, err,
				      "nothing may follow this name: leave it out");
		if (!*rest && forms[i].targets == ONE)
			return refuse(section, function, err,
				      "it names no function: write its name behind a slash");
		if (!*rest && forms[i].targets == LIST)
			return refuse(
				section, function, err,
				"it names no kernel: write its name behind a slash, or use gpu/entry and gpu/exit for all");
		if (*rest && !is_list(rest + 1))
			return refuse(
				section, function, err,
				"behind the slash there have to be printable names with one comma in between: correct it");
		*point = forms[i].point;
		*targets = *rest ? rest + 1 : rest;
		return 0;
	}
	return refuse(
		section, function, err,
		"no such place for a program on the GPU is known: use gpu/entry, gpu/exit, gpu/memory, gpu/atomic, gpu/barrier, gpu/function/NAME, gpu/function_exit/NAME, gpu/run, kprobe/KERNEL or kretprobe/KERNEL");
}
