// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/bpf_privilege.h"
#include "lib/read_at.h"
#include "bpf_source.h"

int gpumon_bpf_source_possible(struct gpumon_error *err)
{
	char text[4096];

#ifndef GPUMON_BPF
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
		"BPF is not in this gpumon-user: it was built without clang or bpftool; install both and build it again");
#endif
	if (!gpumon_bpf_capable(""))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"BPF needs CAP_BPF and CAP_PERFMON: be root, or have root give them: setcap cap_bpf,cap_perfmon+ep gpumon-user");
	if (!gpumon_initial_user_namespace(""))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"BPF needs CAP_BPF and CAP_PERFMON outside of this user namespace: run gpumon-user on the host");
	if (gpumon_read_short("", "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    strstr(text, "[confidentiality]"))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_LOCKDOWN,
			"the kernel is locked down (confidentiality) and lets BPF programs read nothing of it: boot with lockdown=integrity");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NO_BTF,
			"BPF needs the kernel's types, and /sys/kernel/btf/vmlinux is not there: use a kernel with CONFIG_DEBUG_INFO_BTF=y");
	return 0;
}
