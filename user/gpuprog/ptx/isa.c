// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "translate.h"

uint32_t gpumon_probe_isa(uint32_t sm)
{
	static const struct {
		uint32_t sm;
		uint32_t isa;
	} table[] = { { 121, 88 }, { 120, 87 }, { 110, 90 }, { 103, 88 }, { 100, 86 }, { 89, 78 },
		      { 88, 90 },  { 87, 74 },	{ 86, 71 },  { 80, 70 },  { 75, 63 },  { 72, 61 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (sm >= table[i].sm)
			return table[i].isa;
	return 60;
}
