// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The doctor on made-up trees. */
#include "common.h"

#include <errno.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "doctor.h"
#include "version.h"

#define RELEASE	    "6.1.0-44-amd64"
#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* All that gpumon makes use of. */
#define CONFIG                                                                             \
	"# Linux/x86 6.1 Kernel Configuration\n"                                           \
	"CONFIG_64BIT=y\nCONFIG_MODULES=y\nCONFIG_NET=y\nCONFIG_TRACEPOINTS=y\n"           \
	"CONFIG_RING_BUFFER=y\nCONFIG_KPROBES=y\nCONFIG_KRETPROBES=y\nCONFIG_DEBUG_FS=y\n" \
	"CONFIG_DEBUG_INFO_BTF=y\nCONFIG_DEBUG_INFO_BTF_MODULES=y\nCONFIG_CGROUPS=y\n"     \
	"CONFIG_BPF_SYSCALL=y\nCONFIG_PERF_EVENTS=y\nCONFIG_UPROBE_EVENTS=y\n"             \
	"CONFIG_DRM_SCHED=m\n"

static char root[64];

/* Path below the root, its folders made. */
static char *place(const char *path)
{
	char *full;

	assert_true(asprintf(&full, "%s%s", root, path) > 0);
	for (char *p = full + strlen(root) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		assert_true(!mkdir(full, 0755) || errno == EEXIST);
		*p = '/';
	}
	return full;
}

