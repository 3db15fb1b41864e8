/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_TESTS_OPENCL_OF_LIBRARY_H
#define GPUMON_TESTS_OPENCL_OF_LIBRARY_H

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

/* Is this thread the injection library's own one? */
static bool is_of_library(void)
{
	char name[16 + 1] = "";

	prctl(PR_GET_NAME, name);
	return strcmp(name, "gpumon") == 0;
}

#endif /* GPUMON_TESTS_OPENCL_OF_LIBRARY_H */
