/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_LIB_ERRNO_NAME_H
#define GPUMON_LIB_ERRNO_NAME_H

/* "ENOENT" of ENOENT. NULL: it is no errno. */
const char *gpumon_errno_name(int error);

#endif /* GPUMON_LIB_ERRNO_NAME_H */
