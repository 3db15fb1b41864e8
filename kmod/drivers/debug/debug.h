/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GPUMON_DEBUG_GROUP_H
#define GPUMON_DEBUG_GROUP_H

#include "attach/probe.h"

extern struct gpumon_group gpumon_debug;

#endif /* GPUMON_DEBUG_GROUP_H */
