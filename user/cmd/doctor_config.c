// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Options that the kernel may have been built without: the effect and the remedy. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "doctor.h"
#include "lib/version.h"
#include "../kmod/uapi/gpumon_options.h"

/* Far above the longest value of a kernel configuration. Longer lines are skipped. */
#define LINE_LEN 4096

/**
 * struct option - an option, and the effect of its absence
 * @name: name with CONFIG_
 * @level: verdict if it is absent
 * @lost: what does not work without it
 */
struct option {
	const char *name;
	enum gpumon_doctor_level level;
	const char *lost;
};

static const struct option options[] = {
#ifndef __arm__
	/* ARM with 32 bits does without, and Kbuild says where not. */
	{ "CONFIG_64BIT", GPUMON_DOCTOR_FAIL,
	  "the module does not build: its counters are 64 bits wide" },
#endif
	{ "CONFIG_MODULES", GPUMON_DOCTOR_FAIL, "no module can be loaded" },
	{ "CONFIG_NET", GPUMON_DOCTOR_FAIL,
	  "the module does not build, and gpumon-user cannot reach it" },
	{ "CONFIG_RING_BUFFER", GPUMON_DOCTOR_FAIL,
	  "the module does not build: it needs the ring buffer of CONFIG_FTRACE" },
#define OPTION(name, costs, lost) \
	{ "CONFIG_" #name, costs ? GPUMON_DOCTOR_WARN : GPUMON_DOCTOR_OK, lost },
	GPUMON_OPTIONS(OPTION)
#undef OPTION
};

#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

/**
 * struct hint - more about an option
 * @name: name with CONFIG_
 * @advice: a remedy other than another kernel, or NULL
 * @sign: a file that only exists with this option, for kernels without a configuration file; may be
 *        NULL
 */
static const struct hint {
	const char *name;
	const char *advice;
	const char *sign;
} hints[] = {
	{ "CONFIG_64BIT", "use a 64-bit kernel", NULL },
	{ "CONFIG_MODULES", "gpumon-user stat --source=bpf does without the module",
	  "/proc/modules" },
	{ "CONFIG_NET", "gpumon-user stat --source=bpf does without", "/proc/net" },
	{ "CONFIG_RING_BUFFER", "gpumon-user stat --source=bpf does without the module",
	  "/sys/kernel/tracing/trace_pipe" },
	{ "CONFIG_DEBUG_FS", "gpumon-user stat and top have all the statistics, by netlink",
	  "/sys/kernel/debug" },
	{ "CONFIG_DEBUG_INFO_BTF", NULL, "/sys/kernel/btf/vmlinux" },
	{ "CONFIG_CGROUPS", NULL, "/sys/fs/cgroup" },
	{ "CONFIG_BPF_SYSCALL", "the module, and \"record -- command\", do without",
	  "/proc/sys/kernel/unprivileged_bpf_disabled" },
	{ "CONFIG_PERF_EVENTS", "\"record -- command\" does without",
	  "/proc/sys/kernel/perf_event_paranoid" },
	{ "CONFIG_UPROBE_EVENTS", "\"record -- command\" does without",
	  "/sys/bus/event_source/devices/uprobe" },
	{ "CONFIG_SMP", "nothing to do", NULL },
};

static const struct hint *hint_of(const struct option *option)
{
	static const struct hint none;

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (!strcmp(hints[i].name, option->name))
			return &hints[i];
	return &none;
}

/* The places where distributions put it. The first one counts. */
static gzFile config_open(const struct gpumon_doctor *doctor, char *found, size_t len)
{
	static const char *const places[] = { "/proc/config.gz", "/boot/config-%s",
					      "/lib/modules/%s/config",
					      "/lib/modules/%s/build/.config" };
	char release[128] = "", full[PATH_MAX];
	gzFile file;

	gpumon_doctor_read(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *wildcard = strstr(places[i], "%s");

		if (!wildcard)
			snprintf(found, len, "%s", places[i]);
		else if (!*release || strchr(release, '/'))
			continue;
		else
			snprintf(found, len, "%.*s%s%s", (int)(wildcard - places[i]), places[i],
				 release, wildcard + strlen("%s"));
		if ((size_t)snprintf(full, sizeof(full), "%s%s", doctor->root, found) >=
		    sizeof(full))
			continue;
		/* This also reads uncompressed files. */
		file = gzopen(full, "re");
		if (file)
			return file;
	}
	return NULL;
}

/* Index of the option that a line sets to y or m, or -1. */
static int option_of(const char *line, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(line, names[i], len) && line[len] == '=' &&
		    (line[len + 1] == 'y' || line[len + 1] == 'm'))
			return (int)i;
	}
	return -1;
}

