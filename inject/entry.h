/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_ENTRY_H
#define GPUMON_INJECT_ENTRY_H

/**
 * InitializeInjection - what libcuda calls in the library that CUDA_INJECTION64_PATH names
 *
 * From within cuInit, once for a process.
 *
 * Return: 1; whatever goes wrong here is no reason for a program not to have CUDA.
 */
int InitializeInjection(void);

#endif /* GPUMON_INJECT_ENTRY_H */
