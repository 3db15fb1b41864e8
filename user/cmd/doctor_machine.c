// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks of the machine that do not need the module. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "driver/source.h"

#define OK   GPUMON_DOCTOR_OK
#define WARN GPUMON_DOCTOR_WARN
#define FAIL GPUMON_DOCTOR_FAIL

#define BTF_MAGIC	  0xeb9f
#define CAP_NET_ADMIN_BIT 12
/* The kernel's fixed number of the initial user namespace. */
#define INIT_USER_NS "user:[4026531837]"
#define SECURE_BOOT  "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define SIGN_ADVICE \
	"dkms signs the module, enrol its key once: mokutil --import /var/lib/dkms/mok.pub, then reboot"

static void check_kernel(struct gpumon_doctor *doctor)
{
	char release[128], *dot;
	unsigned long major = 0, minor = 0;

	if (!gpumon_doctor_read(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release))) {
		major = strtoul(release, &dot, 10);
		minor = *dot == '.' ? strtoul(dot + 1, NULL, 10) : 0;
	}
	if (!major)
		gpumon_doctor_add(doctor, WARN, "kernel", "mount /proc", "version not readable");
	else if (major < 5 || (major == 5 && minor < 10))
		gpumon_doctor_add(doctor, FAIL, "kernel", "use Linux 5.10 or newer",
				  "%s is older than what gpumon supports", release);
	else
		gpumon_doctor_add(doctor, OK, "kernel", NULL, "%s", release);
}

static void check_btf(struct gpumon_doctor *doctor)
{
	unsigned short magic = 0;
	char bytes[3];

	if (gpumon_doctor_has(doctor, "CONFIG_DEBUG_INFO_BTF"))
		return;
	if (gpumon_doctor_read(doctor, "/sys/kernel/btf/vmlinux", bytes, sizeof(bytes))) {
		gpumon_doctor_add(
			doctor, WARN, "btf", "use a kernel with CONFIG_DEBUG_INFO_BTF=y",
			"/sys/kernel/btf/vmlinux is missing: prototypes of probes cannot be checked");
		return;
	}
	memcpy(&magic, bytes, sizeof(magic));
	if (magic != BTF_MAGIC)
		gpumon_doctor_add(
			doctor, WARN, "btf", NULL,
			"/sys/kernel/btf/vmlinux is not BTF of this machine's byte order");
	else
		gpumon_doctor_add(doctor, OK, "btf", NULL, "/sys/kernel/btf/vmlinux");
}

struct file_system {
	const char *type;
	const char *place;
	const char *mount;
};

static const struct file_system debugfs = { "debugfs", "/sys/kernel/debug",
					    "mount -t debugfs none /sys/kernel/debug" };
static const struct file_system tracefs = { "tracefs", "/sys/kernel/tracing",
					    "mount -t tracefs none /sys/kernel/tracing" };

static bool is_mounted(const struct gpumon_doctor *doctor, const struct file_system *what)
{
	char line[128];

	snprintf(line, sizeof(line), " %s %s ", what->place, what->type);
	return gpumon_doctor_contains(doctor, "/proc/self/mounts", line) > 0;
}

/* How to get access to a file system, NULL if it is accessible already. */
static const char *how_to_look(const struct gpumon_doctor *doctor, const struct file_system *what)
{
	char path[PATH_MAX];

	if (!is_mounted(doctor, what))
		return what->mount;
	snprintf(path, sizeof(path), "%s%s", doctor->root, what->place);
	return access(path, R_OK | X_OK) ? "run as root" : NULL;
}

static void check_debugfs(struct gpumon_doctor *doctor)
{
	const char *advice = how_to_look(doctor, &debugfs);

	if (gpumon_doctor_has(doctor, "CONFIG_DEBUG_FS"))
		return;
	if (!advice)
		gpumon_doctor_add(doctor, OK, "debugfs", NULL, "mounted and readable");
	else if (gpumon_doctor_contains(doctor, "/proc/cmdline", "debugfs=off") > 0)
		gpumon_doctor_add(
			doctor, WARN, "debugfs", "boot without debugfs=off",
			"switched off by the kernel's command line: no stats file, and \"trace\" does not work with the module");
	else if (is_mounted(doctor, &debugfs))
		gpumon_doctor_add(doctor, WARN, "debugfs", advice,
				  "mounted, but you may not look into it");
	else
		gpumon_doctor_add(
			doctor, WARN, "debugfs", advice,
			"not mounted: no stats file, and \"trace\" does not work with the module");
}

