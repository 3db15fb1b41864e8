// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "owner.h"

bool gpumon_exchange_owner(const char *file, char *why, size_t size)
{
	/* What their names begin with. NCCL, CUTLASS and RAPIDS are open. */
	static const char *const libraries[] = {
		"libcublas",	 "libcuda.",	"libcudadevrt", "libcudart",   "libcudnn",
		"libcudss",	 "libcufft",	"libcurand",	"libcusolver", "libcusparse",
		"libcustatevec", "libcutensor", "libnpp",	"libnvcomp",   "libnvinfer",
		"libnvjpeg",	 "libnvrtc",	"libnvtiff",
	};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (strncmp(file, libraries[i], strlen(libraries[i])) != 0)
			continue;
		snprintf(why, size, "%.64s is NVIDIA's, whose licence forbids changes", file);
		return true;
	}
	return false;
}
