/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the module: the memory that each holds, and the end of a period for all of them. */
#ifndef GPUMON_ACCOUNT_H
#define GPUMON_ACCOUNT_H

#include <linux/types.h>

bool gpumon_account_part(unsigned int part, const char **name, size_t *bytes);
size_t gpumon_account_bytes(void);
int gpumon_account_close(void);

#endif /* GPUMON_ACCOUNT_H */