static void check_lockdown(struct gpumon_doctor *doctor)
{
	bool no_modules = gpumon_doctor_no_modules(doctor) != NULL;
	char text[128];

	if (gpumon_doctor_read(doctor, "/sys/kernel/security/lockdown", text, sizeof(text)))
		gpumon_doctor_add(doctor, OK, "lockdown", NULL,
				  "not there (not built in, or securityfs not mounted)");
	else if (strstr(text, "[none]"))
		gpumon_doctor_add(doctor, OK, "lockdown", NULL, "none");
	else if (strstr(text, "[integrity]") && no_modules)
		gpumon_doctor_add(doctor, OK, "lockdown", NULL, "integrity, which BPF works with");
	else if (strstr(text, "[integrity]"))
		gpumon_doctor_add(doctor, WARN, "lockdown", SIGN_ADVICE,
				  "integrity: only a signed module loads");
	else if (strstr(text, "[confidentiality]"))
		gpumon_doctor_add(
			doctor, WARN, "lockdown",
			"boot with lockdown=integrity to have the kprobes",
			no_modules ?
				"confidentiality: kprobes and BPF are refused" :
				"confidentiality: only a signed module loads, and kprobes are refused");
	else
		gpumon_doctor_add(doctor, WARN, "lockdown", NULL, "unknown state \"%s\"", text);
}

