/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs in the kernels of this process: gpumon-user probe or record --probe has started it. */
#ifndef GPUMON_INJECT_GPUPROG_GPUPROG_H
#define GPUMON_INJECT_GPUPROG_GPUPROG_H

#include <stdbool.h>

/**
 * inject_gpuprog_enter - CUDA is being initialised, and what records it has not come yet
 *
 * Return: true if the process has programs in its kernels and is not recorded.
 */
bool inject_gpuprog_enter(void);

#endif /* GPUMON_INJECT_GPUPROG_GPUPROG_H */
