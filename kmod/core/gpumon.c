// SPDX-License-Identifier: GPL-2.0-only
#include "gpumon.h"

DEFINE_PER_CPU(struct gpumon_cpu, gpumon_cpu);
