// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which metrics the library chooses for a chip, with NVIDIA's CUPTI, which needs no GPU for that:
 *	pm_choose CHIP...
 * A line for each: the chip's name and those of the metrics. 77: there is no such CUPTI.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../inject/cupti/pm_metrics.h"

struct inject_pm_library inject_pm;

static void *open_cupti(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12",
					     "/usr/local/cuda/lib64/libcupti.so",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };
	void *handle = NULL;

	for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++)
		handle = dlopen(names[i], RTLD_NOW);
	return handle;
}

static void find_functions(void *handle)
{
#define FIND(member, name, type)                                                   \
	inject_pm.member = (__typeof__(inject_pm.member))dlsym(handle, #name);     \
	if (!inject_pm.member) {                                                   \
		fprintf(stderr, "CUPTI has no " #name ", which came with 12.6\n"); \
		exit(77);                                                          \
	}
	INJECT_PM_FUNCTIONS(FIND)
}

int main(int argc, char **argv)
{
	static struct inject_pm_choice choice;
	void *handle = open_cupti();
	CUptiResult result;

	if (!handle) {
		fprintf(stderr, "no CUPTI here\n");
		return 77;
	}
	find_functions(handle);
	for (int i = 1; i < argc; i++) {
		result = inject_pm_choose(&choice, argv[i], NULL);
		if (result != CUPTI_SUCCESS) {
			fprintf(stderr, "%s: error %d\n", argv[i], (int)result);
			return 1;
		}
		printf("%s", argv[i]);
		for (unsigned int k = 0; k < choice.count; k++)
			printf(" %s", choice.names[k]);
		printf("\n");
		inject_pm_unchoose(&choice);
	}
	return 0;
}
