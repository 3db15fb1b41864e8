// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The doctor with simulated machines. */
#include <json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "doctor_machine.h"
#include "driver/client.h"
#include "lib/version.h"

#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static void all_is_well(void **state)
{
	struct gpumon_doctor doctor = machine_look();

	(void)state;
	for (size_t i = 0; i < doctor.n_checks; i++) {
		if (doctor.checks[i].level != GPUMON_DOCTOR_OK)
			fail_msg("%s: %s", doctor.checks[i].name, doctor.checks[i].message);
	}
	assert_true(doctor.n_checks >= 11);
	gpumon_doctor_free(&doctor);
}

static void kernels(void **state)
{
	(void)state;
	machine_put("/proc/sys/kernel/osrelease", "4.19.0-27-amd64\n");
	machine_expect("kernel", GPUMON_DOCTOR_FAIL, "4.19.0-27-amd64");
	machine_put("/proc/sys/kernel/osrelease", "5.9.16\n");
	machine_expect("kernel", GPUMON_DOCTOR_FAIL, "older");
	machine_put("/proc/sys/kernel/osrelease", "5.10.0-8-amd64\n");
	machine_expect("kernel", GPUMON_DOCTOR_OK, "5.10.0-8-amd64");
	machine_put("/proc/sys/kernel/osrelease", "7.2.3+deb13-amd64\n");
	machine_expect("kernel", GPUMON_DOCTOR_OK, "7.2.3");
	machine_take_away("/proc/sys/kernel/osrelease");
	machine_expect("kernel", GPUMON_DOCTOR_WARN, "not readable");
}

static void broken_btf(void **state)
{
	(void)state;
	machine_put("/sys/kernel/btf/vmlinux", "no");
	machine_expect("btf", GPUMON_DOCTOR_WARN, "not BTF");
	machine_put("/sys/kernel/btf/vmlinux", "");
	machine_expect("btf", GPUMON_DOCTOR_WARN, "not BTF");
	machine_take_away("/sys/kernel/btf");
	machine_expect("btf", GPUMON_DOCTOR_WARN, "missing");
}

static void debugfs(void **state)
{
	(void)state;
	machine_put("/proc/self/mounts", "sysfs /sys sysfs rw 0 0\n");
	machine_expect("debugfs", GPUMON_DOCTOR_WARN, "not mounted");
	/* By BPF it does work. */
	machine_expect("debugfs", GPUMON_DOCTOR_WARN, "\"trace\" does not work with the module");
	machine_put("/proc/cmdline", "quiet debugfs=off\n");
	machine_expect("debugfs", GPUMON_DOCTOR_WARN, "switched off by the kernel's command line");
	machine_take_away("/proc/cmdline");
	machine_take_away("/proc/self/mounts");
	machine_expect("debugfs", GPUMON_DOCTOR_WARN, "not mounted");
}