static void put_bytes(const char *path, const void *bytes, size_t len)
{
	char *full = place(path);
	FILE *file = fopen(full, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
	free(full);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static void put_link(const char *path, const char *target)
{
	char *full = place(path);

	unlink(full);
	assert_int_equal(symlink(target, full), 0);
	free(full);
}

static void put_folder(const char *path)
{
	char *full = place(path);

	assert_true(!mkdir(full, 0755) || errno == EEXIST);
	free(full);
}

static void take_away(const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -rf %s%s", root, path);
	assert_int_equal(system(command), 0);
}

/* A machine on which everything is well. */
static int good_machine(void **state)
{
	static const unsigned short btf = 0xeb9f;

	(void)state;
	strcpy(root, "/tmp/gpumon-doctor-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	put("/proc/sys/kernel/osrelease", RELEASE "\n");
	put("/proc/self/mounts",
	    "sysfs /sys sysfs rw 0 0\nnone /sys/kernel/debug debugfs rw 0 0\n");
	put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	put_link("/proc/self/ns/user", "user:[4026531837]");
	put_link("/proc/self/ns/net", "net:[4026531840]");
	put_link("/proc/1/ns/net", "net:[4026531840]");
	put_bytes("/sys/kernel/btf/vmlinux", &btf, sizeof(btf));
	put("/sys/kernel/debug/kprobes/enabled", "1\n");
	put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	put("/boot/config-" RELEASE, CONFIG);
	put("/lib/modules/" RELEASE "/modules.dep",
	    "kernel/drivers/gpu/drm/scheduler/gpu-sched.ko: kernel/drivers/gpu/drm/drm.ko\n"
	    "updates/dkms/gpumon.ko:\n");
	put("/lib/modules/" RELEASE "/modules.builtin", "kernel/fs/ext4/ext4.ko\n");
	put_folder("/sys/module/gpu_sched");
	put("/sys/module/gpumon/version", GPUMON_VERSION "\n");
	return 0;
}

static int remove_machine(void **state)
{
	(void)state;
	take_away("");
	return 0;
}

/* What the machine and module checks say. */
static struct gpumon_doctor look(void)
{
	struct gpumon_doctor doctor = { .root = root };

	gpumon_doctor_machine(&doctor);
	gpumon_doctor_module(&doctor);
	assert_false(doctor.failed);
	return doctor;
}

static const struct gpumon_doctor_check *find_if_there(const struct gpumon_doctor *doctor,
						       const char *name)
{
	for (size_t i = 0; i < doctor->n_checks; i++) {
		if (!strcmp(doctor->checks[i].name, name))
			return &doctor->checks[i];
	}
	return NULL;
}

static const struct gpumon_doctor_check *find(const struct gpumon_doctor *doctor, const char *name)
{
	const struct gpumon_doctor_check *check = find_if_there(doctor, name);

	if (!check)
		fail_msg("no check \"%s\"", name);
	return check;
}

/* One check, alone: its level, and a piece of what it says. */
static void expect(const char *name, enum gpumon_doctor_level level, const char *piece)
{
	struct gpumon_doctor doctor = look();
	const struct gpumon_doctor_check *check = find(&doctor, name);

	if (check->level != level || !strstr(check->message, piece))
		fail_msg("%s: level %d, \"%s\"", name, check->level, check->message);
	/* Whoever is told of a failure is told what to do. */
	if (level == GPUMON_DOCTOR_FAIL)
		assert_non_null(check->advice);
	gpumon_doctor_free(&doctor);
}

static void all_is_well(void **state)
{
	struct gpumon_doctor doctor = look();

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
	put("/proc/sys/kernel/osrelease", "5.10.0-8-amd64\n");
	expect("kernel", GPUMON_DOCTOR_FAIL, "5.10.0-8-amd64");
	put("/proc/sys/kernel/osrelease", "6.0.19\n");
	expect("kernel", GPUMON_DOCTOR_FAIL, "older");
	put("/proc/sys/kernel/osrelease", "7.2.3+deb13-amd64\n");
	expect("kernel", GPUMON_DOCTOR_OK, "7.2.3");
	take_away("/proc/sys/kernel/osrelease");
	expect("kernel", GPUMON_DOCTOR_WARN, "not readable");
}

static void broken_btf(void **state)
{
	(void)state;
	put("/sys/kernel/btf/vmlinux", "no");
	expect("btf", GPUMON_DOCTOR_WARN, "not BTF");
	put("/sys/kernel/btf/vmlinux", "");
	expect("btf", GPUMON_DOCTOR_WARN, "not BTF");
	take_away("/sys/kernel/btf");
	expect("btf", GPUMON_DOCTOR_WARN, "missing");
}

static void debugfs(void **state)
{
	(void)state;
	put("/proc/self/mounts", "sysfs /sys sysfs rw 0 0\n");
	expect("debugfs", GPUMON_DOCTOR_WARN, "not mounted");
	take_away("/proc/self/mounts");
	expect("debugfs", GPUMON_DOCTOR_WARN, "not mounted");
}

static void lockdown_modes(void **state)
{
	(void)state;
	put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	expect("lockdown", GPUMON_DOCTOR_WARN, "integrity");
	put("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	expect("lockdown", GPUMON_DOCTOR_WARN, "kprobes are refused");
	put("/sys/kernel/security/lockdown", "\n");
	expect("lockdown", GPUMON_DOCTOR_WARN, "unknown");
	take_away("/sys/kernel/security");
	expect("lockdown", GPUMON_DOCTOR_OK, "not there");
}

static void secure_boot(void **state)
{
	(void)state;
	expect("secure-boot", GPUMON_DOCTOR_OK, "not an EFI");
	put_folder("/sys/firmware/efi");
	expect("secure-boot", GPUMON_DOCTOR_OK, "off");
	put_bytes(SECURE_BOOT, "\6\0\0\0\1", 5);
	expect("secure-boot", GPUMON_DOCTOR_WARN, "on");
	put_bytes(SECURE_BOOT, "\6\0\0\0\0", 5);
	expect("secure-boot", GPUMON_DOCTOR_OK, "off");
	put_bytes(SECURE_BOOT, "\6", 1);
	expect("secure-boot", GPUMON_DOCTOR_OK, "off");
	put("/sys/module/module/parameters/sig_enforce", "Y\n");
	expect("module-signature", GPUMON_DOCTOR_WARN, "enforced");
}

static void kprobes_and_tracepoints(void **state)
{
	(void)state;
	put("/sys/kernel/debug/kprobes/enabled", "0\n");
	expect("kprobes", GPUMON_DOCTOR_FAIL, "off");
	take_away("/sys/kernel/debug/kprobes");
	expect("kprobes", GPUMON_DOCTOR_OK, "built in");
	put("/boot/config-" RELEASE,
	    "# CONFIG_KPROBES is not set\n# CONFIG_TRACEPOINTS is not set\n");
	expect("kprobes", GPUMON_DOCTOR_WARN, "not built in");
	expect("tracepoints", GPUMON_DOCTOR_FAIL, "not built in");
	take_away("/boot");
	expect("kprobes", GPUMON_DOCTOR_WARN, "cannot tell");
	expect("tracepoints", GPUMON_DOCTOR_WARN, "cannot tell");
	put_folder("/sys/kernel/tracing/events");
	expect("tracepoints", GPUMON_DOCTOR_OK, "built in");
}

/* Lines about options: those that are missing, and only those. */
static void expect_missing(const char *const *names, size_t n)
{
	struct gpumon_doctor doctor = look();
	size_t lines = 0;

	for (size_t i = 0; i < doctor.n_checks; i++)
		lines += !strncmp(doctor.checks[i].name, "CONFIG_", 7);
	assert_int_equal(lines, n);
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_doctor_check *check = find(&doctor, names[i]);

		assert_int_not_equal(check->level, GPUMON_DOCTOR_OK);
		assert_non_null(check->advice);
	}
	gpumon_doctor_free(&doctor);
}

/* The configuration without one option: as make leaves it out, or as it says so. */
static void put_config_without(const char *path, const char *option, const char *instead)
{
	const char *at = strstr(CONFIG, option);
	char *text;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - CONFIG), CONFIG, instead,
			     strchr(at, '\n') + 1) > 0);
	put(path, text);
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
		{ "CONFIG_KRETPROBES", GPUMON_DOCTOR_WARN, "NVIDIA" },
		{ "CONFIG_DEBUG_INFO_BTF_MODULES", GPUMON_DOCTOR_WARN, "unknown" },
		{ "CONFIG_CGROUPS", GPUMON_DOCTOR_WARN, "container" },
		{ "CONFIG_BPF_SYSCALL", GPUMON_DOCTOR_WARN, "no BPF" },
		{ "CONFIG_PERF_EVENTS", GPUMON_DOCTOR_WARN, "record -p" },
		{ "CONFIG_UPROBE_EVENTS", GPUMON_DOCTOR_WARN, "record -p" },
	};

	(void)state;
	expect("kernel-config", GPUMON_DOCTOR_OK, "/boot/config-" RELEASE);
	expect_missing(NULL, 0);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char line[80];

		put_config_without("/boot/config-" RELEASE, options[i].name, "");
		expect(options[i].name, options[i].level, options[i].piece);
		expect_missing(&options[i].name, 1);
		snprintf(line, sizeof(line), "# %s is not set\n", options[i].name);
		put_config_without("/boot/config-" RELEASE, options[i].name, line);
		expect(options[i].name, options[i].level, options[i].piece);
		/* As a module is there, too; as anything else it is not. */
		snprintf(line, sizeof(line), "%s=m\n", options[i].name);
		put_config_without("/boot/config-" RELEASE, options[i].name, line);
		expect_missing(NULL, 0);
		snprintf(line, sizeof(line), "%s=n\n", options[i].name);
		put_config_without("/boot/config-" RELEASE, options[i].name, line);
		expect_missing(&options[i].name, 1);
	}
}

