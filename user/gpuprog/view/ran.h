/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Kernels that are programs themselves, and how long they ran. */
#ifndef GPUMON_GPUPROG_VIEW_RAN_H
#define GPUMON_GPUPROG_VIEW_RAN_H

#include "result.h"
#include "lib/sheet.h"

/* Add the table "ran", if there were such kernels. */
void gpumon_probe_show_ran(struct gpumon_sheet *sheet, const struct gpumon_probe_result *result);

#endif /* GPUMON_GPUPROG_VIEW_RAN_H */