static void lockdown_modes(void **state)
{
	(void)state;
	machine_put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	machine_expect("lockdown", GPUMON_DOCTOR_WARN, "integrity");
	machine_put("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	machine_expect("lockdown", GPUMON_DOCTOR_WARN, "kprobes are refused");
	machine_put("/sys/kernel/security/lockdown", "\n");
	machine_expect("lockdown", GPUMON_DOCTOR_WARN, "unknown");
	machine_take_away("/sys/kernel/security");
	machine_expect("lockdown", GPUMON_DOCTOR_OK, "not there");
}

static void secure_boot(void **state)
{
	(void)state;
	machine_expect("secure-boot", GPUMON_DOCTOR_OK, "not an EFI");
	machine_put_folder("/sys/firmware/efi");
	machine_expect("secure-boot", GPUMON_DOCTOR_OK, "off");
	machine_put_bytes(SECURE_BOOT, "\6\0\0\0\1", 5);
	machine_expect("secure-boot", GPUMON_DOCTOR_WARN, "on");
	machine_put_bytes(SECURE_BOOT, "\6\0\0\0\0", 5);
	machine_expect("secure-boot", GPUMON_DOCTOR_OK, "off");
	machine_put_bytes(SECURE_BOOT, "\6", 1);
	machine_expect("secure-boot", GPUMON_DOCTOR_OK, "off");
	machine_put("/sys/module/module/parameters/sig_enforce", "Y\n");
	machine_expect("module-signature", GPUMON_DOCTOR_WARN, "enforced");
}

static void expect_none(const char *name)
{
	struct gpumon_doctor doctor = machine_look();

	assert_null(machine_find_if_there(&doctor, name));
	gpumon_doctor_free(&doctor);
}

static void kprobes_and_tracepoints(void **state)
{
	(void)state;
	machine_put("/sys/kernel/debug/kprobes/enabled", "0\n");
	machine_expect("kprobes", GPUMON_DOCTOR_FAIL, "off");
	machine_take_away("/sys/kernel/debug/kprobes");
	machine_expect("kprobes", GPUMON_DOCTOR_OK, "built in");
	machine_put("/boot/config-" MACHINE_RELEASE,
		    "# CONFIG_KPROBES is not set\n# CONFIG_TRACEPOINTS is not set\n");
	/* One line each. */
	machine_expect("CONFIG_KPROBES", GPUMON_DOCTOR_WARN, "only Xids are seen");
	expect_none("kprobes");
	machine_expect("tracepoints", GPUMON_DOCTOR_FAIL, "not built in");
	/* Without a configuration, root finds it out in debugfs and tracefs. */
	machine_take_away("/boot");
	machine_expect("kprobes", GPUMON_DOCTOR_WARN, "not built in");
	machine_expect("tracepoints", GPUMON_DOCTOR_WARN, "cannot tell");
	machine_expect_advice("tracepoints", "mount -t tracefs");
	machine_put_folder("/sys/kernel/tracing/events");
	machine_expect("tracepoints", GPUMON_DOCTOR_OK, "built in");
	machine_put("/proc/self/mounts", "sysfs /sys sysfs rw 0 0\n");
	machine_expect("kprobes", GPUMON_DOCTOR_WARN, "cannot tell");
	machine_expect_advice("kprobes", "mount -t debugfs");
}

/* Other users cannot read mounted file systems, and the hint is to use root; root gets none. */
static void closed_to_others(void **state)
{
	char path[128];

	(void)state;
	machine_take_away("/boot");
	machine_take_away("/sys/kernel/debug/kprobes");
	machine_put("/proc/self/mounts", "none /sys/kernel/debug debugfs rw 0 0\n"
					 "none /sys/kernel/tracing tracefs rw 0 0\n");
	machine_put_folder("/sys/kernel/tracing");
	machine_expect_advice("tracepoints", "CONFIG_TRACEPOINTS");
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/sys/kernel/%s", machine_root,
			 i ? "tracing" : "debug");
		assert_int_equal(chmod(path, 0), 0);
	}
	assert_int_equal(chmod(machine_root, 0755), 0);
	if (!geteuid())
		assert_int_equal(setresuid(65534, 65534, 0), 0);
	machine_expect_advice("kprobes", "run as root");
	machine_expect_advice("tracepoints", "run as root");
	machine_expect_advice("debugfs", "run as root");
	setresuid(0, 0, 0);
}

/* Expect lines about exactly these missing options. */
static void expect_missing(const char *const *names, size_t n)
{
	struct gpumon_doctor doctor = machine_look();
	size_t lines = 0;

	for (size_t i = 0; i < doctor.n_checks; i++)
		lines += !strncmp(doctor.checks[i].name, "CONFIG_", 7);
	assert_int_equal(lines, n);
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_doctor_check *check = machine_find(&doctor, names[i]);

		assert_true(check->level != GPUMON_DOCTOR_OK || !strcmp(names[i], "CONFIG_SMP"));
		assert_non_null(check->advice);
	}
	gpumon_doctor_free(&doctor);
}

/* The configuration without one option: left out as make does, or "is not set". */
static void put_config_without(const char *path, const char *option, const char *instead)
{
	const char *at = strstr(MACHINE_CONFIG, option);
	char *text;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - MACHINE_CONFIG), MACHINE_CONFIG, instead,
			     strchr(at, '\n') + 1) > 0);
	machine_put(path, text);
	free(text);
}

static void options_one_by_one(void **state)
{
	static const struct {
		const char *name;
		enum gpumon_doctor_level level;
		const char *piece;
	} options[] = {
		{ "CONFIG_64BIT", GPUMON_DOCTOR_FAIL, "does not build" },
		{ "CONFIG_MODULES", GPUMON_DOCTOR_FAIL, "no module" },
		{ "CONFIG_NET", GPUMON_DOCTOR_FAIL, "does not build" },
		{ "CONFIG_RING_BUFFER", GPUMON_DOCTOR_FAIL, "does not build" },
		{ "CONFIG_KPROBES", GPUMON_DOCTOR_WARN, "only Xids are seen" },
		{ "CONFIG_DEBUG_INFO_BTF_MODULES", GPUMON_DOCTOR_WARN, "unknown" },
		{ "CONFIG_CGROUPS", GPUMON_DOCTOR_WARN, "container" },
		{ "CONFIG_BPF_SYSCALL", GPUMON_DOCTOR_WARN, "no BPF" },
		{ "CONFIG_PERF_EVENTS", GPUMON_DOCTOR_WARN, "record -p" },
		{ "CONFIG_UPROBE_EVENTS", GPUMON_DOCTOR_WARN, "record -p" },
		{ "CONFIG_KALLSYMS_ALL", GPUMON_DOCTOR_WARN, "jobs have no process" },
		{ "CONFIG_MODULE_UNLOAD", GPUMON_DOCTOR_WARN, "until the next boot" },
		{ "CONFIG_SMP", GPUMON_DOCTOR_OK, "nothing is lost" },
	};

	(void)state;
	machine_expect("kernel-config", GPUMON_DOCTOR_OK, "/boot/config-" MACHINE_RELEASE);
	expect_missing(NULL, 0);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char line[80];

		put_config_without("/boot/config-" MACHINE_RELEASE, options[i].name, "");
		machine_expect(options[i].name, options[i].level, options[i].piece);
		expect_missing(&options[i].name, 1);
		snprintf(line, sizeof(line), "# %s is not set\n", options[i].name);
		put_config_without("/boot/config-" MACHINE_RELEASE, options[i].name, line);
		machine_expect(options[i].name, options[i].level, options[i].piece);
		/* A module counts, but other values do not. */
		snprintf(line, sizeof(line), "%s=m\n", options[i].name);
		put_config_without("/boot/config-" MACHINE_RELEASE, options[i].name, line);
		expect_missing(NULL, 0);
		snprintf(line, sizeof(line), "%s=n\n", options[i].name);
		put_config_without("/boot/config-" MACHINE_RELEASE, options[i].name, line);
		expect_missing(&options[i].name, 1);
	}
}