static void put_compressed(const char *path, const char *text)
{
	char *full = place(path);
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
	/* The running kernel's own is believed before a file in /boot. */
	put_config_without("/boot/config-" RELEASE, "CONFIG_BPF_SYSCALL", "");
	expect_missing(all, 1);
	put_compressed("/proc/config.gz", CONFIG);
	expect("kernel-config", GPUMON_DOCTOR_OK, "/proc/config.gz");
	expect_missing(NULL, 0);
	take_away("/proc/config.gz");
	take_away("/boot");
	put("/lib/modules/" RELEASE "/build/.config", CONFIG);
	expect("kernel-config", GPUMON_DOCTOR_OK, "/build/.config");
	/* What is there is there, whatever a configuration says. */
	put_config_without("/lib/modules/" RELEASE "/build/.config", "CONFIG_DEBUG_FS", "");
	expect_missing(NULL, 0);
	take_away("/sys/kernel/debug");
	expect_missing(&debugfs, 1);
}

static void no_configuration(void **state)
{
	static const char *const signless[] = {
		"CONFIG_MODULES",	"CONFIG_NET",	      "CONFIG_RING_BUFFER",
		"CONFIG_CGROUPS",	"CONFIG_BPF_SYSCALL", "CONFIG_PERF_EVENTS",
		"CONFIG_UPROBE_EVENTS",
	};

	(void)state;
	take_away("/boot");
	expect("kernel-config", GPUMON_DOCTOR_WARN, "cannot be told");
	/* Of those whose sign is not there. A guess is no failure. */
	expect_missing(signless, sizeof(signless) / sizeof(signless[0]));
	expect("CONFIG_MODULES", GPUMON_DOCTOR_WARN, "seems not to be there");
	put("/proc/modules", "");
	put_folder("/proc/net");
	put("/sys/kernel/tracing/trace_pipe", "");
	put_folder("/sys/fs/cgroup");
	put("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	put_folder("/sys/bus/event_source/devices/uprobe");
	expect_missing(NULL, 0);
	/* An empty or a damaged one is none. */
	put("/boot/config-" RELEASE, "");
	expect("kernel-config", GPUMON_DOCTOR_WARN, "cannot be told");
	put("/proc/config.gz", "\037\213\010 not gzip at all");
	expect("kernel-config", GPUMON_DOCTOR_WARN, "cannot be told");
	put("/proc/sys/kernel/osrelease", "../../etc/passwd\n");
	expect("kernel-config", GPUMON_DOCTOR_WARN, "cannot be told");
}

static void permission(void **state)
{
	(void)state;
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	expect("permission", GPUMON_DOCTOR_FAIL, "CAP_NET_ADMIN");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000001000\n");
	expect("permission", GPUMON_DOCTOR_OK, "CAP_NET_ADMIN");
	put_link("/proc/self/ns/net", "net:[4026532999]");
	expect("permission", GPUMON_DOCTOR_FAIL, "network namespace");
	put_link("/proc/self/ns/user", "user:[4026532998]");
	expect("permission", GPUMON_DOCTOR_FAIL, "user namespace");
	take_away("/proc/self");
	expect("permission", GPUMON_DOCTOR_FAIL, "CAP_NET_ADMIN");
}

static void gpu_scheduler(void **state)
{
	(void)state;
	take_away("/sys/module/gpu_sched");
	expect("gpu_sched", GPUMON_DOCTOR_WARN, "not loaded");
	put("/lib/modules/" RELEASE "/modules.builtin",
	    "kernel/drivers/gpu/drm/scheduler/gpu-sched.ko\n");
	expect("gpu_sched", GPUMON_DOCTOR_WARN, "built into the kernel");
	/* It has parameters, and so a folder there. */
	put_folder("/sys/module/gpu_sched");
	expect("gpu_sched", GPUMON_DOCTOR_WARN, "built into the kernel");
	take_away("/sys/module/gpu_sched");
	put("/lib/modules/" RELEASE "/modules.builtin", "");
	put("/lib/modules/" RELEASE "/modules.dep", "kernel/drivers/gpu/drm/drm.ko:\n");
	expect("gpu_sched", GPUMON_DOCTOR_WARN, "no DRM scheduler");
	take_away("/lib/modules");
	expect("gpu_sched", GPUMON_DOCTOR_WARN, "cannot tell");
}

static void module_states(void **state)
{
	(void)state;
	expect("module", GPUMON_DOCTOR_OK, GPUMON_VERSION);
	put("/sys/module/gpumon/version", "9.9.9\n");
	expect("module", GPUMON_DOCTOR_WARN, "9.9.9");
	take_away("/sys/module/gpumon/version");
	expect("module", GPUMON_DOCTOR_WARN, "unknown");
	take_away("/sys/module/gpumon");
	expect("module", GPUMON_DOCTOR_FAIL, "installed for " RELEASE ", not loaded");
	put("/lib/modules/" RELEASE "/modules.dep", "");
	expect("module", GPUMON_DOCTOR_FAIL, "not installed");
}

static void what_is_not_seen(void **state)
{
	(void)state;
	expect("coverage", GPUMON_DOCTOR_OK, "never pass drm_sched");
	put_folder("/sys/module/i915");
	expect("i915", GPUMON_DOCTOR_WARN, "own scheduler");
	put_folder("/sys/class/kfd/kfd");
	expect("rocm", GPUMON_DOCTOR_WARN, "does not pass drm_sched");
	put("/sys/module/amdgpu/parameters/user_queue", "-1\n");
	expect("amdgpu-user-queues", GPUMON_DOCTOR_WARN, "past drm_sched");
}

static void groups_and_probes(void **state)
{
	struct gpumon_doctor doctor = { .root = root };
	const struct gpumon_error err = { .message = "module gpumon is not loaded" };
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	gpumon_doctor_netlink(&doctor, &err);
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(find(&doctor, "netlink")->level, GPUMON_DOCTOR_FAIL);
	assert_int_equal(find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_OK);
	assert_int_equal(find(&doctor, "probe drm_run_job")->level, GPUMON_DOCTOR_OK);
	/* The other generation's name: normal while the group works. */
	assert_int_equal(find(&doctor, "probe drm_sched_job_run")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(find(&doctor, "probe drm_sched_job_run")->message,
			    "missing, not in this kernel");
	assert_int_equal(find(&doctor, "probe drm_sched_fini")->level, GPUMON_DOCTOR_FAIL);
	assert_string_equal(find(&doctor, "probe drm_sched_fini")->message, "failed, error -22");
	/* Off is what the user wants; that it can be on is said. */
	assert_int_equal(find(&doctor, "group other")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(find(&doctor, "group other")->advice, "gpumon-user set other on");
	assert_int_equal(find(&doctor, "losses")->level, GPUMON_DOCTOR_WARN);
	assert_non_null(strstr(find(&doctor, "losses")->message, "7 events"));
	gpumon_doctor_free(&doctor);

	/* Nothing attached: then a missing name is what is wrong. */
	model.groups[0].state.v = GPUMON_ATTACH_STATE_MISSING;
	doctor = (struct gpumon_doctor){ .root = root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_WARN);
	assert_int_equal(find(&doctor, "probe drm_sched_job_run")->level, GPUMON_DOCTOR_WARN);
	gpumon_doctor_free(&doctor);

	/* A driver that is not loaded is one line; it is a warning while no other one is. */
	model.groups[0].state.v = GPUMON_ATTACH_STATE_WAITING;
	doctor = (struct gpumon_doctor){ .root = root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_WARN);
	gpumon_doctor_free(&doctor);
	model.groups[1].state.v = GPUMON_ATTACH_STATE_ATTACHED;
	doctor = (struct gpumon_doctor){ .root = root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(find(&doctor, "group drm_sched")->level, GPUMON_DOCTOR_OK);
	gpumon_doctor_free(&doctor);
	gpumon_model_free(&model);
}

static void layouts_of_drivers_that_are_there(void **state)
{
	struct gpumon_doctor doctor = { .root = root };
	struct gpumon_layout *layout;
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	gpumon_doctor_model(&doctor, &model);
	assert_null(find_if_there(&doctor, "layouts"));
	gpumon_doctor_free(&doctor);

	for (int i = 0; i < 2; i++) {
		layout = gpumon_model_add_layout(&model);
		layout->group = strdup(model.groups[0].name);
		layout->type = strdup("amdgpu_bo");
		layout->member = strdup(i ? "flags" : "tbo.base.size");
		layout->reason = strdup(i ? "no such member" : "");
		layout->offset.known = !i;
	}
	doctor = (struct gpumon_doctor){ .root = root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(find(&doctor, "layouts")->level, GPUMON_DOCTOR_OK);
	assert_string_equal(find(&doctor, "layouts")->message,
			    "1 of 2 fields found in BTF; amdgpu_bo.flags: no such member");
	gpumon_doctor_free(&doctor);

	/* Nothing at all is found where there is no BTF. */
	model.layouts[0].offset.known = false;
	doctor = (struct gpumon_doctor){ .root = root };
	gpumon_doctor_model(&doctor, &model);
	assert_int_equal(find(&doctor, "layouts")->level, GPUMON_DOCTOR_WARN);
	assert_non_null(find(&doctor, "layouts")->advice);
	gpumon_doctor_free(&doctor);

	/* A driver that is not loaded has none to be found. */
	model.groups[0].state.v = GPUMON_ATTACH_STATE_WAITING;
	doctor = (struct gpumon_doctor){ .root = root };
	gpumon_doctor_model(&doctor, &model);
	assert_null(find_if_there(&doctor, "layouts"));
	gpumon_doctor_free(&doctor);
	gpumon_model_free(&model);
}

static void the_command_itself(void **state)
{
	struct captured c = capture(root, "doctor", NULL);
	size_t lines = 0;

	(void)state;
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.err, "");
	for (char *line = c.out; *line; line = strchr(line, '\n') + 1) {
		assert_int_equal(strncmp(line, "ok    ", 6), 0);
		lines++;
	}
	assert_true(lines >= 11);
	assert_null(strchr(c.out, '\033'));
	captured_free(&c);

	take_away("/sys/module/gpumon");
	c = capture(root, "doctor", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_FAILED);
	assert_non_null(strstr(c.out, "fail  module: installed for " RELEASE
				      ", not loaded; modprobe gpumon\n"));
	captured_free(&c);
}

static void the_command_as_json(void **state)
{
	struct json_object *document, *checks, *value;
	struct captured c;

	(void)state;
	put_folder("/sys/module/i915");
	c = capture(root, "doctor", "--json", NULL);
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

/* Nothing there at all: every check still says something. */
static void an_empty_root(void **state)
{
	struct gpumon_doctor doctor;

	(void)state;
	take_away("/*");
	doctor = look();
	assert_true(doctor.n_checks >= 11);
	assert_true(gpumon_doctor_count(&doctor, GPUMON_DOCTOR_FAIL) >= 2);
	gpumon_doctor_free(&doctor);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, good_machine, remove_machine)

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
		TEST(options_one_by_one),
		TEST(where_the_configuration_is),
		TEST(no_configuration),
		TEST(permission),
		TEST(gpu_scheduler),
		TEST(module_states),
		TEST(what_is_not_seen),
		TEST(groups_and_probes),
		TEST(layouts_of_drivers_that_are_there),
		TEST(the_command_itself),
		TEST(the_command_as_json),
		TEST(an_empty_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