static bool is_locked_down(struct gpumon_doctor *doctor)
{
	char text[128];

	return !gpumon_doctor_read(doctor, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	       (strstr(text, "[integrity]") || strstr(text, "[confidentiality]"));
}

static void check_secure_boot(struct gpumon_doctor *doctor)
{
	bool signed_only = is_locked_down(doctor);
	/* Four bytes of attributes, then the value. */
	char bytes[8] = "";

	if (gpumon_doctor_no_modules(doctor)) {
		gpumon_doctor_add(doctor, OK, "secure-boot", NULL,
				  "not asked: it is about modules, and this kernel loads none");
		return;
	}
	if (!gpumon_doctor_exists(doctor, "/sys/firmware/efi")) {
		gpumon_doctor_add(doctor, OK, "secure-boot", NULL, "not an EFI system");
	} else if (gpumon_doctor_read(doctor, SECURE_BOOT, bytes, sizeof(bytes))) {
		gpumon_doctor_add(doctor, OK, "secure-boot", NULL, "not there, so it is off");
	} else if (bytes[4] == 1) {
		signed_only = true;
		gpumon_doctor_add(doctor, WARN, "secure-boot", SIGN_ADVICE,
				  "on: only a signed module loads");
	} else {
		gpumon_doctor_add(doctor, OK, "secure-boot", NULL, "off");
	}

	if (!gpumon_doctor_read(doctor, "/sys/module/module/parameters/sig_enforce", bytes,
				sizeof(bytes)) &&
	    bytes[0] == 'Y') {
		signed_only = true;
		gpumon_doctor_add(doctor, WARN, "module-signature", SIGN_ADVICE,
				  "enforced: only a signed module loads");
	}
	if (signed_only)
		gpumon_doctor_signature(doctor);
}

static void check_kprobes(struct gpumon_doctor *doctor)
{
	const char *advice = how_to_look(doctor, &debugfs);
	char text[8];
	int built_in;

	if (gpumon_doctor_has(doctor, "CONFIG_KPROBES"))
		return;
	if (!gpumon_doctor_read(doctor, "/sys/kernel/debug/kprobes/enabled", text, sizeof(text))) {
		if (text[0] == '1')
			gpumon_doctor_add(doctor, OK, "kprobes", NULL, "enabled");
		else
			gpumon_doctor_add(doctor, FAIL, "kprobes",
					  "echo 1 > /sys/kernel/debug/kprobes/enabled",
					  "switched off");
		return;
	}
	built_in = gpumon_doctor_option(doctor, "KPROBES");
	if (built_in > 0 || gpumon_doctor_exists(doctor, "/sys/kernel/debug/kprobes") ||
	    gpumon_doctor_exists(doctor, "/proc/sys/debug/kprobes-optimization"))
		gpumon_doctor_add(doctor, OK, "kprobes", NULL, "built in");
	else if (!advice)
		gpumon_doctor_add(doctor, WARN, "kprobes", "use a kernel with CONFIG_KPROBES=y",
				  "not built in: probes of kind kprobe fail");
	else
		gpumon_doctor_add(doctor, WARN, "kprobes", advice, "cannot tell");
}

static void check_tracepoints(struct gpumon_doctor *doctor)
{
	int built_in = gpumon_doctor_option(doctor, "TRACEPOINTS");
	const char *advice = how_to_look(doctor, &tracefs);

	if (built_in > 0 || gpumon_doctor_exists(doctor, "/sys/kernel/tracing/events") ||
	    gpumon_doctor_exists(doctor, "/sys/kernel/debug/tracing/events"))
		gpumon_doctor_add(doctor, OK, "tracepoints", NULL, "built in");
	else if (!built_in)
		gpumon_doctor_add(doctor, FAIL, "tracepoints",
				  "use a kernel with CONFIG_TRACEPOINTS=y", "not built in");
	else if (advice)
		gpumon_doctor_add(doctor, WARN, "tracepoints", advice, "cannot tell");
	else
		gpumon_doctor_add(doctor, WARN, "tracepoints",
				  "use a kernel with CONFIG_TRACEPOINTS=y",
				  "tracefs has no events, so there may be none");
}

static bool has_net_admin(struct gpumon_doctor *doctor)
{
	char status[8192];
	const char *line;

	if (gpumon_doctor_read(doctor, "/proc/self/status", status, sizeof(status)))
		return false;
	line = strstr(status, "\nCapEff:");
	return line && strtoull(line + strlen("\nCapEff:"), NULL, 16) >> CAP_NET_ADMIN_BIT & 1;
}

/* The target of a link below the root, or "". */
static void link_target(const struct gpumon_doctor *doctor, const char *path, char *target,
			size_t len)
{
	char full[PATH_MAX];
	ssize_t got;

	snprintf(full, sizeof(full), "%s%s", doctor->root, path);
	got = readlink(full, target, len - 1);
	target[got < 0 ? 0 : got] = '\0';
}

static void check_permission(struct gpumon_doctor *doctor)
{
	char user[64], net[64], net_of_init[64];

	link_target(doctor, "/proc/self/ns/user", user, sizeof(user));
	link_target(doctor, "/proc/self/ns/net", net, sizeof(net));
	link_target(doctor, "/proc/1/ns/net", net_of_init, sizeof(net_of_init));

	if (*user && strcmp(user, INIT_USER_NS))
		gpumon_doctor_add(doctor, FAIL, "permission", "run on the host, as root",
				  "in a user namespace: root in it is not root to gpumon");
	else if (!has_net_admin(doctor))
		gpumon_doctor_add(doctor, FAIL, "permission",
				  "run as root (sudo gpumon-user …) or give it CAP_NET_ADMIN",
				  "no CAP_NET_ADMIN: gpumon shows other users' processes");
	else if (*net && *net_of_init && strcmp(net, net_of_init))
		gpumon_doctor_add(doctor, FAIL, "permission", "run on the host",
				  "in another network namespace than the system's");
	else
		gpumon_doctor_add(doctor, OK, "permission", NULL, "CAP_NET_ADMIN");
}

/* A loaded module has an initstate, a built-in one does not. */
static bool sched_is_loaded(const struct gpumon_doctor *doctor)
{
	return gpumon_doctor_exists(doctor, "/sys/module/gpu_sched/initstate");
}

static bool sched_is_built_in(const struct gpumon_doctor *doctor, int in_builtin, int option)
{
	return in_builtin > 0 || option == 'y' ||
	       gpumon_doctor_exists(doctor, "/sys/module/gpu_sched") ||
	       gpumon_doctor_exists(doctor, "/sys/kernel/tracing/events/gpu_scheduler") ||
	       gpumon_doctor_exists(doctor, "/sys/kernel/debug/tracing/events/gpu_scheduler");
}

static void check_gpu_sched(struct gpumon_doctor *doctor)
{
	char release[128] = "", builtin[256], dep[256];
	int in_builtin, in_dep, option;

	gpumon_doctor_read(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release));
	snprintf(builtin, sizeof(builtin), "/lib/modules/%s/modules.builtin", release);
	snprintf(dep, sizeof(dep), "/lib/modules/%s/modules.dep", release);
	in_builtin = gpumon_doctor_contains(doctor, builtin, "/gpu-sched.ko");
	in_dep = gpumon_doctor_contains(doctor, dep, "/gpu-sched.ko");
	option = gpumon_doctor_option(doctor, "DRM_SCHED");
	if (sched_is_loaded(doctor))
		gpumon_doctor_add(doctor, OK, "gpu_sched", NULL, "loaded");
	else if (sched_is_built_in(doctor, in_builtin, option))
		gpumon_doctor_add(doctor, OK, "gpu_sched", NULL, "built into the kernel");
	else if (in_dep > 0 || option > 0)
		gpumon_doctor_add(
			doctor, WARN, "gpu_sched",
			"nothing to do: it comes with the GPU's driver (amdgpu, xe, nouveau, panfrost, v3d, msm, …)",
			"not loaded: no driver that uses the DRM scheduler is, the probes wait for it");
	else if (!option || (!in_builtin && !in_dep))
		gpumon_doctor_add(doctor, WARN, "gpu_sched",
				  "use a kernel with CONFIG_DRM_SCHED and a driver that needs it",
				  "this kernel (%s) has no DRM scheduler", release);
	else
		gpumon_doctor_add(
			doctor, WARN, "gpu_sched",
			gpumon_doctor_no_modules(doctor) ?
				"look for gpu_scheduler in /sys/kernel/tracing/events, as root" :
				"install the kernel's modules",
			"not loaded, and without %s one cannot tell if it is there",
			in_dep < 0 ? dep : builtin);
}

