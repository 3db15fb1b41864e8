/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The time outside of windows, for the timeline of struct gpumon_scan. */
#ifndef GPUMON_REPORT_SCAN_WINDOWS_H
#define GPUMON_REPORT_SCAN_WINDOWS_H

#include "output.h"

/* Fill in the @unknown_ns of the scan's rows. -1 without memory. */
int gpumon_scan_windows(const struct gpumon_profile *profile, struct gpumon_scan *scan);

#endif /* GPUMON_REPORT_SCAN_WINDOWS_H */
