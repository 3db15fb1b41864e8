// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bpf.h"
#include "files.h"

/* Older versions of linux/capability.h lack some of these. */
#define CAPABILITY_SYS_ADMIN 21
#define CAPABILITY_PERFMON   38
#define CAPABILITY_BPF	     39

static bool capable(uint64_t set, unsigned int capability)
{
	return set & (1ULL << CAPABILITY_SYS_ADMIN) || set & (1ULL << capability);
}

bool gpumon_bpf_capable(const char *root)
{
	uint64_t set = ~0ULL;
	char text[4096], *line;

	if (gpumon_read_short(root, "/proc/self/status", text, sizeof(text))) {
		line = strstr(text, "\nCapEff:");
		if (line)
			sscanf(line + 8, "%" SCNx64, &set);
	}
	return capable(set, CAPABILITY_BPF) && capable(set, CAPABILITY_PERFMON);
}

bool gpumon_initial_user_namespace(const char *root)
{
	unsigned int inside, outside, count;
	char text[256];

	if (!gpumon_read_short(root, "/proc/self/uid_map", text, sizeof(text)) ||
	    sscanf(text, "%u %u %u", &inside, &outside, &count) != 3)
		return true;
	return !inside && !outside && count == UINT_MAX;
}

static char said[256];

int gpumon_libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !said[0]) {
		vsnprintf(said, sizeof(said), format, args);
		said[strcspn(said, "\n")] = '\0';
	}
	return 0;
}

void gpumon_libbpf_forget(void)
{
	said[0] = '\0';
}

const char *gpumon_libbpf_said(void)
{
	return said;
}
