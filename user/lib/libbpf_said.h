/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What libbpf says of a failure: its functions only return a number. */
#ifndef GPUMON_LIB_LIBBPF_SAID_H
#define GPUMON_LIB_LIBBPF_SAID_H

#include <stdarg.h>

#include <bpf/libbpf.h>

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

#endif /* GPUMON_LIB_LIBBPF_SAID_H */
