/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where the programs of this folder, in C and in CUDA's C++, write what they did. */
#ifndef GPUMON_DEVICE_ACCOUNT_H
#define GPUMON_DEVICE_ACCOUNT_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* This process's file, to be closed; NULL where nobody asks for one, or it cannot be made. */
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