/* Read the values 'y' or 'm' of the options. -1 if there is no (valid) configuration. */
static int config_read(const struct gpumon_doctor *doctor, const char *const *names, size_t n,
		       char *set, char *found, size_t len)
{
	gzFile file = config_open(doctor, found, len);
	char line[LINE_LEN];
	bool any = false;

	memset(set, 0, n * sizeof(*set));
	if (!file)
		return -1;
	while (gzgets(file, line, sizeof(line))) {
		int i = option_of(line, names, n);

		any |= strstr(line, "CONFIG_") != NULL;
		if (i >= 0)
			set[i] = strchr(line, '=')[1];
	}
	gzclose(file);
	return any ? 0 : -1;
}

/*
 * The module knows what its kernel was built with, wherever the configuration is. One of another
 * version knows other options. -1 if it cannot be asked.
 */
static int module_read(const struct gpumon_doctor *doctor, char *set)
{
	const struct gpumon_info *info = doctor->module;

	if (!info || !gpumon_same_text(info->version, GPUMON_VERSION))
		return -1;
	for (size_t i = 0; i < N_OPTIONS; i++) {
		set[i] = 'y';
		for (size_t k = 0; k < info->n_missing_options; k++)
			if (gpumon_same_text(info->missing_options[k].option, options[i].name))
				set[i] = '\0';
	}
	return 0;
}

int gpumon_doctor_option(const struct gpumon_doctor *doctor, const char *name)
{
	char full[64], found[256], set;
	const char *names[] = { full };

	snprintf(full, sizeof(full), "CONFIG_%s", name);
	return config_read(doctor, names, 1, &set, found, sizeof(found)) ? -1 : set;
}

const char *gpumon_doctor_no_modules(const struct gpumon_doctor *doctor)
{
	char text[16];

	/* Both files are there only with CONFIG_MODULES. */
	if (!gpumon_doctor_exists(doctor, "/proc/modules") &&
	    !gpumon_doctor_exists(doctor, "/sys/module/module") &&
	    gpumon_doctor_option(doctor, "MODULES") <= 0)
		return "this kernel was built without modules";
	if (!gpumon_doctor_read(doctor, "/proc/sys/kernel/modules_disabled", text, sizeof(text)) &&
	    text[0] == '1')
		return "no module can be loaded any more until the next boot";
	return NULL;
}

void gpumon_doctor_config(struct gpumon_doctor *doctor)
{
	char found[256] = "as the module says", set[N_OPTIONS];
	const char *names[N_OPTIONS];
	size_t missing = 0;
	bool asked, known;

	for (size_t i = 0; i < N_OPTIONS; i++)
		names[i] = options[i].name;
	asked = !module_read(doctor, set);
	known = asked || !config_read(doctor, names, N_OPTIONS, set, found, sizeof(found));
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct option *option = &options[i];
		const struct hint *hint = hint_of(option);

		/*
		 * An existing file outweighs a configuration in /boot, which may be of another
		 * build.
		 */
		if (!asked && hint->sign && gpumon_doctor_exists(doctor, hint->sign))
			continue;
		if (known ? set[i] : !hint->sign)
			continue;
		missing++;
		gpumon_doctor_add(doctor, known ? option->level : GPUMON_DOCTOR_WARN, option->name,
				  hint->advice ? hint->advice : "use a kernel that has it",
				  "%s: %s", known ? "not in this kernel" : "seems not to be there",
				  option->lost);
	}
	if (!known)
		gpumon_doctor_add(
			doctor, GPUMON_DOCTOR_WARN, "kernel-config",
			"install the kernel's package, or look with zcat /proc/config.gz",
			"not found in /proc, /boot or /lib/modules: options that the kernel lacks are only guessed");
	else if (!missing)
		gpumon_doctor_add(doctor, GPUMON_DOCTOR_OK, "kernel-config", NULL,
				  "all %zu options that gpumon makes use of are there (%s)",
				  N_OPTIONS, found);
}
