/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the module: their memory, the end of a period for all, and those that this kernel lacks. */
#ifndef GPUMON_ACCOUNT_H
#define GPUMON_ACCOUNT_H

#include <linux/types.h>

bool gpumon_account_part(unsigned int part, const char **name, size_t *bytes);
size_t gpumon_account_bytes(void);
int gpumon_account_close(void);
int gpumon_missing_options(int (*show)(void *arg, const char *option, const char *lost), void *arg);

#endif /* GPUMON_ACCOUNT_H */
