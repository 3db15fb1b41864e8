// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>

#include "lib/bpf_privilege.h"
#include "lib/read_at.h"
#include "uprobe_program.h"

int gpumon_uprobe_program_possible(const char *root, struct gpumon_error *err)
{
	char text[64];

#ifndef GPUMON_BPF
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_NOT_BUILT,
		"uprobes are not in this gpumon-user: it was built without clang or bpftool; install both and build it again");
#endif
	if (!gpumon_read_short(root, "/sys/bus/event_source/devices/uprobe/type", text,
			       sizeof(text)))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NO_UPROBES,
			"this kernel has no uprobes for perf events (CONFIG_UPROBE_EVENTS), or /sys is not mounted");
	if (!gpumon_bpf_capable(root))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"uprobes need CAP_BPF and CAP_PERFMON (CAP_SYS_PTRACE too, for processes of others): be root, or have root give them: setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep gpumon-user");
	if (!gpumon_initial_user_namespace(root))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"uprobes need CAP_BPF and CAP_PERFMON outside of this user namespace: run gpumon-user on the host, on the process's number there");
	return 0;
}