static void check_coverage(struct gpumon_doctor *doctor)
{
	static const struct {
		const char *path, *name, *message;
	} blind[] = {
		{ "/sys/class/kfd/kfd", "rocm",
		  "ROCm/KFD compute does not pass drm_sched: it is not in these numbers" },
		{ "/sys/module/amdgpu/parameters/user_queue", "amdgpu-user-queues",
		  "work on user queues, where they are on, goes to the GPU past drm_sched: it is not in these numbers" },
		{ "/sys/module/i915", "i915",
		  "i915 has its own scheduler: its work is in group i915, not on the rings of drm_sched" },
		{ "/dev/dxg", "wsl",
		  "WSL2: Windows has the GPU's driver: what it does is not in these numbers" },
		{ "/sys/module/nvidia", "nvidia",
		  "NVIDIA's driver has its own scheduler: what it does is in group nvidia, single jobs are not seen" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(blind) / sizeof(blind[0]); i++) {
		if (!gpumon_doctor_exists(doctor, blind[i].path))
			continue;
		any = true;
		gpumon_doctor_add(doctor, WARN, blind[i].name, NULL, "%s", blind[i].message);
	}
	if (!any)
		gpumon_doctor_add(doctor, OK, "coverage", NULL,
				  "no unsupported workload found (%s)", GPUMON_NOT_COVERED);
}

void gpumon_doctor_machine(struct gpumon_doctor *doctor)
{
	check_kernel(doctor);
	gpumon_doctor_config(doctor);
	check_btf(doctor);
	check_debugfs(doctor);
	check_lockdown(doctor);
	check_secure_boot(doctor);
	check_kprobes(doctor);
	check_tracepoints(doctor);
	check_permission(doctor);
	check_gpu_sched(doctor);
	check_coverage(doctor);
}