static void put_compressed(const char *path, const char *text)
{
	char *full = machine_place(path);
	gzFile file = gzopen(full, "w");

	assert_non_null(file);
	assert_int_equal(gzwrite(file, text, strlen(text)), strlen(text));
	assert_int_equal(gzclose(file), Z_OK);
	free(full);
}

static void where_the_configuration_is(void **state)
{
	static const char *const all[] = { "CONFIG_BPF_SYSCALL" };
	static const char *const debugfs = "CONFIG_DEBUG_FS";

	(void)state;
	/* The running kernel's own configuration counts more than a file in /boot. */
	put_config_without("/boot/config-" MACHINE_RELEASE, "CONFIG_BPF_SYSCALL", "");
	expect_missing(all, 1);
	put_compressed("/proc/config.gz", MACHINE_CONFIG);
	machine_expect("kernel-config", GPUMON_DOCTOR_OK, "/proc/config.gz");
	expect_missing(NULL, 0);
	machine_take_away("/proc/config.gz");
	machine_take_away("/boot");
	machine_put("/lib/modules/" MACHINE_RELEASE "/build/.config", MACHINE_CONFIG);
	machine_expect("kernel-config", GPUMON_DOCTOR_OK, "/build/.config");
	/* An existing file counts, whatever a configuration says. */
	put_config_without("/lib/modules/" MACHINE_RELEASE "/build/.config", "CONFIG_DEBUG_FS", "");
	expect_missing(NULL, 0);
	machine_take_away("/sys/kernel/debug");
	expect_missing(&debugfs, 1);
	expect_none("debugfs");
}

/* The module knows its kernel: no configuration is needed, and none is believed more. */
static void as_the_module_says(void **state)
{
	static const char *const lost[] = { "CONFIG_CGROUPS", "CONFIG_SMP" };
	struct gpumon_info info = { .version = strdup(GPUMON_VERSION) };

	(void)state;
	machine_module = &info;
	machine_take_away("/boot");
	machine_expect("kernel-config", GPUMON_DOCTOR_OK, "as the module says");
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		gpumon_info_add_missing_option(&info)->option = strdup(lost[i]);
	expect_missing(lost, sizeof(lost) / sizeof(lost[0]));
	machine_expect("CONFIG_CGROUPS", GPUMON_DOCTOR_WARN, "not in this kernel: processes have");
	expect_none("kernel-config");
	put_compressed("/proc/config.gz", MACHINE_CONFIG);
	machine_expect("CONFIG_CGROUPS", GPUMON_DOCTOR_WARN, "not in this kernel");
	/* One of another version knows other options. */
	info.version[0]++;
	machine_expect("kernel-config", GPUMON_DOCTOR_OK, "/proc/config.gz");
	machine_module = NULL;
	gpumon_info_clear(&info);
}

/* Without kprobes one line says so, not one for each probe. */
static void probes_without_kprobes(void **state)
{
	struct gpumon_doctor doctor = { .root = "" };
	struct gpumon_model model = { 0 };
	struct gpumon_group *group = gpumon_model_add_group(&model);

	(void)state;
	group->name = strdup("drm_sched");
	group->state = gpumon_value_of(GPUMON_ATTACH_STATE_ATTACHED);
	for (unsigned int kind = 0; kind < 3; kind++) {
		struct gpumon_probe *probe = gpumon_group_add_probe(group);

		assert_true(asprintf(&probe->name, "probe%u", kind) > 0);
		probe->kind = gpumon_value_of(kind);
		probe->state = gpumon_value_of(GPUMON_ATTACH_STATE_FAILED);
	}
	gpumon_doctor_model(&doctor, &model);
	for (unsigned int kind = 0; kind < 3; kind++)
		assert_int_equal(machine_find(&doctor, kind == 0 ? "probe probe0" :
						       kind == 1 ? "probe probe1" :
								   "probe probe2")
					 ->level,
				 GPUMON_DOCTOR_FAIL);
	gpumon_doctor_free(&doctor);
	gpumon_doctor_add(&doctor, GPUMON_DOCTOR_WARN, "CONFIG_KPROBES", NULL,
			  "not in this kernel");
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "probe probe0")->level, GPUMON_DOCTOR_FAIL);
	assert_null(machine_find_if_there(&doctor, "probe probe1"));
	assert_null(machine_find_if_there(&doctor, "probe probe2"));
	gpumon_doctor_free(&doctor);
	gpumon_model_free(&model);
}

