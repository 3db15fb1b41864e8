// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

/* linux/capability.h of older systems has not all of them. */
#define CAPABILITY_SYS_ADMIN 21
#define CAPABILITY_PERFMON   38
#define CAPABILITY_BPF	     39

static bool read_text(const char *root, const char *name, char *text, size_t room)
{
	char path[PATH_MAX];
	FILE *stream;
	size_t n;

	snprintf(path, sizeof(path), "%s%s", root, name);
	stream = fopen(path, "re");
	if (!stream)
		return false;
	n = fread(text, 1, room - 1, stream);
	fclose(stream);
	text[n] = '\0';
	return true;
}

static bool capable(uint64_t set, unsigned int capability)
{
	return set & (1ull << CAPABILITY_SYS_ADMIN) || set & (1ull << capability);
}

/* Root of a user namespace has every capability, but none that counts here. */
static bool initial_user_namespace(const char *root)
{
	unsigned int inside, outside, count;
	char text[256];

	if (!read_text(root, "/proc/self/uid_map", text, sizeof(text)) ||
	    sscanf(text, "%u %u %u", &inside, &outside, &count) != 3)
		return true;
	return !inside && !outside && count == UINT_MAX;
}

int gpumon_uprobe_program_possible(const char *root, struct gpumon_error *err)
{
	uint64_t set = ~0ull;
	char text[4096], *line;

#ifndef GPUMON_BPF
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, "not-built",
		"uprobes are not in this gpumon-user: it was built without clang or bpftool; install both and build it again");
#endif
	if (!read_text(root, "/sys/bus/event_source/devices/uprobe/type", text, sizeof(text)))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, "no-uprobes",
			"this kernel has no uprobes for perf events (CONFIG_UPROBE_EVENTS), or /sys is not mounted");
	if (read_text(root, "/proc/self/status", text, sizeof(text))) {
		line = strstr(text, "\nCapEff:");
		if (line)
			sscanf(line + 8, "%" SCNx64, &set);
	}
	if (!capable(set, CAPABILITY_BPF) || !capable(set, CAPABILITY_PERFMON))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, "permission",
			"uprobes need CAP_BPF and CAP_PERFMON (CAP_SYS_PTRACE too, for processes of others): be root, or have root give them: setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep gpumon-user");
	if (!initial_user_namespace(root))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, "permission",
			"uprobes need CAP_BPF and CAP_PERFMON outside of this user namespace: run gpumon-user on the host, on the process's number there");
	return 0;
}
