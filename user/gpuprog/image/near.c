// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "near.h"

unsigned int gpumon_near(const char *one, size_t n, const char *other, size_t m)
{
	unsigned int row[GPUMON_NEAR_LETTERS + 1], before, above, least;
	size_t apart = n > m ? n - m : m - n;

	if (n > GPUMON_NEAR_LETTERS || m > GPUMON_NEAR_LETTERS || apart > GPUMON_NEAR_CHANGES)
		return GPUMON_NEAR_CHANGES + 1;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		before = row[0];
		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= m; j++) {
			above = row[j];
			least = before + (one[i - 1] != other[j - 1]);
			if (above + 1 < least)
				least = above + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			row[j] = least;
			before = above;
		}
	}
	return row[m] <= GPUMON_NEAR_CHANGES ? row[m] : GPUMON_NEAR_CHANGES + 1;
}