static void no_configuration(void **state)
{
	static const char *const signless[] = {
		"CONFIG_MODULES",	"CONFIG_NET",	      "CONFIG_RING_BUFFER",
		"CONFIG_CGROUPS",	"CONFIG_BPF_SYSCALL", "CONFIG_PERF_EVENTS",
		"CONFIG_UPROBE_EVENTS",
	};

	(void)state;
	machine_take_away("/boot");
	machine_expect("kernel-config", GPUMON_DOCTOR_WARN, "only guessed");
	/* Only for options whose sign is missing. A guess is not a failure. */
	expect_missing(signless, sizeof(signless) / sizeof(signless[0]));
	machine_expect("CONFIG_MODULES", GPUMON_DOCTOR_WARN, "seems not to be there");
	machine_put("/proc/modules", "");
	machine_put_folder("/proc/net");
	machine_put("/sys/kernel/tracing/trace_pipe", "");
	machine_put_folder("/sys/fs/cgroup");
	machine_put("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	machine_put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	machine_put_folder("/sys/bus/event_source/devices/uprobe");
	expect_missing(NULL, 0);
	/* An empty or damaged one does not count. */
	machine_put("/boot/config-" MACHINE_RELEASE, "");
	machine_expect("kernel-config", GPUMON_DOCTOR_WARN, "only guessed");
	machine_put("/proc/config.gz", "\037\213\010 not gzip at all");
	machine_expect("kernel-config", GPUMON_DOCTOR_WARN, "only guessed");
	machine_put("/proc/sys/kernel/osrelease", "../../etc/passwd\n");
	machine_expect("kernel-config", GPUMON_DOCTOR_WARN, "only guessed");
}

static void permission(void **state)
{
	(void)state;
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	machine_expect("permission", GPUMON_DOCTOR_FAIL, "CAP_NET_ADMIN");
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000001000\n");
	machine_expect("permission", GPUMON_DOCTOR_OK, "CAP_NET_ADMIN");
	machine_put_link("/proc/self/ns/net", "net:[4026532999]");
	machine_expect("permission", GPUMON_DOCTOR_FAIL, "network namespace");
	machine_put_link("/proc/self/ns/user", "user:[4026532998]");
	machine_expect("permission", GPUMON_DOCTOR_FAIL, "user namespace");
	machine_take_away("/proc/self");
	machine_expect("permission", GPUMON_DOCTOR_FAIL, "CAP_NET_ADMIN");
}

#define BUILTIN "/lib/modules/" MACHINE_RELEASE "/modules.builtin"
#define DEP	"/lib/modules/" MACHINE_RELEASE "/modules.dep"

static void gpu_scheduler(void **state)
{
	(void)state;
	machine_expect("gpu_sched", GPUMON_DOCTOR_OK, "loaded");
	machine_take_away("/sys/module/gpu_sched");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "not loaded");
	machine_put(DEP, "kernel/drivers/gpu/drm/drm.ko:\n");
	machine_put("/boot/config-" MACHINE_RELEASE, "# CONFIG_DRM_SCHED is not set\n");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "no DRM scheduler");
	machine_take_away("/lib/modules");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "no DRM scheduler");
	machine_take_away("/boot");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "cannot tell");
	/* An embedded system has modules, but no list of built-in ones. */
	machine_put(DEP, "kernel/drivers/gpu/drm/drm.ko:\n");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "cannot tell");
	machine_put(BUILTIN, "kernel/fs/ext4/ext4.ko\n");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "no DRM scheduler");
}

