// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Where keys belong in the module's tables, kmod/core/key.h. */
#include "shim/nofault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/key.h"

/* As in kmod/core/table.h. */
#define WAYS 8

/* Of so many keys at a stride, those that find no place in a table with twice as many homes. */
static unsigned int without_place(unsigned int keys, uint64_t stride)
{
	const unsigned int homes = 2 * keys;
	uint64_t key = 0xffff888012345000;
	char *taken = calloc(homes + WAYS - 1, 1);
	unsigned int lost = 0, home, way;

	assert_non_null(taken);
	for (unsigned int i = 0; i < keys; i++, key += stride) {
		home = gpumon_key_spread(key) & (homes - 1);
		for (way = 0; way < WAYS && taken[home + way]; way++)
			;
		if (way < WAYS)
			taken[home + way] = 1;
		else
			lost++;
	}
	free(taken);
	return lost;
}

/* As few as of random keys: half a percent in the mean, of a small table by chance a tenth. */
static void objects_of_one_size_do_not_crowd(void **state)
{
	(void)state;
	for (unsigned int keys = 64; keys <= 16384; keys *= 4) {
		unsigned int lost, strides = 0;
		uint64_t sum = 0;

		for (uint64_t stride = 8; stride <= 65536; stride += stride < 4096 ? 8 : 512) {
			lost = without_place(keys, stride);
			if (lost > keys / 8)
				fail_msg("%u of %u keys at a stride of %lu have no place", lost,
					 keys, (unsigned long)stride);
			sum += lost;
			strides++;
		}
		assert_true(sum < (uint64_t)keys * strides / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_of_one_size_do_not_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
