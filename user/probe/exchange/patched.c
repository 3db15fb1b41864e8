// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "names.h"
#include "patched.h"
#include "probe/fatbin/fatbin.h"

struct looking {
	struct gpumon_exchange exchange;
	int (*each)(void *argument, uint32_t number, uint32_t programs, const char *name);
	void *argument;
	bool failed;
};

static int look_at(void *context, const char *name)
{
	struct looking *looking = context;
	struct gpumon_exchange *exchange = &looking->exchange;
	uint32_t programs, number;

	looking->failed = true;
	if (gpumon_exchange_wanted(exchange, name, strlen(name), true, &programs))
		return -1;
	looking->failed = false;
	if (!programs)
		return 0;
	number = gpumon_probe_run_kernel(exchange->run, name, strlen(name));
	if (number == GPUMON_PROBE_NO_NUMBER ||
	    gpumon_probe_run_tell(exchange->run, number, GPUMON_PROBE_WAY_SASS, "") ||
	    looking->each(looking->argument, number, programs, name)) {
		looking->failed = true;
		return gpumon_exchange_no_memory(exchange);
	}
	exchange->run->kernels[number].image = exchange->run->images;
	return 0;
}

int gpumon_probe_patched(const struct gpumon_probe_order *order, const void *cubin, size_t size,
			 struct gpumon_probe_run *run,
			 int (*each)(void *argument, uint32_t number, uint32_t programs,
				     const char *name),
			 void *argument, struct gpumon_error *err)
{
	struct looking looking = {
		.exchange = { order, run, err },
		.each = each,
		.argument = argument,
	};
	struct gpumon_error unread;

	run->images++;
	if (size < sizeof(uint64_t) ||
	    !gpumon_fatbin_elf_kernels(cubin, size, look_at, &looking, &unread))
		return 0;
	return looking.failed ? -1 : 0;
}
