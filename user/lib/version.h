/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_LIB_VERSION_H
#define GPUMON_LIB_VERSION_H

/* Must equal MODULE_VERSION, and PACKAGE_VERSION of dkms.conf. */
#define GPUMON_VERSION "0.2.0"

#endif /* GPUMON_LIB_VERSION_H */
