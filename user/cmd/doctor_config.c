// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Options that the kernel may have been built without: the effect and the remedy. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "doctor.h"

/* Far above the longest value of a kernel configuration. Longer lines are skipped. */
#define LINE_LEN 4096

/**
 * struct option - an option, and the effect of its absence
 * @name: name without CONFIG_
 * @level: verdict if it is absent
 * @lost: what does not work without it
 * @advice: a remedy other than another kernel, or NULL
 * @sign: a file that only exists with this option, for kernels without a configuration file; may be
 *        NULL
 */
struct option {
	const char *name;
	enum gpumon_doctor_level level;
	const char *lost;
	const char *advice;
	const char *sign;
};

static const struct option options[] = {
	{ "64BIT", GPUMON_DOCTOR_FAIL, "the module does not build: its counters are 64 bits wide",
	  "use a 64-bit kernel", NULL },
	{ "MODULES", GPUMON_DOCTOR_FAIL, "no module can be loaded",
	  "gpumon-user stat --source=bpf does without the module", "/proc/modules" },
	{ "NET", GPUMON_DOCTOR_FAIL, "the module does not build, and gpumon-user cannot reach it",
	  "gpumon-user stat --source=bpf does without", "/proc/net" },
	{ "RING_BUFFER", GPUMON_DOCTOR_FAIL,
	  "the module does not build: it needs the ring buffer of CONFIG_FTRACE",
	  "gpumon-user stat --source=bpf does without the module",
	  "/sys/kernel/tracing/trace_pipe" },
	{ "KRETPROBES", GPUMON_DOCTOR_WARN,
	  "calls of NVIDIA's driver (opens, ioctls, mappings) are not seen by the module",
	  "gpumon-user stat --source=bpf sees them", NULL },
	{ "DEBUG_FS", GPUMON_DOCTOR_WARN,
	  "no stats and histograms files, and \"trace\" does not work with the module",
	  "gpumon-user stat and top have all the statistics, by netlink", "/sys/kernel/debug" },
	{ "DEBUG_INFO_BTF", GPUMON_DOCTOR_WARN,
	  "prototypes are not checked, sizes and names of i915 and amdgpu are unknown, no BPF source",
	  NULL, "/sys/kernel/btf/vmlinux" },
	{ "DEBUG_INFO_BTF_MODULES", GPUMON_DOCTOR_WARN,
	  "types of drivers that are modules are not found: sizes and names of i915 and amdgpu are unknown",
	  NULL, NULL },
	{ "CGROUPS", GPUMON_DOCTOR_WARN, "processes have no container", NULL, "/sys/fs/cgroup" },
	{ "BPF_SYSCALL", GPUMON_DOCTOR_WARN,
	  "no BPF: \"record -p\", and stat without the module, do not work",
	  "the module, and \"record -- command\", do without",
	  "/proc/sys/kernel/unprivileged_bpf_disabled" },
	{ "PERF_EVENTS", GPUMON_DOCTOR_WARN, "\"record -p\" does not work",
	  "\"record -- command\" does without", "/proc/sys/kernel/perf_event_paranoid" },
	{ "UPROBE_EVENTS", GPUMON_DOCTOR_WARN, "\"record -p\" has no uprobes",
	  "\"record -- command\" does without", "/sys/bus/event_source/devices/uprobe" },
};

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
	static const char prefix[] = "CONFIG_";

	if (strncmp(line, prefix, strlen(prefix)))
		return -1;
	line += strlen(prefix);
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

int gpumon_doctor_option(const struct gpumon_doctor *doctor, const char *name)
{
	char found[256], set;

	return config_read(doctor, &name, 1, &set, found, sizeof(found)) ? -1 : set;
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
	enum {
		N = sizeof(options) / sizeof(options[0])
	};
	const char *names[N];
	char found[256], set[N];
	size_t missing = 0;
	int known;

	for (size_t i = 0; i < N; i++)
		names[i] = options[i].name;
	known = !config_read(doctor, names, N, set, found, sizeof(found));
	for (size_t i = 0; i < N; i++) {
		const struct option *option = &options[i];
		char label[64];

		/*
		 * An existing file outweighs a configuration in /boot, which may be of another
		 * build.
		 */
		if (option->sign && gpumon_doctor_exists(doctor, option->sign))
			continue;
		if (known ? set[i] : !option->sign)
			continue;
		missing++;
		snprintf(label, sizeof(label), "CONFIG_%s", option->name);
		gpumon_doctor_add(doctor, known ? option->level : GPUMON_DOCTOR_WARN, label,
				  option->advice ? option->advice : "use a kernel that has it",
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
				  "all %d options that gpumon makes use of are there (%s)", N,
				  found);
}
