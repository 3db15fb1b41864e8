/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writes the accounts of the programs in this folder, which are in C and CUDA C++. */
#ifndef GPUMON_DEVICE_ACCOUNT_H
#define GPUMON_DEVICE_ACCOUNT_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The file of this process, to be closed. NULL if no account is wanted, or if it cannot be created.
 */
static FILE *open_account(void)
{
	const char *path = getenv("KNOWN_ACCOUNT");
	char name[4096];

	if (!path)
		return NULL;
	snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
	return fopen(name, "w");
}

#endif /* GPUMON_DEVICE_ACCOUNT_H */
