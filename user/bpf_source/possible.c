// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf_source.h"

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
	return set & (1ULL << CAPABILITY_SYS_ADMIN) || set & (1ULL << capability);
}

int gpumon_bpf_source_possible(const char *root, struct gpumon_error *err)
{
	char text[4096], path[PATH_MAX], *line;
	unsigned int inside, outside, count;
	uint64_t set = ~0ULL;

#ifndef GPUMON_BPF
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, 0, "not-built",
		"BPF is not in this gpumon-user: it was built without clang or bpftool; install both and build it again");
#endif
	if (read_text(root, "/proc/self/status", text, sizeof(text))) {
		line = strstr(text, "\nCapEff:");
		if (line)
			sscanf(line + 8, "%" SCNx64, &set);
	}
	if (!capable(set, CAPABILITY_BPF) || !capable(set, CAPABILITY_PERFMON))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, "permission",
			"BPF needs CAP_BPF and CAP_PERFMON: be root, or have root give them: setcap cap_bpf,cap_perfmon+ep gpumon-user");
	/* Root of a user namespace has every capability, but none that counts here. */
	if (read_text(root, "/proc/self/uid_map", text, sizeof(text)) &&
	    sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 &&
	    (inside || outside || count != UINT_MAX))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, "permission",
			"BPF needs CAP_BPF and CAP_PERFMON outside of this user namespace: run gpumon-user on the host");
	if (read_text(root, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    strstr(text, "[confidentiality]"))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, "lockdown",
			"the kernel is locked down (confidentiality) and lets BPF programs read nothing of it: boot with lockdown=integrity");
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	if (access(path, R_OK))
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, "no-btf",
			"BPF needs the kernel's types, and /sys/kernel/btf/vmlinux is not there: use a kernel with CONFIG_DEBUG_INFO_BTF=y");
	return 0;
}