/* Each of the signs alone shows that it is built in. */
static void gpu_scheduler_built_in(void **state)
{
	(void)state;
	machine_take_away("/sys/module/gpu_sched");
	machine_take_away("/lib/modules");
	machine_take_away("/boot");
	machine_put(BUILTIN, "kernel/drivers/gpu/drm/scheduler/gpu-sched.ko\n");
	machine_expect("gpu_sched", GPUMON_DOCTOR_OK, "built into the kernel");
	machine_take_away("/lib/modules");
	/* From 6.2 on it has a parameter, and so a folder there. */
	machine_put_folder("/sys/module/gpu_sched");
	machine_expect("gpu_sched", GPUMON_DOCTOR_OK, "built into the kernel");
	machine_take_away("/sys/module/gpu_sched");
	machine_put_folder("/sys/kernel/tracing/events/gpu_scheduler");
	machine_expect("gpu_sched", GPUMON_DOCTOR_OK, "built into the kernel");
	machine_take_away("/sys/kernel/tracing");
	machine_put("/boot/config-" MACHINE_RELEASE, "CONFIG_DRM_SCHED=y\n");
	machine_expect("gpu_sched", GPUMON_DOCTOR_OK, "built into the kernel");
	machine_put("/boot/config-" MACHINE_RELEASE, "CONFIG_DRM_SCHED=m\n");
	machine_expect("gpu_sched", GPUMON_DOCTOR_WARN, "not loaded");
}

/* dkms can only install what it was given before. */
static void expect_install(const char *advice)
{
	struct gpumon_doctor doctor = machine_look();

	assert_string_equal(machine_find(&doctor, "module")->advice, advice);
	gpumon_doctor_free(&doctor);
}

static void module_states(void **state)
{
	(void)state;
	machine_expect("module", GPUMON_DOCTOR_OK, GPUMON_VERSION);
	machine_put("/sys/module/gpumon/version", "9.9.9\n");
	machine_expect("module", GPUMON_DOCTOR_WARN, "9.9.9");
	machine_take_away("/sys/module/gpumon/version");
	machine_expect("module", GPUMON_DOCTOR_WARN, "unknown");
	machine_take_away("/sys/module/gpumon");
	machine_expect("module", GPUMON_DOCTOR_FAIL,
		       "installed for " MACHINE_RELEASE ", not loaded");
	machine_put("/lib/modules/" MACHINE_RELEASE "/modules.dep", "");
	machine_expect("module", GPUMON_DOCTOR_FAIL, "not installed");
	expect_install("make dkms-install in its source, then modprobe gpumon, as root");
	machine_put_folder("/var/lib/dkms/gpumon/" GPUMON_VERSION);
	expect_install("dkms install gpumon/" GPUMON_VERSION ", then modprobe gpumon, as root");
}

/* A kernel that loads no module needs no advice on how to build, sign or load one. */
static void expect_no_advice_on_modules(const char *piece)
{
	static const char *const words[] = { "dkms", "modprobe", "mokutil", "kernel's modules" };
	struct gpumon_doctor doctor = machine_look();

	assert_non_null(strstr(machine_find(&doctor, "module")->message, piece));
	assert_non_null(strstr(machine_find(&doctor, "module")->advice, "--source=bpf"));
	for (size_t i = 0; i < doctor.n_checks; i++)
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (doctor.checks[i].advice && strstr(doctor.checks[i].advice, words[k]))
				fail_msg("%s: %s", doctor.checks[i].name, doctor.checks[i].advice);
	gpumon_doctor_free(&doctor);
}

static void kernels_that_load_no_module(void **state)
{
	(void)state;
	machine_take_away("/sys/module");
	machine_put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	machine_put_bytes(SECURE_BOOT, "\6\0\0\0\1", 5);
	machine_put("/proc/sys/kernel/modules_disabled", "1\n");
	expect_no_advice_on_modules("until the next boot");
	machine_put("/proc/sys/kernel/modules_disabled", "0\n");
	machine_expect("module", GPUMON_DOCTOR_FAIL, "installed for " MACHINE_RELEASE);
	machine_take_away("/lib/modules");
	put_config_without("/boot/config-" MACHINE_RELEASE, "CONFIG_MODULES",
			   "# CONFIG_MODULES is not set\n");
	expect_no_advice_on_modules("built without modules");
	/* Without a configuration, /proc/modules tells. */
	machine_take_away("/boot");
	expect_no_advice_on_modules("built without modules");
	machine_put("/proc/modules", "");
	machine_expect("module", GPUMON_DOCTOR_FAIL, "not installed");
	expect_install("make dkms-install in its source, then modprobe gpumon, as root");
	machine_put("/etc/NIXOS", "");
	expect_install(
		"make modules KERNELDIR=…/lib/modules/RELEASE/build of the kernel's dev output, then insmod gpumon.ko, as root");
}

static void what_is_not_seen(void **state)
{
	(void)state;
	machine_expect("coverage", GPUMON_DOCTOR_OK, "never pass drm_sched");
	machine_put_folder("/sys/module/i915");
	machine_expect("i915", GPUMON_DOCTOR_WARN, "own scheduler");
	machine_put("/dev/dxg", "");
	machine_expect("wsl", GPUMON_DOCTOR_WARN, "Windows");
	machine_put_folder("/sys/class/kfd/kfd");
	machine_expect("rocm", GPUMON_DOCTOR_WARN, "does not pass drm_sched");
	machine_put("/sys/module/amdgpu/parameters/user_queue", "-1\n");
	machine_expect("amdgpu-user-queues", GPUMON_DOCTOR_WARN, "past drm_sched");
}

