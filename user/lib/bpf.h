/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Whether this process may use BPF, before it tries, and what libbpf says of a failure. */
#ifndef GPUMON_LIB_BPF_H
#define GPUMON_LIB_BPF_H

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>

/*
 * True with CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN; also true if the capabilities are unknown.
 */
bool gpumon_bpf_capable(const char *root);

/* Root in another user namespace has every capability, but none of them counts for BPF. */
bool gpumon_initial_user_namespace(const char *root);

/* libbpf's functions only return a number. */

/**
 * gpumon_libbpf_print - for libbpf_set_print(): prints nothing, and keeps the first warning
 * @level: of the message
 * @format: printf format
 * @args: its arguments
 *
 * The first warning is the cause, and the others follow from it.
 *
 * Return: 0.
 */
int gpumon_libbpf_print(enum libbpf_print_level level, const char *format, va_list args);

/** gpumon_libbpf_forget() - before a call whose failure is to be explained */
void gpumon_libbpf_forget(void);

/**
 * gpumon_libbpf_said() - the kept warning
 *
 * Return: one line, "" if there was none since gpumon_libbpf_forget().
 */
const char *gpumon_libbpf_said(void);

#endif /* GPUMON_LIB_BPF_H */
