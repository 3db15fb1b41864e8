/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Checks whether this process may use BPF, before it tries. */
#ifndef GPUMON_LIB_BPF_PRIVILEGE_H
#define GPUMON_LIB_BPF_PRIVILEGE_H

#include <stdbool.h>

/*
 * True with CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN; also true if the capabilities are unknown.
 */
bool gpumon_bpf_capable(const char *root);

/* Root in another user namespace has every capability, but none of them counts for BPF. */
bool gpumon_initial_user_namespace(const char *root);

#endif /* GPUMON_LIB_BPF_PRIVILEGE_H */