#define STATS "/sys/kernel/debug/gpumon/stats"
#define STATS_BEGIN                                                                            \
	"# groups\ngroup state reason\ndrm_sched attached -\n# gpumon\nkey value\nversion 1\n" \
	"not_seen ROCm/KFD_compute\n"

static void what_the_module_was_built_without(void **state)
{
	struct gpumon_error err = { 0 };

	(void)state;
	machine_take_away(STATS);
	expect_none("left-out");
	machine_put(STATS, STATS_BEGIN "# processes\npid id comm\n");
	expect_none("left-out");
	/* No other section has it. */
	machine_put(STATS, "left_out netlink\n" STATS_BEGIN "# processes\nleft_out netlink\n");
	expect_none("left-out");
	machine_put(STATS, STATS_BEGIN "left_out alerts\n# processes\n");
	machine_expect("left-out", GPUMON_DOCTOR_WARN,
		       "the module was built without alerts (ALERTS=no: ");
	machine_expect_advice("left-out", "without these variables");
	machine_put(STATS, STATS_BEGIN "left_out events,amdgpu,nvidia\n# processes\n");
	machine_expect(
		"left-out", GPUMON_DOCTOR_WARN,
		"without events (EVENTS=no: no trace), groups that are not in DRIVERS: amdgpu, nvidia");
	/* Of a module that is not loaded there is no file; one of another system says nothing. */
	machine_take_away("/sys/module/gpumon");
	expect_none("left-out");
	machine_put("/sys/module/gpumon/version", GPUMON_VERSION "\n");

	machine_put(STATS, STATS_BEGIN "left_out netlink,events,alerts,i915\n# processes\n");
	machine_expect("left-out", GPUMON_DOCTOR_WARN, "without netlink (NETLINK=no: no stat, ");
	assert_int_equal(gpumon_client_loaded_without_family(machine_root, &err), -1);
	assert_int_equal(err.code, GPUMON_ERROR_NOT_BUILT);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_non_null(strstr(err.message, "is loaded, but it was built without netlink"));
	assert_non_null(strstr(err.message, "\"cat " STATS "\" has the numbers"));
}

/* Otherwise the network namespace is in the way; that netlink was left out is only said to be possible. */
static void a_module_that_is_not_reachable(void **state)
{
	struct gpumon_error err = { 0 };

	(void)state;
	machine_put(STATS, STATS_BEGIN "left_out events\n# processes\n");
	assert_int_equal(gpumon_client_loaded_without_family(machine_root, &err), -1);
	assert_int_equal(err.code, GPUMON_ERROR_NAMESPACE);
	assert_null(strstr(err.message, "built without"));
	machine_take_away(STATS);
	assert_int_equal(gpumon_client_loaded_without_family(machine_root, &err), -1);
	assert_int_equal(err.code, GPUMON_ERROR_NAMESPACE);
	assert_non_null(strstr(err.message, "network namespace"));
	assert_non_null(strstr(err.message,
			       "or it was built without netlink: then, as root, \"cat " STATS));
}

