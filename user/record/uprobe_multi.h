/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Many uprobes with one link, since Linux 6.6. Removing single uprobes costs the kernel some
 * hundredths of a second each. libbpf 1.1 does not support this.
 */
#ifndef GPUMON_RECORD_UPROBE_MULTI_H
#define GPUMON_RECORD_UPROBE_MULTI_H

#include <stdbool.h>
#include <sys/types.h>

#include "uprobe_program.h"

/* BPF_TRACE_UPROBE_MULTI of linux/bpf.h, since 6.6 */
#define GPUMON_UPROBE_MULTI 48

/* A link's descriptor, or a negative errno; then no function is probed. */
int gpumon_uprobe_multi_link(int program_fd, bool at_return, pid_t pid, const char *path,
			     const struct gpumon_uprobe_point *points, unsigned int count);

/* True if the kernel has the version that probes all threads of a process. */
bool gpumon_uprobe_multi_works(int program_fd);

#endif /* GPUMON_RECORD_UPROBE_MULTI_H */
