/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a process may do with BPF, before it tries. */
#ifndef GPUMON_BPF_PRIVILEGE_H
#define GPUMON_BPF_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * gpumon_read_short - a small file of /proc or /sys
 * @root: in front of the path, "" here
 * @name: path
 * @text: filled in, with a NUL; cut to what finds room
 * @room: of @text
 *
 * Return: whether it could be opened.
 */
bool gpumon_read_short(const char *root, const char *name, char *text, size_t room);

/* Has this process CAP_BPF and CAP_PERFMON, or what stands for both? Yes where it cannot be known. */
bool gpumon_bpf_capable(const char *root);

/* Root of another user namespace has every capability, but none that counts for BPF. */
bool gpumon_initial_user_namespace(const char *root);

#endif /* GPUMON_BPF_PRIVILEGE_H */
