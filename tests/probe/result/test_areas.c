// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Contexts that have ended are added up. */
#include "common.h"

#include <string.h>
#include <unistd.h>

#include "probe/serve/area.h"
#include "probe/serve/fold.h"

#define CONTENT 7

static void end_context(struct gpumon_probe_areas *areas)
{
	int fd, number = gpumon_probe_areas_add(areas, "GPU 0", 0, &fd);

	assert_true(number >= 0);
	close(fd);
	gpumon_probe_areas_ended(areas, (uint32_t)number);
}

/* The memory of a shared array is the kernel's. What contexts have in its place is nothing. */
static void shared_arrays_are_not_added(void **state)
{
	static const uint64_t content = CONTENT;
	static const uint64_t memory = CONTENT + 1;
	struct gpumon_probe_map map = { .name = "shared",
					.kind = GPUMON_PROBE_MAP_ARRAY,
					.key_size = 4,
					.value_size = 8,
					.max_entries = 1,
					.data = (const uint8_t *)&content };
	const struct gpumon_probe_object object = { .maps = &map, .maps_n = 1 };
	static struct gpumon_probe_areas areas;
	struct gpumon_probe_plan plan;
	struct gpumon_error err;
	uint64_t sum = 0, value;

	(void)state;
	assert_int_equal(gpumon_probe_plan_make(&object, 1, 0, 1, &plan, &err), 0);
	assert_int_equal(gpumon_probe_areas_init(&areas, &object, &plan), 0);
	for (int i = 0; i < GPUMON_PROBE_ENDED_AREAS + 4; i++)
		end_context(&areas);
	assert_true(areas.sum >= 0);
	gpumon_probe_areas_share(&areas, 0, &memory);
	for (uint32_t i = 0; i < areas.areas_n; i++) {
		if (!areas.areas[i].images)
			continue;
		memcpy(&value, areas.areas[i].images[0], sizeof(value));
		sum += value;
	}
	assert_int_equal(sum, memory);
	gpumon_probe_areas_clear(&areas);
	gpumon_probe_plan_clear(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_arrays_are_not_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
