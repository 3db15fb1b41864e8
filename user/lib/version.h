/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_LIB_VERSION_H
#define GPUMON_LIB_VERSION_H

#include "../kmod/uapi/gpumon_version.h"

#endif /* GPUMON_LIB_VERSION_H */