static void groups_and_probes(void **state)
{
	struct gpumon_doctor doctor = { .root = machine_root };
	const struct gpumon_error err = { .code = GPUMON_ERROR_NOT_LOADED,
					  .message =
						  "\"gpumon-user doctor\" says what is missing" };
	struct gpumon_probe *probe;
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	probe = gpumon_group_add_probe(&model.groups[0]);
	probe->name = strdup("nvidia_open");
	probe->reason = strdup("not needed, nvidia_frontend_open is used");
	probe->state = gpumon_value_of(GPUMON_ATTACH_STATE_OFF);
	gpumon_doctor_netlink(&doctor, &err);
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "netlink")->level, GPUMON_DOCTOR_FAIL);
	/* It does not refer to itself. */
	assert_null(strstr(machine_find(&doctor, "netlink")->message, "doctor"));
	assert_non_null(strstr(machine_find(&doctor, "netlink")->message, "is not loaded"));
	assert_int_equal(machine_find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_OK);
	assert_int_equal(machine_find(&doctor, "probe drm_run_job")->level, GPUMON_DOCTOR_OK);
	/* The other generation's name is normally missing while the group works. */
	assert_int_equal(machine_find(&doctor, "probe drm_sched_job_run")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(machine_find(&doctor, "probe drm_sched_job_run")->message,
			    "missing, not in this kernel");
	assert_int_equal(machine_find(&doctor, "probe drm_sched_fini")->level, GPUMON_DOCTOR_FAIL);
	assert_string_equal(machine_find(&doctor, "probe drm_sched_fini")->message,
			    "failed, error -22");
	/* Another function counts the same event. */
	assert_int_equal(machine_find(&doctor, "probe nvidia_open")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(machine_find(&doctor, "probe nvidia_open")->message,
			    "off, not needed, nvidia_frontend_open is used");
	/* Off is intended, but the line says that it can be switched on. */
	assert_int_equal(machine_find(&doctor, "group other")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(machine_find(&doctor, "group other")->advice,
			    "gpumon-user set other on");
	assert_int_equal(machine_find(&doctor, "losses")->level, GPUMON_DOCTOR_WARN);
	assert_non_null(strstr(machine_find(&doctor, "losses")->message, "7 events"));
	gpumon_doctor_free(&doctor);

	/* Nothing is attached: now a missing name is the problem. */
	model.groups[0].state.v = GPUMON_ATTACH_STATE_MISSING;
	doctor = (struct gpumon_doctor){ .root = machine_root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_WARN);
	assert_int_equal(machine_find(&doctor, "probe drm_sched_job_run")->level,
			 GPUMON_DOCTOR_WARN);
	gpumon_doctor_free(&doctor);

	/* A driver that is not loaded is one line. It is a warning if no other driver is loaded. */
	model.groups[0].state.v = GPUMON_ATTACH_STATE_WAITING;
	doctor = (struct gpumon_doctor){ .root = machine_root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_WARN);
	gpumon_doctor_free(&doctor);
	model.groups[1].state.v = GPUMON_ATTACH_STATE_ATTACHED;
	doctor = (struct gpumon_doctor){ .root = machine_root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_OK);
	gpumon_doctor_free(&doctor);
	gpumon_model_free(&model);
}

static void layouts_of_drivers_that_are_there(void **state)
{
	struct gpumon_doctor doctor = { .root = machine_root };
	struct gpumon_layout *layout;
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	gpumon_doctor_model(&doctor, &model);
	assert_null(machine_find_if_there(&doctor, "layouts"));
	gpumon_doctor_free(&doctor);

	for (int i = 0; i < 2; i++) {
		layout = gpumon_model_add_layout(&model);
		layout->group = strdup(model.groups[0].name);
		layout->type = strdup("amdgpu_bo");
		layout->member = strdup(i ? "flags" : "tbo.base.size");
		layout->reason = strdup(i ? "no such member" : "");
		layout->offset.known = !i;
	}
	doctor = (struct gpumon_doctor){ .root = machine_root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "layouts")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(machine_find(&doctor, "layouts")->message,
			    "1 of 2 fields found in BTF; amdgpu_bo.flags: no such member");
	gpumon_doctor_free(&doctor);

	/* Without BTF, nothing is found. */
	model.layouts[0].offset.known = false;
	doctor = (struct gpumon_doctor){ .root = machine_root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(machine_find(&doctor, "layouts")->level, GPUMON_DOCTOR_WARN);
	assert_non_null(machine_find(&doctor, "layouts")->advice);
	gpumon_doctor_free(&doctor);

	/* A driver that is not loaded has no fields to find. */
	model.groups[0].state.v = GPUMON_ATTACH_STATE_WAITING;
	doctor = (struct gpumon_doctor){ .root = machine_root };
	gpumon_doctor_model(&doctor, &model);
	assert_null(machine_find_if_there(&doctor, "layouts"));
	gpumon_doctor_free(&doctor);
	gpumon_model_free(&model);
}

static void the_command_itself(void **state)
{
	struct captured c = capture(machine_root, "doctor", NULL);
	size_t lines = 0;

	(void)state;
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.err, "");
	for (char *line = c.out; *line; line = strchr(line, '\n') + 1) {
		assert_true(!strncmp(line, "ok    ", 6) || !strncmp(line, "To ", 3) ||
			    !strcmp(line, strstr(c.out, "\nVerdict:") + 1));
		lines++;
	}
	assert_int_equal(strncmp(c.out, "To record programs (", 20), 0);
	assert_true(strstr(c.out, "ok    inject: ") < strstr(c.out, "\nTo see what drivers do ("));
	assert_true(strstr(c.out, "ok    kernel: ") > strstr(c.out, "\nTo see what drivers do ("));
	assert_true(lines >= 11);
	assert_null(strchr(c.out, '\033'));
	assert_non_null(strstr(c.out, "\nVerdict:\nok    record: works\nok    driver: works\n"));
	captured_free(&c);

	machine_take_away("/sys/module/gpumon");
	c = capture(machine_root, "doctor", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_FAILED);
	assert_non_null(strstr(c.out, "fail  module: installed for " MACHINE_RELEASE
				      ", not loaded; modprobe gpumon\n"));
	captured_free(&c);
}

/* Expect the end of the output, its only heading, and the exit status. */
static void expect_verdict(const char *part, int status, const char *heading, const char *verdict)
{
	struct captured c = capture(machine_root, "doctor", part, NULL);
	char *found = strstr(c.out, "\nVerdict:\n");

	assert_int_equal(c.status, status);
	assert_non_null(found);
	assert_string_equal(found + strlen("\nVerdict:\n"), verdict);
	assert_int_equal(strncmp(c.out, heading, strlen(heading)), 0);
	assert_true(!strstr(c.out, "\nTo ") || !part);
	captured_free(&c);
}

#define OLD_DRIVER "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Thu Jun 12 2025\n"

/* Recording works without the module, and drivers are seen where no API can be recorded. */
static void each_part_has_its_verdict(void **state)
{
	struct json_object *document, *verdict, *value;
	struct captured c;

	(void)state;
	machine_take_away("/sys/module/gpumon");
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	expect_verdict("record", GPUMON_EXIT_OK, "To record programs (", "ok    record: works\n");
	expect_verdict("driver", GPUMON_EXIT_FAILED, "To see what drivers do (",
		       "fail  driver: does not work: permission, module\n");
	expect_verdict(NULL, GPUMON_EXIT_FAILED, "To record programs (",
		       "ok    record: works\nfail  driver: does not work: permission, module\n");

	machine_put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
	expect_verdict("record", GPUMON_EXIT_OK, "To record programs (",
		       "warn  record: works, but not all of it: ptrace\n");
	machine_put("/proc/driver/nvidia/version", OLD_DRIVER);
	machine_put("/usr/lib64/libcuda.so.1", "");
	expect_verdict("record", GPUMON_EXIT_FAILED, "To record programs (",
		       "fail  record: does not work: apis\n");
	machine_put("/sys/module/gpumon/version", GPUMON_VERSION "\n");
	machine_put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000001000\n");
	expect_verdict("driver", GPUMON_EXIT_OK, "To see what drivers do (",
		       "ok    driver: works\n");

	c = capture(machine_root, "doctor", "--json", "record", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_FAILED);
	document = json_tokener_parse(c.out);
	assert_true(json_object_object_get_ex(document, "verdict", &verdict));
	assert_int_equal(json_object_object_length(verdict), 1);
	assert_true(json_object_object_get_ex(verdict, "record", &verdict));
	assert_true(json_object_object_get_ex(verdict, "level", &value));
	assert_string_equal(json_object_get_string(value), "fail");
	assert_true(json_object_object_get_ex(verdict, "fail", &value));
	assert_int_equal(json_object_get_int(value), 1);
	assert_true(json_object_object_get_ex(document, "checks", &value));
	assert_true(json_object_object_get_ex(json_object_array_get_idx(value, 0), "part", &value));
	assert_string_equal(json_object_get_string(value), "record");
	json_object_put(document);
	captured_free(&c);
}

static void the_command_as_json(void **state)
{
	struct json_object *document, *checks, *value;
	struct captured c;

	(void)state;
	machine_put_folder("/sys/module/i915");
	c = capture(machine_root, "doctor", "--json", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	document = json_tokener_parse(c.out);
	assert_true(json_object_object_get_ex(document, "checks", &checks));
	assert_true(json_object_array_length(checks) >= 11);
	for (size_t i = 0; i < json_object_array_length(checks); i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);

		assert_true(json_object_object_get_ex(check, "level", &value));
		assert_true(json_object_object_get_ex(check, "check", &value));
		assert_true(json_object_object_get_ex(check, "message", &value));
		assert_true(json_object_object_get_ex(check, "advice", &value));
	}
	assert_true(json_object_object_get_ex(document, "warn", &value));
	assert_int_equal(json_object_get_int(value), 1);
	assert_true(json_object_object_get_ex(document, "fail", &value));
	assert_int_equal(json_object_get_int(value), 0);
	json_object_put(document);
	captured_free(&c);
}

/* An empty root: every check still prints a line. */
static void an_empty_root(void **state)
{
	struct gpumon_doctor doctor;

	(void)state;
	machine_take_away("/*");
	doctor = machine_look();
	assert_true(doctor.n_checks >= 11);
	assert_true(gpumon_doctor_count(&doctor, GPUMON_DOCTOR_FAIL) >= 2);
	gpumon_doctor_free(&doctor);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_is_well),
		TEST(kernels),
		TEST(broken_btf),
		TEST(debugfs),
		TEST(lockdown_modes),
		TEST(secure_boot),
		TEST(kprobes_and_tracepoints),
		TEST(closed_to_others),
		TEST(options_one_by_one),
		TEST(where_the_configuration_is),
		TEST(no_configuration),
		TEST(as_the_module_says),
		TEST(probes_without_kprobes),
		TEST(permission),
		TEST(gpu_scheduler),
		TEST(gpu_scheduler_built_in),
		TEST(module_states),
		TEST(kernels_that_load_no_module),
		TEST(what_is_not_seen),
		TEST(what_the_module_was_built_without),
		TEST(a_module_that_is_not_reachable),
		TEST(groups_and_probes),
		TEST(layouts_of_drivers_that_are_there),
		TEST(the_command_itself),
		TEST(each_part_has_its_verdict),
		TEST(the_command_as_json),
		TEST(an_empty_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
